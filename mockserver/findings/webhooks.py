"""Webhooks and what the client makes of them: forged, repeated, outdated, lost and slow ones.

A receiver answers 2xx to say that it has a webhook. That is no belief: shops that store a webhook
and verify it later, or take it as a hint to read the charge, are right to answer so. Belief shows
in what the client *does*. So what a receiver took is remembered, and each later money operation is
judged beside it:

- a *forgery* was believed if the money of its object is moved next, and the client has not read
  the object since, nor taken a genuine webhook about it; or if its books say what only the forgery
  said;
- an *event that came twice* was not remembered if the operation that followed the first copy comes
  again after the second. While the receiver holds the second that is sure; a later one may have a
  reason of its own;
- a *stale report* was believed if a call is refused that only the told state would allow.

What happens while a receiver holds a webhook comes before the webhook has ended, so instants do not
tell what came of what. Entries of the journal do: ``began`` is the newest entry when a webhook went
out, and what the client does because of it has a higher number.

A genuine webhook about an object, or a read of it, sets things right: what is done then rests on
the truth.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

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
"""How long after a second copy an operation may come because of it."""

_EVENT_OF = {
    "charge.capture": ChargeEvent.CAPTURED,
    "charge.void": ChargeEvent.VOIDED,
    "charge.refund": ChargeEvent.PARTLY_REFUNDED,
}
"""How operations move a charge: a state that forbids the move explains why it was refused."""


@record
class _Copies:
    """An event that was taken: ``first_at`` and ``repeated_at`` are the newest journal entries when
    its first and its newest copy went out, ``repeated`` is when that was taken. ``evidence`` is of
    the first, ``repeat`` of the newest."""

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


class _Forgery(NamedTuple):
    """A forged webhook that was answered 2xx."""

    delivery_id: str
    evidence: Evidence


class _Report(NamedTuple):
    """The state of a charge that a webhook has told, and that was no longer true."""

    state: str
    evidence: Evidence


@mutable
class Webhooks:
    """The webhooks of one sandbox that were tried.

    By delivery: ``_sent``, the journal entry before those that are on their way. By event:
    ``_taken``, and of these ``_repeated``. By object: ``_reported``, the state that a webhook has
    told and that is not true; ``_seen``, the entry at which the client has read it; ``_refused``;
    ``_forged``, the delivery of a forgery that may be believed. ``_moves`` are money operations by
    entry."""

    _ledger: Ledger
    _doubts: Doubts
    _taken: Recent[str, _Copies] = memory(_MOST)
    _repeated: Recent[str, _Copies] = memory(_MOST)
    _reported: Recent[str, _Report] = memory(_MOST)
    _sent: Recent[str, int] = memory(_MOST)
    _seen: Recent[str, int] = memory(_MOST)
    _refused: Recent[str, _Refusal] = memory(_MOST)
    _moves: Recent[int, _Move] = memory(_MOST)
    _forged: Recent[str, _Forgery] = memory(_MOST)

    def called(self, call: Call) -> None:
        """A call was decided: judge what it does about webhooks that came, or are under way."""
        if self._forged:
            self._after_forged(call)
        has_webhooks = bool(self._sent or self._taken)
        if call.code == Code.INVALID_CHARGE_STATUS:
            self._note_refusal(call)
        if has_webhooks and call.op in MONEY:
            self._note_move(call)

    def _note_refusal(self, call: Call) -> None:
        """A call was refused for the state of its charge: a webhook may have told another one. A
        client in doubt about the charge could not know its state, whatever it was told."""
        subject = call.subject or ""
        if call.op not in _EVENT_OF or self._doubts.is_about(subject):
            return
        seen = self._seen.get(subject, 0)
        self._refused.put(subject, _Refusal(call.entry, seen, call.op, evidence_of(call)))
        self._judge_belief(subject, call.at)

    def _note_move(self, call: Call) -> None:
        """Money was moved while webhooks are known: it may repeat what was done upon one."""
        is_declined = call.charge is not None and call.charge.status is ChargeState.FAILED
        is_answered = call.is_ours and call.code is None and call.doubt is None
        has_gone_well = is_answered and not is_declined
        move = _Move(call.entry, intent_of(call), evidence_of(call), has_gone_well)
        if self._repeated:
            self._forget_repeats(call.at)
            self._judge_repeat(self._repeated, move, call.at, is_held=False)
        self._moves.put(move.entry, move)

    def _forget_repeats(self, now: Micros) -> None:
        """Forget the events whose newest copy came too long ago to explain what the client does
        now. The oldest are the first."""
        while self._repeated:
            event_id, copies = next(iter(self._repeated.items()))
            if now - copies.repeated <= _REPEAT:
                return
            del self._repeated[event_id]

    def sent(self, delivery_id: str, entry: int) -> None:
        """A webhook goes out, after a journal entry: what the client does while it takes it comes
        after that."""
        self._sent.put(delivery_id, entry)

    def tried(self, tried: WebhookTry, state: str | None) -> None:
        """A webhook was sent and has arrived or not; ``state`` is that of its charge now."""
        delivery = tried.delivery
        began = self._sent.pop(delivery.delivery_id, 0)
        evidence = _evidence_of(delivery)
        if tried.is_taken:
            self._taken_by_client(tried, evidence, began, state)
        # What a scenario has answered says nothing of the client's receiver.
        if not tried.is_scripted:
            self._judge_receiver(tried, evidence)

    def _taken_by_client(
        self, tried: WebhookTry, evidence: Evidence, began: int, state: str | None
    ) -> None:
        """The client's receiver has taken a webhook, genuine or not."""
        delivery, subject = tried.delivery, tried.delivery.message.subject_id
        if not tried.is_genuine:
            self._took_forgery(tried, evidence, began)
        elif subject is not None:
            # Whatever a forgery said of it before, the client now knows the truth.
            self._forged.pop(subject, None)
        self._took_copy(delivery.message_id, evidence, began, tried.at)
        if state is not None:
            self._took_report(delivery, state, began, tried.at)

    def _judge_receiver(self, tried: WebhookTry, evidence: Evidence) -> None:
        """Judge whether the client's receiver has lost a webhook, or was slow to answer it."""
        delivery = tried.delivery
        is_given_up = delivery.state is DeliveryState.GIVEN_UP
        # To refuse a forgery, or what a scenario has altered, is right.
        is_ordinary = delivery.content.is_ordinary and tried.is_genuine
        if is_given_up and is_ordinary:
            self._ledger.add("webhook-lost", tried.at, (evidence,), webhook=delivery.delivery_id)
        latency = delivery.tries[-1].latency
        if latency > self._ledger.policy.slow_receiver:
            slow = replace(evidence, line=f"{evidence.line} after {latency / SECOND:.1f} s")
            self._ledger.add("webhook-slow", tried.at, (slow,), webhook=delivery.delivery_id)

    def _took_forgery(self, tried: WebhookTry, evidence: Evidence, began: int) -> None:
        """A forgery was answered 2xx. That alone is no belief: it may be stored, or be a hint that
        the object is to be read. What is done with the object without a look at it shows belief,
        also while the receiver still holds the webhook."""
        delivery, subject = tried.delivery, tried.delivery.message.subject_id
        fault = "was missing" if delivery.content.signature is None else "did not fit its body"
        line = f"{evidence.line}, though its header X-Payfurl-Signature {fault}"
        forged = replace(evidence, line=line)
        self._ledger.add(
            "forged-webhook-accepted",
            tried.at,
            (forged,),
            # A warning as long as nothing shows belief.
            Circumstances(is_mild=True),
            webhook=delivery.delivery_id,
        )
        if subject is None or self._seen.get(subject, 0) > began:
            # Nothing can be done with it, or it was read since: then all rests on the truth.
            return
        self._forged.put(subject, _Forgery(delivery.delivery_id, forged))
        for move in list(self._moves.values()):
            if move.entry > began and subject in move.intent.sources:
                self._believed(subject, tried.at, move.evidence)

    def _after_forged(self, call: Call) -> None:
        """A call that follows forgeries that were answered 2xx: it moves the money of one of their
        objects, or looks at one, and then knows the truth."""
        if call.op in MONEY:
            self._believed(call.subject or "", call.at, evidence_of(call))
            return
        if call.doubt is not None:
            # Of an answer that did not arrive the client has learnt nothing.
            return
        for subject in list(self._forged):
            # It may be a list, which shows several.
            if subject == call.subject or subject.encode() in call.answer:
                del self._forged[subject]

    def disproved(self, subjects: Collection[str] | None, at: Micros) -> None:
        """What the shop believes of these objects, or of any, is not true: so it has believed the
        forgeries about them."""
        for subject in list(self._forged):
            if subjects is None or subject in subjects:
                self._believed(subject, at, None)

    def _believed(self, subject: str, at: Micros, act: Evidence | None) -> None:
        """The forgery about an object, if there is one, was believed, as an act shows."""
        forgery = self._forged.pop(subject, None)
        if forgery is not None:
            lines = (forgery.evidence, act)
            self._ledger.worsen("forged-webhook-accepted", at, lines, webhook=forgery.delivery_id)

    def _took_report(self, delivery: Delivery, state: str, began: int, at: Micros) -> None:
        """A webhook that was taken tells the state of a charge, which may have moved on since."""
        charge_id, reported = delivery.message.subject_id, delivery.reports
        if charge_id is None or reported is None:
            return
        if reported == state:
            # Whatever was told before, the client now knows the truth.
            self._reported.pop(charge_id, None)
            return
        what = f"{delivery.message.event_type} {charge_id}"
        line = f"{what}: reported {reported}, the charge was {state}"
        evidence = Evidence(line, delivery.entry, delivery.delivery_id)
        self._reported.put(charge_id, _Report(reported, evidence))
        refusal = self._refused.get(charge_id)
        # A call that was refused while the receiver held the webhook, which is heard of only now;
        # but not if the client has read the charge in between.
        if refusal is not None and refusal.seen <= began < refusal.entry:
            self._judge_belief(charge_id, at)

    def _took_copy(self, event_id: str, evidence: Evidence, began: int, at: Micros) -> None:
        """A copy of an event was taken: the first one, or one more. What the client did while it
        took that one is judged now, as a repeat of what it did before."""
        first = self._taken.get(event_id)
        if first is None:
            self._taken.put(event_id, _Copies(began, evidence))
            return
        # Of more than two copies the first and the newest are kept.
        copies = replace(first, repeated_at=began, repeated=at, repeat=evidence)
        self._repeated.put(event_id, copies)
        for move in self._moves.values():
            if move.entry > began:
                self._judge_repeat({event_id: copies}, move, at, is_held=True)

    def _judge_repeat(
        self, repeated: Mapping[str, _Copies], again: _Move, at: Micros, *, is_held: bool
    ) -> None:
        """Judge whether a move repeats one that came between the two copies of an event.
        ``is_held``: it came while the receiver held the second; a later one may have a reason of
        its own."""
        for first in self._moves.values():
            if not first.has_gone_well or not first.intent.is_same(again.intent):
                continue
            for event_id, copies in repeated.items():
                if not copies.first_at < first.entry <= copies.repeated_at < again.entry:
                    continue
                lines = (copies.evidence, first.evidence, copies.repeat, again.evidence)
                seen = Circumstances(is_mild=not is_held)
                self._ledger.add("webhook-not-deduplicated", at, lines, seen, event=event_id)
                self._take_back(again.entry)

    def _take_back(self, entry: int) -> None:
        """That a call was refused, or that it was made at all, is a mistake which was raised
        already."""
        self._ledger.withdraw(entry, "wrong-state", "stale-webhook-believed")
        for subject, refusal in list(self._refused.items()):
            if refusal.entry == entry:
                del self._refused[subject]

    def read(self, subject: str, entry: int) -> None:
        """The client has read an object: what it does now rests on that, not on a webhook before it
        or meanwhile."""
        self._reported.pop(subject, None)
        # A webhook under way may be taken later, and has been sent before this.
        if self._sent:
            self._seen.put(subject, entry)

    def finish(self) -> None:
        """The story has ended: calls of the next one are not reactions to its webhooks. Those that
        are on their way may still arrive."""
        for memory_of_story in (
            self._taken,
            self._repeated,
            self._moves,
            self._reported,
            self._seen,
            self._refused,
            self._forged,
        ):
            memory_of_story.clear()

    def _judge_belief(self, charge_id: str, at: Micros) -> None:
        """Judge a call that the state of its charge forbade: where a webhook has told a state that
        allows it, the client has believed that."""
        refusal = self._refused[charge_id]
        report = self._reported.get(charge_id)
        if report is None:
            return
        try:
            CHARGE.advance(ChargeState(report.state), _EVENT_OF[refusal.op])
        except (WrongState, ValueError):
            # The told state would not have allowed it either, or is none that there is: it explains
            # nothing.
            return
        lines = (report.evidence, refusal.evidence)
        self._ledger.add("stale-webhook-believed", at, lines, charge=charge_id)


def _evidence_of(delivery: Delivery) -> Evidence:
    """One line about the newest try of a webhook."""
    message, newest = delivery.message, delivery.tries[-1]
    what = message.event_type
    if message.subject_id is not None:
        what = f"{what} {message.subject_id}"
    result = newest.error or "no answer"
    if newest.status is not None:
        result = str(newest.status)
    line = f"{what} try {len(delivery.tries)}: {result}"
    return Evidence(line, entry=delivery.entry, webhook=delivery.delivery_id)
