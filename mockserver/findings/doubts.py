"""Calls whose end the client cannot know, and what comes next: double charges and refunds, batches
sent twice.

An answer that is lost, cut or too late leaves the client in doubt: the money may have moved or not.
To send the call again is wrong, and so is to forget it; right is to *look*: to read the charge, or
to search for its reference. So a call in doubt is remembered (``_Doubtful``) until the client has
learnt how it ended, and each later call of the same intent (``intents``) is judged beside it.

Two questions are asked of such a retry. Did it cost money: do both calls hold some, or was the
refund made twice (``double-charge``, ``double-refund``, ``batch-sent-twice``)? And did the client
look before, whatever came of it (``blind-retry``)?

A second payment may be meant: a deposit, then the balance. Nobody but the client knows. What it
*knew* tells most, so two things are told apart: that it had learnt of the first in any way
(``looked``), and that it had asked for it and was shown (``was_shown``). Who was shown the first
and pays again is suspected only where the two are alike in all (``_are_unlike``).

A call may be in doubt only later: as long as its answer is under way nobody knows whether it will
arrive. What comes meanwhile is kept with it (``retries``), with what the client knew then, and
judged when the answer has ended. If it ended well two clicks were under way at once
(``paid-at-once-twice``). And a payment that waits for its payer may be made later still: such a
pair is kept until it is (``_pairs``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call, UncertainResult
from mockserver.domain.figures import figures_of
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.states import ChargeState, Event
from mockserver.findings.intents import (
    INTENT_WINDOW,
    MONEY,
    Intent,
    asked_of,
    evidence_of,
    intent_of,
)
from mockserver.findings.ledger import Circumstances, Evidence, Ledger

HOLDING = frozenset(
    {ChargeState.AUTHORISED, ChargeState.SUCCESS, ChargeState.PENDING, ChargeState.PARTIAL_REFUND}
)
"""States in which a charge holds money of the customer."""

_SEARCHES = {
    "charge.create": "charge.search",
    "batch.create": "batch.search",
    "subscription.create": "subscription.search",
    "transfer.create": "transfer.search",
}
"""Where what an operation makes is searched for."""

_TAKES = frozenset({"charge.create", "charge.capture", "subscription.create"})
"""Operations that take money: of these somebody has to learn how they ended."""

_UNDONE = frozenset({ChargeState.FAILED, ChargeState.AUTHORISE_CANCELLED, ChargeState.REFUND})
"""States in which a charge holds no money any more."""

_MOST = 256
_ALL = ""
"""Stands for all objects, where an answer that names none may have shown any."""


@record
class _Doubtful:
    """A call in doubt, without its body and answer, which may be long. ``has_acted`` says that it
    changed something; ``root`` is the first object of a chain of retries; ``is_settled`` is False
    while its answer is still on the way; ``retries`` came meanwhile, as they were then.
    ``may_retry``: the error that came in place of its answer said that it may be sent again.

    ``looked``: the client has learnt how it ended, in any way. ``was_shown``: by an answer that it
    asked for, a read of the object or a search by its reference. Of a retry ``knew_first`` and
    ``saw_first`` say the same of the call before it, at the time at which the retry was sent."""

    entry: int
    at: Micros
    subject: str | None
    asked: str
    intent: Intent
    evidence: Evidence
    has_acted: bool
    is_repeat: bool
    root: str | None
    looked: bool = False
    is_settled: bool = True
    may_retry: bool = False
    retries: tuple[_Doubtful, ...] = ()
    was_shown: bool = False
    knew_first: bool = False
    saw_first: bool = False

    @property
    def circumstances(self) -> Circumstances:
        """Those in which it was sent again. Who was shown the first and sends another most likely
        means it, so that is a warning."""
        return Circumstances(is_mild=self.saw_first, is_informed=self.knew_first)

    def after(self, first: _Doubtful) -> _Doubtful:
        """The same as a retry of another, as much as the client knows of that now."""
        return replace(self, knew_first=first.looked, saw_first=first.was_shown)


class _Pair(NamedTuple):
    """Two charges or subscriptions of one intent, by their ids, of which one may still be paid;
    ``root`` is the first object of their chain."""

    root: str
    earlier: str
    later: str
    evidence: tuple[Evidence, ...]


def has_acted(call: Call, charge: Charge | None) -> bool:
    """Whether a call has changed anything; ``charge`` is the one that it is about, if there is
    one."""
    if call.events:
        return True
    # A refund that its provider has not answered has moved nothing yet, and is made for all that.
    reserved = () if charge is None else charge.reserved or ()
    return any(refund.added == call.at for refund in reserved)


def _doubtful(call: Call) -> _Doubtful:
    """A call that is in doubt, or may be once its answer has ended."""
    return _Doubtful(
        entry=call.entry,
        at=call.at,
        subject=call.subject,
        asked=asked_of(call),
        intent=intent_of(call),
        evidence=evidence_of(call),
        has_acted=has_acted(call, call.charge),
        is_repeat=call.is_repeat,
        root=call.subject,
        is_settled=call.doubt is not None,
        may_retry=call.may_retry,
    )


@mutable
class Doubts:
    """The calls in doubt of a sandbox. ``charge_of`` gives a charge as it now is, ``payments_of`` a
    subscription's.

    ``_calls`` are those in doubt or under way, by entry; one that is acted on later has none yet,
    and is there by the number, below 0, under which it waits. Of an answer under way ``_looks`` are
    the calls whose end it shows, ``_sought`` those among them that it was asked for. ``_misled``
    are the objects of which the client was shown an earlier state, or cannot know that they moved.
    ``_pairs`` are two charges of one intent of which one waits for its payer, by the id of
    either."""

    _ledger: Ledger
    _charge_of: Callable[[str], Charge | None]
    _payments_of: Callable[[str], Iterable[Charge]]
    _calls: Recent[int, _Doubtful] = memory(_MOST)
    _looks: Recent[int, tuple[int, ...]] = memory(_MOST)
    _sought: Recent[int, tuple[int, ...]] = memory(_MOST)
    _misled: Recent[str, None] = memory(_MOST)
    _pairs: Recent[str, _Pair] = memory(_MOST)

    def open(self) -> list[tuple[str | None, Evidence]]:
        """The calls whose end the client does not know yet, each with the id of what it is about or
        has made."""
        return [
            (doubtful.subject, doubtful.evidence)
            for doubtful in self._calls.values()
            if doubtful.is_settled and not doubtful.looked
        ]

    @property
    def under_way(self) -> int:
        """How many calls that move money wait for the end of their answer."""
        return sum(not doubtful.is_settled for doubtful in self._calls.values())

    def called(self, call: Call) -> None:
        """A call was decided: judge it as a retry, or note what its answer shows."""
        if call.is_late:
            self._note_late_answer(call)
        elif self._misled and call.is_ours and call.doubt is None and call.op not in MONEY:
            # A later look has shown the truth.
            self._misled.pop(call.subject or _ALL, None)
        if not self._calls and call.doubt is None and not call.is_open:
            # Nothing is in doubt, nor can this call be: so it is with most.
            return
        if call.op in MONEY:
            self._money(call)
        elif self._calls and call.doubt is None and call.code is None and call.is_ours:
            self._look(call)

    def arrived(self, call: Call) -> None:
        """A call has come that is acted on later: what comes meanwhile may be a retry of it."""
        if call.op in MONEY:
            self._calls.put(call.waited_as, _doubtful(call))

    def moved(self, event: Event) -> None:
        """Time or a payer has moved a charge, or a subscription has made one: the second of a pair
        may have been paid by that."""
        if not self._pairs:
            return
        charge = self._charge_of(event.subject_id)
        if charge is None:
            return
        # Of subscriptions the pair is the two of them, whichever of their payments has moved.
        kind, paid_for = "charge", charge.charge_id
        if charge.subscription_id is not None:
            kind, paid_for = "subscription", charge.subscription_id
        pair = self._pairs.get(paid_for)
        if pair is not None and self._hold_money(pair.earlier, pair.later):
            paid = Evidence(f"{event.subject_id}: the charge is {event.after}")
            lines = (*pair.evidence, paid)
            self._ledger.add("double-charge", event.at, lines, **{kind: pair.root})
            self._pairs.pop(pair.earlier, None)
            self._pairs.pop(pair.later, None)

    def ended(self, entry: int, doubt: UncertainResult | None) -> None:
        """The answer of an open call has ended, whole or in doubt."""
        shown, sought = self._looks.pop(entry, ()), self._sought.pop(entry, ())
        if doubt is None:
            self._look_at(shown, sought)
        doubtful = self._calls.get(entry)
        if doubtful is None or doubtful.is_settled:
            return
        if doubt is None:
            # It is in no doubt: what came meanwhile is no retry, but may be a second click.
            del self._calls[entry]
            self._paid_at_once(doubtful)
            return
        # One that has not been acted on has no place in the journal yet.
        journal_entry = entry if entry > 0 else None
        evidence = Evidence(f"{doubtful.asked}: {doubt.value}", journal_entry)
        self._calls[entry] = doubtful = replace(doubtful, is_settled=True, evidence=evidence)
        if doubtful.retries:
            self._judge_retries(doubtful)
            # It was sent again: what may still be in doubt is the retry.
            del self._calls[entry]

    def heard(self, subject: str) -> None:
        """The client has heard of an object: a receiver took a webhook about it."""
        self._look_at(
            [entry for entry, doubtful in self._calls.items() if doubtful.subject == subject]
        )

    def is_about(self, charge_id: str) -> bool:
        """Whether the client is in doubt about a charge, or saw an earlier state: then it cannot
        know how the charge stands, and a call that this forbids is no mistake."""
        if charge_id in self._misled or _ALL in self._misled:
            return True
        return any(
            doubtful.subject == charge_id and not doubtful.looked
            for doubtful in self._calls.values()
        )

    def mislead(self, charge_id: str) -> None:
        """A charge has moved behind the client's back: until it looks it cannot know."""
        self._misled.put(charge_id, None)

    def is_held_up(self, operations: Collection[str]) -> bool:
        """Whether a call of one of these operations has come that is acted on later."""
        waiting = [doubtful for number, doubtful in self._calls.items() if number < 0]
        return any(doubtful.intent.op in operations for doubtful in waiting)

    def finish(self, at: Micros) -> None:
        """The story has ended: calls of the next one are not retries. Answers on their way are
        still waited for, unless the client has asked again meanwhile."""
        for entry, doubtful in list(self._calls.items()):
            if doubtful.retries:
                # A client that has asked again did not wait for the answer.
                self.ended(entry, UncertainResult.TIMED_OUT)
            elif doubtful.is_settled:
                del self._calls[entry]
                self._left_open(doubtful, at)
        self._pairs.clear()
        self._misled.clear()

    def _left_open(self, doubtful: _Doubtful, at: Micros) -> None:
        """Judge a call of which the client never learnt how it ended: one that has taken money
        which the customer still misses."""
        has_taken = doubtful.has_acted and doubtful.intent.op in _TAKES
        if doubtful.looked or not has_taken or doubtful.subject is None:
            return
        payments = [figures_of(charge, at) for charge in self._payments(doubtful.subject)]
        # Who has given it back, or has begun to, owes the customer nothing.
        if any(figures.net > figures.refunding for figures in payments):
            about = {doubtful.intent.kind: doubtful.subject}
            self._ledger.add("doubt-left-open", at, (doubtful.evidence,), **about)

    def _note_late_answer(self, call: Call) -> None:
        """An answer has shown an earlier state: what the client does now is not its mistake. Who
        has looked for a call in doubt, and was not shown it, may send it again."""
        self._misled.put(call.subject or _ALL, None)
        for entry, doubtful in list(self._calls.items()):
            is_read = call.subject is not None and call.subject == doubtful.subject
            if is_read or _is_sought(call, doubtful.intent):
                del self._calls[entry]

    def _money(self, call: Call) -> None:
        """A call that moves money: judge it beside those of the same intent that are in doubt, and
        remember it if it may be in doubt itself."""
        new = _doubtful(call)
        waited = self._calls.pop(call.waited_as, None)
        if waited is not None:
            # It may have been asked again, or looked for, before it was acted on.
            new = replace(
                new, retries=waited.retries, looked=waited.looked, was_shown=waited.was_shown
            )
        for entry, doubtful in list(self._calls.items()):
            if call.at - doubtful.at >= INTENT_WINDOW:
                # What is paid daily is paid again.
                del self._calls[entry]
                continue
            if not doubtful.intent.is_same(new.intent):
                continue
            retry = new.after(doubtful)
            if doubtful.is_settled:
                self._judge_retry(doubtful, retry)
                # A third call is a retry of the second; all are about the first.
                new = replace(new, root=doubtful.root or new.root)
                del self._calls[entry]
            elif len(doubtful.retries) < _MOST:
                # The answer may still arrive: then this is no retry.
                self._calls[entry] = replace(doubtful, retries=(*doubtful.retries, retry))
        if call.doubt is not None and new.retries:
            # It was sent again while it waited: what may still be in doubt is the retry.
            self._judge_retries(new)
        elif call.doubt is not None or call.is_open:
            self._calls.put(call.entry, new)
        else:
            self._paid_at_once(new)

    def _paid_at_once(self, first: _Doubtful) -> None:
        """Judge what came for the same order while a call was under way that then ended well: two
        clicks. Without a reference nobody knows the order: suites and load tests share a card."""
        reference, subject = first.intent.reference, first.subject
        if first.intent.op != "charge.create" or reference is None or subject is None:
            return
        for later in self._retries(first):
            if later.subject is None or later.subject == subject:
                # One of them has made nothing, or both are one charge.
                continue
            # Of one intent are also two of which one has no reference.
            is_same_order = later.intent.reference == reference
            if not is_same_order or self._are_unlike(subject, later.subject):
                continue
            if self._hold_money(subject, later.subject):
                both = first.evidence, later.evidence
                self._ledger.add("paid-at-once-twice", later.at, both, reference=reference)

    def _are_unlike(self, earlier: str, later: str) -> bool:
        """Whether two charges name different payers, or say of different things what they are for:
        the customers of one table, with one test card. Two clicks are alike in all."""
        charge, other = self._charge_of(earlier), self._charge_of(later)
        if charge is None or other is None:
            # Of subscriptions nothing more is known than that they have one intent.
            return False
        return _likeness(charge) != _likeness(other)

    def _judge_retries(self, doubtful: _Doubtful) -> None:
        """Judge what came while a call was under way that is in doubt now."""
        for later in self._retries(doubtful):
            self._judge_retry(doubtful, later)

    def _judge_retry(self, first: _Doubtful, later: _Doubtful) -> None:
        """Judge a call that was sent again while it was in doubt: what it cost, then whether the
        client had looked before, or was told that it may try again."""
        both = first.evidence, later.evidence
        subject = first.root or later.subject
        match later.intent.op:
            case "charge.create":
                self._charged_again(first, later, both)
            case "subscription.create" if not first.looked:
                # Who has seen the first and makes another may want two.
                self._charged_again(first, later, both)
            case "charge.refund" if not first.looked and self._both_refunded(first, later):
                # Here too: who has seen the first refund may mean a second one.
                self._ledger.add("double-refund", later.at, both, charge=subject)
            case "batch.create" if _made_two(first, later):
                self._ledger.add(
                    "batch-sent-twice", later.at, both, later.circumstances, batch=first.root
                )
            case _:
                # A second capture or void has no effect: the state of the charge forbids it.
                pass
        is_blind = not first.looked and not first.may_retry
        # A repeat was given the first answer again: with an idempotency key that is the right way.
        if is_blind and not later.is_repeat:
            about = {"operation": later.intent.op, later.intent.kind: subject}
            self._ledger.add("blind-retry", later.at, both, **about)

    def _charged_again(
        self, first: _Doubtful, again: _Doubtful, both: tuple[Evidence, ...]
    ) -> None:
        """Judge two charges, or subscriptions, of one intent: whether both hold money, or may do so
        once their payer has confirmed."""
        earlier, later = first.subject, again.subject
        if earlier is None or later is None or earlier == later:
            return
        # Who saw the first and pays again may mean a second payment: a deposit, then the balance.
        # Only two that are alike in all are worth a look.
        if again.saw_first and self._are_unlike(earlier, later):
            return
        root = first.root or earlier
        if self._hold_money(earlier, later):
            about = {first.intent.kind: root}
            self._ledger.add("double-charge", again.at, both, again.circumstances, **about)
            return
        if again.saw_first:
            # It saw that the first was not paid.
            return
        pair = _Pair(root, earlier, later, both)
        for made in (earlier, later):
            charge = self._charge_of(made)
            # A subscription, which may pay later, or a payment that waits for its payer.
            if charge is None or charge.status is ChargeState.PENDING_CHECKOUT:
                self._pairs.put(made, pair)

    def _both_refunded(self, first: _Doubtful, later: _Doubtful) -> bool:
        """Whether both calls have made a refund, and none of the two has failed since."""
        charge = self._charge_of(first.subject or "")
        if charge is None or not first.has_acted or not later.has_acted:
            return False
        # One that has failed is not among them.
        made = [refund.added for refund in (*charge.refunds, *(charge.reserved or ()))]
        if first.at == later.at:
            # By a clock that stands both have the same instant.
            return made.count(first.at) > 1
        return first.at in made and later.at in made

    def _hold_money(self, *ids: str) -> bool:
        """Whether each of some charges, or a payment of each of some subscriptions, holds money."""
        for subject in ids:
            if not any(charge.status in HOLDING for charge in self._payments(subject)):
                return False
        return True

    def _payments(self, subject: str) -> Iterable[Charge]:
        """The charge of that id, or the payments of the subscription of that id."""
        charge = self._charge_of(subject)
        if charge is not None:
            return (charge,)
        return self._payments_of(subject)

    def _look(self, call: Call) -> None:
        """A call has read or searched: note the calls in doubt whose end its answer shows, at once
        or when the answer has arrived."""
        shown = [entry for entry, doubtful in self._calls.items() if self._shows(call, doubtful)]
        sought = [entry for entry in shown if _asks_for(call, self._calls[entry])]
        if call.is_open:
            self._looks.put(call.entry, tuple(shown))
            self._sought.put(call.entry, tuple(sought))
        else:
            self._look_at(shown, sought)

    def _look_at(self, entries: Iterable[int], sought: Collection[int] = ()) -> None:
        """The client has learnt how some calls ended; of those ``sought`` it was shown what it had
        asked for: who then pays again most likely means it."""
        for entry in entries:
            doubtful = self._calls.get(entry)
            # An answer may be on its way for longer than a call is remembered.
            if doubtful is not None:
                was_shown = doubtful.was_shown or entry in sought
                self._calls[entry] = replace(doubtful, looked=True, was_shown=was_shown)

    def _retries(self, doubtful: _Doubtful) -> list[_Doubtful]:
        """What came while a call was waiting, with what has become of it since, but what the client
        knew of that call when it was sent."""
        retries = []
        for retry in doubtful.retries:
            now = self._calls.get(retry.entry, retry)
            retries.append(replace(now, knew_first=retry.knew_first, saw_first=retry.saw_first))
        return retries

    def _shows(self, call: Call, doubtful: _Doubtful) -> bool:
        """Whether an answer lets the client see how a call in doubt has ended: by the object that
        it made, or by a search that finds none because there is none."""
        subject = doubtful.subject
        if subject is not None:
            if call.subject == subject or subject.encode() in call.answer:
                return True
            charge = self._charge_of(subject)
            if charge is None or charge.status not in _UNDONE:
                # It is there, and this answer does not show it.
                return False
        # Nothing holds money: a search for it rightly finds nothing.
        return _is_sought(call, doubtful.intent)


