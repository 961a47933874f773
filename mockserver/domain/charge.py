"""A charge: what it is, and what capture, void and refund may do to it, to the cent.

A charge never changes. Each ``after_*`` method gives the charge as it is after one move, and asks
the state table first (``CHARGE.advance``), which raises when the move is forbidden; the engine puts
the new value in the place of the old one. So no refused call can leave a trace.

Where the money is, by field:

- authorised, not captured: the issuer holds ``amount`` for the merchant;
- captured: ``amount`` has come in. It may be less than was ``authorised``; the rest is released,
  or, where several captures are allowed, ``kept`` for the next ones, each of ``captures``;
- given back: ``refunded`` is the sum of ``refunds``. A refund whose provider takes its time is
  shown at once, or (assumption ``charge.pending_refund``) ``reserved`` unseen until it has
  answered; either way nothing of it can be refunded twice;
- ``returned``: the bank took back what had come in, as it may days after a direct debit.

Sources: docs/spec/service.md, Charge, and States and transitions; assumption
``charge.capture_amount``; settled fact ``charge.refund_amount``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
        """What a refund is known by in the schedule until its provider has answered, as it has no
        id. Two of the same mark are alike, so it does not matter which of them is answered."""
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
        """Whether its provider still has to say whether it holds the amount for a capture: a
        pending payment looks the same, and becomes paid instead of authorised."""
        return self.status is ChargeState.PENDING and not self.capture and self.authorised is None

    @property
    def refundable(self) -> Decimal:
        """What is left to refund. What is reserved for refunds that nobody sees yet is left no
        more: else two of them could give back more than was paid."""
        left = self.amount - self.refunded
        return left if self.reserved is None else left - _sum_of(self.reserved)

    def money_days(self) -> tuple[Micros, ...]:
        """The days (UTC), by their first instant, on which money came in or was given back: the
        settlement of each has a row for the charge."""
        return tuple({_day_of(instant) for instant, _ in self._movements()})

    def net_on(self, day: Micros) -> Decimal:
        """What came in on a day less what was given back on it."""
        return sum(
            (amount for instant, amount in self._movements() if _day_of(instant) == day), ZERO
        )

    def _movements(self) -> Iterator[tuple[Micros, Decimal]]:
        """When money came in, and when it went back (an amount below 0), as settlements count it by
        days. None did before a charge succeeded."""
        if self.succeeded is None:
            return
        if not self.captures:
            yield self.succeeded, self.amount
        for capture in self.captures:
            yield capture.added, capture.amount
        if self.returned is not None:
            yield self.returned, -self.amount
        for refund in self.refunds:
            yield refund.moved, -refund.amount

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
        # A charge that keeps a rest has succeeded with its first capture, and goes on as it is.
        held = self.amount
        if self.kept is not None:
            held, event = self.kept, ChargeEvent.CAPTURED_MORE
        status = CHARGE.advance(self.status, event)
        captured = held if amount is None else positive(amount, CURRENCIES[self.currency])
        if captured > held:
            words = (
                f"got {number_text(captured)}, authorised are {number_text(held)} {self.currency}"
            )
            raise Invalid(Code.INVALID_CAPTURE_AMOUNT_PASSED, {"Amount": words})
        if status is not ChargeState.SUCCESS:
            # Its provider has still to answer.
            return replace(self, status=status, amount=captured, succeeded=None)
        if not keeps_rest and not self.captures:
            # The only capture: the rest is released. Of one that was captured before, under another
            # assumption, the captures go on being listed, and a rest goes on being kept.
            return replace(self, status=status, amount=captured, succeeded=now)
        captures = (*self.captures, PartCaptured(captured, now))
        # It has succeeded since the first of them.
        return replace(
            self,
            status=status,
            amount=_sum_of(captures),
            succeeded=captures[0].added,
            captures=captures,
            kept=held - captured if captured < held else None,
        )

    def after_void(self, event: ChargeEvent, now: Micros) -> Charge:
        """Cancel an authorised charge, by request (``VOIDED``) or by time (``EXPIRED``), or what is
        still held of it. Raises ``WrongState`` (54)."""
        if self.kept is None:
            return replace(self, status=CHARGE.advance(self.status, event), voided=now)
        # A part was captured and stays so; the table only says whether the rest may still go.
        CHARGE.advance(self.status, ChargeEvent.REST_RELEASED)
        return self._without_rest(now)

    def _without_rest(self, now: Micros) -> Charge:
        """What is kept for further captures is released, if anything is."""
        return self if self.kept is None else replace(self, kept=None, voided=now)

    def after_refund(self, refund: Refund) -> Charge:
        """Give back a part or all that is left (``refund_of``); what is held for captures is
        released. Raises ``WrongState`` (54)."""
        refunded, event = self.refunded + refund.amount, ChargeEvent.PARTLY_REFUNDED
        if refunded == self.amount:
            event = ChargeEvent.FULLY_REFUNDED
        status = CHARGE.advance(self.status, event)
        before = self._without_rest(refund.added)
        return replace(before, status=status, refunded=refunded, refunds=(*self.refunds, refund))

    def after_reserving(self, refund: Refund) -> Charge:
        """Keep what a refund (``refund_of``) needs until its provider has answered: no other refund
        may take it, and nothing shows it."""
        return replace(self, reserved=(*(self.reserved or ()), refund))

    def after_answer(self, mark: str, *, settled: bool) -> Charge | None:
        """The provider has answered the refund with this ``mark``, which waited for it: its money
        has gone back (``settled``), or it has failed and is a refund no longer. None when nothing
        changes. Raises ``WrongState`` (54)."""
        unseen = _marked(self.reserved or (), mark)
        if unseen is not None:
            others = tuple(refund for refund in self.reserved or () if refund is not unseen)
            released = replace(self, reserved=others or None)
            return released.after_refund(unseen) if settled else released
        seen = _marked(self.refunds, mark)
        # One that is shown since it was ordered counts already: nothing changes as it settles.
        if seen is None or settled:
            return None
        others = tuple(refund for refund in self.refunds if refund is not seen)
        event = ChargeEvent.REFUND_FAILED if others else ChargeEvent.LAST_REFUND_FAILED
        status = CHARGE.advance(self.status, event)
        return replace(self, status=status, refunded=self.refunded - seen.amount, refunds=others)

    def refund_of(self, amount: Decimal | None, comment: str | None, now: Micros) -> Refund:
        """A refund of a part or of all that is left. Raises ``WrongState`` (54), ``Invalid`` 74
        (not positive), 2 (too many digits), 76 (more than is left)."""
        # Whether a refund is allowed at all comes before what is wrong with it: where some refund
        # is, one in part is.
        CHARGE.advance(self.status, ChargeEvent.PARTLY_REFUNDED)
        left = self.refundable
        wanted = left if amount is None else positive(amount, CURRENCIES[self.currency])
        # Nothing may be left of a charge whose refunds wait for their provider.
        if wanted > left or not left:
            words = (
                f"got {number_text(wanted)}, at most {number_text(left)} {self.currency} can "
                "be refunded"
            )
            raise Invalid(Code.INVALID_AMOUNT_MAXIMUM_AVAILABLE_REFUND, {"Amount": words})
        return Refund(wanted, now, comment)

    def after_settlement(self, event: ChargeEvent, now: Micros) -> Charge:
        """End a pending charge: ``SETTLED``, ``AUTHORISED`` (a hold) or ``RETURNED``; or take a
        payment back that had succeeded. Raises ``WrongState`` (54)."""
        status = CHARGE.advance(self.status, event)
        if status is ChargeState.AUTHORISED:
            return replace(self, status=status, authorised=self.amount)
        if status is ChargeState.SUCCESS:
            return replace(self, status=status, succeeded=now)
        # It has failed: of one that had succeeded the money was taken back.
        before = self._without_rest(now)
        return replace(before, status=status, returned=None if self.succeeded is None else now)

    def after_challenge(
        self, event: ChargeEvent, attempt: FailedAttempt | None, now: Micros
    ) -> Charge:
        """End a 3-D Secure challenge: paid, authorised or pending when it was passed, else failed
        by ``attempt``. Raises ``WrongState`` (54)."""
        status = CHARGE.advance(self.status, event)
        if attempt is not None:
            # The provider had agreed on condition that the challenge is passed.
            return replace(
                self,
                status=status,
                failed_attempts=(*self.failed_attempts, attempt),
                authorised=None,
            )
        succeeded = now if status is ChargeState.SUCCESS else self.succeeded
        authorised = self.authorised
        if status is ChargeState.PENDING and not self.capture:
            # Its provider has still to say whether it holds the amount.
            authorised = None
        return replace(
            self, status=status, three_ds_verified=True, succeeded=succeeded, authorised=authorised
        )

    def as_before(self, before: ChargeState) -> Charge:
        """The charge as it was in the state before its last move, as far as its fields still
        tell: for webhooks that report a state which it has left."""
        refunds = self.refunds[:-1]
        captures = self.captures
        if before is self.status is ChargeState.SUCCESS and self.voided is None:
            # It stayed as it was: its last move was one more capture.
            captures = captures[:-1]
        if before is ChargeState.AUTHORISED:
            amount = self.authorised or self.amount
        else:
            amount = _sum_of(captures) or self.amount
        authorised = self.authorised
        if before is ChargeState.PENDING_CHECKOUT:
            # A failed challenge has taken it away.
            authorised = self.amount
        elif before is ChargeState.PENDING and self.status is ChargeState.AUTHORISED:
            authorised = None
        return replace(
            self,
            status=before,
            amount=amount,
            captures=captures,
            refunds=refunds,
            refunded=_sum_of(refunds),
            authorised=authorised,
            succeeded=None if before in _OPEN else self.succeeded,
            voided=None,
            returned=None,
        )


_OPEN = frozenset({ChargeState.AUTHORISED, ChargeState.PENDING, ChargeState.PENDING_CHECKOUT})
"""States from which a charge may still succeed."""


def _sum_of(parts: Iterable[Refund | PartCaptured]) -> Decimal:
    """What some refunds or captures come to."""
    return sum((part.amount for part in parts), ZERO)


def _marked(refunds: Iterable[Refund], mark: str) -> Refund | None:
    """The first refund with a mark, None without one."""
    return next((refund for refund in refunds if refund.mark == mark), None)


def _day_of(instant: Micros) -> Micros:
    """The first instant of its day in UTC."""
    return instant - instant % DAY
