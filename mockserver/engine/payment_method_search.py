"""The payment-method search. Source: service document, Payment methods; assumptions ``paging``, ``sort``,
``payment_method.search``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from mockserver.domain.clock import Micros
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.states import Presence
from mockserver.engine import listing
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.store import ListPage


@dataclass(frozen=True, slots=True)
class MethodFilter:
    """What the caller looks for; None means any. ``text`` is looked for in what people know a method by."""

    provider_id: str | None = None
    customer_id: str | None = None
    payment_type: str | None = None
    brand: str | None = None
    text: str | None = None
    added_after: Micros | None = None
    added_before: Micros | None = None
    include_removed: bool = False


SORTS: Mapping[str, Callable[[PaymentMethod], Any]] = {
    "dateadded": lambda method: method.seq,
    "date": lambda method: method.seq,
    "type": lambda method: method.instrument.type.value,
    "providerid": lambda method: method.provider.provider_id,
    "providertype": lambda method: method.provider.type,
    "customerid": lambda method: method.customer_id or "",
    "email": lambda method: (method.email or "").lower(),
    "paymentmethodid": lambda method: method.payment_method_id,
    "dateremoved": lambda method: method.removed or 0,
}
"""Fields that ``SortBy`` may name, in any letter case."""


def search(sandbox: Sandbox, wanted: MethodFilter, paging: listing.Paging) -> ListPage[PaymentMethod]:
    """Payment methods that fit, newest first. Raises ``Invalid`` (90) for a bad page or sort."""
    equal: list[tuple[str, tuple[Hashable, ...]]] = [
        (index, (value,))
        for index, value in (
            ("provider", wanted.provider_id),
            ("customer", wanted.customer_id),
            ("payment_type", wanted.payment_type.upper() if wanted.payment_type else None),
            ("brand", wanted.brand.upper() if wanted.brand else None),
            ("state", None if wanted.include_removed else Presence.ACTIVE),
        )
        if value is not None
    ]
    after, before = listing.window(sandbox, wanted.added_after, wanted.added_before)
    page = listing.bounds(sandbox, paging, SORTS)
    return sandbox.payment_methods.search(
        page.query(after, before, equal=equal, where=[_holds(wanted.text.lower())] if wanted.text else [])
    )


def _holds(text: str) -> Callable[[PaymentMethod], bool]:
    return lambda method: any(text in word.lower() for word in _words(method) if word)


def _words(method: PaymentMethod) -> tuple[str | None, ...]:
    card, bank, payer = method.instrument.card, method.instrument.bank, method.payer
    return (
        method.payment_method_id,
        method.email,
        *((card.cardholder, card.number.masked) if card else ()),
        *((bank.account_name, bank.account_number) if bank else ()),
        *((payer.reference, payer.first_name, payer.last_name, payer.email, payer.phone) if payer else ()),
    )
