"""The customer search. Source: service document, Customers; assumptions ``paging``, ``sort``, ``customer.search``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from mockserver.domain.clock import Micros
from mockserver.domain.customer import Customer
from mockserver.domain.states import Presence
from mockserver.engine import listing
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.store import ListPage


@dataclass(frozen=True, slots=True)
class CustomerFilter:
    """What the caller looks for; None means any. ``text`` is looked for in reference, names, e-mail and phone."""

    reference: str | None = None
    email: str | None = None
    customer_id: str | None = None
    payment_method_id: str | None = None
    text: str | None = None
    added_after: Micros | None = None
    added_before: Micros | None = None
    include_removed: bool = False


SORTS: Mapping[str, Callable[[Customer], Any]] = {
    "dateadded": lambda customer: customer.seq,
    "date": lambda customer: customer.seq,
    "reference": lambda customer: (customer.reference or "").lower(),
    "firstname": lambda customer: (customer.first_name or "").lower(),
    "lastname": lambda customer: (customer.last_name or "").lower(),
    "email": lambda customer: (customer.email or "").lower(),
    "phone": lambda customer: customer.phone or "",
    "customerid": lambda customer: customer.customer_id,
    "dateremoved": lambda customer: customer.removed or 0,
}
"""Fields that ``SortBy`` may name, in any letter case."""


def search(sandbox: Sandbox, wanted: CustomerFilter, paging: listing.Paging) -> ListPage[Customer]:
    """Customers that fit, newest first. Raises ``Invalid`` (90) for a bad page or sort."""
    customer_ids = [wanted.customer_id] if wanted.customer_id is not None else []
    if wanted.payment_method_id is not None:
        method = sandbox.payment_methods.get(wanted.payment_method_id)
        customer_ids.append((method.customer_id if method else None) or "")
    equal: list[tuple[str, tuple[Hashable, ...]]] = [("id", (customer_id,)) for customer_id in customer_ids]
    if wanted.reference is not None:
        equal.append(("reference", (wanted.reference,)))
    if wanted.email is not None:
        equal.append(("email", (wanted.email.lower(),)))
    if not wanted.include_removed:
        equal.append(("state", (Presence.ACTIVE,)))
    after, before = listing.window(sandbox, wanted.added_after, wanted.added_before)
    page = listing.bounds(sandbox, paging, SORTS)
    return sandbox.customers.search(
        page.query(after, before, equal=equal, where=[_holds(wanted.text.lower())] if wanted.text else [])
    )


def _holds(text: str) -> Callable[[Customer], bool]:
    def holds(customer: Customer) -> bool:
        names = (customer.reference, customer.first_name, customer.last_name, customer.email, customer.phone)
        full = f"{customer.first_name or ''} {customer.last_name or ''}"
        return any(text in name.lower() for name in (*names, full) if name)

    return holds
