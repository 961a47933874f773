"""Cards that were declined, and clients that retry them.

Some declines are final: a lost card will not pay tomorrow. Card schemes fine merchants who try such
a card again, and those who try any card too often. Others are of this payment alone, or of a
provider that is down, and say nothing against the card (``_OF_THE_PAYMENT``, ``_TECHNICAL``).

A client is accused only of what it knew. A decline in an answer that was lost, or in a batch whose
results it has not read, is kept apart until it has seen it (``_unseen``), and then it is known from
that journal entry on (``_hard``).

A test suite pays with the same few test cards and accounts for many payers. So one that is entered
anew, for another reference, may be another payer's.

What a batch or a subscription charges is charged by the service, at a time of its own. Its declines
count for the limit of the card schemes, but the client is accused only of what it decided: that it
sent a batch, or began or resumed a subscription, while it knew of the declines before. Tries that
the service makes by itself count against no client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge, FailedAttempt
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.facts import Call
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.sources import Instrument
from mockserver.domain.states import ChargeState, SubscriptionEvent
from mockserver.findings.intents import (
    NO_CCV,
    ccv_of,
    evidence_of,
    evidence_of_payment,
    instrument_of,
    wallet_of,
)
from mockserver.findings.ledger import Evidence, Ledger

_MOST = 1_000
_MOST_UNSEEN = 256
_OF_THE_PAYMENT = frozenset(
    {
        Code.AMOUNT_EXCEEDS_MAX_AMOUNT_FOR_PAYTO_AGREEMENT,
        Code.AMOUNT_TOO_LARGE,
        Code.CURRENCY_NOT_SUPPORTED,
        Code.DUPLICATE_TRANSACTION,
        Code.ISSUER_INVALID_AMOUNT,
        Code.LOCATION_NOT_SUPPORTED,
        Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE,
        Code.REQUIRE_THREE_D_SECURE,
        Code.THREE_D_SECURE_FAILED,
    }
)
"""Refusals of one payment: they say nothing against the next one with the same card."""

_TECHNICAL = frozenset(
    {
        Code.PROVIDER_SERVICE_ERROR,
        Code.GATEWAY_TIMEOUT,
        Code.RATE_LIMITING_APPLIED,
        Code.RETRY_LATER,
    }
)
"""Refusals that no issuer has made."""


_SENT = frozenset({"batch.create", "subscription.create"})
_HANDING_OVER = _SENT | {"subscription.status"}
"""Operations that hand a batch or subscription over to the service, or may let one go on."""

_SHOW_ONE = frozenset({"batch.get", "charge.get", "subscription.get"})
"""Operations whose answers show one object with its declines."""

_ACTIVE = b"Active"
"""The state, in an answer, of a subscription that goes on."""


class _Names(NamedTuple):
    """What the declines of a card or account are kept under: by itself, and with the ccv of this
    payment. A wrong ccv is final for that ccv alone."""

    instrument: str
    with_ccv: str

    @classmethod
    def of(cls, instrument: str, ccv: str) -> _Names:
        return cls(instrument, f"{instrument} {ccv}")


@record
class _Final:
    """A decline that no retry helps, known to the client since a journal entry; ``reference`` is
    that of its charge, ``token`` what was charged, if that was a token."""

    evidence: Evidence
    known: int
    reference: str | None = None
    token: object = None

    def is_of_another(self, call: Call) -> bool:
        """Whether a call charges a card or account, entered anew, for another order: it may be
        another payer's same test card."""
        reference = call.request.get("reference")
        if not reference or not self.reference or reference == self.reference:
            return False
        return self._is_entered_anew(call.request)

    def _is_entered_anew(self, request: Mapping[str, object]) -> bool:
        """Whether a payer has entered a card or account for a request: a stored method is the one
        that was declined."""
        token = request.get("token")
        if isinstance(token, str) and token != self.token:
            # Who makes a token enters a card.
            return True
        card, account = request.get("paymentInformation"), request.get("bankPaymentInformation")
        if isinstance(card, Mapping) and card.get("cardNumber"):
            return True
        return isinstance(account, Mapping) and bool(account.get("accountNumber"))


@record
class _Unseen:
    """Such a decline of a charge that a batch or subscription (``asked_by``) has asked for. The
    client knows it when it reads one of the two, or takes a webhook about it, and when the batch
    has ended: its results are complete then."""

    charge_id: str
    asked_by: str
    evidence: Evidence


@record
class _Sent:
    """The call that handed a batch or subscription over; ``is_known``: the client can know that it
    was taken."""

    entry: int
    at: Micros
    evidence: Evidence
    is_known: bool


class _Try(NamedTuple):
    """A declined try of a card or account, by whomever."""

    at: Micros
    evidence: Evidence


