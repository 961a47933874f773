"""The verdict on a run: what its findings, the shop's books and the money say. Source:
docs/explore.md, Verdicts, Verdicts by money.

The money of a run is compared with that of the run without a fault: orders by the references that
both fault-free runs have; all others count in the total of their currency only, as a shop may make
a new reference in each run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Any, TypeAlias

from mockserver.books import shop_rows
from mockserver.books.comparison import COMPARED
from mockserver.books.shop_rows import KEYS, Claim
from mockserver.domain.charge import ZERO
from mockserver.domain.clock import Micros, parse_instant
from mockserver.domain.figures import NAMES, Figures, money_text
from mockserver.domain.masking import mask_text
from mockserver.domain.money import number_text
from mockserver.domain.record import record, replace
from mockserver.explore.telling import Ending, Telling
from mockserver.scenario.operations import MONEY

Place: TypeAlias = tuple[str, str]
"""An order, or nothing for the total of all others, and a currency."""

_REFUND = "charge.refund"


@record
class RunMoney:
    """The money of a run: its orders as ``GET /__admin/books`` shows them, the sandbox's time at
    its end, and ``doubts``, the operations whose end the client never learnt."""

    orders: Sequence[Mapping[str, Any]]
    ended: str = ""
    doubts: Sequence[str] = ()

    @classmethod
    def of(cls, books: Mapping[str, Any], after: int = 0) -> RunMoney:
        """The money that ``GET /__admin/books`` has answered, of charges that were made after a
        journal entry."""
        orders = (
            [_made_after(after, order) for order in books["orders"]] if after else books["orders"]
        )
        return cls(
            orders, books["now"], [one["line"].partition(" ")[0] for one in books["in_doubt"]]
        )

    @property
    def _began(self) -> Micros:
        return min(
            (parse_instant(one["added"]) for row in self.orders for one in row["charges"]),
            default=0,
        )

    @property
    def length(self) -> Micros:
        """From its first charge to its end."""
        return parse_instant(self.ended) - self._began

    def names(self) -> set[str]:
        """The orders that have the same name in every run: a subscription and a charge have another
        id each time."""
        return {row["reference"] for row in self.orders if row["reference"]}

    def unseen(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows of a shop's books about orders that the sandbox never saw."""
        seen = {key for row in self.orders for key in keys_of(row)}
        # An order number that could be a card's is masked there.
        keys = ((row, key_of(row) or ("", "")) for row in rows)
        return [row for row, (kind, value) in keys if (kind, mask_text(value)) not in seen]

    def untold(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """A row for each order in doubt of which a shop's books have none: that the shop does not
        know about it."""
        known = {key_of(row) for row in rows}
        return [
            {kind: order[kind], "currency": order["currency"], "state": "unknown"}
            for order in self.orders
            for kind in KEYS
            if order[kind] is not None and (kind, order[kind]) not in known
            if any(
                one["in_doubt"] and ("charge", one["chargeId"]) not in known
                for one in order["charges"]
            )
        ]

    def unbooked(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The orders that have money, or a hold, and of which a shop's books have no row."""
        known = {key_of(row) for row in rows}
        return [
            order
            for order in self.orders
            if known.isdisjoint(keys_of(order)) and Figures.of(order).exposure > 0
        ]

    def taken(self) -> dict[str, Decimal]:
        """What was taken from customers and not given back, by currency."""
        sums: dict[str, Decimal] = {}
        for order in self.orders:
            net = Figures.of(order).net
            if net:
                sums[order["currency"]] = sums.get(order["currency"], ZERO) + net
        return sums

    def by_place(
        self, shared: Collection[str], length: Micros
    ) -> dict[Place, tuple[Figures, Decimal]]:
        """The figures of each order that is ``shared``, and of all orders together, with the most
        that its customer missed at once. Of subscriptions only what was taken in the first
        ``length`` counts."""
        found: dict[Place, tuple[Figures, Decimal]] = {}
        until = self._began + length
        for row in self.orders:
            money = Figures.of(row)
            if row["subscription"] is not None:
                renewals = (
                    Figures.of(one)
                    for one in row["charges"]
                    if parse_instant(one["added"]) <= until
                )
                money = sum(renewals, Figures())
            for name in {row["reference"] if row["reference"] in shared else "", ""}:
                figures, peak = found.get((name, row["currency"]), (Figures(), ZERO))
                found[name, row["currency"]] = figures + money, peak + Decimal(str(row["peak"]))
        return found


def unknown_row(order: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row of a shop's books that says of an order that the shop does not know."""
    kind = next(kind for kind in KEYS if order[kind] is not None)
    return {kind: order[kind], "currency": order["currency"], "state": "unknown"}


def money_of(order: Mapping[str, Any]) -> str:
    """What of an order's money was taken, else what is held or pending, in words."""
    figures, currency = Figures.of(order), order["currency"]
    name = next(order[kind] for kind in ("reference", *KEYS) if order[kind] is not None)
    amounts = {"taken": figures.net, "held": figures.held, "pending": figures.pending}
    words = [f"{money_text(amount, currency)} {how}" for how, amount in amounts.items() if amount]
    return f"{' and '.join(words)} for {name}"


def keys_of(order: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What rows of a shop's books may be about that are about an order, or a charge of it."""
    yield from ((kind, order[kind]) for kind in KEYS if order[kind] is not None)
    yield from (("charge", charge["chargeId"]) for charge in order["charges"])


def _made_after(after: int, order: Mapping[str, Any]) -> Mapping[str, Any]:
    """An order with those of its charges that were made after a journal entry."""
    charges = [one for one in order["charges"] if one["journal"] and one["journal"][0] > after]
    if len(charges) == len(order["charges"]):
        return order
    figures = sum(map(Figures.of, charges), Figures())
    # As much as it may have been at once: when each of them moved is not told.
    amounts = {"peak": figures.captured + figures.held + figures.pending}
    amounts |= {name: getattr(figures, name) for name in NAMES}
    return {**order, "charges": charges, **{name: str(amount) for name, amount in amounts.items()}}


@record
class MoneyDifference:
    """What a run did with the money of one order that the run without a fault did not, in words.
    ``is_harm``: the customer or the shop has lost it for sure; otherwise only the shop's books can
    say."""

    is_harm: bool
    words: str


def money_differences(
    base: RunMoney, run: RunMoney, shared: Collection[str], *, totals: bool = True
) -> list[MoneyDifference]:
    """How the money of a run differs from that of the run without a fault, order by order; with
    ``totals`` also that of all orders together."""
    before, after = base.by_place(shared, base.length), run.by_place(shared, base.length)
    nothing = (Figures(), ZERO)
    currencies = {currency for _, currency in before}
    found: list[MoneyDifference] = []
    for place in sorted(dict.fromkeys((*before, *after)), key=lambda place: not place[0]):
        if not place[0] and not totals:
            continue
        was, now = before.get(place, nothing), after.get(place, nothing)[0]
        told = _difference(place, was, now, is_refund_lost=_REFUND in run.doubts)
        if told is None:
            continue
        if currencies and place[1] not in currencies:
            # Money in another currency may be the same money: only the shop's books can say.
            told = replace(told, is_harm=False)
        # What differs in an order differs in the total too; that counts only where it shows more.
        if place[0] or not found or (told.is_harm and not any(one.is_harm for one in found)):
            found.append(told)
    return found


def _difference(
    place: Place, before: tuple[Figures, Decimal], now: Figures, *, is_refund_lost: bool
) -> MoneyDifference | None:
    order, (was, peak) = place[0] or "all orders", before
    money, harm = partial(money_text, currency=place[1]), partial(MoneyDifference, True)
    # A refund on its way is as good as made, until it fails.
    had, has, exposure = (
        was.net - was.refunding,
        now.net - now.refunding,
        now.exposure - now.refunding,
    )
    if has > had and (now.captured > was.captured or exposure > peak):
        return harm(
            f"customer paid {money(has)} for {order} of "
            f"{money(max(had, was.exposure - was.refunding))}"
        )
    if exposure > peak:
        return harm(f"{money(exposure)} are taken, held or pending for {order} of {money(peak)}")
    if was.refunded and now.refunded > was.refunded and now.captured <= was.captured:
        return harm(
            f"{money(now.refunded)} of {order} were given back, {money(was.refunded)} were meant"
        )
    if is_refund_lost and now.refunded + now.refunding < was.refunded:
        return harm(f"the refund of {money(was.refunded)} of {order} was not made; nobody looked")
    if sent := _sent_on(place, was, now):
        return sent
    told = {"paid": (had, has), "held": (was.held, now.held), "pending": (was.pending, now.pending)}
    told["transferred"] = was.transferred, now.transferred
    said = [
        f"{what} {money(after)} instead of {money(before)}"
        for what, (before, after) in told.items()
        if before != after
    ]
    return MoneyDifference(False, f"{order}: {', '.join(said)}") if said else None


def _sent_on(place: Place, was: Figures, now: Figures) -> MoneyDifference | None:
    """More was transferred, and no more was taken: the share of a higher price is higher too."""
    if now.transferred <= was.transferred or now.net > was.net:
        return None
    sent, meant = (money_text(one.transferred, place[1]) for one in (now, was))
    return MoneyDifference(
        True, f"{sent} of {place[0] or 'all orders'} were transferred, {meant} were meant"
    )


def beside_books(base: RunMoney, end: RunEnd, shared: Collection[str]) -> list[MoneyDifference]:
    """What books that agree do not say: money of an order that was transferred again, and a hold,
    or a payment that is pending, which the run without a fault does not leave, of an order that
    they call paid or refunded; or more than it ever had of one called held."""
    before, nothing = base.by_place(shared, base.length), (Figures(), ZERO)
    places = (
        (place, now)
        for place, (now, _) in end.money.by_place(shared, base.length).items()
        if place[0]
    )
    found = [
        sent
        for place, now in places
        if (sent := _sent_on(place, before.get(place, nothing)[0], now))
    ]
    for order, claims in end.concluded():
        name, currency, now = order["reference"], order["currency"], Figures.of(order)
        was, peak = before.get((name if name in shared else "", currency), nothing)
        most, left = (
            peak if Claim.HELD in claims else was.held + was.pending,
            now.held + now.pending,
        )
        if left > most:
            stays = f"{money_text(left, currency)} of {name or 'an order'} stay held or pending"
            said = f"{stays}, without a fault {money_text(most, currency)}; the books do not say so"
            found.append(MoneyDifference(False, said))
    return found


def invariants_of(
    money: RunMoney, shared: Collection[str], *, has_books: bool = False
) -> list[str]:
    """Lines of a scenario that break when a run takes more than the run without a fault; with the
    shop's books, only of what these cannot say."""
    times = Counter(row["reference"] for row in money.orders)
    lines = []
    for row in money.orders:
        order, figures = row["reference"], Figures.of(row)
        if order not in shared or times[order] != 1 or {'"', "\\"} & set(order):
            continue
        net = number_text(figures.net)
        if figures.transferred:
            sent = number_text(figures.transferred)
            lines.append(f'transferred("{order}") <= {sent} or net("{order}") > {net}')
        if not has_books:
            lines.append(f'net("{order}") <= {net}')
        if figures.refunded and not has_books:
            lines.append(f'refunded("{order}") <= {number_text(figures.refunded)}')
    return lines


def key_of(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a row of a shop's books is about."""
    found = shop_rows.key_of(row)
    return None if found is None else (found[0], str(found[1]))


class Verdict(StrEnum):
    """Verdicts, the worst last."""

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
    """What came of it. ``differed`` are the differences of the books when the command ended,
    ``rows`` the shop's rows at the end and ``states`` what its own states mean; ``failed`` says why
    they could not be read; ``broken`` which invariants do not hold; ``operations`` how often each
    operation that moves money was asked for.

    ``ending`` is what the end of the command told; ``unread`` why the books could not be had then,
    ``untold`` the orders of which they know nothing, and that somebody may have been told of;
    ``fired`` the rules of the scenario that have. ``is_due``: a settlement, or a webhook, is still
    to come; ``is_settled``: time was moved on for that (``--settle``)."""

    money: RunMoney
    findings: Sequence[Mapping[str, Any]]
    differed: Sequence[Mapping[str, Any]] = ()
    rows: Sequence[Mapping[str, Any]] = ()
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

    def concluded(self) -> Iterator[tuple[Mapping[str, Any], set[Claim | None]]]:
        """The orders that the shop's rows call paid, refunded or held, and no more, with what they
        claim. A row that gives ``held``, or calls its order pending, unknown or by a state of the
        shop's own, says enough."""
        for order, claims in self._claimed():
            if claims <= {Claim.TAKEN, Claim.REFUNDED, Claim.HELD}:
                yield order, claims

    def claims(self, order: Mapping[str, Any]) -> set[Claim | None]:
        """What the shop's rows call an order, whatever amounts they give; None where they only give
        amounts. Empty where no row is about it."""
        keys = set(keys_of(order))
        rows = (shop_rows.read_row(row, self.states) for row in self.rows)
        return {row.claim for row in rows if row.key in keys}

    def _claimed(self) -> Iterator[tuple[Mapping[str, Any], set[Claim | None]]]:
        """The orders of which the shop's rows claim something, with that."""
        said = defaultdict[tuple[str, str], set[Claim | None]](set)
        for row in (shop_rows.read_row(one, self.states) for one in self.rows):
            claim = Claim.TAKEN if row.paid and not row.state else row.claim
            said[row.key].add(claim if row.held is None else None)
        for order in self.money.orders:
            claims = {claim for key in keys_of(order) for claim in said.get(key, ())}
            if claims:
                yield order, claims

    def left_pending(self) -> list[Mapping[str, Any]]:
        """The orders whose money has come, that the shop's books call pending, and for which
        nothing is left that could settle them. One that still holds an authorisation waits for its
        dispatch."""
        if self.is_due:
            return []
        claimed = [order for order, claims in self._claimed() if claims == {Claim.PENDING}]
        return [
            order for order in claimed if Figures.of(order).net > 0 and not Figures.of(order).held
        ]

    @property
    def differing(self) -> list[Mapping[str, Any]]:
        """The differences of the books at the end."""
        return [row for row in self.findings if row["finding"] in COMPARED]


_UNKNOWN_END = "doubt-left-open"
_BESIDE_PENDING = "paid-beside-pending"


@record
class Reference:
    """What runs are compared with: the money of the run without a fault, None where two of them
    moved different money; ``shared`` are the orders that come again in each run. ``of_two``: the
    command was run twice, so that only orders of the same reference are compared, and findings,
    which judge one client, say nothing. ``operations`` is how often it asked for each operation
    that moves money, ``unlike`` says what money was different."""

    money: RunMoney | None = None
    shared: Collection[str] = ()
    of_two: bool = False
    operations: Mapping[str, int] = field(default_factory=dict)
    leaves_pending: bool = False
    unlike: str = ""

    @classmethod
    def of(cls, first: RunMoney, second: RunMoney) -> Reference:
        """What two runs without a fault give."""
        shared, length = first.names() & second.names(), min(first.length, second.length)
        before, after = (
            {place: figures for place, (figures, _) in run.by_place(shared, length).items()}
            for run in (first, second)
        )
        # That of an order says more than the total, which comes last.
        for place in sorted({**before, **after}, key=lambda place: not place[0]):
            had, has = before.get(place, Figures()), after.get(place, Figures())
            if had != has:
                order, currency = place[0] or "all orders", place[1]
                return cls(
                    unlike=f"{order}: {had.in_words(currency)}, then {has.in_words(currency)}"
                )
        return cls(first, shared)


def operations_of(calls: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
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
    is_ours: bool = False,
) -> Judged:
    """The verdict on a run with this exit code (None: not in time), with what it says in money;
    without the shop's books its money is compared with that of the run without a fault.
    ``has_fired``: the fault has struck. ``is_ours``: the fault takes or withholds money itself.

    The first rule that has something to say decides. Money that moved wrongly counts whatever else
    is true, so it comes first. Then comes whether the run can say anything at all; and only of one
    that went to its end the money is looked at more closely: beside the shop's books where there
    are any, else beside the run without a fault.
    """
    case = _Case(code, after, reference, has_books, has_fired, is_ours)
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
    is_ours: bool

    @property
    def harm(self) -> Verdict:
        """The verdict on money that moved wrongly. Where the fault moved it, only the shop's books
        or an invariant can say whether the client has done wrong."""
        can_blame_client = self.has_books or self.after.broken
        if self.is_ours and not can_blame_client:
            return Verdict.DOUBTFUL
        return Verdict.UNSAFE


_ENDS_PENDING = (
    "--reconcile COMMAND books what has settled (a queue that a person works off is unknown: "
    "--books-state review=unknown)"
)
"""What is said first of an order that stays pending though its money has come."""


def _did_wrong(case: _Case) -> Judged | None:
    """An invariant does not hold, or a finding is an error."""
    after = case.after
    # Findings judge one client: of two that ran at once, only those of the books are asked.
    findings = after.differing if case.reference.of_two else after.findings
    has_error = any(row["severity"] == "error" for row in findings)
    if not after.broken and not has_error:
        return None
    words = [*after.broken, *_lines(after.differing)]
    if after.is_settled and after.left_pending():
        words.insert(0, _ENDS_PENDING)
    if after.ending.telling is Telling.CRASHED and after.differing:
        words.append(f"the command crashed: {after.ending.words}")
    return Judged(case.harm, words)


def _was_not_reached(case: _Case) -> Judged | None:
    """A fault that never struck says nothing of the command."""
    return None if case.has_fired else Judged(Verdict.NOT_REACHED)


def _hung(case: _Case) -> Judged | None:
    """A command that does not end says nothing more."""
    return Judged(Verdict.HUNG) if case.code is None else None


def _failed(case: _Case) -> Judged | None:
    """A command that says itself that it failed has done no harm, as the rules before this one
    know. Its books may lack an order that has money: a crash has told nobody, and words of its own
    may be read, or not."""
    after = case.after
    if after.failed:
        return Judged(Verdict.FAILED, [after.failed])
    if case.code == 0:
        # It was content, and that its books could not be read is its failure.
        return Judged(Verdict.FAILED, [after.unread]) if after.unread else None
    has_money = [order for order in after.money.orders if Figures.of(order).exposure > 0]
    if after.untold:
        return Judged(Verdict.DOUBTFUL, after.untold)
    if after.unread:
        # Books that do not exist lack nothing where nothing was taken.
        words = [after.unread, *map(money_of, has_money)]
        return Judged(Verdict.DOUBTFUL if has_money else Verdict.FAILED, words)
    return Judged(Verdict.FAILED, [] if case.has_books else [*map(money_of, has_money)])


def _by_books(case: _Case) -> Judged:
    """The shop's books beside the sandbox: those of the end decide, those of the moment at which
    the command ended tell whether the shop has healed since."""
    after, reference = case.after, case.reference
    # Where the fault itself moved money, the run without it is no measure.
    usual = None if case.is_ours else reference.money
    beside = [] if usual is None else beside_books(usual, after, reference.shared)
    differing = [*_lines(after.differing), *_may_come_twice(after)]
    differing += [difference.words for difference in beside]
    if any(one.is_harm for one in beside):
        return Judged(Verdict.UNSAFE, differing)
    if not reference.leaves_pending:
        pending = [f"{money_of(order)}, called pending" for order in after.left_pending()]
        if pending:
            words = [f"{said}, and nothing is due that could settle it" for said in pending]
            differing += [*words, _ENDS_PENDING]
    if differing:
        return Judged(Verdict.DOUBTFUL, differing)
    healed = _lines(after.differed)
    if healed:
        return Judged(Verdict.HEALED, healed)
    return Judged(Verdict.SURVIVED, [] if usual is None else _agreed(usual, case))


def _agreed(usual: RunMoney, case: _Case) -> list[str]:
    """What would be harm if the books did not agree. More may be right, as a fee for a late payment
    is; who knows better writes an invariant."""
    after, shared = case.after, case.reference.shared
    ended = {order["reference"] for order, claims in after.concluded() if Claim.HELD not in claims}
    more = money_differences(usual, after.money, ended & set(shared), totals=False)
    return [f"the books agree: {one.words}" for one in more if one.is_harm]


def _by_money(case: _Case) -> Judged:
    """Without the shop's books: what the shop did with the money, beside the run without a
    fault."""
    after, reference = case.after, case.reference
    found: Sequence[MoneyDifference] = ()
    if reference.money is not None:
        # Of two clients at once only orders of the same reference are compared.
        found = money_differences(
            reference.money, after.money, reference.shared, totals=not reference.of_two
        )
    harm = [one.words for one in found if one.is_harm]
    if not reference.of_two:
        open_ends = (row for row in after.findings if row["finding"] == _UNKNOWN_END)
        harm += [f"customer paid, and nobody has looked: {line}" for line in _lines(open_ends)]
    if harm:
        return Judged(case.harm, harm)
    doubts = [*_may_come_twice(after), *(difference.words for difference in found)]
    return Judged(Verdict.DOUBTFUL if doubts else Verdict.SURVIVED, doubts)


def _may_come_twice(after: RunEnd) -> list[str]:
    """A second payment of an order was taken, and the first may still come: no books say that."""
    return _lines(row for row in after.findings if row["finding"] == _BESIDE_PENDING)


def _lines(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """What findings say first."""
    return [str(row["evidence"][0]["line"]) for row in findings]
