"""The running sums of the money of a sandbox. Source: docs/books.md, What the figures mean."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.figures import Figures, figures_of, money_of, transferred
from mockserver.domain.transfer import Transfer
from mockserver.engine.indexed_table import Table
from mockserver.engine.observer import Observer
from mockserver.engine.sandbox import Sandbox

_EVER: Micros = 1 << 62
"""An instant by which every refund has been answered."""

_SOME = 100
"""Rows that are learnt without a pause."""


class Totals(Observer):
    """The running sums of all charges and transfers of a sandbox, by currency. Rows are learnt when
    they are next asked for; from then on each of their changes counts where it happens.

    Of the sandbox it watches only its tables, and joins its observers when the books are first
    asked for: a sandbox of which nobody asks that pays nothing for it. A refund that waits for its
    provider depends on the time: its charge is kept aside until then."""

    def __init__(self, tables: Sequence[Table[Any]]) -> None:
        self._learnt = dict.fromkeys(tables, 0)
        self._sums = defaultdict[str, dict[str, Decimal]](partial(defaultdict, Decimal))
        self._waiting: dict[str, Charge] = {}
        for table in tables:
            table.listeners += (self._changed,)

    def unknown(self) -> Iterator[object]:
        """The rows that are still to be learnt, some at a time, which are learnt as they are
        given."""
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
                self._add(self._waiting.pop(charge.charge_id))
        waiting = self._waiting.values()
        currencies = sorted(self._sums.keys() | {charge.currency for charge in waiting})
        totals = {currency: Figures(**self._sums[currency]) for currency in currencies}
        for charge in waiting:
            totals[charge.currency] += figures_of(charge, now)
        return totals

    def _changed(self, table: Table[Any], after: Any, before: Any | None) -> None:
        if before is not None and before.seq < self._learnt[table]:
            if self._waiting.pop(table.id_of(before), None) is None:
                self._add(before, -1)
            self._count(after)

    def _count(self, row: Charge | Transfer) -> None:
        if (
            isinstance(row, Charge)
            and row.refunds
            and any(refund.settles is not None for refund in row.refunds)
        ):
            self._waiting[row.charge_id] = row
        else:
            self._add(row)

    def _add(self, row: Charge | Transfer, sign: int = 1) -> None:
        sums = self._sums[row.currency]
        for name, amount in money_of(row, _EVER) if isinstance(row, Charge) else transferred(row):
            sums[name] += sign * amount


def totals_of(sandbox: Sandbox) -> Totals:
    """The running sums of a sandbox, kept from the first time on that they are asked for."""
    for observer in sandbox.observers:
        if isinstance(observer, Totals):
            return observer
    totals = Totals((sandbox.charges, sandbox.transfers))
    sandbox.observers = (*sandbox.observers, totals)
    return totals
