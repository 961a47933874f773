"""The running sums of the money of a sandbox. Source: docs/books.md, What the figures mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.books.figures import Figures, figures_of, transferred
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.transfer import Transfer
from mockserver.engine.indexed_table import Table

_EVER: Micros = 1 << 62
"""An instant by which every refund has been answered."""


class Totals:
    """The running sums of all charges and transfers of a sandbox, by currency. They are learnt once, row by row, when
    they are first asked for; from then on each change counts where it happens.

    A refund that waits for its provider depends on the time: its charge is kept aside until then.
    """

    def __init__(self, tables: Sequence[Table[Any]]) -> None:
        self._learnt = dict.fromkeys(tables, 0)
        self._sums = defaultdict[str, Figures](Figures)
        self._waiting: dict[str, Charge] = {}
        for table in tables:
            table.watch(self._changed)

    def unknown(self) -> Iterator[object]:
        """The rows that are still to be learnt, each learnt as it is given."""
        for table in self._learnt:
            while (place := self._learnt[table]) < len(table):
                self._learnt[table] += 1
                self._count(table.rows[place])
                yield table.rows[place]

    def at(self, now: Micros) -> Mapping[str, Figures]:
        """The sums at an instant, by currency in alphabetical order."""
        for charge in list(self._waiting.values()):
            if all(refund.moved <= now for refund in charge.refunds):
                self._sums[charge.currency] += _money(self._waiting.pop(charge.charge_id))
        sums = self._sums.copy()
        for charge in self._waiting.values():
            sums[charge.currency] += figures_of(charge, now)
        return {currency: sums[currency] for currency in sorted(sums)}

    def _changed(self, table: Table[Any], after: Any, before: Any | None) -> None:
        if before is not None and before.seq < self._learnt[table]:
            if self._waiting.pop(table.id_of(before), None) is None:
                self._sums[before.currency] -= _money(before)
            self._count(after)

    def _count(self, row: Charge | Transfer) -> None:
        if isinstance(row, Charge) and any(refund.settles is not None for refund in row.refunds):
            self._waiting[row.charge_id] = row
        else:
            self._sums[row.currency] += _money(row)


def _money(row: Charge | Transfer) -> Figures:
    return figures_of(row, _EVER) if isinstance(row, Charge) else transferred(row)
