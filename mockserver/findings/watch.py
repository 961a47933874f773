"""The door: the facts of one sandbox in, its findings out.

The memory is bounded. The same facts give the same findings in the same order.
Source: docs/findings.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.events import Event, Subject
from mockserver.domain.remembered import pending
from mockserver.domain.states import BatchEvent
from mockserver.findings.declines import Declines
from mockserver.findings.doubts import Doubts
from mockserver.findings.facts import DEFAULT, Call, Doubt, Policy, WebhookTry
from mockserver.findings.habits import Habits
from mockserver.findings.ledger import Ledger
from mockserver.findings.loose_ends import LooseEnds
from mockserver.findings.pace import Pace
from mockserver.findings.webhooks import Webhooks

_KINDS = "charge customer payment_method batch token transfer subscription payment_link vault"
READS = frozenset((*(f"{kind}.get" for kind in _KINDS.split()), "batch.status"))
"""Operations that read one object."""

_ENDS = frozenset({BatchEvent.FINISHED, BatchEvent.BROKE_DOWN})


class Watch:
    """The watch over one sandbox's client. ``charge_of`` gives a charge as it is now, ``payments_of`` those of a
    subscription; ``doubts`` are the calls whose end the client cannot know."""

    def __init__(
        self,
        charge_of: Callable[[str], Charge | None],
        payments_of: Callable[[str], Iterable[Charge]],
        policy: Policy = DEFAULT,
    ) -> None:
        self._charge_of = charge_of
        self.ledger = ledger = Ledger(policy.allow)
        self.doubts = Doubts(ledger, charge_of, payments_of)
        self._declines = Declines(ledger, policy)
        self._pace = Pace(ledger, policy)
        self._webhooks = Webhooks(ledger, self.doubts, policy)
        self._loose_ends = LooseEnds(ledger, self.doubts)
        self._habits = Habits(ledger)
        judges = (self.doubts, self._declines, self._pace, self._webhooks, self._loose_ends)
        self._pending = tuple(memory for judge in judges for memory in pending(judge))

    @property
    def judges(self) -> Mapping[str, object]:
        """Those that remember, by name."""
        return {
            "declines": self._declines,
            "doubts": self.doubts,
            "ledger": self.ledger,
            "loose_ends": self._loose_ends,
            "pace": self._pace,
            "webhooks": self._webhooks,
        }

    def apply(self, policy: Policy) -> None:
        """Judge by another policy from now on; what was raised stays."""
        self.ledger.allowed = policy.allow
        self._declines.policy = self._pace.policy = self._webhooks.policy = policy

    def arrived(self, call: Call) -> int:
        """A call has come that is acted on later, when ``called`` follows; what to give there as ``waited_as``."""
        return self.doubts.arrived(call)

    def called(self, call: Call) -> None:
        """A call of the client was decided; ``ended`` follows when it is open."""
        self._habits.called(call)
        if call.is_repeat:
            # It did nothing, so only what the client can know of the first call has changed.
            self.doubts.called(call)
            self._pace.called(call)
            return
        if not call.is_usual or any(self._pending):
            self._judge(call)
        if call.subject is not None and call.op in READS:
            if call.pace is not None:
                self._pace.read(call.op, call.entry, call.at, call.pace, call.subject)
            if call.doubt is None and call.is_ours:
                self._webhooks.read(call.subject, call.entry)

    def _judge(self, call: Call) -> None:
        if call.charge is not None and (call.events or call.code is not None):
            self._loose_ends.called(call, call.charge)
        if call.op == "charge.create":
            self._declines.called(call)
        if call.doubt is None and call.is_ours and call.code is None and not call.is_open:
            self._declines.answered(call)
        self._declines.sent(call)
        self._webhooks.called(call)
        self.doubts.called(call)
        self._pace.called(call)

    def lost(self, entry: int, at: Micros, what: str, nearest: str | None) -> None:
        """A call named a path or verb that does not exist; ``what`` is its verb and masked path."""
        self._habits.lost(entry, at, what, nearest)

    def ended(self, entry: int, doubt: Doubt | None, at: Micros, real: Micros) -> None:
        """The answer of an open call has ended, whole (``doubt`` None) or not."""
        self._pace.ended(entry, at, real)
        self.doubts.ended(entry, doubt)
        if doubt is not None:
            self._declines.ended(entry)

    def moved(self, event: Event, entry: int) -> None:
        """Time or a payer has moved an object, at a journal entry."""
        if event.subject is Subject.CHARGE:
            self.doubts.moved(event)
            self._loose_ends.moved(event)
            if event.before is None and (charge := self._charge_of(event.subject_id)) is not None:
                self._declines.charged(charge, event.at, entry)
        elif event.subject is Subject.BATCH and event.what in _ENDS:
            self._declines.batch_ended(event.subject_id, entry)

    def charged(self, charge: Charge, at: Micros, entry: int) -> None:
        """The service has charged a row of a batch; ``entry`` is the newest of the journal."""
        self._declines.charged(charge, at, entry)

    def tried(self, tried: WebhookTry) -> None:
        """A webhook was tried."""
        charge = self._charge_of(tried.subject) if tried.subject is not None else None
        self._webhooks.tried(tried, charge.status.value if charge is not None else None)
        if tried.is_accepted and not tried.is_scripted:
            self.doubts.took(tried)
            self._declines.seen(tried.subject, tried.entry)

    def sent(self, delivery_id: str, entry: int) -> None:
        """A webhook goes out to a receiver of the client, after a journal entry; ``tried`` follows."""
        self._webhooks.sent(delivery_id, entry)

    def visited(self, charge_id: str) -> None:
        """The payer has come to the page of a challenge."""
        self._loose_ends.visited(charge_id)

    def look(self, at: Micros, real: Micros) -> None:
        """Judge what goes on without an end; call it before the findings are shown."""
        self._pace.look(at, real)

    def finish(self, at: Micros) -> None:
        """The story has ended: judge what was left open. Nothing of it counts against the next story."""
        self._loose_ends.finish(at)
        self.doubts.finish()
        self._declines.finish()
        self._webhooks.finish()
