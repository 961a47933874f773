"""A charge: what it is, and what capture, void and refund may do to it, to the cent.

Sources: service document, Charge, and States and transitions; assumptions ``charge.capture_amount``,
``charge.refund_amount``.
Each ``after_*`` method gives the charge as it is after a move; it raises when the state table forbids the move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Annotated

from mockserver.domain.clock import DAY, Micros
from mockserver.domain.codes import Code
from mockserver.domain.constraints import (
    Amount,
    BatchId,
    CurrencyCode,
    CustomerId,
    PaymentLinkId,
    ProviderId,
    SubscriptionId,
    Within,
)
from mockserver.domain.errors import Invalid
from mockserver.domain.money import CURRENCIES, exact, number_text
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import record, replace
from mockserver.domain.sources import CheckoutTransfer, Instrument
from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState

ZERO = Decimal(0)


@record
class Payer:
    """The customer as a charge shows it: stored, or only named in the request (assumption
    ``charge.customer_summary``)."""

    customer_id: CustomerId | None = None
    reference: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    phone: str | None = None
    added: Micros | None = None
    removed: Micros | None = None


@record
class WebhookTarget:
    """Where a caller wants to be told, and the authorisation value to present there."""

    url: str
    authorization: str | None = field(default=None, repr=False)


@record
class Refund:
    """One refund of a charge."""

    amount: Amount
    added: Micros
    comment: str | None


@record
class FailedAttempt:
    """One try of one provider that failed."""

    provider_id: ProviderId
    attempted: Micros
    error_code: int
    error_message: str
    gateway_code: str | None
    gateway_message: str | None
    is_retryable: bool


@record
class Charge:
    """A charge as stored. Amounts are exact decimals of ``currency``; instants are microseconds."""

    charge_id: str
    provider_charge_id: str | None
    amount: Amount
    currency: CurrencyCode
    status: ChargeState
    provider: ProviderSummary
    instrument: Instrument
    added: Micros
    reference: str | None = None
    email: str | None = None
    customer_id: CustomerId | None = None
    payer: Payer | None = None
    authorised: Amount | None = None
    capture: bool = True
    refunded: Amount = ZERO
    refunds: tuple[Refund, ...] = ()
    failed_attempts: tuple[FailedAttempt, ...] = ()
    succeeded: Micros | None = None
    voided: Micros | None = None
    estimated_cost: Annotated[Decimal, Within(0)] | None = None
    three_ds_verified: bool = False
    three_ds_server_trans_id: str | None = None
    challenged: bool = False
    three_ds_notification_url: str | None = None
    initiator: str | None = None
    ip: str | None = None
    descriptor: str | None = None
    subscription_id: SubscriptionId | None = None
    batch_id: BatchId | None = None
    payment_link_id: PaymentLinkId | None = None
    metadata: Mapping[str, str] | None = None
    webhook: WebhookTarget | None = None
    transfer: CheckoutTransfer | None = None
    seq: int = -1

    @property
    def refundable(self) -> Decimal:
        """What is left to refund."""
        return self.amount - self.refunded

    def money_days(self) -> tuple[Micros, ...]:
        """The days (UTC), by their first instant, on which money came in or was given back."""
        paid = self.succeeded
        if paid is None:
            return ()
        if not self.refunds:
            return (paid - paid % DAY,)
        return tuple({instant - instant % DAY for instant in (paid, *(refund.added for refund in self.refunds))})

    def moved_on(self, day: Micros) -> Decimal:
        """What came in on a day less what was given back on it."""
        paid = self.succeeded
        came = self.amount if paid is not None and paid - paid % DAY == day else ZERO
        return came - sum((refund.amount for refund in self.refunds if refund.added - refund.added % DAY == day), ZERO)

    def after_capture(self, amount: Decimal | None, now: Micros) -> Charge:
        """Complete an authorised charge, in part or in whole; what is not captured is released.

        Raises ``WrongState`` (54), ``Invalid`` 74 (not positive), 2 (too many digits), 77 (more than was authorised).
        """
        status = CHARGE.advance(self.status, ChargeEvent.CAPTURED)
        captured = self.amount if amount is None else _positive(amount, self)
        if captured > self.amount:
            told = f"got {number_text(captured)}, authorised are {number_text(self.amount)} {self.currency}"
            raise Invalid(Code.INVALID_CAPTURE_AMOUNT_PASSED, {"Amount": told})
        return replace(self, status=status, amount=captured, succeeded=now)

    def after_void(self, event: ChargeEvent, now: Micros) -> Charge:
        """Cancel an authorised charge, by request (``VOIDED``) or by time (``EXPIRED``). Raises ``WrongState`` (54)."""
        return replace(self, status=CHARGE.advance(self.status, event), voided=now)

    def after_refund(self, amount: Decimal | None, comment: str | None, now: Micros) -> Charge:
        """Give back a part or all that is left.

        Raises ``WrongState`` (54), ``Invalid`` 74 (not positive), 2 (too many digits), 76 (more than is left).
        """
        CHARGE.advance(self.status, ChargeEvent.PARTLY_REFUNDED)
        left = self.refundable
        given = left if amount is None else _positive(amount, self)
        if given > left:
            told = f"got {number_text(given)}, left to refund are {number_text(left)} {self.currency}"
            raise Invalid(Code.INVALID_AMOUNT_MAXIMUM_AVAILABLE_REFUND, {"Amount": told})
        event = ChargeEvent.FULLY_REFUNDED if given == left else ChargeEvent.PARTLY_REFUNDED
        return replace(
            self,
            status=CHARGE.advance(self.status, event),
            refunded=self.refunded + given,
            refunds=(*self.refunds, Refund(given, now, comment)),
        )

    def after_settlement(self, event: ChargeEvent, now: Micros) -> Charge:
        """End a pending charge: ``SETTLED`` or ``RETURNED``. Raises ``WrongState`` (54)."""
        status = CHARGE.advance(self.status, event)
        return replace(self, status=status, succeeded=now if status is ChargeState.SUCCESS else self.succeeded)

    def after_challenge(self, event: ChargeEvent, attempt: FailedAttempt | None, now: Micros) -> Charge:
        """End a 3-D Secure challenge: paid or authorised when it was passed, else failed by ``attempt``.

        Raises ``WrongState`` (54).
        """
        status = CHARGE.advance(self.status, event)
        if attempt is not None:
            return replace(self, status=status, failed_attempts=(*self.failed_attempts, attempt), authorised=None)
        succeeded = now if status is ChargeState.SUCCESS else self.succeeded
        return replace(self, status=status, three_ds_verified=True, succeeded=succeeded)

    def as_before(self, before: ChargeState) -> Charge:
        """The charge as it was in the state before its last move."""
        refunds = self.refunds[:-1] if self.refunds else ()
        waiting = before in (ChargeState.AUTHORISED, ChargeState.PENDING, ChargeState.PENDING_CHECKOUT)
        return replace(
            self,
            status=before,
            amount=self.authorised if waiting and self.authorised is not None else self.amount,
            refunds=refunds,
            refunded=sum((refund.amount for refund in refunds), ZERO),
            succeeded=None if waiting else self.succeeded,
            voided=None,
        )


def _positive(amount: Decimal, charge: Charge) -> Decimal:
    if amount <= 0:
        raise Invalid(
            Code.INVALID_AMOUNT_MUST_BE_POSITIVE, {"Amount": f"got {number_text(amount)}, wanted more than 0"}
        )
    return exact(amount, CURRENCIES[charge.currency])
