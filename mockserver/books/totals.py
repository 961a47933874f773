"""The running sums of the money of a sandbox: what ``money`` of the control API answers at once,
with whatever number of charges.

To add up 100,000 charges takes too long for a call, so the sums follow each change: what a row
counted for is taken off, what it counts for now is added. They must always be what adding up all
rows would give. Two things make that less than plain:

- A sandbox that is asked late has many rows already. They are learnt some at a time, with pauses in
  which others are served, and rows may change meanwhile: a change of a row that is not learnt yet
  does not count, since it will be learnt as it then is.
- A refund that waits for its provider becomes money by time alone, without a change of its charge.
  Such a charge is kept aside, and added up anew whenever sums are asked for, until it has none.

Source: docs/books.md, What the figures mean.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.figures import Figures, figures_of, money_of, transferred
from mockserver.domain.transfer import Transfer
from mockserver.engine.indexed_table import Table
from mockserver.engine.observer import Observer
from mockserver.engine.sandbox import Sandbox

_Row: TypeAlias = Charge | Transfer
_MoneyTable: TypeAlias = Table[Charge] | Table[Transfer]

_EVER: Micros = 1 << 62
"""An instant by which every refund has been answered."""

_AT_ONCE = 100
"""Rows that are learnt without a pause."""


def _no_money() -> dict[str, Decimal]:
    """The sums of a currency before anything was added: each figure begins at 0."""
    return defaultdict(Decimal)


class Totals(Observer):
    """The running sums of all charges and transfers of a sandbox, by currency.

    Of the sandbox it watches only its tables, and joins its observers when the books are first
    asked for: a sandbox of which nobody asks that pays nothing for it.
    """

    def __init__(self, tables: Sequence[_MoneyTable]) -> None:
        self._learnt = dict.fromkeys(tables, 0)
        """How many rows of each table count, from the first on."""
        self._sums = defaultdict[str, dict[str, Decimal]](_no_money)
        """By currency and name of a figure."""
        self._waiting: dict[str, Charge] = {}
        """By their ids: charges with refunds that their provider has answered late, or will."""
        for table in tables:
            table.listeners += (self._changed,)

    def unknown(self) -> Iterator[object]:
        """The rows that are still to be learnt, some at a time, which are learnt as they are
        given."""
        for table in self._learnt:
            while self._learnt[table] < len(table.rows):
                # Asked for each time: another reader may have learnt some in a pause.
                learnt = self._learnt[table]
                rows: Sequence[_Row] = table.rows[learnt : learnt + _AT_ONCE]
                self._learnt[table] = learnt + len(rows)
                for row in rows:
                    self._count(row)
                yield rows

    def at(self, now: Micros) -> Mapping[str, Figures]:
        """The sums at an instant, by currency in alphabetical order."""
        # What waits no longer is added for good.
        for charge in list(self._waiting.values()):
            if all(refund.moved <= now for refund in charge.refunds):
                self._add(self._waiting.pop(charge.charge_id))
        # What still waits is worked out for this instant.
        waiting = self._waiting.values()
        currencies = sorted(self._sums.keys() | {charge.currency for charge in waiting})
        totals = {currency: Figures(**self._sums[currency]) for currency in currencies}
        for charge in waiting:
            totals[charge.currency] += figures_of(charge, now)
        return totals

    def _changed(self, table: _MoneyTable, after: _Row, before: _Row | None) -> None:
        """A row has changed, or begun (``before`` None): a new one is learnt as any other."""
        if before is None or before.seq >= self._learnt[table]:
            # It is learnt later, as it then is.
            return
        if isinstance(before, Charge) and before.charge_id in self._waiting:
            # What waits is in no sum yet.
            del self._waiting[before.charge_id]
        else:
            self._add(before, -1)
        self._count(after)

    def _count(self, row: _Row) -> None:
        """Let a row count from now on: in the sums, or aside while time alone may change what it
        holds."""
        if isinstance(row, Charge) and any(refund.settles is not None for refund in row.refunds):
            self._waiting[row.charge_id] = row
        else:
            self._add(row)

    def _add(self, row: _Row, sign: int = 1) -> None:
        """Add what a row counts for to the sums, or take it off (``sign`` -1). All refunds in it
        have been answered: of others it does not come here."""
        money = money_of(row, _EVER) if isinstance(row, Charge) else transferred(row)
        sums = self._sums[row.currency]
        for name, amount in money:
            sums[name] += sign * amount


def totals_of(sandbox: Sandbox) -> Totals:
    """The running sums of a sandbox, kept from the first time on that they are asked for."""
    for observer in sandbox.observers:
        if isinstance(observer, Totals):
            return observer
    totals = Totals((sandbox.charges, sandbox.transfers))
    sandbox.observers = (*sandbox.observers, totals)
    return totals
