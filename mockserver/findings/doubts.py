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
and pays again is suspected only where the two are alike in all (``_pay_parts``).

A call may be in doubt only later: as long as its answer is under way nobody knows whether it will
arrive. What comes meanwhile is kept with it (``retries``), with what the client knew then, and
judged when the answer has ended. If it ended well two clicks were under way at once
(``paid-at-once-twice``). And a payment that waits for its payer may be made later still: such a
pair is kept until it is (``_pairs``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from mockserver.domain.bounded_cache import Recent, memory
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call, UncertainResult
from mockserver.domain.figures import figures_of
from mockserver.domain.record import mutable, record, replace
from mockserver.domain.states import ChargeState, Event
from mockserver.findings.intents import MONEY, WINDOW, Intent, asked_of, evidence_of, intent_of
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
        """Those in which it was sent again."""
        return Circumstances(self.saw_first, self.knew_first)

    def after(self, first: _Doubtful) -> _Doubtful:
        """The same as a retry of another, as much as the client knows of that now."""
        return replace(self, knew_first=first.looked, saw_first=first.was_shown)


def _doubtful(call: Call) -> _Doubtful:
    """A call that is in doubt, or may be once its answer has ended."""
    # A refund that its provider has not answered is not shown yet, and made for all that.
    reserved = call.charge.reserved if call.charge is not None else None
    return _Doubtful(
        entry=call.entry,
        at=call.at,
        subject=call.subject,
        asked=asked_of(call),
        intent=intent_of(call),
        evidence=evidence_of(call),
        has_acted=bool(call.events) or any(refund.added == call.at for refund in reserved or ()),
        is_repeat=call.is_repeat,
        root=call.subject,
        is_settled=call.doubt is not None,
        may_retry=call.may_retry,
    )


@mutable
class Doubts:
    """The calls in doubt of a sandbox. ``charge_of`` gives a charge as it now is, ``payments_of`` a
    subscription's.

    ``_calls`` are those in doubt or under way, by entry. Of an answer under way ``_looks`` are the
    calls whose end it shows, ``_sought`` those among them that it was asked for. ``_misled`` are
    the objects of which the client was shown an earlier state. ``_pairs`` are two charges of one
    intent of which one waits for its payer, by the id of either: the root of their chain, both ids,
    and the evidence."""

    _ledger: Ledger
    _charge_of: Callable[[str], Charge | None]
    _payments_of: Callable[[str], Iterable[Charge]]
    _calls: Recent[int, _Doubtful] = memory(_MOST)
    _looks: Recent[int, tuple[int, ...]] = memory(_MOST)
    _sought: Recent[int, tuple[int, ...]] = memory(_MOST)
    _misled: Recent[str, None] = memory(_MOST)
    _pairs: Recent[str, tuple[str, str, str, tuple[Evidence, ...]]] = memory(_MOST)

    def open(self) -> list[tuple[str | None, Evidence]]:
        """The calls whose end the client does not know yet, each with the id of what it is about or
        has made."""
        return [
            (one.subject, one.evidence)
            for one in self._calls.values()
            if one.is_settled and not one.looked
        ]

    @property
    def under_way(self) -> int:
        """How many calls that move money wait for the end of their answer."""
        return sum(not one.is_settled for one in self._calls.values())

    def called(self, call: Call) -> None:
        """A call was decided: judge it as a retry, or note what its answer shows."""
        if call.is_late:
            self._mislead(call)
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
        charge = self._charge_of(event.subject_id) if self._pairs else None
        if charge is None:
            return
        kind = "charge" if charge.subscription_id is None else "subscription"
        pair = self._pairs.get(charge.subscription_id or charge.charge_id)
        if pair is None:
            return
        root, earlier, later, both = pair
        if self._hold_money(earlier, later):
            paid = Evidence(f"{event.subject_id}: the charge is {event.after}")
            self._ledger.add("double-charge", event.at, (*both, paid), **{kind: root})
            self._pairs.pop(earlier, None)
            self._pairs.pop(later, None)

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
        evidence = Evidence(f"{doubtful.asked}: {doubt.value}", entry if entry > 0 else None)
        self._calls[entry] = doubtful = replace(doubtful, is_settled=True, evidence=evidence)
        if self._was_retried(doubtful):
            del self._calls[entry]

    def heard(self, subject: str) -> None:
        """The client has heard of an object: a receiver took a webhook about it."""
        self._look_at([entry for entry, one in self._calls.items() if one.subject == subject])

    def is_about(self, charge_id: str) -> bool:
        """Whether the client is in doubt about a charge, or saw an earlier state: then it cannot
        know how the charge stands, and a call that this forbids is no mistake."""
        if charge_id in self._misled or _ALL in self._misled:
            return True
        return any(
            doubtful.subject == charge_id and not doubtful.looked
            for doubtful in self._calls.values()
        )

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
            kind = doubtful.intent.op.partition(".")[0]
            self._ledger.add(
                "doubt-left-open", at, (doubtful.evidence,), **{kind: doubtful.subject}
            )

    def _mislead(self, call: Call) -> None:
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
        # What is known of it since it arrived: it may have been asked again before it was acted on.
        waited = self._calls.pop(call.waited_as, new)
        new = replace(new, retries=waited.retries, looked=waited.looked, was_shown=waited.was_shown)
        for entry, doubtful in list(self._calls.items()):
            if call.at - doubtful.at >= WINDOW:
                # What is paid daily is paid again.
                del self._calls[entry]
            elif not doubtful.intent.is_same(new.intent):
                pass
            elif doubtful.is_settled:
                self._retried(doubtful, new.after(doubtful))
                # A third call is a retry of the second; all are about the first.
                new = replace(new, root=doubtful.root or new.root)
                del self._calls[entry]
            elif len(doubtful.retries) < _MOST:
                retries = (*doubtful.retries, new.after(doubtful))
                self._calls[entry] = replace(doubtful, retries=retries)
        if call.doubt is not None and self._was_retried(new):
            return
        if call.doubt is not None or call.is_open:
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
                continue
            if later.intent.reference != reference or self._pay_parts(subject, later.subject):
                continue
            if self._hold_money(subject, later.subject):
                both = first.evidence, later.evidence
                self._ledger.add("paid-at-once-twice", later.at, both, reference=reference)

    def _pay_parts(self, *ids: str) -> bool:
        """Whether two charges name different payers, or say of different things what they are for:
        the customers of one table, with one test card. Two clicks are alike in all."""
        charges = [charge for one in ids if (charge := self._charge_of(one)) is not None]
        likenesses = {
            (
                charge.email,
                charge.customer_id,
                charge.payer,
                charge.reference,
                charge.descriptor,
                charge.capture,
                str(charge.metadata),
            )
            for charge in charges
        }
        return len(likenesses) > 1

    def _was_retried(self, doubtful: _Doubtful) -> bool:
        """Judge what came while a call was under way that is in doubt now; whether anything did."""
        for later in self._retries(doubtful):
            self._retried(doubtful, later)
        return bool(doubtful.retries)

    def _retried(self, first: _Doubtful, later: _Doubtful) -> None:
        """Judge a call that was sent again while it was in doubt: what it cost, then whether the
        client had looked before, or was told that it may try again."""
        both = first.evidence, later.evidence
        op, subject = later.intent.op, first.root or later.subject
        kind = op.partition(".")[0]
        made = {call.subject for call in (first, later) if call.subject is not None}
        if op == "charge.create":
            self._charged_again(first, later, both)
        elif op == "subscription.create" and not first.looked:
            # Who has seen the first and makes another may want two.
            self._charged_again(first, later, both)
        elif op == "batch.create" and len(made) > 1:
            self._ledger.add(
                "batch-sent-twice", later.at, both, later.circumstances, batch=first.root
            )
        elif op == "charge.refund" and not first.looked and self._gave_both(first, later):
            self._ledger.add("double-refund", later.at, both, charge=subject)
        is_blind = not first.looked and not first.may_retry
        # A repeat was given the first answer again: with an idempotency key that is the right way.
        if is_blind and not later.is_repeat:
            self._ledger.add("blind-retry", later.at, both, operation=op, **{kind: subject})

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
        if again.saw_first and self._pay_parts(earlier, later):
            return
        root, kind = first.root or earlier, first.intent.op.partition(".")[0]
        if self._hold_money(earlier, later):
            self._ledger.add("double-charge", again.at, both, again.circumstances, **{kind: root})
            return
        if again.saw_first:
            # It saw that the first was not paid.
            return
        pair = root, earlier, later, both
        for one in (earlier, later):
            charge = self._charge_of(one)
            # A subscription, which may pay later, or a payment that waits for its payer.
            if charge is None or charge.status is ChargeState.PENDING_CHECKOUT:
                self._pairs.put(one, pair)

    def _gave_both(self, first: _Doubtful, later: _Doubtful) -> bool:
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
        return all(any(charge.status in HOLDING for charge in self._payments(one)) for one in ids)

    def _payments(self, subject: str) -> Iterable[Charge]:
        """The charge of that id, or the payments of the subscription of that id."""
        charge = self._charge_of(subject)
        return self._payments_of(subject) if charge is None else (charge,)

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
        """The client has learnt how some calls ended; of those ``sought`` by what it asked."""
        for entry in entries:
            doubtful = self._calls.get(entry)
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
        """Whether an answer lets the client see how a call in doubt has ended."""
        subject, intent = doubtful.subject, doubtful.intent
        if subject is not None and (call.subject == subject or subject.encode() in call.answer):
            return True
        if subject is not None:
            charge = self._charge_of(subject)
            if charge is None or charge.status not in _UNDONE:
                return False
        # Nothing holds money: a search for it rightly finds nothing.
        return _is_sought(call, intent)


def _is_sought(call: Call, intent: Intent) -> bool:
    """Whether a call searches for what another was to make. A search for another reference does
    not; one for none shows all."""
    if _SEARCHES.get(intent.op) != call.op:
        return False
    sought = call.request.get("reference")
    return sought is None or intent.reference is None or str(sought) == intent.reference


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
        return bool(call.request.get("description"))
    sought, reference = call.request.get("reference"), doubtful.intent.reference
    return reference is not None and str(sought) == reference and _is_sought(call, doubtful.intent)
