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
- ``failed``: it ended with an error. Whoever started it knows, and looks; so less money than usual
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

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from mockserver.books import shop_rows
from mockserver.books.comparison import COMPARED
from mockserver.books.shop_rows import Claim
from mockserver.domain.figures import Figures, OrderKey, money_text
from mockserver.domain.record import record
from mockserver.explore.run_answers import CallRow, FindingRow, OrderRow
from mockserver.explore.run_money import (
    MoneyDifference,
    PlaceMoney,
    RunMoney,
    ShopsRow,
    first_difference,
    given_back_less,
    keys_of,
    money_differences,
    money_of,
    place_of,
    transferred_again,
)
from mockserver.explore.telling import Ending, Telling
from mockserver.scenario.operations import MONEY


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


@record
class RunEnd:
    """What came of a run, when all had ended. ``findings`` hold the differences of the books too.

    Of the books: ``rows`` are the shop's at the end and ``states`` what its own states mean;
    ``differed`` are the differences when the command ended; ``unread`` says why the books could not
    be had, ``failed`` why they could not be compared, or what else of the shop has failed.

    ``ending`` is what the end of the command told, ``untold`` are the orders of which the books
    know nothing, and that somebody may have been told of. ``broken`` are the invariants that do not
    hold, ``fired`` the rules of the scenario that have, ``operations`` how often each operation
    that moves money was asked for. ``is_due``: a settlement, or a webhook, is still to come;
    ``is_settled``: time was moved on for that (``--settle``)."""

    money: RunMoney
    findings: Sequence[FindingRow]
    differed: Sequence[FindingRow] = ()
    rows: Sequence[ShopsRow] = ()
    states: Mapping[str, str] | None = None
    failed: str = ""
    broken: Sequence[str] = ()
    operations: Mapping[str, int] = field(default_factory=dict)
    unread: str = ""
    ending: Ending = Ending()
    untold: Sequence[str] = ()
    fired: frozenset[str] = frozenset()
    is_due: bool = False
    is_settled: bool = False

    def concluded(self) -> Iterator[tuple[OrderRow, set[Claim | None]]]:
        """The orders that the shop's rows call paid, refunded or held, and no more, with what they
        claim: to the shop these are done, so it will not look at what is left over of them. A row
        that gives ``held``, or calls its order pending, unknown or by a state of the shop's own,
        says that the shop knows of more."""
        for order, claims in self._claimed():
            if claims <= {Claim.TAKEN, Claim.REFUNDED, Claim.HELD}:
                yield order, claims

    def claims(self, order: OrderRow) -> set[Claim | None]:
        """What the shop's rows call an order, whatever amounts they give; None where they only give
        amounts. Empty where no row is about it."""
        keys = set(keys_of(order))
        rows = (shop_rows.read_row(row, self.states) for row in self.rows)
        return {row.claim for row in rows if row.key in keys}

    def _claimed(self) -> Iterator[tuple[OrderRow, set[Claim | None]]]:
        """The orders of which the shop's rows claim something, with that; None stands for a claim
        that concludes nothing."""
        said = defaultdict[OrderKey, set[Claim | None]](set)
        for row in (shop_rows.read_row(one, self.states) for one in self.rows):
            claim = row.claim
            if row.paid and not row.state:
                # Books that keep amounts alone call an order paid by what was paid.
                claim = Claim.TAKEN
            if row.held is not None:
                # Who keeps what is held knows that a hold is left.
                claim = None
            said[row.key].add(claim)
        for order in self.money.orders:
            claims = {claim for key in keys_of(order) for claim in said.get(key, ())}
            if claims:
                yield order, claims

    def left_pending(self) -> list[OrderRow]:
        """The orders whose money has come, that the shop's books call pending, and for which
        nothing is left that could settle them: pending is a claim that ends. One that still holds
        an authorisation waits for its dispatch, as a pre-order does; one whose deposit is paid, and
        whose balance waits for the payer, is pending too."""
        if self.is_due:
            return []
        left = []
        for order, claims in self._claimed():
            figures = Figures.of(order)
            has_come = figures.net > 0 and not figures.held and not figures.waiting
            if claims == {Claim.PENDING} and has_come:
                left.append(order)
        return left

    @property
    def differing(self) -> list[FindingRow]:
        """The differences of the books at the end."""
        return [row for row in self.findings if row["finding"] in COMPARED]


