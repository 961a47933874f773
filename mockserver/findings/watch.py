"""The facts of one sandbox in, its findings out: each fact goes to the judges that it concerns.

What concerns one judge alone is told to that judge. The memory is bounded. The same facts give the same findings in the
same order. Source: docs/findings.md.
"""

from collections.abc import Callable, Iterable, Mapping

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.states import BatchEvent, Event, Subject
from mockserver.findings.declines import Declines
from mockserver.findings.doubts import Doubts
from mockserver.findings.facts import Call, Policy, UncertainResult, WebhookTry
from mockserver.findings.ledger import Ledger
from mockserver.findings.pace import Pace
from mockserver.findings.request_checks import RequestChecks
from mockserver.findings.unfinished_payments import UnfinishedPayments
from mockserver.findings.webhooks import Webhooks

_KINDS = "charge customer payment_method batch token transfer subscription payment_link vault"
READS = frozenset((*(f"{kind}.get" for kind in _KINDS.split()), "batch.status"))
"""Operations that read one object."""

_REMEMBERING = ("declines", "doubts", "ledger", "loose_ends", "pace", "webhooks")
"""Judges that remember, by the names that a store keeps them under."""

_ENDS = frozenset({BatchEvent.FINISHED, BatchEvent.BROKE_DOWN})


class Watch:
    """The judges of one sandbox's client. ``charge_of`` gives a charge as it is now, ``payments_of`` those of a
    subscription."""

    def __init__(
        self,
        charge_of: Callable[[str], Charge | None],
        payments_of: Callable[[str], Iterable[Charge]],
        policy: Policy,
    ) -> None:
        self._charge_of = charge_of
        self.ledger = ledger = Ledger(policy)
        self.doubts = Doubts(ledger, charge_of, payments_of)
        self.declines = Declines(ledger)
        self.pace = Pace(ledger)
        self.webhooks = Webhooks(ledger, self.doubts)
        self.loose_ends = UnfinishedPayments(ledger, self.doubts, charge_of)
        self.checks = RequestChecks(ledger)
        self.judges: Mapping[str, object] = {name: getattr(self, name) for name in _REMEMBERING}

    def called(self, call: Call) -> None:
        """A call of the client was decided; ``ended`` follows when it is open."""
        self.checks.called(call)
        # A repeat did nothing, so only what the client can know of the first call has changed.
        if not call.is_repeat:
            self.loose_ends.called(call)
            self.declines.called(call)
            self.webhooks.called(call)
        self.doubts.called(call)
        self.pace.called(call)
        if call.subject is not None and call.op in READS and not call.is_repeat:
            if call.pace is not None:
                self.pace.read(call.op, call.entry, call.at, call.pace, call.subject)
            if call.doubt is None and call.is_ours:
                self.webhooks.read(call.subject, call.entry)

    def ended(self, entry: int, doubt: UncertainResult | None, at: Micros, real: Micros) -> None:
        """The answer of an open call has ended, whole (``doubt`` None) or not."""
        self.pace.ended(entry, at, real)
        self.doubts.ended(entry, doubt)
        if doubt is not None:
            self.declines.ended(entry)

    def moved(self, event: Event, entry: int) -> None:
        """Time or a payer has moved an object, at a journal entry."""
        if event.subject is Subject.CHARGE:
            self.doubts.moved(event)
            self.loose_ends.moved(event)
            if event.before is None and (charge := self._charge_of(event.subject_id)) is not None:
                self.declines.charged(charge, event.at, entry)
        elif event.subject is Subject.BATCH and event.what in _ENDS:
            self.declines.batch_ended(event.subject_id, entry)

    def tried(self, tried: WebhookTry) -> None:
        """A webhook was tried."""
        subject = tried.delivery.message.subject_id
        charge = self._charge_of(subject) if subject is not None else None
        self.webhooks.tried(tried, charge.status.value if charge is not None else None)
        if tried.is_taken and subject is not None:
            self.doubts.heard(subject)
            self.declines.seen(subject, tried.entry)

    def finish(self, at: Micros) -> None:
        """The story has ended: judge what was left open. Nothing of it counts against the next story."""
        self.loose_ends.finish(at)
        self.doubts.finish(at)
        self.declines.finish()
        self.webhooks.finish()
