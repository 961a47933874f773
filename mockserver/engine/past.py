"""What a sandbox looked like a little while ago: reads that lag behind the writes.

Rows are values that are replaced, so that the past needs no copies: what has changed since is taken
back, the read is answered, and the changes are made again, all in one step. Source:
docs/scenario-language.md, outcome (``lag``).
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from weakref import WeakMethod

from mockserver.domain.clock import Micros
from mockserver.engine.indexed_table import Table
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
    after: Any
    before: Any
    step: object


class Past:
    """The newest changes of a sandbox, as far back as the ``longest`` lag of its rules; ``noted``
    counts all that ever were, ``is_cut`` says that some within the lag had to go. ``present`` gives
    its time and its newest journal entry."""

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
        self.noted = 0
        noting = WeakMethod(self._note)
        for table in tables:
            table.listeners += (
                lambda *change: note(*change) if (note := noting()) is not None else None,
            )

    def __len__(self) -> int:
        return len(self._changes)

    def newest(self, count: int) -> Iterator[tuple[Micros, Table[Any], Any, Any]]:
        """The newest changes, oldest first: when, in which table, the value and the one before
        (None: a new row)."""
        newest = islice(self._changes, max(len(self._changes) - count, 0), None)
        return ((one.at, one.table, one.after, one.before) for one in newest)

    def take_over(self, changes: Iterable[tuple[Micros, Table[Any], int, Any]], noted: int) -> None:
        """Go on with the changes of a store, the newest first: when, in which table and place, and
        the value before."""
        present: dict[tuple[Table[Any], int], Any] = {}
        self._changes.clear()
        for at, table, seq, before in changes:
            after = present.get((table, seq)) or table.rows[seq]
            if before is not None:
                before.seq = seq
            present[table, seq] = before
            self._changes.appendleft(_Change(at, table, after, before, step=at))
        self.noted = noted

    def forget(self) -> None:
        self._changes.clear()

    def _note(self, table: Table[Any], after: Any, before: Any) -> None:
        if self._is_rewound:
            return
        changes, (now, entry) = self._changes, self._present()
        while changes and changes[0].at <= now - self.longest:
            changes.popleft()
        self.is_cut = self.is_cut or len(changes) == MOST_CHANGES
        changes.append(_Change(now, table, after, before, step=("after", entry)))
        self.noted += 1

    def seen(self, result: Result, read: Callable[[], T]) -> T:
        """What is read in the step of a ``result``, as far behind as the rules say that decided it.
        Raises what ``read`` raises."""
        lag, changes, (now, _) = result.lag, self._changes, self._present()
        if lag == LAST_MOVE:
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
            for change in newer:
                if change.before is None:
                    change.table.add(change.after)
                else:
                    change.table.replace(change.before, change.after)
            self._is_rewound = False
