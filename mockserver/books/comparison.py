"""Compares what the shop believes about an order with what the sandbox knows: the differences, as findings.

Each order gets the first finding that fits. A finding on a correct shop costs more than a missed one: where the books
say nothing, nothing is held against them. Source: docs/books.md, What a comparison finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from mockserver.books.figures import Figures, Order, money_text
from mockserver.books.shop_rows import AMOUNTS, Claim, ShopRow
from mockserver.domain.charge import ZERO
from mockserver.domain.record import record

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


@record
class Belief:
    """What all rows of one order and currency say together; an amount is None where none of them gives it.
    ``is_negative``: nothing was taken; ``is_positive``: money was; ``is_open``: it may still come, so an amount that
    was paid claims nothing. ``rows`` are there unless the shop does not know the order."""

    order: str
    rows: Sequence[ShopRow] = ()

    def _added(self, name: str) -> Decimal | None:
        given = [amount for row in self.rows if (amount := getattr(row, name)) is not None]
        return sum(given, ZERO) if given else None

    @property
    def paid(self) -> Decimal | None:
        """What was paid: in several payments, for partial shipments."""
        return self._added("paid")

    @property
    def refunded(self) -> Decimal | None:
        """What was given back."""
        return self._added("refunded")

    @property
    def held(self) -> Decimal | None:
        """What is authorised."""
        return self._added("held")

    @property
    def claims(self) -> set[Claim]:
        """What its states claim."""
        return {row.claim for row in self.rows if row.claim is not None}

    @property
    def net(self) -> Decimal:
        """What the shop believes to have."""
        return (self.paid or ZERO) - (self.refunded or ZERO)

    @property
    def is_open(self) -> bool:
        """Whether the shop waits for an answer or holds the money only."""
        return bool(self.claims & {Claim.PENDING, Claim.HELD, Claim.UNKNOWN})

    @property
    def is_negative(self) -> bool:
        """Whether the shop says that nothing has come in."""
        if self.claims - {Claim.UNPAID, Claim.ENDED}:
            return False
        says_none = self.paid == 0 and not self.refunded and not self.held
        return bool(self.claims) or not self.rows or says_none

    @property
    def is_positive(self) -> bool:
        """Whether the shop says that money has come in."""
        return Claim.TAKEN in self.claims or (bool(self.paid) and not self.is_negative and not self.is_open)

    def told(self, currency: str) -> str:
        """What the books say, in words."""
        states = dict.fromkeys(row.state for row in self.rows if row.state)
        amounts = ((name, self._added(name)) for name in AMOUNTS)
        said = [f"{name} {money_text(amount, currency)}" for name, amount in amounts if amount is not None]
        return ", ".join((*states, *said)) or ("nothing" if self.rows else "no such order")


def agrees(belief: Belief, truth: Figures, *, is_settled: bool = False) -> bool:
    """Whether books and sandbox agree on an order; with ``is_settled`` nothing may be pending in the books any more
    whose money has come."""
    claims, paid, refunded = belief.claims, belief.paid, belief.refunded
    if Claim.UNKNOWN in claims:
        return True
    if belief.held is not None and belief.held != truth.held:
        return False
    nets = {truth.net, truth.net - truth.refunding}
    if belief.is_negative:
        # An order that waits for its payment may well be called unpaid; one that was cancelled must not be paid later.
        comes_late = Claim.ENDED in claims and truth.pending
        return ZERO in nets and not comes_late and not (truth.held and belief.rows)
    if claims == {Claim.HELD}:
        return bool(truth.held) and not truth.net
    if belief.is_open:
        return not (is_settled and claims == {Claim.PENDING} and truth.net)
    if Claim.REFUNDED in claims and not (truth.refunded or truth.refunding):
        return False
    if refunded is not None:
        given_back = (truth.refunded, truth.refunded + truth.refunding)
        return refunded in given_back if paid is None else belief.net in nets
    if paid is not None:
        return paid in nets | {truth.captured}
    return Claim.TAKEN not in claims or truth.net > 0


def difference(belief: Belief, order: Order, *, is_settled: bool = False) -> tuple[str, str] | None:
    """The finding of an order on which books and sandbox differ, and what it cost, in words; None when they agree."""
    if agrees(belief, order.figures, is_settled=is_settled):
        return None
    name = _finding(belief, order, order.figures)
    return name, _words(name, belief, order, order.figures)


def _finding(belief: Belief, order: Order, truth: Figures) -> str:
    """The first finding that fits."""
    is_same_gross = belief.paid in (None, truth.captured)
    if belief.is_positive and (truth.pending or truth.waiting) and (belief.paid is None or belief.net > truth.net):
        return "pending-counted-as-paid"
    if (belief.is_positive or Claim.REFUNDED in belief.claims) and not truth.captured:
        return "paid-without-money"
    if belief.paid != truth.captured and truth.net > 0 < belief.net:
        if _is_multiple(truth.net, belief.net) and sum(one.net == belief.net for one in order.each) > 1:
            return "taken-twice"
        if _is_multiple(belief.net, truth.net):
            return "booked-twice"
    if (belief.is_negative or belief.claims == {Claim.PENDING}) and truth.net > 0:
        return "charged-but-unpaid"
    if is_same_gross and not belief.is_open and _lacks_refund(belief, order, truth):
        return "refund-not-booked"
    claims_refund = bool(belief.refunded) or Claim.REFUNDED in belief.claims
    if is_same_gross and claims_refund and not truth.refunded and not truth.refunding:
        return "refund-not-made"
    is_held = belief.is_negative and truth.held and not truth.net and not truth.pending
    return "hold-left-open" if is_held else "amount-differs"


def _is_multiple(greater: Decimal, smaller: Decimal) -> bool:
    return greater >= 2 * smaller and not greater % smaller


def _lacks_refund(belief: Belief, order: Order, truth: Figures) -> bool:
    """Whether the books lack all refunds, or whole ones of them."""
    missing = truth.refunded - (belief.refunded or ZERO)
    made = {refund.amount for charge in order.charges for refund in charge.refunds}
    return missing > 0 and (not belief.refunded or missing in made)


def _words(name: str, belief: Belief, order: Order, truth: Figures) -> str:
    """A difference in money, as a merchant would say it."""

    def money(amount: Decimal | None) -> str:
        return money_text(amount or ZERO, order.currency)

    about, booked = belief.order, belief.told(order.currency)
    match name:
        case "pending-counted-as-paid":
            why = "is pending" if truth.pending else "waits for the payer (3-D Secure)"
            waits = money(truth.pending or truth.waiting)
            return f"the shop counts {about} as paid ({booked}), but {waits} of it {why}"
        case "paid-without-money":
            return _without_money(belief, order, truth)
        case "taken-twice":
            return f"customer paid {money(truth.net)} for {about} of {money(belief.net)}"
        case "booked-twice":
            hint = "; are these minor units?" if belief.net == _MINOR_UNITS * truth.net else ""
            return f"the shop books {money(belief.net)} for {about}, whose customer paid {money(truth.net)}{hint}"
        case "charged-but-unpaid":
            believes = f"calls {booked}" if belief.rows else "does not know"
            return f"customer paid {money(truth.net)} for {about}, which the shop {believes}"
        case "refund-not-booked":
            return f"{money(truth.refunded)} of {about} were refunded, the shop books {booked}"
        case "refund-not-made":
            amount = f"{money(belief.refunded)} " if belief.refunded else ""
            return f"the shop believes {amount}of {about} refunded, the customer got nothing back"
        case "hold-left-open":
            return f"{money(truth.held)} of {about} stay held, which the shop calls {booked}"
        case _:
            return f"{about}: the shop books {booked}, the sandbox has {truth.told(order.currency)}"


def _without_money(belief: Belief, order: Order, truth: Figures) -> str:
    amount = f" {money_text(belief.paid, order.currency)} of" if belief.paid else ""
    ships = any(row.state.lower() == "shipped" for row in belief.rows)
    shop = f"the shop {'ships' if ships else 'counts'}{amount} {belief.order}"
    if truth.returned:
        return f"{shop} that bounced"
    if truth.held:
        return f"{shop} that is only held: it was never captured"
    return (
        f"{shop} without money: {'its payment failed or was voided' if order.charges else 'no payment was asked for'}"
    )


def beliefs_of(order: str, rows: Iterable[ShopRow], currencies: Sequence[str]) -> dict[str, Belief]:
    """What the rows of an order say in each currency; one that names none means the only one."""
    parted: dict[str, list[ShopRow]] = {}
    for row in rows:
        parted.setdefault(row.currency or next(iter(currencies), ""), []).append(row)
    return {currency: Belief(order, of) for currency, of in parted.items()}
