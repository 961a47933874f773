"""The verdict on a run: what its findings, the shop's books and the money say.

A command is not judged by what it prints but by what became of the money, since only that is lost
for good. The sandbox knows each cent; beside it stand the shop's books, where they are given, else
the run without a fault (``run_money``). One rule comes before all others: *a correct shop is never
blamed*, for a gate that does so once is switched off. So each verdict says no more than is known:

- ``unsafe``: money moved wrongly, whatever else is true. A finding is an error, an invariant does
  not hold, or the books differ. Without books and with exit code 0 also: more was taken than
  without the fault, more given back, a refund lost, or a payment left in doubt that nobody looked
  for.
- ``not reached``: the fault never struck, so the run says nothing of the command.
- ``hung``: the command did not end in time, which is bad in itself; its money may still move.
- ``failed``: it ended with an error. Its caller sees that, and looks; so less money than usual
  is no harm. But an order that was paid, of which the books know nothing, needs somebody who was
  told (``telling``): a crash has told nobody (``unsafe``), words of its own may be read
  (``doubtful``).
- ``healed``: the books were wrong when it ended, and right after the nightly job (``--reconcile``).
- ``doubtful``: it was content, and money is less or elsewhere. A decline may have been handled, or
  goods given away: without books nobody can say. With books, what they cannot say: a hold or a
  pending payment that is left over.
- ``survived``: nothing of all that.

Three kinds of runs are judged by less. A fault that itself takes or withholds money, such as a
proxy that sends a payment twice, makes the run without it no measure: only books or an invariant
can blame the client then. Of two runs at once (``of_two``) findings say nothing, which judge one
client, and only orders of one reference are compared: two runs that name their orders anew are two
purchases. And where two runs without a fault moved different money there is nothing to compare
with.

Before a verdict ``review`` looks at the findings again, as the run without a fault shows what was
meant. Source: docs/explore.md, Verdicts, Verdicts by money.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from mockserver.books.shop_rows import Claim
from mockserver.domain.figures import Figures, money_text
from mockserver.domain.record import record
from mockserver.explore.run_answers import FindingRow
from mockserver.explore.run_end import Reference, RunEnd
from mockserver.explore.run_money import (
    MoneyDifference,
    PlaceMoney,
    RunMoney,
    given_back_less,
    money_differences,
    money_of,
    place_of,
    transferred_again,
)
from mockserver.explore.telling import Telling


class Verdict(StrEnum):
    """Verdicts, the worst last, as ``--fail-on`` takes them. What nobody has noticed is worse than
    what the command itself has said: so a doubt is worse than an error."""

    SURVIVED = "survived"
    HEALED = "healed"
    NOT_REACHED = "not reached"
    FAILED = "failed"
    DOUBTFUL = "doubtful"
    HUNG = "hung"
    UNSAFE = "unsafe"

    @property
    def rank(self) -> int:
        """Its place among all."""
        return list(Verdict).index(self)

    def reaches(self, least: Verdict) -> bool:
        """Whether it is at least as bad as another."""
        return self.rank >= least.rank


_UNKNOWN_END = "doubt-left-open"
_BESIDE_PENDING = "paid-beside-pending"


@record
class Judged:
    """A verdict, and in money what happened."""

    verdict: Verdict
    words: Sequence[str] = ()


def judged(
    code: int | None,
    after: RunEnd,
    reference: Reference,
    *,
    has_books: bool,
    has_fired: bool,
    fault_moves_money: bool = False,
) -> Judged:
    """The verdict on a run with this exit code (None: not in time), with what it says in money;
    without the shop's books its money is compared with that of the run without a fault.
    ``has_fired``: the fault has struck. ``fault_moves_money``: it takes or withholds money itself.

    The first rule that has something to say decides. Money that moved wrongly counts whatever else
    is true, so it comes first. Then comes whether the run can say anything at all; and only of one
    that went to its end the money is looked at more closely: beside the shop's books where there
    are any, else beside the run without a fault.
    """
    case = _Case(code, after, reference, has_books, has_fired, fault_moves_money)
    for rule in (_did_wrong, _was_not_reached, _hung, _failed):
        found = rule(case)
        if found is not None:
            return found
    if has_books:
        return _by_books(case)
    return _by_money(case)


@record
class _Case:
    """A run that is judged, as ``judged`` is told of it."""

    code: int | None
    after: RunEnd
    reference: Reference
    has_books: bool
    has_fired: bool
    fault_moves_money: bool

    @property
    def harm(self) -> Verdict:
        """The verdict on money that moved wrongly. Where the fault moved it, only the shop's books
        or an invariant can say whether the client has done wrong."""
        if not self.fault_moves_money:
            return Verdict.UNSAFE
        can_blame_client = self.has_books or self.after.broken
        return Verdict.UNSAFE if can_blame_client else Verdict.DOUBTFUL

    @property
    def usual(self) -> RunMoney | None:
        """The money of the run without a fault; None where it is no measure: two of these moved
        different money, or the fault itself moved some."""
        if self.fault_moves_money:
            return None
        return self.reference.money


_ENDS_PENDING = (
    "--reconcile COMMAND books what has settled (a queue that a person works off is unknown: "
    "--books-state review=unknown)"
)
"""What is said first of an order that stays pending though its money has come."""


def _did_wrong(case: _Case) -> Judged | None:
    """An invariant does not hold, or a finding is an error. That counts with any exit code: a
    command that noticed afterwards has still taken the money twice."""
    after, of_two = case.after, case.reference.of_two
    findings = after.findings
    if of_two:
        # All others judge one client, and take the second run for a retry of the first.
        findings = after.differing
    has_error = any(row["severity"] == "error" for row in findings)
    if not after.broken and not has_error:
        return None
    words = [*after.broken, *_lines(after.differing)]
    if not words and case.has_books and case.usual is not None:
        # The books agree, as on what is pending, so they have no words for what it cost.
        differences = money_differences(
            case.usual, after.money, case.reference.shared, totals=not of_two
        )
        words = _harm_in(differences)
    if after.is_settled and after.left_pending():
        words.insert(0, _ENDS_PENDING)
    if after.ending.telling is Telling.CRASHED and after.differing:
        # Why the books were not written.
        words.append(f"the command crashed: {after.ending.words}")
    return Judged(case.harm, words)


def _was_not_reached(case: _Case) -> Judged | None:
    """A fault that never struck says nothing of the command."""
    if case.has_fired:
        return None
    return Judged(Verdict.NOT_REACHED)


def _hung(case: _Case) -> Judged | None:
    """Of a command that does not end nobody knows what it would have done with the money."""
    if case.code is not None:
        return None
    return Judged(Verdict.HUNG)


def _failed(case: _Case) -> Judged | None:
    """The command, or a command of its books, ended with an error, which its caller sees. It has
    done no harm, as the rules before this one know; but of an order that has money, and of which
    the books know nothing, it is not sure that anybody was told."""
    after = case.after
    if after.failed:
        return Judged(Verdict.FAILED, [after.failed])
    if case.code == 0:
        if not after.unread:
            return None
        # It was content, and that its books could not be read is its failure.
        return Judged(Verdict.FAILED, [after.unread])
    if after.untold:
        return Judged(Verdict.DOUBTFUL, after.untold)
    amounts = [money_of(order) for order in after.money.orders if Figures.of(order).exposure > 0]
    if after.unread and amounts:
        return Judged(Verdict.DOUBTFUL, [after.unread, *amounts])
    if after.unread:
        # Books that do not exist lack nothing where nothing was taken.
        return Judged(Verdict.FAILED, [after.unread])
    if case.has_books:
        # They agree on what was taken, or the rules before this one would have said so.
        return Judged(Verdict.FAILED)
    # Whether the shop knows of it nobody can say: so the report says what was taken.
    return Judged(Verdict.FAILED, amounts)


def _by_books(case: _Case) -> Judged:
    """The shop's books beside the sandbox: those of the end decide, those of the moment at which
    the command ended tell whether the shop has healed since. Books that differ are an error, and
    were judged before; here they agree, but for warnings, and what they do not say is left."""
    after, usual = case.after, case.usual
    doubts = [*_lines(after.differing), *_may_come_twice(after)]
    if usual is not None:
        unsaid = beside_books(usual, after, case.reference.shared)
        doubts += [difference.words for difference in unsaid]
        if any(difference.is_harm for difference in unsaid):
            return Judged(Verdict.UNSAFE, doubts)
    if not case.reference.leaves_pending:
        # A shop that leaves paid orders pending without a fault too means something else by it.
        doubts += _ends_pending(after)
    if doubts:
        return Judged(Verdict.DOUBTFUL, doubts)
    healed = _lines(after.differed)
    if healed:
        return Judged(Verdict.HEALED, healed)
    if usual is None:
        return Judged(Verdict.SURVIVED)
    return Judged(Verdict.SURVIVED, _excused(usual, case))


def _ends_pending(after: RunEnd) -> list[str]:
    """Of which paid orders the books end with pending, and what can be done about it."""
    doubts = [
        f"{money_of(order)}, called pending, and nothing is due that could settle it"
        for order in after.left_pending()
    ]
    if doubts:
        doubts.append(_ENDS_PENDING)
    return doubts


def beside_books(base: RunMoney, end: RunEnd, shared: Collection[str]) -> list[MoneyDifference]:
    """What books that agree do not say. Money of an order was transferred again, which no row
    tells. Or a hold, or a payment that is pending, is left over, which the run without a fault does
    not leave, of an order that they call paid or refunded; of one called held, more than it ever
    had without a fault: the customer misses that until somebody looks."""
    found = transferred_again(base, end.money, shared)
    before = base.by_place(shared, base.length)
    for order, claims in end.concluded():
        now = Figures.of(order)
        usual, peak = before.get(place_of(order, shared), PlaceMoney())
        left, most = now.held + now.pending, usual.held + usual.pending
        if Claim.HELD in claims:
            # The shop knows of one hold, as large as the order may be; not of a second.
            most = peak
        if left > most:
            name, currency = order["reference"] or "an order", order["currency"]
            said = (
                f"{money_text(left, currency)} of {name} stay held or pending, "
                f"without a fault {money_text(most, currency)}; the books do not say so"
            )
            found.append(MoneyDifference(False, said))
    return found


def _excused(usual: RunMoney, case: _Case) -> list[str]:
    """What may be wrong though the books agree. More may be right, as a fee for a late payment is,
    and so may a refund be that was refused and told to its customer. So the books excuse it, and
    the report says so; who knows better writes an invariant."""
    after, shared = case.after, case.reference.shared
    settled = set[str]()
    for order, claims in after.concluded():
        reference = order["reference"]
        # Of a hold the books say nothing final.
        if reference is not None and reference in shared and Claim.HELD not in claims:
            settled.add(reference)
    excused = _harm_in(money_differences(usual, after.money, settled, totals=False))
    excused += given_back_less(usual, after.money, settled)
    return [f"the books agree: {words}" for words in excused]


def _by_money(case: _Case) -> Judged:
    """Without the shop's books, of a command that was content: what it did with the money, beside
    the run without a fault."""
    after, reference = case.after, case.reference
    differences: Sequence[MoneyDifference] = ()
    if reference.money is not None:
        # Two clients at once that name their orders anew are two purchases: no totals.
        differences = money_differences(
            reference.money, after.money, reference.shared, totals=not reference.of_two
        )
    harm = _harm_in(differences)
    if not reference.of_two:
        unknown_ends = [row for row in after.findings if row["finding"] == _UNKNOWN_END]
        harm += [f"customer paid, and nobody has looked: {line}" for line in _lines(unknown_ends)]
    if harm:
        return Judged(case.harm, harm)
    doubts = _may_come_twice(after)
    doubts += [difference.words for difference in differences]
    if doubts:
        return Judged(Verdict.DOUBTFUL, doubts)
    return Judged(Verdict.SURVIVED)


def _harm_in(differences: Iterable[MoneyDifference]) -> list[str]:
    """What was lost for sure, in words."""
    return [difference.words for difference in differences if difference.is_harm]


def _may_come_twice(after: RunEnd) -> list[str]:
    """A second payment of an order was taken, and the first may still come: no books say that, as
    until then they are right."""
    return _lines(row for row in after.findings if row["finding"] == _BESIDE_PENDING)


def _lines(findings: Iterable[FindingRow]) -> list[str]:
    """What findings say first: their first line of evidence is what it cost, in money."""
    return [row["evidence"][0]["line"] for row in findings]
