"""The running sums of the money of a sandbox. Source: docs/books.md, What the figures mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from mockserver.books.figures import Figures, money_of, transferred
from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Micros
from mockserver.domain.transfer import Transfer
from mockserver.engine.indexed_table import Table

_EVER: Micros = 1 << 62
"""An instant by which every refund has been answered."""

_SOME = 100
"""Rows that are learnt without a pause."""


class Totals:
    """The running sums of all charges and transfers of a sandbox, by currency. Rows are learnt when they are next asked
    for; from then on each of their changes counts where it happens.

    A refund that waits for its provider depends on the time: its charge is kept aside until then."""

    def __init__(self, tables: Sequence[Table[Any]]) -> None:
        self._learnt = dict.fromkeys(tables, 0)
        self._sums = defaultdict[str, _Sums](_Sums)
        self._waiting: dict[str, Charge] = {}
        for table in tables:
            table.watch(self._changed)

    def unknown(self) -> Iterator[object]:
        """The rows that are still to be learnt, some at a time, which are learnt as they are given."""
        for table in self._learnt:
            # Another reader may have learnt some in a pause.
            while some := table.rows[(known := self._learnt[table]) : known + _SOME]:
                self._learnt[table] = known + len(some)
                for row in some:
                    self._count(row)
                yield some

    def at(self, now: Micros) -> Mapping[str, Figures]:
        """The sums at an instant, by currency in alphabetical order."""
        for charge in list(self._waiting.values()):
            if all(refund.moved <= now for refund in charge.refunds):
                self._sums[charge.currency].add(_money(self._waiting.pop(charge.charge_id)))
        sums = {currency: _Sums(self._sums[currency]) for currency in sorted(self._sums)}
        for charge in self._waiting.values():
            sums[charge.currency].add(money_of(charge, now))
        return {currency: Figures(**of) for currency, of in sums.items()}

    def _changed(self, table: Table[Any], after: Any, before: Any | None) -> None:
        if before is not None and before.seq < self._learnt[table]:
            if self._waiting.pop(table.id_of(before), None) is None:
                self._sums[before.currency].add((name, -amount) for name, amount in _money(before))
            self._count(after)

    def _count(self, row: Charge | Transfer) -> None:
        sums = self._sums[row.currency]
        if isinstance(row, Charge) and row.refunds and any(refund.settles is not None for refund in row.refunds):
            self._waiting[row.charge_id] = row
        else:
            sums.add(_money(row))


class _Sums(dict[str, Decimal]):
    def add(self, money: Iterable[tuple[str, Decimal]]) -> None:
        for name, amount in money:
            self[name] = self.get(name, ZERO) + amount


def _money(row: Charge | Transfer) -> Iterator[tuple[str, Decimal]]:
    return money_of(row, _EVER) if isinstance(row, Charge) else transferred(row)