_UNKNOWN_END = "doubt-left-open"
_BESIDE_PENDING = "paid-beside-pending"


@record
class Reference:
    """What runs are compared with: the money of the run without a fault, None where two of them
    moved different money (``unlike`` says which); ``shared`` are the orders that come again in each
    run. ``of_two``: the command is run twice at once. ``operations`` is how often it asked for each
    operation that moves money; ``leaves_pending``: its books call paid orders pending without any
    fault too, as those of a shop do that leaves them to a person."""

    money: RunMoney | None = None
    shared: Collection[str] = ()
    of_two: bool = False
    operations: Mapping[str, int] = field(default_factory=dict)
    leaves_pending: bool = False
    unlike: str = ""

    @classmethod
    def of(cls, first: RunMoney, second: RunMoney) -> Reference:
        """What two runs without a fault give. Two, since one alone does not show which references
        come again, nor whether the command always moves the same money."""
        shared, length = first.names() & second.names(), min(first.length, second.length)
        unlike = first_difference(first, second, shared, length)
        return cls(unlike=unlike) if unlike else cls(first, shared)


def operations_of(calls: Iterable[CallRow]) -> Mapping[str, int]:
    """How often the calls of a run asked for each operation that moves money."""
    return Counter(call["op"] for call in calls if call["call"] is not None and call["op"] in MONEY)


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
    return _by_books(case) if has_books else _by_money(case)


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
        can_blame_client = self.has_books or self.after.broken
        if self.fault_moves_money and not can_blame_client:
            return Verdict.DOUBTFUL
        return Verdict.UNSAFE

    @property
    def usual(self) -> RunMoney | None:
        """The money of the run without a fault; None where it is no measure: two of these moved
        different money, or the fault itself moved some."""
        return None if self.fault_moves_money else self.reference.money


_ENDS_PENDING = (
    "--reconcile COMMAND books what has settled (a queue that a person works off is unknown: "
    "--books-state review=unknown)"
)
"""What is said first of an order that stays pending though its money has come."""


def _did_wrong(case: _Case) -> Judged | None:
    """An invariant does not hold, or a finding is an error. That counts with any exit code: a
    command that noticed afterwards has still taken the money twice."""
    after = case.after
    # Findings judge one client: of two that ran at once, only those of the books are asked.
    findings = after.differing if case.reference.of_two else after.findings
    has_error = any(row["severity"] == "error" for row in findings)
    if not after.broken and not has_error:
        return None
    words = [*after.broken, *_lines(after.differing)]
    if not words and case.has_books and case.usual is not None:
        # The books agree, as on what is pending: it costs what a run without a fault does not.
        harm = money_differences(
            case.usual,
            after.money,
            case.reference.shared,
            totals=not case.reference.of_two,
        )
        words = [difference.words for difference in harm if difference.is_harm]
    if after.is_settled and after.left_pending():
        words.insert(0, _ENDS_PENDING)
    if after.ending.telling is Telling.CRASHED and after.differing:
        words.append(f"the command crashed: {after.ending.words}")
    return Judged(case.harm, words)


def _was_not_reached(case: _Case) -> Judged | None:
    """A fault that never struck says nothing of the command."""
    return None if case.has_fired else Judged(Verdict.NOT_REACHED)


def _hung(case: _Case) -> Judged | None:
    """Of a command that does not end nobody knows what it would have done with the money."""
    return Judged(Verdict.HUNG) if case.code is None else None


def _failed(case: _Case) -> Judged | None:
    """The command, or a command of its books, ended with an error: whoever started it knows. It has
    done no harm, as the rules before this one know; but of an order that has money, and of which
    the books know nothing, it is not sure that anybody was told."""
    after = case.after
    if after.failed:
        return Judged(Verdict.FAILED, [after.failed])
    if case.code == 0:
        # It was content, and that its books could not be read is its failure.
        return Judged(Verdict.FAILED, [after.unread]) if after.unread else None
    if after.untold:
        return Judged(Verdict.DOUBTFUL, after.untold)
    has_money = [order for order in after.money.orders if Figures.of(order).exposure > 0]
    amounts = [money_of(order) for order in has_money]
    if after.unread:
        # Books that do not exist lack nothing where nothing was taken.
        verdict = Verdict.DOUBTFUL if has_money else Verdict.FAILED
        return Judged(verdict, [after.unread, *amounts])
    # Where no books say whether the shop knows of it, the report says what was taken.
    return Judged(Verdict.FAILED, [] if case.has_books else amounts)


