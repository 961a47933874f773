"""The running sums of the money of a sandbox. Source: docs/books.md, What the figures mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from mockserver.books.figures import Figures, figures_of
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.engine.indexed_table import Table

_EVER: Micros = 1 << 62
"""An instant by which every refund has been answered."""


class Totals:
    """The running sums of all charges of a sandbox, by currency. They are learnt once, charge by charge, when they are
    first asked for; from then on each change counts where it happens.

    A refund that waits for its provider depends on the time: its charge is kept aside until then.
    """

    def __init__(self, charges: Table[Charge]) -> None:
        self._charges = charges
        self._sums = defaultdict[str, Figures](Figures)
        self._waiting: dict[str, Charge] = {}
        self._learnt = 0
        charges.watch(self._changed)

    def unknown(self) -> Iterator[Charge]:
        """The charges that are still to be learnt, each learnt as it is given."""
        while self._learnt < len(self._charges):
            charge = self._charges.rows[self._learnt]
            self._learnt += 1
            self._count(charge)
            yield charge

    def at(self, now: Micros) -> dict[str, Figures]:
        """The sums at an instant, by currency in alphabetical order."""
        for charge in list(self._waiting.values()):
            if all(refund.moved <= now for refund in charge.refunds):
                del self._waiting[charge.charge_id]
                self._sums[charge.currency] += figures_of(charge, now)
        sums = dict(self._sums)
        for charge in self._waiting.values():
            sums[charge.currency] = sums.get(charge.currency, Figures()) + figures_of(charge, now)
        return {currency: sums[currency] for currency in sorted(sums)}

    def _changed(self, _: Table[Charge], after: Charge, before: Charge | None) -> None:
        if before is not None and before.seq < self._learnt:
            self._discount(before)
            self._count(after)

    def _count(self, charge: Charge) -> None:
        if any(refund.settles is not None for refund in charge.refunds):
            self._waiting[charge.charge_id] = charge
        else:
            self._sums[charge.currency] += figures_of(charge, _EVER)

    def _discount(self, charge: Charge) -> None:
        if self._waiting.pop(charge.charge_id, None) is None:
            self._sums[charge.currency] -= figures_of(charge, _EVER)
