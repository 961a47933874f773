"""A charge: what it is, and what capture, void and refund may do to it, to the cent.

Sources: service document, Charge, and States and transitions; assumptions ``charge.capture_amount``,
``charge.refund_amount``.
Each ``*_changes`` function decides and returns the fields that change; it raises before anything has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

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
from mockserver.domain.record import record
from mockserver.domain.sources import CheckoutTransfer, Instrument
from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState

Changes = Mapping[str, Any]

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


@dataclass(slots=True)
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


def _positive(amount: Decimal, charge: Charge) -> Decimal:
    if amount <= 0:
        raise Invalid(
            Code.INVALID_AMOUNT_MUST_BE_POSITIVE, {"Amount": f"got {number_text(amount)}, wanted more than 0"}
        )
    return exact(amount, CURRENCIES[charge.currency])


def capture_changes(charge: Charge, amount: Decimal | None, now: Micros) -> Changes:
    """Complete an authorised charge, in part or in whole; what is not captured is released.

    Raises ``WrongState`` (54), ``Invalid`` 74 (not positive), 2 (too many digits), 77 (more than was authorised).
    """
    status = CHARGE.advance(charge.status, ChargeEvent.CAPTURED)
    captured = charge.amount if amount is None else _positive(amount, charge)
    if captured > charge.amount:
        raise Invalid(
            Code.INVALID_CAPTURE_AMOUNT_PASSED,
            {"Amount": f"got {number_text(captured)}, authorised are {number_text(charge.amount)} {charge.currency}"},
        )
    return {"status": status, "amount": captured, "succeeded": now}


def void_changes(charge: Charge, event: ChargeEvent, now: Micros) -> Changes:
    """Cancel an authorised charge, by request (``VOIDED``) or by time (``EXPIRED``). Raises ``WrongState`` (54)."""
    return {"status": CHARGE.advance(charge.status, event), "voided": now}


def refund_changes(charge: Charge, amount: Decimal | None, comment: str | None, now: Micros) -> Changes:
    """Give back a part or all that is left.

    Raises ``WrongState`` (54), ``Invalid`` 74 (not positive), 2 (too many digits), 76 (more than is left).
    """
    CHARGE.advance(charge.status, ChargeEvent.PARTLY_REFUNDED)
    left = charge.refundable
    given = left if amount is None else _positive(amount, charge)
    if given > left:
        raise Invalid(
            Code.INVALID_AMOUNT_MAXIMUM_AVAILABLE_REFUND,
            {"Amount": f"got {number_text(given)}, left to refund are {number_text(left)} {charge.currency}"},
        )
    event = ChargeEvent.FULLY_REFUNDED if given == left else ChargeEvent.PARTLY_REFUNDED
    return {
        "status": CHARGE.advance(charge.status, event),
        "refunded": charge.refunded + given,
        "refunds": (*charge.refunds, Refund(given, now, comment)),
    }


def settle_changes(charge: Charge, event: ChargeEvent, now: Micros) -> Changes:
    """End a pending charge: ``SETTLED`` or ``RETURNED``. Raises ``WrongState`` (54)."""
    status = CHARGE.advance(charge.status, event)
    return {"status": status, "succeeded": now} if status is ChargeState.SUCCESS else {"status": status}


def challenge_changes(charge: Charge, event: ChargeEvent, attempt: FailedAttempt | None, now: Micros) -> Changes:
    """End a 3-D Secure challenge: paid or authorised when it was passed, else failed by ``attempt``.

    Raises ``WrongState`` (54).
    """
    status = CHARGE.advance(charge.status, event)
    if attempt is not None:
        return {"status": status, "failed_attempts": (*charge.failed_attempts, attempt), "authorised": None}
    changes = {"status": status, "three_ds_verified": True}
    return {**changes, "succeeded": now} if status is ChargeState.SUCCESS else changes


def as_before(charge: Charge, before: ChargeState) -> Charge:
    """A copy of a charge as it was in the state before its last move."""
    refunds = charge.refunds[:-1] if charge.refunds else ()
    waiting = before in (ChargeState.AUTHORISED, ChargeState.PENDING, ChargeState.PENDING_CHECKOUT)
    return replace(
        charge,
        status=before,
        amount=charge.authorised if waiting and charge.authorised is not None else charge.amount,
        refunds=refunds,
        refunded=sum((refund.amount for refund in refunds), ZERO),
        succeeded=None if waiting else charge.succeeded,
        voided=None,
    )
