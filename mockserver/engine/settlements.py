"""Settlements: what each provider pays out for a day, worked out from the charges and refunds of the day before.

Nothing is stored: the same charges give the same settlements for ever. One settlement covers one provider and one day
and shows a row for every charge with money in it. Source: published facts, 1.1 row 76, 2.14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import DAY, Micros, iso
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.domain.ids import digest
from mockserver.engine.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class SettlementRow:
    """One charge of a settlement; ``amount`` is what came in less what was given back that day, so it can be
    negative."""

    settlement_id: str
    provider_id: str
    provider_name: str
    charge_id: str
    settled: Micros
    amount: Decimal


def between(box: Sandbox, first: Micros, last: Micros | None) -> list[SettlementRow]:
    """Rows whose settlement is of the days from ``first`` to ``last`` (None: today), the oldest first.

    A day settles at the midnight (UTC) after it. Raises ``Invalid`` (90) when ``last`` lies before ``first``.
    """
    begin = first - first % DAY
    until = box.now if last is None else min(last - last % DAY + DAY - 1, box.now)
    if last is not None and last < begin:
        raise Invalid(Code.VALIDATION_ERROR, {"EndDate": f"wanted {iso(begin)[:10]} or later"})
    found = [
        (day, charge, amount) for charge in box.charges for day, amount in _days(charge) if begin <= day + DAY <= until
    ]
    found.sort(key=lambda entry: (entry[0], entry[1].provider.provider_id, entry[1].seq))
    return [
        SettlementRow(
            settlement_id=digest("settlement", box.charter.seed, box.key, charge.provider.provider_id, day).hex(),
            provider_id=charge.provider.provider_id,
            provider_name=charge.provider.name,
            charge_id=charge.charge_id,
            settled=day + DAY,
            amount=amount,
        )
        for day, charge, amount in found
    ]


def _days(charge: Charge) -> Iterator[tuple[Micros, Decimal]]:
    """The days, by their first instant, on which a charge moved money, and how much."""
    if charge.succeeded is None:
        return
    moved: dict[Micros, Decimal] = {charge.succeeded - charge.succeeded % DAY: charge.amount}
    for refund in charge.refunds:
        day = refund.added - refund.added % DAY
        moved[day] = moved.get(day, ZERO) - refund.amount
    yield from ((day, amount) for day, amount in moved.items() if amount)
