"""Webhooks and what the client makes of them: forged, repeated, outdated, lost and slow ones."""

from collections.abc import Collection, Mapping

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.clock import MINUTE, SECOND, Micros
from mockserver.domain.codes import Code
from mockserver.domain.delivery import Delivery
from mockserver.domain.errors import WrongState
from mockserver.domain.facts import Call, WebhookTry
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState, DeliveryState
from mockserver.findings.doubts import Doubts
from mockserver.findings.intents import MONEY, Intent, evidence_of, intent_of
from mockserver.findings.ledger import Circumstances, Evidence, Ledger

_MOST = 256
_REPEAT: Micros = MINUTE
_EVENTS = {
    "charge.capture": ChargeEvent.CAPTURED,
    "charge.void": ChargeEvent.VOIDED,
    "charge.refund": ChargeEvent.PARTLY_REFUNDED,
}


@record
class _Copies:
    """An event that was taken: the journal entries before which its first and its newest copy were
    sent."""

    first_at: int
    evidence: Evidence
    repeated_at: int = 0
    repeated: Micros = 0
    repeat: Evidence | None = None


@record
class _Move:
    """A money operation. ``has_gone_well``: one that did not is repeated for that reason."""

    entry: int
    intent: Intent
    evidence: Evidence
    has_gone_well: bool


@record
class _Refusal:
    """A call that the charge's state forbade. ``seen``: the entry of the client's last reading of
    the charge before it, as far as a webhook was under way then."""

    entry: int
    seen: int
    op: str
    evidence: Evidence


