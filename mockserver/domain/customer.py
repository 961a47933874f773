"""A customer: who pays, and which of the payment methods is the default.

Source: docs/spec/service.md, Customer; settled fact ``removed.customer_or_method``.
"""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.clock import Micros
from mockserver.domain.constraints import PaymentMethodId
from mockserver.domain.record import new_or_old, record, replace, updated
from mockserver.domain.states import CUSTOMER, Presence, PresenceEvent

DELETED = "deleted"
"""What is left of the e-mail and the phone of something removed (settled
fact ``removed.customer_or_method``)."""


@record
class PostalAddress:
    """A postal address as given; country and state are free text."""

    line1: str | None = None
    line2: str | None = None
    city: str | None = None
    country: str | None = None
    postal_code: str | None = None
    state: str | None = None


@record
class CustomerDetails:
    """Who a customer is, as far as a request says; None leaves a field as it is when a customer is
    changed."""

    reference: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    phone: str | None = None
    ip: str | None = None
    address: PostalAddress | None = None


@record
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
        return updated(Payer(), self)

    def after_update(
        self, details: CustomerDetails, default_payment_method_id: str | None
    ) -> Customer:
        """With what a request says; what it leaves out stays, also within the address."""
        address = details.address or self.address
        if self.address is not None and details.address is not None:
            address = updated(self.address, details.address)
        return replace(
            updated(self, details),
            address=address,
            default_payment_method_id=new_or_old(
                default_payment_method_id, self.default_payment_method_id
            ),
        )

    def after_removal(self, now: Micros) -> Customer:
        """Removed, without e-mail and phone. Raises ``WrongState`` (72)."""
        state = CUSTOMER.advance(self.state, PresenceEvent.REMOVED)
        return replace(self, state=state, removed=now, email=DELETED, phone=DELETED)
