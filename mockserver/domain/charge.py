"""A charge: what it is, and what capture, void and refund may do to it, to the cent.

Sources: docs/spec/service.md, Charge, and States and transitions; assumptions
``charge.capture_amount``, ``charge.refund_amount``. Each ``after_*`` method gives the charge as it
is after a move; it raises when the state table forbids the move.
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
from mockserver.domain.money import CURRENCIES, number_text, positive
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
    """Where a caller wants webhooks, and the authorisation value to present there."""

    url: str
    authorization: str | None = field(default=None, repr=False)


@record
class Refund:
    """One refund of a charge. ``settles`` is when its provider answers, or has answered, one that
    it did not answer at once."""

    amount: Amount
    added: Micros
    comment: str | None
    settles: Micros | None = None

    @property
    def moved(self) -> Micros:
        """When the money goes back."""
        return self.added if self.settles is None else self.settles

    @property
    def mark(self) -> str:
        """What distinguishes a refund that waits for an answer from one that waits for another."""
        return f"{self.settles}|{number_text(self.amount)}"


@record
class PartCaptured:
    """One of several captures of a charge."""

    amount: Amount
    added: Micros


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
    """A charge as stored. Amounts are exact decimals of ``currency``; instants are microseconds.

    ``authorised`` is what its provider has agreed to: None where it has declined, or still has to
    say whether it holds the amount (``waits_for_hold``). ``returned`` is when its provider took a
    payment back that had succeeded; ``reserved`` are refunds that are not shown before their
    provider has answered (assumption ``charge.pending_refund``). ``captures`` are there where there
    may be several, ``kept`` is what is still held for more (assumption ``charge.capture_amount``).
    """

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
    returned: Micros | None = None
    reserved: tuple[Refund, ...] | None = None
    captures: tuple[PartCaptured, ...] = ()
    kept: Amount | None = None
    seq: int = -1

    def waits_for_hold(self) -> bool:
        """Whether its provider still has to say whether it holds the amount for a capture."""
        return self.status is ChargeState.PENDING and not self.capture and self.authorised is None

    @property
    def refundable(self) -> Decimal:
        """What is left to refund."""
        left = self.amount - self.refunded
        return (
            left
            if self.reserved is None
            else left - sum((refund.amount for refund in self.reserved), ZERO)
        )

    def money_days(self) -> tuple[Micros, ...]:
        """The days (UTC), by their first instant, on which money came in or was given back."""
        paid = self.succeeded
        if paid is None:
            return ()
        instants = [one.added for one in self.captures] + [one.moved for one in self.refunds]
        return tuple(
            {instant - instant % DAY for instant in (paid, self.returned or paid, *instants)}
        )

    def moved_on(self, day: Micros) -> Decimal:
        """What came in on a day less what was given back on it."""
        paid, returned = self.succeeded, self.returned
        taken = self.captures or ((PartCaptured(self.amount, paid),) if paid is not None else ())
        came = sum((one.amount for one in taken if one.added - one.added % DAY == day), ZERO)
        went = self.amount if returned is not None and returned - returned % DAY == day else ZERO
        return came - sum(
            (one.amount for one in self.refunds if one.moved - one.moved % DAY == day), went
        )

    def after_capture(
        self,
        amount: Decimal | None,
        now: Micros,
        event: ChargeEvent = ChargeEvent.CAPTURED,
        *,
        keeps_rest: bool = False,
    ) -> Charge:
        """Complete an authorised charge, in part or in whole; what is not captured is released, or
        kept for further captures (``keeps_rest``). ``PENDING``: its provider answers later. Raises
        ``WrongState`` (54), ``Invalid`` 74 (not positive), 2 (too many digits), 77 (more than was
        authorised)."""
        status = CHARGE.advance(
            self.status, event if self.kept is None else ChargeEvent.CAPTURED_MORE
        )
        held = self.amount if self.kept is None else self.kept
        captured = held if amount is None else positive(amount, CURRENCIES[self.currency])
        if captured > held:
            words = (
                f"got {number_text(captured)}, authorised are {number_text(held)} {self.currency}"
            )
            raise Invalid(Code.INVALID_CAPTURE_AMOUNT_PASSED, {"Amount": words})
        if status is not ChargeState.SUCCESS or not (keeps_rest or self.captures):
            succeeded = now if status is ChargeState.SUCCESS else None
            return replace(self, status=status, amount=captured, succeeded=succeeded)
        captures = (*self.captures, PartCaptured(captured, now))
        return replace(
            self,
            status=status,
            amount=sum((one.amount for one in captures), ZERO),
            succeeded=captures[0].added,
            captures=captures,
            kept=held - captured if captured < held else None,
        )

    def after_void(self, event: ChargeEvent, now: Micros) -> Charge:
        """Cancel an authorised charge, by request (``VOIDED``) or by time (``EXPIRED``), or what is
        still held of it. Raises ``WrongState`` (54)."""
        if self.kept is None:
            return replace(self, status=CHARGE.advance(self.status, event), voided=now)
        CHARGE.advance(self.status, ChargeEvent.REST_RELEASED)
        return self._without_rest(now)

    def _without_rest(self, now: Micros) -> Charge:
        return self if self.kept is None else replace(self, kept=None, voided=now)

    def after_refund(self, refund: Refund) -> Charge:
        """Give back a part or all that is left (``refund_of``); what is held for captures is
        released. Raises ``WrongState`` (54)."""
        refunded = self.refunded + refund.amount
        event = (
            ChargeEvent.FULLY_REFUNDED if refunded == self.amount else ChargeEvent.PARTLY_REFUNDED
        )
        status = CHARGE.advance(self.status, event)
        before = self._without_rest(refund.added)
        return replace(before, status=status, refunded=refunded, refunds=(*self.refunds, refund))

    def after_reserving(self, refund: Refund) -> Charge:
        """Keep what a refund (``refund_of``) needs until its provider has answered."""
        return replace(self, reserved=(*(self.reserved or ()), refund))

    def after_answer(self, mark: str, *, settled: bool) -> Charge | None:
        """The provider has answered a refund that waited for it: its money has gone back, or it has
        failed and is a refund no longer. None when nothing changes. Raises ``WrongState`` (54)."""
        for refund in self.reserved or ():
            if refund.mark == mark:
                others = tuple(one for one in self.reserved or () if one is not refund)
                kept = replace(self, reserved=others or None)
                return kept.after_refund(refund) if settled else kept
        for refund in self.refunds if not settled else ():
            if refund.mark == mark:
                others = tuple(one for one in self.refunds if one is not refund)
                event = ChargeEvent.REFUND_FAILED if others else ChargeEvent.LAST_REFUND_FAILED
                status = CHARGE.advance(self.status, event)
                return replace(
                    self, status=status, refunded=self.refunded - refund.amount, refunds=others
                )
        return None

    def refund_of(self, amount: Decimal | None, comment: str | None, now: Micros) -> Refund:
        """A refund of a part or of all that is left. Raises ``WrongState`` (54), ``Invalid`` 74
        (not positive), 2 (too many digits), 76 (more than is left)."""
        CHARGE.advance(self.status, ChargeEvent.PARTLY_REFUNDED)
        left = self.refundable
        given = left if amount is None else positive(amount, CURRENCIES[self.currency])
        if given > left or not left:
            words = (
                f"got {number_text(given)}, at most {number_text(left)} {self.currency} can "
                "be refunded"
            )
            raise Invalid(Code.INVALID_AMOUNT_MAXIMUM_AVAILABLE_REFUND, {"Amount": words})
        return Refund(given, now, comment)

    def after_settlement(self, event: ChargeEvent, now: Micros) -> Charge:
        """End a pending charge: ``SETTLED``, ``AUTHORISED`` (a hold) or ``RETURNED``; or take a
        payment back that had succeeded. Raises ``WrongState`` (54)."""
        status = CHARGE.advance(self.status, event)
        if status is ChargeState.AUTHORISED:
            return replace(self, status=status, authorised=self.amount)
        if status is ChargeState.SUCCESS:
            return replace(self, status=status, succeeded=now)
        before = self._without_rest(now)
        return replace(before, status=status, returned=None if self.succeeded is None else now)

    def after_challenge(
        self, event: ChargeEvent, attempt: FailedAttempt | None, now: Micros
    ) -> Charge:
        """End a 3-D Secure challenge: paid, authorised or pending when it was passed, else failed
        by ``attempt``. Raises ``WrongState`` (54)."""
        status = CHARGE.advance(self.status, event)
        if attempt is not None:
            return replace(
                self,
                status=status,
                failed_attempts=(*self.failed_attempts, attempt),
                authorised=None,
            )
        succeeded = now if status is ChargeState.SUCCESS else self.succeeded
        is_hold_asked = status is ChargeState.PENDING and not self.capture
        authorised = None if is_hold_asked else self.authorised
        return replace(
            self, status=status, three_ds_verified=True, succeeded=succeeded, authorised=authorised
        )

    def as_before(self, before: ChargeState) -> Charge:
        """The charge as it was in the state before its last move."""
        refunds = self.refunds[:-1] if self.refunds else ()
        captures = self.captures
        if before is self.status is ChargeState.SUCCESS and self.voided is None:
            captures = captures[:-1]
        waiting = before in (
            ChargeState.AUTHORISED,
            ChargeState.PENDING,
            ChargeState.PENDING_CHECKOUT,
        )
        authorised = self.authorised
        if before is ChargeState.PENDING_CHECKOUT:
            authorised = self.amount
        elif before is ChargeState.PENDING and self.status is ChargeState.AUTHORISED:
            authorised = None
        return replace(
            self,
            status=before,
            amount=(self.authorised or self.amount)
            if before is ChargeState.AUTHORISED
            else sum((one.amount for one in captures), ZERO) or self.amount,
            captures=captures,
            refunds=refunds,
            refunded=sum((refund.amount for refund in refunds), ZERO),
            authorised=authorised,
            succeeded=None if waiting else self.succeeded,
            voided=None,
            returned=None,
        )
