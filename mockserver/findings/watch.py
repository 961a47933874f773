"""The facts of one sandbox in, its findings out: each fact goes to the judges that it concerns.

A client that passes its tests may still charge twice after a lost answer, retry a lost card or
believe a forged webhook. The sandbox knows both sides of every call, so it can say so. One false
alarm and people switch it off: a finding is raised only on facts that the sandbox knows, never on a
guess of what the client meant, and it always carries its evidence.

Each judge remembers what it needs of calls before, and raises findings in the one ``Ledger``:

- ``checks``: each request by itself, such as a card number in a wrong field;
- ``doubts``: calls whose end the client cannot know, and what it sends next;
- ``loose_ends`` and ``second_payments``: what is left open when the story ends;
- ``declines``, ``webhooks``, ``pace``, ``repeats``: cards that were refused for good, what a
  webhook was taken for, how soon a client comes again, what it has entered twice.

What concerns one judge alone is told to that judge. A story ends (``finished``) with a test or a
run: calls of the next one are no retries of it, so the judges forget then, and keep what was found.

The memory is bounded: a load test of a million calls must not fill it, so the oldest is forgotten,
and a mistake that spans more goes unseen. The same facts give the same findings in the same order.
A store keeps what judges remember by the types of their fields, so a field that is renamed is
forgotten by an update.

Source: docs/findings.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from sys import intern
from types import GenericAlias
from typing import NamedTuple, get_args, get_origin, get_type_hints

from mockserver.domain.bounded_cache import Recent, by_type
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call, UncertainResult, WebhookTry
from mockserver.domain.states import BatchEvent, Event, Subject
from mockserver.engine.observer import FoundLines, Memory, Observer, Remark
from mockserver.engine.tables import Tables
from mockserver.findings.declines import Declines
from mockserver.findings.doubts import Doubts
from mockserver.findings.ledger import Finding, Ledger
from mockserver.findings.pace import Pace
from mockserver.findings.paid_beside_pending import PaidBesidePending
from mockserver.findings.policy import Policy
from mockserver.findings.repeated_entries import RepeatedEntries
from mockserver.findings.request_checks import RequestChecks
from mockserver.findings.unfinished_payments import UnfinishedPayments
from mockserver.findings.webhooks import Webhooks

_KINDS = "charge customer payment_method batch token transfer subscription payment_link vault"
READS = frozenset((*(f"{kind}.get" for kind in _KINDS.split()), "batch.status"))
"""Operations that read one object."""

_REMEMBERING = (
    "declines",
    "doubts",
    "ledger",
    "loose_ends",
    "pace",
    "repeats",
    "second_payments",
    "webhooks",
)
"""Judges that remember, by the names that a store keeps them under."""

_BATCH_ENDS = frozenset({BatchEvent.FINISHED, BatchEvent.BROKE_DOWN})

_hints_of = by_type(get_type_hints)


class _JudgeField(NamedTuple):
    """A field of a judge, which a store knows by the ``name`` of the judge, and its type."""

    judge: object
    name: str
    field: str
    hint: object

    @property
    def key(self) -> str:
        """What a store keeps it under. Made when it is asked for: every sandbox has these."""
        return f"{self.name}.{self.field}"


class Watch(Observer):
    """The judges of one sandbox's client. ``charge_of`` gives a charge as it is now,
    ``payments_of`` those of a subscription."""

    lines_are = "findings", Finding

    def __init__(
        self,
        charge_of: Callable[[str], Charge | None],
        payments_of: Callable[[str], Iterable[Charge]],
        policy: Policy,
    ) -> None:
        self._charge_of = charge_of
        self._usual = policy
        self.ledger = ledger = Ledger(policy)
        self.doubts = Doubts(ledger, charge_of, payments_of)
        self.declines = Declines(ledger)
        self.pace = Pace(ledger)
        self.webhooks = Webhooks(ledger, self.doubts)
        self.loose_ends = UnfinishedPayments(ledger, self.doubts, charge_of)
        self.repeats = RepeatedEntries(ledger)
        self.second_payments = PaidBesidePending(ledger, charge_of)
        self.checks = RequestChecks(ledger)
        self.judges: Mapping[str, object] = {name: getattr(self, name) for name in _REMEMBERING}

    @cached_property
    def _counters(self) -> Sequence[_JudgeField]:
        """The fields in which judges count."""
        return [counter for counter in self._judge_fields() if counter.hint is int]

    def _judge_fields(self) -> Iterator[_JudgeField]:
        """All fields of the judges, with their types: a new memory of a judge is kept without a
        line here."""
        for name, judge in self.judges.items():
            for field, hint in _hints_of(type(judge)).items():
                yield _JudgeField(judge, name, field, hint)

    def limited(self, limits: Sequence[object]) -> None:
        """Judge by these limits of scenarios from now on, else by the usual ones."""
        self.ledger.policy = self._usual.limited_by(limits)

    def arrived(self, call: Call) -> None:
        """A call has come that is acted on later."""
        self.doubts.arrived(call)

    def called(self, call: Call) -> None:
        """A call of the client was decided; ``ended`` follows when it is open. The order counts:

        - before doubts come those who ask them whether the client could know how a charge stands:
          it is judged by what it knew when it sent this call, not by what this answer tells it;
        - after doubts come the repeats: a batch that was sent twice is not told again as rows that
          repeat.
        """
        self.checks.called(call)
        # A repeat did nothing, so only what the client can know of the first call has changed.
        if not call.is_repeat:
            self.loose_ends.called(call)
            self.second_payments.called(call)
            self.declines.called(call)
            self.webhooks.called(call)
        self.doubts.called(call)
        if not call.is_repeat:
            self.repeats.called(call)
        self.pace.called(call)
        if call.subject is not None and call.op in READS and not call.is_repeat:
            if call.pace is not None:
                self.pace.read(call.op, call.entry, call.at, call.pace, call.subject)
            # Only a whole answer of the sandbox shows how the object stands.
            if call.doubt is None and call.is_ours:
                self.webhooks.read(call.subject, call.entry)

    def ended(self, entry: int, doubt: UncertainResult | None, at: Micros, real: Micros) -> None:
        """The answer of an open call has ended, whole (``doubt`` None) or not."""
        self.pace.ended(entry, at, real)
        self.doubts.ended(entry, doubt)
        if doubt is not None:
            # A decline in an answer that was lost is one that the client does not know.
            self.declines.ended(entry)

    def moved(self, event: Event, entry: int) -> None:
        """Time or a payer has moved an object, at a journal entry."""
        if event.subject is Subject.CHARGE:
            self.doubts.moved(event)
            self.loose_ends.moved(event)
            if event.before is None:
                # A charge that no call has made: the payment of a subscription.
                charge = self._charge_of(event.subject_id)
                if charge is not None:
                    self.declines.charged(charge, event.at, entry)
        elif event.subject is Subject.BATCH and event.what in _BATCH_ENDS:
            self.declines.batch_ended(event.subject_id, entry)

    def missed(self, entry: int, at: Micros, what: str, near: str | None) -> None:
        """The client has asked for a path that there is not."""
        self.checks.missed(entry, at, what, near)

    def row_charged(self, charge: Charge, at: Micros, entry: int) -> None:
        """A row of a batch was charged."""
        self.repeats.row_charged(charge)
        self.declines.charged(charge, at, entry)

    def challenge_opened(self, charge_id: str) -> None:
        """A payer has opened the page of a challenge."""
        self.loose_ends.visited(charge_id)

    def webhook_sent(self, delivery_id: str, entry: int) -> None:
        """A webhook is on its way to the client."""
        self.webhooks.sent(delivery_id, entry)

    def webhook_tried(self, tried: WebhookTry) -> None:
        """A webhook was tried. A client that has taken one about an object knows how it stands."""
        subject = tried.delivery.message.subject_id
        if subject is None:
            self.webhooks.tried(tried, None)
            return
        charge = self._charge_of(subject)
        # Of other objects than charges the state is not asked for.
        state = None if charge is None else charge.status.value
        self.webhooks.tried(tried, state)
        if tried.is_taken:
            self.doubts.heard(subject)
            self.declines.seen(subject, tried.entry)

    def finished(self, at: Micros, real: Micros) -> None:
        """The story has ended: judge what was left open. Nothing of it counts against the next
        story."""
        self.pace.look(at, real)
        self.loose_ends.finish(at)
        self.doubts.finish(at)
        self.second_payments.finish(at)
        self.declines.finish()
        self.webhooks.finish()

    def lines(self, since: object) -> FoundLines:
        """The findings that have changed."""
        return self.ledger.lines(since)

    def take(self, lines: Iterable[Finding]) -> None:
        """Go on with the findings of a store."""
        self.ledger.take_over(lines)

    def memories(self) -> Sequence[Memory]:
        """What the judges remember, but for what they count."""
        memories = []
        for memory in self._judge_fields():
            if get_origin(memory.hint) is not Recent:
                continue
            # A name is one text for all sandboxes.
            name = intern(f"findings.{memory.name}{memory.field}")
            held: Recent[object, object] = getattr(memory.judge, memory.field)
            key_and_value = get_args(memory.hint)
            memories.append(Memory(name, held, GenericAlias(tuple, key_and_value)))
        return memories

    def counters(self) -> Mapping[str, int]:
        """What the judges count."""
        return {counter.key: getattr(counter.judge, counter.field) for counter in self._counters}

    def take_counters(self, counters: Mapping[str, int]) -> None:
        """Go on counting from here. A store of an earlier version may not have them all."""
        for counter in self._counters:
            setattr(counter.judge, counter.field, counters.get(counter.key, 0))

    def remarks(self) -> Sequence[Remark]:
        """New findings, for the log of the server."""
        # Asked after each call, which hardly ever finds anything.
        if not self.ledger.unreported:
            return ()
        return [_remark(finding) for finding in self.ledger.news()]


def _remark(finding: Finding) -> Remark:
    """What the log says of a finding: where to look, and no more."""
    entries = [line.entry for line in finding.evidence if line.entry is not None]
    return Remark(finding.kind.name, finding.severity.word, finding.about, entries)


def new_watch(tables: Tables) -> Watch:
    """The judges of a sandbox that opens: they look up charges among its tables."""
    # What is imported brings another table of charges, so it is asked for each time. Lambdas, as
    # functions would keep their annotations in the memory of every sandbox.
    return Watch(
        lambda charge_id: tables.charges.get(charge_id),
        lambda subscription_id: tables.charges.find("subscription", subscription_id),
        Policy(),
    )
