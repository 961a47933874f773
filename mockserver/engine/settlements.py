"""Settlements: what each provider pays out for a day, worked out from the charges and refunds of the day before.

Nothing is stored: the same charges give the same settlements for ever. One settlement covers one provider and one day
and shows a row for every charge with money in it. Source: published facts, 1.1 row 76, 2.14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

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


def between(sandbox: Sandbox, first: Micros, last: Micros | None) -> list[SettlementRow]:
    """Rows whose settlement is of the days from ``first`` to ``last`` (None: today), the oldest first.

    A day settles at the midnight (UTC) after it. Raises ``Invalid`` (90) when ``last`` lies before ``first``.
    """
    begin = first - first % DAY
    until = sandbox.now if last is None else min(last - last % DAY + DAY - 1, sandbox.now)
    if last is not None and last < begin:
        raise Invalid(Code.VALIDATION_ERROR, {"EndDate": f"wanted {iso(begin)[:10]} or later"})
    days = sorted(
        day for day in sandbox.charges.values("money_day") if isinstance(day, int) and begin <= day + DAY <= until
    )
    return [row for day in days for row in _of_day(sandbox, day)]


def _of_day(sandbox: Sandbox, day: Micros) -> Iterator[SettlementRow]:
    charges = sorted(sandbox.charges.find("money_day", day), key=lambda charge: charge.provider.provider_id)
    for provider_id, group in groupby(charges, key=lambda charge: charge.provider.provider_id):
        settlement_id = digest("settlement", sandbox.config.seed, sandbox.key, provider_id, day).hex()
        for charge in group:
            amount = charge.moved_on(day)
            if amount:
                yield SettlementRow(
                    settlement_id=settlement_id,
                    provider_id=provider_id,
                    provider_name=charge.provider.name,
                    charge_id=charge.charge_id,
                    settled=day + DAY,
                    amount=amount,
                )
