"""A customer: who pays, and which of the payment methods is the default.

Source: service document, Customer; assumption ``removed.customer_or_method``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.clock import Micros
from mockserver.domain.constraints import PaymentMethodId
from mockserver.domain.record import record
from mockserver.domain.states import Presence

DELETED = "deleted"
"""What is left of the e-mail and the phone of something removed (assumption ``removed.customer_or_method``)."""


@record
class PostalAddress:
    """A postal address as given; country and state are free text."""

    line1: str | None = None
    line2: str | None = None
    city: str | None = None
    country: str | None = None
    postal_code: str | None = None
    state: str | None = None


@dataclass(slots=True)
class Customer:
    """A customer as stored. Payment methods name their customer; only the default is named here."""

    customer_id: str
    added: Micros
    reference: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    phone: str | None = None
    ip: str | None = None
    address: PostalAddress | None = None
    default_payment_method_id: PaymentMethodId | None = None
    metadata: Mapping[str, str] | None = None
    webhook: WebhookTarget | None = None
    removed: Micros | None = None
    state: Presence = Presence.ACTIVE
    seq: int = -1

    def payer(self) -> Payer:
        """The customer as charges and payment methods show it."""
        return Payer(
            customer_id=self.customer_id,
            reference=self.reference,
            first_name=self.first_name,
            last_name=self.last_name,
            email=self.email,
            phone=self.phone,
            added=self.added,
            removed=self.removed,
        )


def merged(address: PostalAddress | None, given: PostalAddress | None) -> PostalAddress | None:
    """An address after a change that gives some of its fields: null leaves a field as it is."""
    if given is None or address is None:
        return given or address
    return PostalAddress(
        line1=given.line1 if given.line1 is not None else address.line1,
        line2=given.line2 if given.line2 is not None else address.line2,
        city=given.city if given.city is not None else address.city,
        country=given.country if given.country is not None else address.country,
        postal_code=given.postal_code if given.postal_code is not None else address.postal_code,
        state=given.state if given.state is not None else address.state,
    )