@mutable
class Declines:
    """The declined cards and accounts of one sandbox. ``_hard`` are those that no retry helps, with
    the ccv that was wrong where another one may; ``_unseen`` those of them that the client does not
    know yet; ``_tries`` the newest declines of each; ``_sent`` the calls that have handed a batch
    or subscription over."""

    _ledger: Ledger
    _hard: Recent[str, _Final] = memory(_MOST)
    _tries: Recent[str, tuple[_Try, ...]] = memory(_MOST)
    _sent: Recent[str, _Sent] = memory(_MOST)
    _unseen: Recent[str, _Unseen] = memory(_MOST_UNSEEN)

    def called(self, call: Call) -> None:
        """A call was decided: judge what it has charged, and note what its answer shows and what it
        hands over."""
        charge = call.charge if call.op == "charge.create" else None
        if charge is not None:
            # Of payments while nothing is declined there is nothing to say.
            is_declined = charge.status is ChargeState.FAILED
            if is_declined or self._hard or self._unseen:
                self._charged(call, charge)
        if self._unseen:
            self._answered(call)
        if call.op in _HANDING_OVER:
            self._handed_over(call)

    def _charged(self, call: Call, charge: Charge) -> None:
        """A charge was created, or refused by its provider, while declines are known or as one."""
        # Whose wallet it is the request alone tells.
        instrument = instrument_of(charge.instrument) or wallet_of(call.request)
        if instrument is None:
            # Nothing says who pays: no other try is known to be of the same payer.
            return
        names = _Names.of(instrument, ccv_of(call))
        final = self._final(names)
        # It may be another payer's card, whose decline stands for itself.
        is_new = final is None or final.is_of_another(call)
        if final is not None and not is_new:
            lines = (final.evidence, evidence_of(call))
            self._ledger.add("hard-decline-retried", call.at, lines, **_about(charge.instrument))
        if charge.status is not ChargeState.FAILED:
            self._forget(names)
            return
        refusal = _issuer_refusal(charge)
        if refusal is None:
            return
        evidence = evidence_of(call, _ending(charge))
        declined = _final_for(refusal, names)
        # Of a decline in an answer that was lost the client knows nothing.
        is_shown = call.doubt is None and call.is_ours
        # One that is known stays known since its first time.
        if is_shown and declined is not None and (is_new or declined not in self._hard):
            token = call.request.get("token")
            self._hard.put(declined, _Final(evidence, call.entry, charge.reference, token))
        self._count_try(instrument, charge, _Try(call.at, evidence), call)

    def _handed_over(self, call: Call) -> None:
        """A call was decided that may hand something over to the service, or let it go on."""
        if call.subject is None or call.code is not None:
            # It was refused, or never arrived: nothing is charged for it.
            return
        # The call that lets a subscription go on may also pause it, or end it.
        is_resumed = any(event.what == SubscriptionEvent.RESUMED for event in call.events)
        if call.op in _SENT or is_resumed:
            is_known = call.doubt is None and call.is_ours
            sent = _Sent(call.entry, call.at, evidence_of(call), is_known)
            self._sent.put(call.subject, sent)

    def charged(self, charge: Charge, at: Micros, entry: int) -> None:
        """The service has charged for a batch or a subscription; ``entry`` is the newest of the
        journal. The client has decided on it when it handed that over: it retries a final decline
        only if it knew of that then."""
        if charge.batch_id is not None:
            sent = self._sent.get(charge.batch_id)
            self._charged_later(charge, charge.batch_id, sent, at, entry)
        elif charge.subscription_id is not None:
            # Whatever comes after the first payment of a subscription comes by its plan, and the
            # client has decided nothing: so the call that has handed it over counts once.
            sent = self._sent.pop(charge.subscription_id, None)
            self._charged_later(charge, charge.subscription_id, sent, at, entry)

    def _charged_later(
        self, charge: Charge, asked_by: str, sent: _Sent | None, at: Micros, entry: int
    ) -> None:
        """Judge what the service has charged for a batch or a subscription (``asked_by``): by the
        client's decision, if it was ``sent`` by one."""
        is_declined = charge.status is ChargeState.FAILED
        if not (is_declined or self._hard or self._unseen):
            # Of payments while nothing is declined there is nothing to say.
            return
        instrument = instrument_of(charge.instrument)
        if instrument is None:
            return
        # A row has no entry of its own in the journal: it is shown at that of its batch, whose own
        # line would say no more.
        is_row = charge.batch_id is not None
        shown_at = sent.entry if sent is not None and is_row else entry
        evidence = evidence_of_payment(charge, _ending(charge), shown_at)
        names = _Names.of(instrument, NO_CCV)
        final = self._final(names)
        if final is not None and sent is not None and final.known < sent.entry:
            handed_over = None if is_row else sent.evidence
            lines = (final.evidence, handed_over, evidence)
            self._ledger.add("hard-decline-retried", at, lines, **_about(charge.instrument))
        if not is_declined:
            self._forget(names)
            return
        refusal = _issuer_refusal(charge)
        if refusal is None:
            return
        declined = _final_for(refusal, names)
        if declined is not None and declined not in self._hard:
            self._unseen.put(declined, _Unseen(charge.charge_id, asked_by, evidence))
        self._count_try(instrument, charge, _Try(at, evidence), sent)

    def seen(self, subject: str | None, entry: int) -> None:
        """The client has learnt of a charge, batch or subscription, at a journal entry."""
        learnt = [
            name
            for name, unseen in self._unseen.items()
            if subject in (unseen.charge_id, unseen.asked_by)
        ]
        self._note(learnt, entry)

    def _answered(self, call: Call) -> None:
        """The client learns what the whole answer of a call shows."""
        is_whole = call.doubt is None and not call.is_open
        if not is_whole or not call.is_ours or call.code is not None:
            return
        if call.op.startswith("subscription.") and _ACTIVE in call.answer:
            # What is still tried again by itself is not final.
            return
        if call.op in _SHOW_ONE:
            self.seen(call.subject, call.entry)
        elif call.op == "charge.search":
            shown = [
                name
                for name, unseen in self._unseen.items()
                if unseen.charge_id.encode() in call.answer
            ]
            self._note(shown, call.entry)
        elif call.op == "subscription.search":
            shown = [
                name
                for name, unseen in self._unseen.items()
                if unseen.asked_by.encode() in call.answer
            ]
            self._note(shown, call.entry)

    def batch_ended(self, batch_id: str, entry: int) -> None:
        """A batch has come to its end: a client that knows of it knows what became of its rows."""
        sent = self._sent.get(batch_id)
        if sent is not None and sent.is_known:
            self.seen(batch_id, entry)

    def ended(self, entry: int) -> None:
        """The client has hung up before an answer: it did not learn of a decline, nor that what it
        handed over was taken."""
        for declined, final in list(self._hard.items()):
            if final.evidence.entry == entry:
                del self._hard[declined]
        for subject, sent in self._sent.items():
            if sent.entry == entry:
                self._sent[subject] = replace(sent, is_known=False)

    def finish(self) -> None:
        """The story has ended: the next one may use the same test cards."""
        for memory_of_story in (self._hard, self._tries, self._sent, self._unseen):
            memory_of_story.clear()

    def _final(self, names: _Names) -> _Final | None:
        """The final decline of a card or account, else of it with this ccv."""
        of_instrument = self._hard.get(names.instrument)
        if of_instrument is not None:
            return of_instrument
        return self._hard.get(names.with_ccv)

    def _forget(self, names: _Names) -> None:
        """A card or account has paid: it is no longer declined."""
        for name in names:
            self._hard.pop(name, None)
            self._unseen.pop(name, None)

    def _note(self, names: Sequence[str], entry: int) -> None:
        """The client knows these declines from a journal entry on."""
        for name in names:
            unseen = self._unseen.pop(name)
            # One that was known before is known for longer.
            if name not in self._hard:
                self._hard.put(name, _Final(unseen.evidence, entry))

    def _count_try(
        self, instrument: str, charge: Charge, declined: _Try, call: Call | _Sent | None
    ) -> None:
        """Count a declined try; ``call`` is that by which the client decided on it, None when the
        service did. It is one too many if the client could know of the others then: if the newest
        of them had ended before it sent the call."""
        policy = self._ledger.policy
        # One more than the limit is enough to know: the oldest of them says since when.
        tries = (*self._tries.get(instrument, ()), declined)[-policy.retry_limit - 1 :]
        self._tries.put(instrument, tries)
        if call is None or len(tries) <= policy.retry_limit:
            return
        first, others_before = tries[0], tries[:-1]
        if declined.at - first.at > policy.retry_window:
            return
        # With a limit of 0 there are none before it.
        if others_before and not _could_be_known(others_before[-1], call):
            return
        lines = first.evidence, declined.evidence
        self._ledger.add("too-many-retries", declined.at, lines, **_about(charge.instrument))


