"""What a sandbox looked like a little while ago: reads that lag behind the writes.

A service that answers reads from replicas shows a new charge a little late, and a client that
creates and then searches finds nothing. A rule with ``lag`` lets it meet that.

Rows are values that are replaced, so that the past needs no copies: what has changed since is taken
back, the read is answered, and the changes are made again, all in one step. Source:
docs/scenario-language.md, outcome (``lag``).
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakMethod

from mockserver.domain.clock import Micros
from mockserver.engine.indexed_table import Table, TableRow
from mockserver.engine.result import Result
from mockserver.scenario.scalars import LAST_MOVE

T = TypeVar("T")

MOST_CHANGES = 10_000
"""Changes that a read takes back: with more of them in its lag, it sees the oldest too early."""


class _Change(NamedTuple):
    """A new value of a row, and the value before: None for a new row; changes of one step have one
    ``step``."""

    at: Micros
    table: Table[Any]
    after: TableRow
    before: TableRow | None
    step: object


class Past:
    """The newest changes of a sandbox, as far back as the ``longest`` lag of its rules; ``is_cut``
    says that some within the lag had to go. ``present`` gives its time and its newest journal
    entry."""

    def __init__(
        self,
        present: Callable[[], tuple[Micros, int]],
        tables: Iterable[Table[Any]],
        longest: Micros,
    ) -> None:
        self.longest = longest
        self._present = present
        self._changes: deque[_Change] = deque(maxlen=MOST_CHANGES)
        self._is_rewound = False
        self.is_cut = False
        # Tables must not keep the past of a sandbox alive, nor it them.
        note_of = WeakMethod(self._note)

        def note(table: Table[Any], after: TableRow, before: TableRow | None) -> None:
            note_here = note_of()
            if note_here is not None:
                note_here(table, after, before)

        for table in tables:
            table.listeners += (note,)

    def forget(self) -> None:
        """Reads that lag see all that there is now."""
        self._changes.clear()

    def _note(self, table: Table[Any], after: TableRow, before: TableRow | None) -> None:
        """Remember a change, and forget those that no lag reaches any more."""
        # Changes that are taken back, or made again, have been remembered as they were made.
        if self._is_rewound:
            return
        changes = self._changes
        now, entry = self._present()
        while changes and changes[0].at <= now - self.longest:
            changes.popleft()
        self.is_cut = self.is_cut or len(changes) == MOST_CHANGES
        changes.append(_Change(now, table, after, before, step=("after", entry)))

    def seen(self, result: Result, read: Callable[[], T]) -> T:
        """What is read in the step of a ``result``, as far behind as the rules say that decided it.
        Raises what ``read`` raises."""
        lag, changes = result.lag, self._changes
        now, _ = self._present()
        if lag == LAST_MOVE:
            # The last step that changed anything, however long ago that was.
            newer = [change for change in changes if change.step == changes[-1].step]
        else:
            newer = [change for change in changes if change.at > now - lag]
        self._is_rewound = True
        try:
            for change in reversed(newer):
                if change.before is None:
                    change.table.take_back()
                else:
                    change.table.replace(change.after, change.before)
            return read()
        finally:
            # In the order in which they were made: rows get their places again.
            for change in newer:
                if change.before is None:
                    change.table.add(change.after)
                else:
                    change.table.replace(change.before, change.after)
            self._is_rewound = False