def _by_books(case: _Case) -> Judged:
    """The shop's books beside the sandbox: those of the end decide, those of the moment at which
    the command ended tell whether the shop has healed since. Books that differ are an error, and
    were judged before; here they agree, but for warnings, and what they do not say is left."""
    after, usual = case.after, case.usual
    unsaid = [] if usual is None else beside_books(usual, after, case.reference.shared)
    doubts = [*_lines(after.differing), *_may_come_twice(after)]
    doubts += [difference.words for difference in unsaid]
    if any(difference.is_harm for difference in unsaid):
        return Judged(Verdict.UNSAFE, doubts)
    # A shop that leaves paid orders pending without a fault means something else by that word.
    pending = [] if case.reference.leaves_pending else after.left_pending()
    for order in pending:
        doubts.append(f"{money_of(order)}, called pending, and nothing is due that could settle it")
    if pending:
        doubts.append(_ENDS_PENDING)
    if doubts:
        return Judged(Verdict.DOUBTFUL, doubts)
    healed = _lines(after.differed)
    if healed:
        return Judged(Verdict.HEALED, healed)
    return Judged(Verdict.SURVIVED, [] if usual is None else _excused(usual, case))


def beside_books(base: RunMoney, end: RunEnd, shared: Collection[str]) -> list[MoneyDifference]:
    """What books that agree do not say. Money of an order was transferred again, which no row
    tells. Or a hold, or a payment that is pending, is left over, which the run without a fault does
    not leave, of an order that they call paid or refunded; of one called held, more than it ever
    had without a fault: the customer misses that until somebody looks."""
    found = transferred_again(base, end.money, shared)
    before = base.by_place(shared, base.length)
    for order, claims in end.concluded():
        name, currency, now = order["reference"], order["currency"], Figures.of(order)
        usual, peak = before.get(place_of(order, shared), PlaceMoney())
        most = peak if Claim.HELD in claims else usual.held + usual.pending
        left = now.held + now.pending
        if left > most:
            stays = f"{money_text(left, currency)} of {name or 'an order'} stay held or pending"
            said = f"{stays}, without a fault {money_text(most, currency)}; the books do not say so"
            found.append(MoneyDifference(False, said))
    return found


def _excused(usual: RunMoney, case: _Case) -> list[str]:
    """What may be wrong though the books agree. More may be right, as a fee for a late payment is,
    and so may a refund be that was refused and told to its customer. So the books excuse it, and
    the report says so; who knows better writes an invariant."""
    after = case.after
    settled = set()
    for order, claims in after.concluded():
        # Of a hold the books say nothing final.
        if Claim.HELD not in claims and order["reference"] in case.reference.shared:
            settled.add(order["reference"] or "")
    more = money_differences(usual, after.money, settled, totals=False)
    words = [difference.words for difference in more if difference.is_harm]
    words += given_back_less(usual, after.money, settled)
    return [f"the books agree: {one}" for one in words]


def _by_money(case: _Case) -> Judged:
    """Without the shop's books, of a command that was content: what it did with the money, beside
    the run without a fault."""
    after, reference = case.after, case.reference
    found: Sequence[MoneyDifference] = ()
    if reference.money is not None:
        # Of two clients at once only orders of the same reference are compared.
        found = money_differences(
            reference.money, after.money, reference.shared, totals=not reference.of_two
        )
    harm = [difference.words for difference in found if difference.is_harm]
    if not reference.of_two:
        open_ends = (row for row in after.findings if row["finding"] == _UNKNOWN_END)
        harm += [f"customer paid, and nobody has looked: {line}" for line in _lines(open_ends)]
    if harm:
        return Judged(case.harm, harm)
    doubts = [*_may_come_twice(after), *(difference.words for difference in found)]
    return Judged(Verdict.DOUBTFUL if doubts else Verdict.SURVIVED, doubts)


def _may_come_twice(after: RunEnd) -> list[str]:
    """A second payment of an order was taken, and the first may still come: no books say that, as
    until then they are right."""
    return _lines(row for row in after.findings if row["finding"] == _BESIDE_PENDING)


def _lines(findings: Iterable[FindingRow]) -> list[str]:
    """What findings say first: their first line of evidence is what it cost, in money."""
    return [row["evidence"][0]["line"] for row in findings]