def _could_be_known(declined: _Try, call: Call | _Sent) -> bool:
    """Whether a try had been declined before a call was sent. What is charged by the service is
    declined between calls, at an instant of its own."""
    return declined.at <= call.at and (declined.evidence.entry or 0) < call.entry


def _issuer_refusal(charge: Charge) -> FailedAttempt | None:
    """How the issuer has declined a charge; None for one that did not fail, or failed before any
    issuer was asked."""
    if charge.status is not ChargeState.FAILED or not charge.failed_attempts:
        return None
    # The service may have asked several providers: the last one has decided the payment.
    newest = charge.failed_attempts[-1]
    if newest.error_code in _TECHNICAL:
        return None
    return newest


def _ending(charge: Charge) -> str:
    """How a payment ended, for a line of evidence."""
    if charge.status is not ChargeState.FAILED:
        return "charged"
    refusal = _issuer_refusal(charge)
    if refusal is None:
        return "failed"
    return "declined, retryable" if refusal.is_retryable else "declined, not retryable"


def _final_for(refusal: FailedAttempt, names: _Names) -> str | None:
    """What a decline is final for: a card, or a card with its ccv; None when another try may
    help."""
    if refusal.is_retryable or refusal.error_code in _OF_THE_PAYMENT:
        return None
    if refusal.error_code == Code.INVALID_CCV:
        return names.with_ccv
    return names.instrument


def _about(instrument: Instrument) -> dict[str, str]:
    """The method that was charged, or the card as it may be shown."""
    if instrument.payment_method_id is not None:
        return {"paymentMethod": instrument.payment_method_id}
    if instrument.card is not None:
        return {"card": instrument.card.number.masked}
    return {"source": instrument.display_type or instrument.type.value}
