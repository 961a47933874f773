"""Compares what the shop believes about an order with what the sandbox knows: the differences, as findings.

Each order gets the first finding that fits. A finding on a correct shop costs more than a missed one: where the books
say nothing, nothing is held against them. Source: docs/books.md, What a comparison finds.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from mockserver.books.figures import Figures, OrderMoney, money_text
from mockserver.books.shop_rows import AMOUNTS, Claim, ShopRow
from mockserver.domain.charge import ZERO
from mockserver.domain.money import CURRENCIES

_MINOR_UNITS = 100
COMPARED = (
    "pending-counted-as-paid",
    "paid-without-money",
    "taken-twice",
    "booked-twice",
    "charged-but-unpaid",
    "refund-not-booked",
    "refund-not-made",
    "amount-differs",
    "hold-left-open",
)
"""The findings of a comparison."""


class Belief:
    """What all ``rows`` of one order and currency say together: several payments, partial shipments. Without rows the
    shop does not know the order; an amount is None where none of them gives it.

    ``is_negative``: nothing was taken; ``is_positive``: money was; ``is_open``: it may still come, so an amount that
    was paid claims nothing.
    """

    def __init__(self, order: str, rows: Sequence[ShopRow] = ()) -> None:
        self.order, self.rows = order, rows
        self.amounts = {name: _added(getattr(row, name) for row in rows) for name in AMOUNTS}
        self.paid, self.refunded, self.held = self.amounts.values()
        self.net = (self.paid or ZERO) - (self.refunded or ZERO)
        self.claims = {row.claim for row in rows if row.claim is not None}
        says_none = self.paid == 0 and not self.refunded and not self.held
        is_silent = not self.claims and rows and not says_none
        self.is_open = bool(self.claims & {Claim.PENDING, Claim.HELD, Claim.UNKNOWN})
        self.is_negative = self.claims <= {Claim.UNPAID, Claim.ENDED} and not is_silent
        self.is_positive = Claim.TAKEN in self.claims or bool(self.paid and not self.is_negative and not self.is_open)

    def told(self, currency: str) -> str:
        said = {name: money_text(one, currency) for name, one in self.amounts.items() if one is not None}
        states = (state for state in self.states if state.lower() not in said)
        return ", ".join((*states, *map(" ".join, said.items()))) or ("nothing" if self.rows else "no such order")

    @property
    def states(self) -> list[str]:
        """The states of its rows, as the shop spells them, each once."""
        return list(dict.fromkeys(row.state for row in self.rows if row.state))


def _added(amounts: Iterable[Decimal | None]) -> Decimal | None:
    given = [amount for amount in amounts if amount is not None]
    return sum(given, ZERO) if given else None


def agrees(belief: Belief, truth: Figures, *, is_settled: bool = False) -> bool:
    """Whether books and sandbox agree on an order; when ``is_settled``, money that has come is not pending."""
    claims, paid, refunded = belief.claims, belief.paid, belief.refunded
    nets = {truth.net, truth.net - truth.refunding}
    if Claim.UNKNOWN in claims:
        return True
    if belief.held not in (None, truth.held):
        return False
    if belief.is_negative:
        # An order that waits for its payment may well be called unpaid; one that was cancelled must not be paid later.
        comes_late = Claim.ENDED in claims and truth.pending
        return ZERO in nets and not comes_late and not (truth.held and belief.rows)
    if belief.is_open:
        if claims == {Claim.HELD}:
            return bool(truth.held) and not truth.net
        return not (is_settled and claims == {Claim.PENDING} and truth.net)
    if Claim.REFUNDED in claims and not (truth.refunded or truth.refunding):
        return False
    if paid is None:
        given_back = (None, truth.refunded, truth.refunded + truth.refunding)
        return refunded in given_back and (refunded is not None or Claim.TAKEN not in claims or truth.net > 0)
    return paid in nets | {truth.captured} if refunded is None else belief.net in nets


def difference(belief: Belief, order: OrderMoney, *, is_settled: bool = False) -> tuple[str, str] | None:
    """The finding of an order on which books and sandbox differ, and what it cost, in words; None when they agree."""
    if agrees(belief, order.figures, is_settled=is_settled):
        return None
    name = _finding(belief, order, order.figures)
    return name, _words(name, belief, order, order.figures)


def _finding(belief: Belief, order: OrderMoney, truth: Figures) -> str:
    is_same_gross = belief.paid in (None, truth.captured)
    if belief.is_positive and (truth.pending or truth.waiting) and (belief.paid is None or belief.net > truth.net):
        return "pending-counted-as-paid"
    if (belief.is_positive or Claim.REFUNDED in belief.claims) and not truth.captured:
        return "paid-without-money"
    if _is_taken_twice(belief, order, truth):
        return "taken-twice"
    if belief.paid != truth.captured and truth.net > 0 and _is_multiple(belief.net, truth.net):
        return "booked-twice"
    if (belief.is_negative or belief.claims == {Claim.PENDING}) and truth.net > 0:
        return "charged-but-unpaid"
    missing = truth.refunded - (belief.refunded or ZERO)
    made = {refund.amount for charge in order.charges for refund in charge.refunds}
    if is_same_gross and not belief.is_open and missing > 0 and (not belief.refunded or missing in made):
        return "refund-not-booked"
    claims_refund = bool(belief.refunded) or Claim.REFUNDED in belief.claims
    if is_same_gross and claims_refund and not truth.refunded and not truth.refunding:
        return "refund-not-made"
    is_held = belief.is_negative and truth.held and not truth.net and not truth.pending
    return "hold-left-open" if is_held else "amount-differs"


def _is_taken_twice(belief: Belief, order: OrderMoney, truth: Figures) -> bool:
    """Whether several charges hold what the books give for one: what is left of them, as books that keep no refunds
    say, or what was taken."""
    if belief.paid == truth.captured or truth.net <= belief.net:
        return False
    nets, taken = (one.net for one in order.each), (one.captured for one in order.each)
    is_left = _is_multiple(truth.net, belief.net) and sum(net == belief.net for net in nets) > 1
    return is_left or (_is_multiple(truth.captured, belief.paid) and sum(one == belief.paid for one in taken) > 1)


def _is_multiple(greater: Decimal, smaller: Decimal | None) -> bool:
    return smaller is not None and greater >= 2 * smaller > 0 and not greater % smaller


def _words(name: str, belief: Belief, order: OrderMoney, truth: Figures) -> str:
    """A difference in money, as a merchant would say it."""

    def money(amount: Decimal | None) -> str:
        return money_text(amount or ZERO, order.currency)

    about, booked, net = belief.order, belief.told(order.currency), money(truth.net)
    called = f"calls {', '.join(belief.states)}" if belief.states else f"books as {booked}"
    match name:
        case "pending-counted-as-paid":
            why = "is still pending" if truth.pending else "waits for the payer (3-D Secure)"
            return f"the shop counts {about} as paid, but {money(truth.pending or truth.waiting)} of it {why}"
        case "paid-without-money":
            ships = any(state.lower() == "shipped" for state in belief.states)
            amount = f"{money(belief.paid)} of " if belief.paid else ""
            return f"the shop {'ships' if ships else 'counts as paid'} {amount}{about}, {_why_none(order, truth)}"
        case "taken-twice" if _is_multiple(truth.captured, belief.paid):
            back = f", and got {money(truth.refunded)} back" if truth.refunded else ""
            return f"customer paid {money(truth.captured)} for {about} of {money(belief.paid)}{back}"
        case "taken-twice":
            return f"customer paid {net} for {about} of {money(belief.net)}"
        case "booked-twice":
            units = (_MINOR_UNITS, 10 ** CURRENCIES[order.currency].digits)
            hint = "; are these minor units?" if belief.net in [unit * truth.net for unit in units] else ""
            hint = f"; {money(truth.returned)} bounced" if truth.returned else hint
            return f"the shop books {money(belief.net)} for {about}, whose customer paid {net}{hint}"
        case "charged-but-unpaid":
            return f"customer paid {net} for {about}, which the shop {called if belief.rows else 'does not know'}"
        case "refund-not-booked":
            less = f"{money(belief.refunded)} of it" if belief.refunded else "no such refund"
            return f"{money(truth.refunded)} of {about} were given back, and the shop books {less} ({booked})"
        case "refund-not-made":
            amount = f"{money(belief.refunded)} of " if belief.refunded else ""
            return f"the shop believes {amount}{about} refunded, the customer got nothing back"
        case "hold-left-open":
            return f"{money(truth.held)} of {about} stay held, which the shop {called}"
        case _:
            return f"{about}: the shop books {booked}, the sandbox has {truth.told(order.currency)}"


def _why_none(order: OrderMoney, truth: Figures) -> str:
    if truth.returned:
        return "which bounced"
    if truth.held:
        return "which is only held: it was never captured"
    return "whose payment failed or was voided" if order.charges else "for which no payment was ever asked"