def _made_two(first: _Doubtful, later: _Doubtful) -> bool:
    """Whether each of two calls has made an object of its own."""
    if first.subject is None or later.subject is None:
        return False
    return first.subject != later.subject


def _likeness(charge: Charge) -> tuple[object, ...]:
    """What two clicks for one order have in common: who pays, for what, and how."""
    return (
        charge.email,
        charge.customer_id,
        charge.payer,
        charge.reference,
        charge.descriptor,
        charge.capture,
        str(charge.metadata),
    )


def _is_sought(call: Call, intent: Intent) -> bool:
    """Whether a call searches for what another was to make. A search for another reference does
    not; one for none shows all."""
    if _SEARCHES.get(intent.op) != call.op:
        return False
    sought = call.request.get("reference")
    if sought is None or intent.reference is None:
        return True
    return str(sought) == intent.reference


def _asks_for(call: Call, doubtful: _Doubtful) -> bool:
    """Whether a call that showed an object has asked for it: it read it, or searched for its
    reference. A list of everything shows it too, but nobody need have looked for it there."""
    if doubtful.subject is None:
        return False
    if call.subject == doubtful.subject:
        return True
    if doubtful.subject.encode() not in call.answer:
        return False
    if call.op == "batch.search":
        # Batches have no reference: who looks for one names its description.
        return bool(call.request.get("description"))
    sought, reference = call.request.get("reference"), doubtful.intent.reference
    return reference is not None and str(sought) == reference and _is_sought(call, doubtful.intent)
