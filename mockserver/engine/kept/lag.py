"""What reads that lag see: the values before the newest changes of a sandbox (``engine.past``)."""

from __future__ import annotations

from collections.abc import Sequence

from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import Changes, KeptRow
from mockserver.engine.past import Past
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.tables import ROW_CLASSES


class PastPart:
    """The changes that reads may have to take back, each with the value before; that after it stands in the next
    change of the same row, or in its table."""

    name = "past"

    __slots__ = ("_begins", "_forms", "_noted", "_past", "_sandbox")

    def __init__(self, sandbox: Sandbox, forms: Forms) -> None:
        self._sandbox = sandbox
        self._forms = forms
        self._past: Past | None = None
        self._noted = self._begins = 0

    def gather(self, changes: Changes) -> None:
        """Changes that are new, and those that are too old or forgotten."""
        past = self._sandbox.past
        if past is None:
            return
        if past is not self._past:
            self._past, self._noted = past, 0
        if past.noted > self._noted:
            tables = {id(getattr(self._sandbox, name)): name for name in ROW_CLASSES}
            new = list(past.newest(past.noted - self._noted))
            for number, (at, table, after, before) in enumerate(new, past.noted - len(new) + 1):
                name = tables[id(table)]
                plain = self._forms.of(ROW_CLASSES[name]).to_plain(before) if before is not None else None
                changes.put(self.name, number, [at, name, after.seq, plain])
            self._noted = past.noted
        begins = past.noted - len(past)
        if begins != self._begins:
            self._begins = begins
            changes.cuts.append((self.name, begins))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """The changes, once the tables are there."""
        sandbox = self._sandbox
        self._past = sandbox.past
        if sandbox.past is None:
            return
        changes = [
            (
                at,
                getattr(sandbox, name),
                seq,
                self._forms.of(ROW_CLASSES[name]).to_value(plain, cards) if plain else None,
            )
            for _, (at, name, seq, plain) in reversed(rows)
        ]
        self._noted = rows[-1][0] if rows else 0
        self._begins = self._noted - len(rows)
        sandbox.past.take_over(changes, self._noted)
