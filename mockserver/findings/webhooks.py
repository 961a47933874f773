"""Webhooks and what the client makes of them: forged, repeated, outdated, lost and slow ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mockserver.domain.clock import MINUTE, SECOND, Micros
from mockserver.domain.errors import WrongState
from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState
from mockserver.findings.facts import Call, WebhookTry
from mockserver.findings.intents import MONEY, Intent, evidence_of, intent_of
from mockserver.findings.ledger import Evidence, Ledger
from mockserver.findings.policy import Policy
from mockserver.findings.recent import Recent

_MOST = 256
_REPEAT: Micros = MINUTE
_WRONG_STATE = 54
_EVENTS = {
    "charge.capture": ChargeEvent.CAPTURED,
    "charge.void": ChargeEvent.VOIDED,
    "charge.refund": ChargeEvent.PARTLY_REFUNDED,
}


@dataclass(slots=True)
class _Copies:
    """An event that was taken: by how many money operations before, at its first and at its newest copy."""

    first_at: int
    evidence: Evidence
    repeated_at: int = 0
    repeated: Micros = 0
    repeat: Evidence | None = None


class Webhooks:
    """The webhooks of one sandbox that were tried."""

    __slots__ = ("_ledger", "_made", "_moves", "_repeated", "_reported", "_taken", "policy")

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self.policy = policy
        self._taken: Recent[str, _Copies] = Recent(_MOST)
        self._repeated: Recent[str, _Copies] = Recent(_MOST)
        self._reported: Recent[str, tuple[str, Evidence]] = Recent(_MOST)
        self._moves: deque[tuple[int, Intent, Evidence]] = deque(maxlen=_MOST)
        self._made = 0

    @property
    def is_empty(self) -> bool:
        """Whether no webhook was taken."""
        return not (self._taken or self._reported)

    def called(self, call: Call) -> None:
        """The client asked for a money operation."""
        if self._taken and call.op in MONEY:
            intent, evidence = intent_of(call), evidence_of(call)
            if self._repeated and not call.is_repeat:
                self._judge_repeat(call, intent, evidence)
            self._made += 1
            if call.code is None and call.doubt is None and not _is_declined(call):
                # An operation that failed, or whose answer was lost, is repeated for that reason.
                self._moves.append((self._made, intent, evidence))
        if call.code == _WRONG_STATE and call.subject is not None and self._reported:
            self._judge_belief(call)

    def tried(self, tried: WebhookTry) -> None:
        """A webhook was sent, or its last try has failed."""
        about = {"webhook": tried.delivery_id}
        evidence = Evidence(
            f"{tried.event_type} {tried.subject or ''} try {tried.number}: {tried.result}",
            entry=tried.caused_by,
            webhook=tried.delivery_id,
        )
        if tried.is_accepted and not tried.is_scripted:
            if not tried.is_genuine:
                self._ledger.add("forged-webhook-accepted", tried.at, (evidence,), **about)
            self._took(tried, evidence)
        if tried.gave_up and tried.is_genuine and not tried.is_scripted:
            self._ledger.add("webhook-lost", tried.at, (evidence,), **about)
        if tried.took > self.policy.slow_receiver and not tried.is_scripted:
            slow = Evidence(f"{evidence.line} after {tried.took / SECOND:.1f} s", evidence.entry, evidence.webhook)
            self._ledger.add("webhook-slow", tried.at, (slow,), **about)

    def reported(self, tried: WebhookTry, state: str) -> None:
        """A webhook was taken about a charge that is in ``state``."""
        charge_id = tried.subject
        if charge_id is None or tried.reported is None:
            return
        if tried.reported == state:
            self._reported.pop(charge_id, None)
            return
        line = f"{tried.event_type} {charge_id}: reported {tried.reported}, the charge was {state}"
        self._reported.put(charge_id, (tried.reported, Evidence(line, tried.caused_by, tried.delivery_id)))

    def _took(self, tried: WebhookTry, evidence: Evidence) -> None:
        copies = self._taken.get(tried.event_id)
        if copies is None:
            self._taken.put(tried.event_id, _Copies(self._made, evidence))
            return
        copies.repeated_at, copies.repeated, copies.repeat = self._made, tried.at, evidence
        self._repeated.put(tried.event_id, copies)

    def _judge_repeat(self, call: Call, intent: Intent, evidence: Evidence) -> None:
        while self._repeated and call.at - self._repeated[oldest := next(iter(self._repeated))].repeated > _REPEAT:
            del self._repeated[oldest]
        for number, made, first in self._moves:
            if made.is_same(intent):
                for event_id, copies in self._repeated.items():
                    if copies.first_at < number <= copies.repeated_at:
                        lines = (copies.evidence, first, copies.repeat, evidence)
                        self._ledger.add("webhook-not-deduplicated", call.at, lines, event=event_id)
                break

    def read(self, subject: str) -> None:
        """The client has read an object: what it does now rests on that."""
        self._reported.pop(subject, None)

    def finish(self) -> None:
        """The story has ended: what the next one does is no answer to the webhooks of this one."""
        self._repeated.clear()
        self._reported.clear()

    def _judge_belief(self, call: Call) -> None:
        event = _EVENTS.get(call.op)
        reported = self._reported.get(call.subject or "")
        if event is None or reported is None:
            return
        state, evidence = reported
        try:
            CHARGE.advance(ChargeState(state), event)
        except (WrongState, ValueError):
            return
        self._ledger.add("stale-webhook-believed", call.at, (evidence, evidence_of(call)), charge=call.subject)


def _is_declined(call: Call) -> bool:
    return call.op == "charge.create" and call.charge is not None and call.charge.status is ChargeState.FAILED