@mutable
class Webhooks:
    """The webhooks of one sandbox that were tried."""

    _ledger: Ledger
    _doubts: Doubts
    _taken: Recent[str, _Copies] = memory(_MOST)
    _repeated: Recent[str, _Copies] = memory(_MOST)
    _reported: Recent[str, tuple[str, Evidence]] = memory(_MOST)
    _sent: Recent[str, int] = memory(_MOST)
    _seen: Recent[str, int] = memory(_MOST)
    _refused: Recent[str, _Refusal] = memory(_MOST)
    _moves: Recent[int, _Move] = memory(_MOST)
    _forged: Recent[str, tuple[str, Evidence]] = memory(_MOST)

    def called(self, call: Call) -> None:
        """A call was decided: judge what it does about webhooks that came, or are under way."""
        if self._forged:
            self._after_forged(call)
        if call.code is None and not (self._sent or self._taken):
            return
        subject, is_refused = call.subject or "", call.code == Code.INVALID_CHARGE_STATUS
        if is_refused and call.op in _EVENTS and not self._doubts.is_about(subject):
            self._refused.put(
                subject,
                _Refusal(call.entry, self._seen.get(subject, 0), call.op, evidence_of(call)),
            )
            self._judge_belief(subject, call.at)
        if (self._sent or self._taken) and call.op in MONEY:
            is_declined = call.charge is not None and call.charge.status is ChargeState.FAILED
            has_gone_well = (
                call.is_ours and call.code is None and call.doubt is None and not is_declined
            )
            move = _Move(call.entry, intent_of(call), evidence_of(call), has_gone_well)
            repeated = self._repeated
            while (
                repeated and call.at - repeated[oldest := next(iter(repeated))].repeated > _REPEAT
            ):
                del repeated[oldest]
            self._judge_repeat(repeated, move, call.at)
            self._moves.put(move.entry, move)

    def sent(self, delivery_id: str, entry: int) -> None:
        """A webhook goes out, after a journal entry: what the client does while it takes it comes
        after that."""
        self._sent.put(delivery_id, entry)

    def tried(self, tried: WebhookTry, state: str | None) -> None:
        """A webhook was sent and has arrived or not; ``state`` is that of its charge now."""
        delivery, made = tried.delivery, tried.delivery.tries[-1]
        began = self._sent.pop(delivery.delivery_id, 0)
        about, message = {"webhook": delivery.delivery_id}, delivery.message
        what = (
            message.event_type
            if message.subject_id is None
            else f"{message.event_type} {message.subject_id}"
        )
        result = made.status if made.status is not None else made.error or "no answer"
        line = f"{what} try {len(delivery.tries)}: {result}"
        evidence = Evidence(line, entry=delivery.entry, webhook=delivery.delivery_id)
        if tried.is_taken:
            if not tried.is_genuine:
                fault = (
                    "did not fit its body"
                    if delivery.content.signature is not None
                    else "was missing"
                )
                forged = replace(
                    evidence, line=f"{line}, though its header X-Payfurl-Signature {fault}"
                )
                seen = Circumstances(is_mild=True)
                self._ledger.add("forged-webhook-accepted", tried.at, (forged,), seen, **about)
                self._took_forged(tried, forged, began)
            elif message.subject_id is not None:
                self._forged.pop(message.subject_id, None)
            self._took(delivery.message_id, evidence, began, tried.at)
            if state is not None:
                self._reports(delivery, state, began, tried.at)
        if tried.is_scripted:
            return
        if (
            delivery.state is DeliveryState.GIVEN_UP
            and delivery.content.is_ordinary
            and tried.is_genuine
        ):
            self._ledger.add("webhook-lost", tried.at, (evidence,), **about)
        if made.latency > self._ledger.policy.slow_receiver:
            slow = replace(evidence, line=f"{line} after {made.latency / SECOND:.1f} s")
            self._ledger.add("webhook-slow", tried.at, (slow,), **about)

    def _took_forged(self, tried: WebhookTry, evidence: Evidence, began: int) -> None:
        """A forgery was answered 2xx. That alone is no belief: it may be stored, or be a hint that
        the object is to be read. What is done with the object without a look at it shows belief,
        also while the receiver still holds the webhook."""
        subject = tried.delivery.message.subject_id
        if subject is None or self._seen.get(subject, 0) > began:
            return
        self._forged.put(subject, (tried.delivery.delivery_id, evidence))
        for move in list(self._moves.values()):
            if move.entry > began and subject in move.intent.sources:
                self._believed(subject, tried.at, move.evidence)

    def _after_forged(self, call: Call) -> None:
        """A call that follows forgeries that were answered 2xx: it moves the money of one of their
        objects, or looks at one."""
        if call.op in MONEY:
            self._believed(call.subject or "", call.at, evidence_of(call))
        elif call.doubt is None:
            looked = [
                subject
                for subject in self._forged
                if subject == call.subject or subject.encode() in call.answer
            ]
            for subject in looked:
                del self._forged[subject]

    def disproved(self, subjects: Collection[str] | None, at: Micros) -> None:
        """What the shop believes of these objects, or of any, is not true: so it has believed the
        forgeries about them."""
        for subject in list(self._forged):
            if subjects is None or subject in subjects:
                self._believed(subject, at, None)

    def _believed(self, subject: str, at: Micros, act: Evidence | None) -> None:
        delivery_id, evidence = self._forged.pop(subject, ("", None))
        if delivery_id:
            lines = (evidence, act)
            self._ledger.worsen("forged-webhook-accepted", at, lines, webhook=delivery_id)

    def _reports(self, delivery: Delivery, state: str, began: int, at: Micros) -> None:
        charge_id, reported = delivery.message.subject_id, delivery.reports
        if charge_id is None or reported is None:
            return
        if reported == state:
            self._reported.pop(charge_id, None)
            return
        line = (
            f"{delivery.message.event_type} {charge_id}: reported {reported}, the charge was "
            f"{state}"
        )
        self._reported.put(
            charge_id, (reported, Evidence(line, delivery.entry, delivery.delivery_id))
        )
        refused = self._refused.get(charge_id)
        if refused is not None and refused.seen <= began < refused.entry:
            self._judge_belief(charge_id, at)

    def _took(self, event_id: str, evidence: Evidence, began: int, at: Micros) -> None:
        first = self._taken.get(event_id)
        if first is None:
            self._taken.put(event_id, _Copies(began, evidence))
            return
        copies = replace(first, repeated_at=began, repeated=at, repeat=evidence)
        self._repeated.put(event_id, copies)
        for move in self._moves.values():
            if move.entry > began:
                self._judge_repeat({event_id: copies}, move, at, is_held=True)

    def _judge_repeat(
        self, repeated: Mapping[str, _Copies], again: _Move, at: Micros, *, is_held: bool = False
    ) -> None:
        """Whether a move repeats one that came between the two copies of an event. ``is_held``: it
        came while the receiver held the second; a later one may have a reason of its own."""
        for first in self._moves.values() if repeated else ():
            if not first.has_gone_well or not first.intent.is_same(again.intent):
                continue
            for event_id, copies in repeated.items():
                if copies.first_at < first.entry <= copies.repeated_at < again.entry:
                    lines = (copies.evidence, first.evidence, copies.repeat, again.evidence)
                    self._ledger.add(
                        "webhook-not-deduplicated",
                        at,
                        lines,
                        Circumstances(is_mild=not is_held),
                        event=event_id,
                    )
                    self._explained(again.entry)

    def _explained(self, entry: int) -> None:
        """That a call was refused, or that it was made at all, is a mistake which was raised
        already."""
        self._ledger.withdraw(entry, "wrong-state", "stale-webhook-believed")
        for subject in [
            subject for subject, refusal in self._refused.items() if refusal.entry == entry
        ]:
            del self._refused[subject]

    def read(self, subject: str, entry: int) -> None:
        """The client has read an object: what it does now rests on that, not on a webhook before it
        or meanwhile."""
        self._reported.pop(subject, None)
        if self._sent:
            self._seen.put(subject, entry)

    def finish(self) -> None:
        """The story has ended: calls of the next one are not reactions to its webhooks."""
        for one in (
            self._taken,
            self._repeated,
            self._moves,
            self._reported,
            self._seen,
            self._refused,
            self._forged,
        ):
            one.clear()

    def _judge_belief(self, charge_id: str, at: Micros) -> None:
        refused = self._refused[charge_id]
        reported = self._reported.get(charge_id)
        if reported is None:
            return
        state, evidence = reported
        try:
            CHARGE.advance(ChargeState(state), _EVENTS[refused.op])
        except (WrongState, ValueError):
            return
        self._ledger.add(
            "stale-webhook-believed", at, (evidence, refused.evidence), charge=charge_id
        )
