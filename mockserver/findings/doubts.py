"""Calls whose end the client cannot know, and what it does next: double charges and refunds, blind retries, batches
sent twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mockserver.domain.charge import Charge
from mockserver.domain.events import Event
from mockserver.domain.states import ChargeState
from mockserver.findings.facts import Call, Doubt, WebhookTry
from mockserver.findings.intents import MONEY, WINDOW, Intent, evidence_of, intent_of
from mockserver.findings.ledger import Evidence, Ledger
from mockserver.findings.recent import Recent

HOLDING = frozenset({ChargeState.AUTHORISED, ChargeState.SUCCESS, ChargeState.PENDING, ChargeState.PARTIAL_REFUND})
"""States in which a charge holds money of the customer."""

_SEARCHES = {
    "charge.create": "charge.search",
    "batch.create": "batch.search",
    "transfer.create": "transfer.search",
}
_MOST = 256


@dataclass(slots=True)
class _Doubtful:
    """A call in doubt. ``root`` is the first object of a chain of retries; ``is_settled`` is False while its answer is
    still on the way; ``retries`` came meanwhile."""

    call: Call
    intent: Intent
    evidence: Evidence
    root: str | None
    looked: bool = False
    is_settled: bool = True
    retries: list[tuple[Call, Evidence]] = field(default_factory=list)


class Doubts:
    """The calls in doubt of one sandbox. ``charge_of`` gives a charge as it is now."""

    __slots__ = ("_calls", "_charge_of", "_ledger", "_pairs")

    def __init__(self, ledger: Ledger, charge_of: Callable[[str], Charge | None]) -> None:
        self._ledger = ledger
        self._charge_of = charge_of
        self._calls: Recent[int, _Doubtful] = Recent(_MOST)
        self._pairs: Recent[str, tuple[str, str, str, tuple[Evidence, ...]]] = Recent(_MOST)

    @property
    def is_empty(self) -> bool:
        """Whether the client is in doubt about nothing."""
        return not (self._calls or self._pairs)

    def called(self, call: Call) -> None:
        """A call was decided."""
        if not self._calls and call.doubt is None and not call.is_open:
            return
        if call.op in MONEY:
            self._money(call)
        elif self._calls and call.doubt is None and call.code is None and not call.is_open:
            self._look(call)

    def moved(self, event: Event) -> None:
        """Time or a payer has moved a charge."""
        pair = self._pairs.get(event.subject_id)
        if pair is None:
            return
        root, earlier, later, both = pair
        if self._hold_money(earlier, later):
            paid = Evidence(f"{event.subject_id}: the charge is {event.after}")
            self._ledger.add("double-charge", event.at, (*both, paid), charge=root)
            self._pairs.pop(event.subject_id)

    def ended(self, entry: int, doubt: Doubt | None) -> None:
        """The answer of an open call has ended, whole or in doubt."""
        doubtful = self._calls.get(entry)
        if doubtful is None or doubtful.is_settled:
            return
        if doubt is None:
            del self._calls[entry]
            return
        doubtful.is_settled = True
        doubtful.evidence = evidence_of(doubtful.call, doubt.value)
        for call, evidence in doubtful.retries:
            self._retried(doubtful, call, evidence)
        if doubtful.retries:
            self._calls.pop(entry, None)

    def took(self, tried: WebhookTry) -> None:
        """A receiver took a webhook: the client has heard of its subject."""
        for doubtful in self._calls.values():
            if tried.subject is not None and doubtful.call.subject == tried.subject:
                doubtful.looked = True

    def is_about(self, charge_id: str) -> bool:
        """Whether the client is in doubt about a charge."""
        return any(doubtful.call.subject == charge_id and not doubtful.looked for doubtful in self._calls.values())

    def _money(self, call: Call) -> None:
        intent, evidence = intent_of(call), evidence_of(call)
        root = call.subject
        for entry, doubtful in list(self._calls.items()):
            if call.at - doubtful.call.at > WINDOW:
                del self._calls[entry]
            elif doubtful.intent.is_same(intent):
                if not doubtful.is_settled:
                    doubtful.retries.append((call, evidence))
                    continue
                self._retried(doubtful, call, evidence)
                root = doubtful.root or root
                del self._calls[entry]
        if call.doubt is not None or call.is_open:
            self._calls.put(
                call.entry,
                _Doubtful(call, intent, evidence, root, is_settled=not call.is_open or call.doubt is not None),
            )

    def _retried(self, first: _Doubtful, call: Call, evidence: Evidence) -> None:
        """A call of the same intent came after one in doubt."""
        both = first.evidence, evidence
        op, subject = call.op, first.root or call.subject
        kind = op.partition(".")[0]
        if op == "charge.create":
            self._charged_again(first, call, both)
        elif op == "batch.create":
            if first.call.subject is not None and call.subject is not None and call.subject != first.call.subject:
                self._ledger.add("batch-sent-twice", call.at, both, batch=first.root)
        elif op == "charge.refund" and not first.looked and first.call.events and call.events:
            self._ledger.add("double-refund", call.at, both, charge=subject)
        if not first.looked and not call.is_repeat:
            self._ledger.add("blind-retry", call.at, both, operation=op, **{kind: subject})

    def _charged_again(self, first: _Doubtful, call: Call, both: tuple[Evidence, ...]) -> None:
        earlier, later = first.call.subject, call.subject
        if earlier is None or later is None or earlier == later:
            return
        root = first.root or earlier
        if self._hold_money(earlier, later):
            self._ledger.add("double-charge", call.at, both, charge=root)
            return
        pair = root, earlier, later, both
        for charge_id in (earlier, later):
            charge = self._charge_of(charge_id)
            if charge is not None and charge.status is ChargeState.PENDING_CHECKOUT:
                self._pairs.put(charge_id, pair)

    def _hold_money(self, *charge_ids: str) -> bool:
        charges = [self._charge_of(charge_id) for charge_id in charge_ids]
        return all(charge is not None and charge.status in HOLDING for charge in charges)

    def _look(self, call: Call) -> None:
        for doubtful in self._calls.values():
            subject = doubtful.call.subject
            if subject is not None:
                doubtful.looked = doubtful.looked or call.subject == subject or subject.encode() in call.answer
            elif _SEARCHES.get(doubtful.call.op) == call.op:
                doubtful.looked = True
