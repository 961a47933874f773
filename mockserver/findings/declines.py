"""Cards that were declined, and clients that retry them.

What a batch or a subscription charges is charged by the service, at a time of its own. Its declines
count for the limit of the card schemes, but the client is accused only of what it decided: that it
sent a batch, or began or resumed a subscription, while it knew of the declines before. Tries that
the service makes by itself count against no client.
"""

from collections.abc import Iterable, Mapping

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
_SHOW_MANY = {"charge.search": "charge_id", "subscription.search": "asked_by"}
"""Operations whose answers show declines, and what searches show them by."""

_GOES_ON = b"Active"


@record
class _Final:
    """A decline that no retry helps, known to the client since a journal entry; ``reference`` is
    that of its charge, ``token`` what was charged, if that was a token."""

    evidence: Evidence
    known: int
    reference: str | None = None
    token: object = None

    def is_of_another(self, call: Call) -> bool:
        """Whether a call charges a card, entered anew, for another order: it may be another payer's
        same test card. Who makes a token enters a card."""
        card, token, reference = map(call.request.get, ("paymentInformation", "token", "reference"))
        is_new_token = isinstance(token, str) and token != self.token
        is_entered = is_new_token or (isinstance(card, Mapping) and bool(card.get("cardNumber")))
        return is_entered and bool(reference and self.reference) and reference != self.reference


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


