"""The money of a run: what the sandbox's books say when it has ended, and how that differs from the run without a
fault. Source: docs/explore.md, Verdicts.

Orders are compared by the references that both fault-free runs have; all others count in the total of their currency
only, as a shop may make a new reference in each run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any, TypeAlias

from mockserver.books.comparison import money_text
from mockserver.books.figures import Account, Figures
from mockserver.books.invariants import OrderMoney
from mockserver.books.shop_rows import KEYS
from mockserver.domain.charge import ZERO
from mockserver.domain.money import number_text
from mockserver.domain.record import record, replace

Place: TypeAlias = tuple[str, str]
"""An order, or nothing for the total of all others, and a currency."""

_REFUND = "charge.refund"


@record
class RunOrder:
    """One order of a run. ``reference`` is the name that it has in every run, empty without one: a subscription and a
    charge have another id each time. ``peak`` is the most that it ever held of its customer's money."""

    money: OrderMoney
    reference: str
    peak: Decimal


@record
class RunMoney:
    """The money of a run. ``doubts`` are the operations whose end the client never learnt."""

    orders: Sequence[RunOrder]
    doubts: Sequence[str] = ()

    @classmethod
    def of(cls, books: Mapping[str, Any]) -> RunMoney:
        """The money that ``GET /__admin/books`` has answered."""
        orders = [RunOrder(OrderMoney.of(row), str(row["reference"] or ""), _peak(row)) for row in books["orders"]]
        return cls(orders, [doubt["line"].partition(" ")[0] for doubt in books["in_doubt"]])

    def names(self) -> set[str]:
        """The orders that have the same name in every run."""
        return {one.reference for one in self.orders if one.reference}

    def by_place(self, shared: Collection[str]) -> dict[Place, tuple[Figures, Decimal]]:
        """The figures and the peak of each order that is ``shared``, and of all orders together."""
        found: dict[Place, tuple[Figures, Decimal]] = {}
        for one in self.orders:
            for name in {one.reference if one.reference in shared else "", ""}:
                place = name, one.money.currency
                figures, peak = found.get(place, (Figures(), ZERO))
                found[place] = figures + one.money.figures, peak + one.peak
        return found


def _peak(row: Mapping[str, Any]) -> Decimal:
    """The most that was held, pending or taken at once."""
    postings = sorted((one for charge in row["charges"] for one in charge["postings"]), key=lambda one: str(one["at"]))
    most = now = ZERO
    for _, instant in groupby(postings, key=lambda one: one["at"]):
        now += sum((_exposed(one) for one in instant), ZERO)
        most = max(most, now)
    return max(most, Figures.of(row).exposure)


def _exposed(posting: Mapping[str, Any]) -> Decimal:
    """What a posting takes from the customer, or gives back when it is negative."""
    amount, sides = Decimal(str(posting["amount"])), (posting["debit"], posting["credit"])
    if Account.CUSTOMERS not in sides and Account.EXPECTED not in sides:
        return ZERO
    return amount if sides[1] in (Account.CUSTOMERS, Account.EXPECTED) else -amount


def same_money(first: RunMoney, second: RunMoney) -> bool:
    """Whether two runs moved the same money."""
    shared = first.names() & second.names()
    return _moved(first, shared) == _moved(second, shared)


def _moved(money: RunMoney, shared: Collection[str]) -> dict[Place, Figures]:
    return {place: figures for place, (figures, _) in money.by_place(shared).items() if figures != Figures()}


@record
class MoneyDifference:
    """What a run did with the money of one order that the run without a fault did not, in words. ``is_harm``: the
    customer or the shop has lost it for sure; otherwise only the shop's books can say."""

    is_harm: bool
    words: str


def differences(
    base: RunMoney, run: RunMoney, shared: Collection[str], *, totals: bool = True
) -> list[MoneyDifference]:
    """How the money of a run differs from that of the run without a fault, order by order; with ``totals`` also that
    of all orders together."""
    before, after = base.by_place(shared), run.by_place(shared)
    nothing = (Figures(), ZERO)
    refunds_lost = _REFUND in run.doubts
    currencies = {currency for _, currency in before}
    found: list[MoneyDifference] = []
    for place in sorted(dict.fromkeys((*before, *after)), key=lambda place: not place[0]):
        if not place[0] and not totals:
            continue
        (was, peak), (now, _) = before.get(place, nothing), after.get(place, nothing)
        told = _difference(place, was, peak, now, refunds_lost=refunds_lost)
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
    place: Place, was: Figures, peak: Decimal, now: Figures, *, refunds_lost: bool
) -> MoneyDifference | None:
    order, currency = place[0] or "all orders", place[1]

    def money(amount: Decimal) -> str:
        return money_text(amount, currency)

    if (now.net > was.net and now.captured > was.captured) or now.exposure > peak:
        if now.net > was.net:
            meant = money(max(was.net, was.exposure))
            return MoneyDifference(True, f"customer paid {money(now.net)} for {order} of {meant}")
        return MoneyDifference(True, f"{money(now.exposure)} are taken, held or pending for {order} of {money(peak)}")
    if was.refunded and now.refunded > was.refunded and now.captured <= was.captured:
        return MoneyDifference(
            True, f"{money(now.refunded)} of {order} were given back, {money(was.refunded)} were meant"
        )
    if refunds_lost and now.refunded + now.refunding < was.refunded:
        return MoneyDifference(True, f"the refund of {money(was.refunded)} of {order} was not made; nobody looked")
    if (now.net, now.held, now.pending) == (was.net, was.held, was.pending):
        return None
    told = {"paid": (was.net, now.net), "held": (was.held, now.held), "pending": (was.pending, now.pending)}
    changed = {what: pair for what, pair in told.items() if pair[0] != pair[1]}
    said = [f"{what} {money(after)} instead of {money(before)}" for what, (before, after) in changed.items()]
    return MoneyDifference(False, f"{order}: {', '.join(said)}")


def invariants_of(money: RunMoney, shared: Collection[str]) -> list[str]:
    """Lines of a scenario that break when a run takes more than the run without a fault."""
    named = [one.money for one in money.orders if one.reference in shared and not {'"', "\\"} & set(one.reference)]
    single = {order for order, times in Counter(one.order for one in named).items() if times == 1}
    lines = []
    for one in named:
        if one.order in single:
            lines.append(f'net("{one.order}") <= {number_text(one.figures.net)}')
            if one.figures.refunded:
                lines.append(f'refunded("{one.order}") <= {number_text(one.figures.refunded)}')
    return lines


def unseen(rows: Iterable[Mapping[str, Any]], books: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a shop's books about orders that the sandbox never saw."""
    seen = {(kind, row[kind]) for row in books["orders"] for kind in KEYS if row[kind] is not None}
    seen |= {("charge", charge["chargeId"]) for row in books["orders"] for charge in row["charges"]}
    return [row for row in rows if key_of(row) not in seen]


def key_of(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a row of a shop's books is about."""
    given = {str(name).lower(): value for name, value in row.items() if value not in (None, "")}
    return next(((kind, str(given[kind])) for kind in KEYS if kind in given), None)
