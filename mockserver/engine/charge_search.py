"""The charge search: every parameter of the document, each that can be is an index.

Source: service document, Charges, Search; assumptions ``paging``, ``sort``, ``charge.search_card_number``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mockserver.assumptions.table import SEARCH_BOUNDS, SEARCH_CARD
from mockserver.domain.cards import MIN_LENGTH, PREFIX_LENGTHS, clean
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.faults import Faults
from mockserver.domain.states import ChargeState
from mockserver.engine import listing
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.store import ListPage


@dataclass(frozen=True, slots=True)
class ChargeFilter:
    """What the caller looks for; None means any."""

    reference: str | None = None
    provider_id: str | None = None
    customer_id: str | None = None
    status: ChargeState | None = None
    payment_method_id: str | None = None
    payment_type: str | None = None
    brand: str | None = None
    currency: str | None = None
    card_number: str | None = None
    cardholder: str | None = None
    batch_id: str | None = None
    subscription_id: str | None = None
    more_than: Decimal | None = None
    less_than: Decimal | None = None
    added_after: Micros | None = None
    added_before: Micros | None = None


SORTS: Mapping[str, Callable[[Charge], Any]] = {
    "dateadded": lambda charge: charge.seq,
    "date": lambda charge: charge.seq,
    "amount": lambda charge: charge.amount,
    "currency": lambda charge: charge.currency,
    "status": lambda charge: charge.status.value,
    "reference": lambda charge: charge.reference or "",
    "providerid": lambda charge: charge.provider.provider_id,
    "customerid": lambda charge: charge.customer_id or "",
    "chargeid": lambda charge: charge.charge_id,
    "successdate": lambda charge: charge.succeeded or 0,
    "voiddate": lambda charge: charge.voided or 0,
    "refundedamount": lambda charge: charge.refunded,
}
"""Fields that ``SortBy`` may name, in any letter case."""


def search(sandbox: Sandbox, wanted: ChargeFilter, paging: listing.Paging, faults: Faults) -> ListPage[Charge]:
    """Charges that fit, newest first. Raises ``Invalid`` (90) for ``faults`` found before and for a bad page, sort or
    card number.
    """
    equal: list[tuple[str, tuple[Hashable, ...]]] = [
        (index, (value,))
        for index, value in (
            ("reference", wanted.reference),
            ("provider", wanted.provider_id),
            ("customer", wanted.customer_id),
            ("status", wanted.status),
            ("payment_method", wanted.payment_method_id),
            ("payment_type", wanted.payment_type.upper() if wanted.payment_type else None),
            ("brand", wanted.brand.upper() if wanted.brand else None),
            ("currency", wanted.currency.upper() if wanted.currency else None),
            ("cardholder", wanted.cardholder),
            ("batch", wanted.batch_id),
            ("subscription", wanted.subscription_id),
        )
        if value is not None
    ]
    if wanted.card_number is not None:
        sandbox.assume(SEARCH_CARD)
        equal.append(("fingerprint", tuple(_fingerprints(sandbox, wanted.card_number, faults))))
    where: list[Callable[[Charge], bool]] = []
    more, less = wanted.more_than, wanted.less_than
    inclusive = (more is not None or less is not None) and sandbox.assume(SEARCH_BOUNDS) == "inclusive"
    if more is not None:
        where.append(lambda charge: charge.amount > more or (inclusive and charge.amount == more))
    if less is not None:
        where.append(lambda charge: charge.amount < less or (inclusive and charge.amount == less))
    after, before = listing.window(sandbox, wanted.added_after, wanted.added_before)
    page = listing.bounds(sandbox, paging, SORTS, faults)
    return sandbox.charges.search(page.query(after, before, equal=equal, where=where))


def _fingerprints(sandbox: Sandbox, given: str, faults: Faults) -> list[str]:
    digits = clean(given)
    if digits is None or (len(digits) not in PREFIX_LENGTHS and len(digits) < MIN_LENGTH):
        allowed = ", ".join(map(str, PREFIX_LENGTHS))
        faults.add(Code.VALIDATION_ERROR, "CardNumber", f"wanted {allowed} leading digits, or the whole number")
        return []
    return sandbox.cards.fingerprints(digits)