@mutable
class Declines:
    """The declined cards and accounts of one sandbox. ``_hard`` are those that no retry helps, with
    the ccv that was wrong where another one may; ``_unseen`` those of them that the client does not
    know yet."""

    _ledger: Ledger
    _hard: Recent[str, _Final] = memory(_MOST)
    _tries: Recent[str, tuple[tuple[Micros, Evidence], ...]] = memory(_MOST)
    _sent: Recent[str, _Sent] = memory(_MOST)
    _unseen: Recent[str, _Unseen] = memory(_MOST_UNSEEN)

    def called(self, call: Call) -> None:
        """A call was decided: judge what it has charged, and note what its answer shows and what it
        hands over."""
        charge = call.charge if call.op == "charge.create" else None
        if charge is not None and (
            charge.status is ChargeState.FAILED or self._hard or self._unseen
        ):
            self._charged(call, charge)
        if self._unseen:
            self._answered(call)
        if call.op in _HANDING_OVER:
            self._handed_over(call)

    def _charged(self, call: Call, charge: Charge) -> None:
        """A charge was created, or refused by its provider, while declines are known or as one."""
        instrument = instrument_of(charge.instrument) or wallet_of(call.request)
        if instrument is None:
            return
        names = instrument, f"{instrument} {ccv_of(call)}"
        final = self._final(names)
        is_new = final is None or final.is_of_another(call)
        if final is not None and not is_new:
            lines = (final.evidence, evidence_of(call))
            self._ledger.add("hard-decline-retried", call.at, lines, **_about(charge.instrument))
        if charge.status is not ChargeState.FAILED:
            self._forget(names)
        elif (said := _said(charge)) is not None:
            evidence, declined = evidence_of(call, _words(said)), _declined(said, names)
            if (
                call.doubt is None
                and call.is_ours
                and declined is not None
                and (is_new or declined not in self._hard)
            ):
                final = _Final(evidence, call.entry, charge.reference, call.request.get("token"))
                self._hard.put(declined, final)
            self._tried(instrument, charge, call.at, evidence, call)

    def _handed_over(self, call: Call) -> None:
        """A call was decided that may hand something over to the service, or let it go on."""
        is_sent = call.op in _SENT or any(
            event.what == SubscriptionEvent.RESUMED for event in call.events
        )
        if is_sent and call.subject is not None and call.code is None:
            is_known = call.doubt is None and call.is_ours
            self._sent.put(call.subject, _Sent(call.entry, call.at, evidence_of(call), is_known))

    def charged(self, charge: Charge, at: Micros, entry: int) -> None:
        """The service has charged for a batch or a subscription; ``entry`` is the newest of the
        journal."""
        is_failed = charge.status is ChargeState.FAILED
        asked_by = charge.batch_id or charge.subscription_id
        if asked_by is None:
            return
        # Whatever comes after the first payment of a subscription comes by its plan.
        sent = (
            self._sent.pop(asked_by, None) if charge.batch_id is None else self._sent.get(asked_by)
        )
        instrument = (
            instrument_of(charge.instrument) if is_failed or self._hard or self._unseen else None
        )
        if instrument is None:
            return
        said = _said(charge) if is_failed else None
        shown = sent.entry if sent is not None and charge.batch_id is not None else entry
        names = instrument, f"{instrument} {NO_CCV}"
        final, evidence = self._final(names), evidence_of_payment(charge, _words(said), shown)
        if final is not None and sent is not None and final.known < sent.entry:
            lines = (final.evidence, sent.evidence if charge.batch_id is None else None, evidence)
            self._ledger.add("hard-decline-retried", at, lines, **_about(charge.instrument))
        if not is_failed:
            self._forget(names)
        elif said is not None:
            declined = _declined(said, names)
            if declined is not None and declined not in self._hard:
                self._unseen.put(declined, _Unseen(charge.charge_id, asked_by, evidence))
            self._tried(instrument, charge, at, evidence, sent)

    def seen(self, subject: str | None, entry: int) -> None:
        """The client has learnt of a charge, batch or subscription, at a journal entry."""
        self._note(
            (
                name
                for name, one in self._unseen.items()
                if subject in (one.charge_id, one.asked_by)
            ),
            entry,
        )

    def _answered(self, call: Call) -> None:
        """The client learns what the whole answer of a call shows."""
        is_read = call.doubt is None and call.is_ours and call.code is None and not call.is_open
        # What is still tried again by itself is not final.
        if not is_read or (call.op.startswith("subscription.") and _GOES_ON in call.answer):
            return
        if call.op in _SHOW_ONE:
            self.seen(call.subject, call.entry)
        elif (shown_by := _SHOW_MANY.get(call.op)) is not None:
            shown = ((name, getattr(one, shown_by)) for name, one in self._unseen.items())
            self._note((name for name, one in shown if one.encode() in call.answer), call.entry)

    def batch_ended(self, batch_id: str, entry: int) -> None:
        """A batch has come to its end: a client that knows of it knows what became of its rows."""
        sent = self._sent.get(batch_id)
        if sent is not None and sent.is_known:
            self.seen(batch_id, entry)

    def ended(self, entry: int) -> None:
        """The client has hung up before an answer: it did not learn of a decline."""
        for declined, final in list(self._hard.items()):
            if final.evidence.entry == entry:
                del self._hard[declined]
        for subject, sent in self._sent.items():
            if sent.entry == entry:
                self._sent[subject] = replace(sent, is_known=False)

    def finish(self) -> None:
        """The story has ended: the next one may use the same test cards."""
        for one in (self._hard, self._tries, self._sent, self._unseen):
            one.clear()

    def _final(self, names: tuple[str, str]) -> _Final | None:
        return self._hard.get(names[0]) or self._hard.get(names[1])

    def _forget(self, names: tuple[str, str]) -> None:
        """A card or account has paid: it is no longer declined."""
        for name in names:
            self._hard.pop(name, None)
            self._unseen.pop(name, None)

    def _note(self, names: Iterable[str], entry: int) -> None:
        for name in list(names):
            one = self._unseen.pop(name)
            if name not in self._hard:
                self._hard.put(name, _Final(one.evidence, entry))

    def _tried(
        self,
        instrument: str,
        charge: Charge,
        at: Micros,
        evidence: Evidence,
        call: Call | _Sent | None,
    ) -> None:
        """Count a declined try; ``call`` is that by which the client decided on it, None when the
        service did. It is one too many if the client could know of the others then."""
        limit = self._ledger.policy.retry_limit
        tries = (*self._tries.get(instrument, ()), (at, evidence))[-limit - 1 :]
        self._tries.put(instrument, tries)
        if (
            call is None
            or len(tries) <= limit
            or at - tries[0][0] > self._ledger.policy.retry_window
        ):
            return
        if all(
            before <= call.at and (line.entry or 0) < call.entry for before, line in tries[-2:-1]
        ):
            self._ledger.add(
                "too-many-retries", at, (tries[0][1], evidence), **_about(charge.instrument)
            )


def _said(charge: Charge) -> FailedAttempt | None:
    """What the issuer of a failed charge said, if it was the issuer."""
    said = charge.failed_attempts[-1] if charge.failed_attempts else None
    return None if said is None or said.error_code in _TECHNICAL else said


def _words(said: FailedAttempt | None) -> str:
    if said is None:
        return "charged"
    return "declined, retryable" if said.is_retryable else "declined, not retryable"


def _declined(said: FailedAttempt, names: tuple[str, str]) -> str | None:
    """What a decline is final for: a card, or a card with its ccv; None when another try may
    help."""
    if said.is_retryable or said.error_code in _OF_THE_PAYMENT:
        return None
    return names[said.error_code == Code.INVALID_CCV]


def _about(instrument: Instrument) -> dict[str, str]:
    """The method that was charged, or the card as it may be shown."""
    if instrument.payment_method_id is not None:
        return {"paymentMethod": instrument.payment_method_id}
    if instrument.card is not None:
        return {"card": instrument.card.number.masked}
    return {"source": instrument.display_type or instrument.type.value}
