"""Compares what the shop believes about an order with what the sandbox knows: the differences, as findings.

Each order gets the first finding that fits. A finding on a correct shop costs more than a missed one: where the books
say nothing, nothing is held against them. Source: docs/books.md, What a comparison finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from mockserver.books.figures import Figures, figures_of, total
from mockserver.books.shop_rows import Claim, ShopRow
from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Micros
from mockserver.domain.money import CURRENCIES
from mockserver.domain.record import record

_MINOR_UNITS = 100


@record
class Belief:
    """What all rows of one order and currency say together; an amount is None where none of them gives it.
    ``is_negative``: nothing was taken; ``is_positive``: money was; ``is_open``: it may still come, so an amount that
    was paid claims nothing."""

    order: str
    paid: Decimal | None = None
    refunded: Decimal | None = None
    held: Decimal | None = None
    states: tuple[str, ...] = ()
    claims: frozenset[Claim] = frozenset()
    is_known: bool = True

    @property
    def is_positive(self) -> bool:
        """Whether the shop says that money has come in."""
        return Claim.TAKEN in self.claims or (bool(self.paid) and not self.is_negative and not self.is_open)

    @property
    def is_negative(self) -> bool:
        """Whether the shop says that nothing has."""
        told = self.claims - {Claim.UNPAID, Claim.ENDED}
        return not told and (bool(self.claims) or not self.is_known or self._says_nothing_paid)

    @property
    def is_open(self) -> bool:
        """Whether the shop waits for an answer or holds the money only."""
        return bool(self.claims & {Claim.PENDING, Claim.HELD, Claim.UNKNOWN})

    @property
    def _says_nothing_paid(self) -> bool:
        return self.paid == 0 and not self.refunded and not self.held

    def told(self, currency: str) -> str:
        """What the books say, in words."""
        amounts = {"paid": self.paid, "refunded": self.refunded, "held": self.held}
        said = [f"{name} {money_text(amount, currency)}" for name, amount in amounts.items() if amount is not None]
        return ", ".join((*self.states, *said)) or ("nothing" if self.is_known else "no such order")

    @property
    def net(self) -> Decimal:
        """What the shop believes to have."""
        return (self.paid or ZERO) - (self.refunded or ZERO)


def belief_of(order: str, rows: Iterable[ShopRow]) -> Belief:
    """The rows of one order, added up: several payments, partial shipments."""
    told = list(rows)

    def added(amounts: Iterable[Decimal | None]) -> Decimal | None:
        given = [amount for amount in amounts if amount is not None]
        return sum(given, ZERO) if given else None

    return Belief(
        order,
        paid=added(row.paid for row in told),
        refunded=added(row.refunded for row in told),
        held=added(row.held for row in told),
        states=tuple(dict.fromkeys(row.state for row in told if row.state)),
        claims=frozenset(row.claim for row in told if row.claim is not None),
    )


@record
class Truth:
    """What the sandbox knows about one order in one currency at an instant."""

    currency: str
    charges: Sequence[Charge]
    now: Micros

    @property
    def figures(self) -> Figures:
        """Its money."""
        return total(self.charges, self.now)


def agrees(belief: Belief, truth: Figures, *, is_settled: bool = False) -> bool:
    """Whether books and sandbox agree on an order; with ``is_settled`` nothing may be pending in the books any more
    whose money has come."""
    if Claim.UNKNOWN in belief.claims:
        return True
    if belief.held is not None and belief.held != truth.held:
        return False
    nets = {truth.net, truth.net - truth.refunding}
    if belief.is_negative:
        # An order that waits for its payment may well be called unpaid; one that was cancelled must not be paid later.
        comes_late = Claim.ENDED in belief.claims and truth.pending
        return ZERO in nets and not comes_late and not (truth.held and belief.is_known)
    if belief.claims == {Claim.HELD}:
        return bool(truth.held) and not truth.net
    if belief.is_open:
        return not (is_settled and belief.claims == {Claim.PENDING} and truth.net)
    if Claim.REFUNDED in belief.claims and not (truth.refunded or truth.refunding):
        return False
    if belief.refunded is not None:
        if belief.paid is None:
            return belief.refunded in (truth.refunded, truth.refunded + truth.refunding)
        return belief.net in nets
    if belief.paid is not None:
        return belief.paid in nets | {truth.captured}
    return Claim.TAKEN not in belief.claims or truth.net > 0


def difference(belief: Belief, truth: Truth, *, is_settled: bool = False) -> tuple[str, str] | None:
    """The finding of an order on which books and sandbox differ, and what it cost, in words; None when they agree."""
    figures = truth.figures
    if agrees(belief, figures, is_settled=is_settled):
        return None
    told = _Sentence(belief, truth, figures)
    return next((name, words(told)) for name, fits, words in _FINDINGS if fits(belief, truth, figures))


def _is_pending(belief: Belief, truth: Truth, figures: Figures) -> bool:
    wanted = belief.net if belief.paid is not None else figures.net + 1
    return belief.is_positive and bool(figures.pending or figures.waiting) and wanted > figures.net


def _lacks_money(belief: Belief, truth: Truth, figures: Figures) -> bool:
    return (belief.is_positive or Claim.REFUNDED in belief.claims) and not figures.captured


def _is_taken_twice(belief: Belief, truth: Truth, figures: Figures) -> bool:
    booked = belief.net
    if booked <= 0 or belief.paid == figures.captured or not _is_multiple(figures.net, booked):
        return False
    return sum(figures_of(charge, truth.now).net == booked for charge in truth.charges) > 1


def _is_booked_twice(belief: Belief, truth: Truth, figures: Figures) -> bool:
    return figures.net > 0 and belief.paid != figures.captured and _is_multiple(belief.net, figures.net)


def _is_multiple(greater: Decimal, smaller: Decimal) -> bool:
    return greater >= 2 * smaller and not greater % smaller


def _is_unpaid(belief: Belief, truth: Truth, figures: Figures) -> bool:
    return (belief.is_negative or belief.claims == {Claim.PENDING}) and figures.net > 0


def _knows_no_refund(belief: Belief, truth: Truth, figures: Figures) -> bool:
    missing = figures.refunded - (belief.refunded or ZERO)
    whole = {refund.amount for charge in truth.charges for refund in charge.refunds}
    is_same_gross = belief.paid is None or belief.paid == figures.captured
    return not belief.is_open and is_same_gross and missing > 0 and (not belief.refunded or missing in whole)


def _made_no_refund(belief: Belief, truth: Truth, figures: Figures) -> bool:
    is_same_gross = belief.paid is None or belief.paid == figures.captured
    claims = bool(belief.refunded) or Claim.REFUNDED in belief.claims
    return claims and is_same_gross and not figures.refunded and not figures.refunding


def _is_only_held(belief: Belief, truth: Truth, figures: Figures) -> bool:
    return belief.is_negative and figures.held > 0 and not figures.net and not figures.pending


def _differs(belief: Belief, truth: Truth, figures: Figures) -> bool:
    return not _is_only_held(belief, truth, figures)


@record
class _Sentence:
    """The words of a difference, in money."""

    belief: Belief
    truth: Truth
    figures: Figures

    def money(self, amount: Decimal) -> str:
        """An amount as people write it: 40.00 AUD."""
        return money_text(amount, self.truth.currency)

    @property
    def order(self) -> str:
        """The order's name."""
        return self.belief.order

    @property
    def booked(self) -> str:
        """What the books say."""
        return self.belief.told(self.truth.currency)


def money_text(amount: Decimal, currency: str) -> str:
    """An amount with the digits of its currency: ``40.00 AUD``, ``5 JPY``."""
    known = CURRENCIES.get(currency)
    return f"{amount:.{known.digits if known is not None else 2}f} {currency}".rstrip()


def _say_pending(told: _Sentence) -> str:
    waits = told.figures.pending or told.figures.waiting
    why = "is pending" if told.figures.pending else "waits for the payer (3-D Secure)"
    return f"the shop counts {told.order} as paid ({told.booked}), but {told.money(waits)} of it {why}"


def _say_no_money(told: _Sentence) -> str:
    amount = f" {told.money(told.belief.paid)} of" if told.belief.paid else ""
    counts = "ships" if "shipped" in map(str.lower, told.belief.states) else "counts"
    shop = f"the shop {counts}{amount} {told.order}"
    if any(charge.returned is not None for charge in told.truth.charges):
        return f"{shop} that bounced"
    if told.figures.held:
        return f"{shop} that is only held: it was never captured"
    why = "its payment failed or was voided" if told.truth.charges else "no payment was ever asked for"
    return f"{shop} without money: {why}"


def _say_taken_twice(told: _Sentence) -> str:
    return f"customer paid {told.money(told.figures.net)} for {told.order} of {told.money(told.belief.net)}"


def _say_booked_twice(told: _Sentence) -> str:
    times = told.belief.net / told.figures.net
    hint = "; are these minor units?" if times == _MINOR_UNITS else ""
    booked, paid = told.money(told.belief.net), told.money(told.figures.net)
    return f"the shop books {booked} for {told.order}, whose customer paid {paid}{hint}"


def _say_unpaid(told: _Sentence) -> str:
    believes = f"calls {told.booked}" if told.belief.is_known else "does not know"
    return f"customer paid {told.money(told.figures.net)} for {told.order}, which the shop {believes}"


def _say_refund_not_booked(told: _Sentence) -> str:
    return f"{told.money(told.figures.refunded)} of {told.order} were refunded, the shop books {told.booked}"


def _say_refund_not_made(told: _Sentence) -> str:
    amount = f"{told.money(told.belief.refunded)} " if told.belief.refunded else ""
    return f"the shop believes {amount}of {told.order} refunded, the customer got nothing back"


def _say_differs(told: _Sentence) -> str:
    figures = told.figures
    known = {"captured": figures.captured, "refunded": figures.refunded, "held": figures.held}
    known |= {"pending": figures.pending, "refunding": figures.refunding}
    said = [f"{what} {told.money(amount)}" for what, amount in known.items() if amount]
    return f"{told.order}: the shop books {told.booked}, the sandbox has {', '.join(said) or 'nothing'}"


def _say_held(told: _Sentence) -> str:
    return f"{told.money(told.figures.held)} of {told.order} stay held, which the shop calls {told.booked}"


_Fits = Callable[[Belief, Truth, Figures], bool]

_FINDINGS: Sequence[tuple[str, _Fits, Callable[[_Sentence], str]]] = (
    ("pending-counted-as-paid", _is_pending, _say_pending),
    ("paid-without-money", _lacks_money, _say_no_money),
    ("taken-twice", _is_taken_twice, _say_taken_twice),
    ("booked-twice", _is_booked_twice, _say_booked_twice),
    ("charged-but-unpaid", _is_unpaid, _say_unpaid),
    ("refund-not-booked", _knows_no_refund, _say_refund_not_booked),
    ("refund-not-made", _made_no_refund, _say_refund_not_made),
    ("amount-differs", _differs, _say_differs),
    ("hold-left-open", _is_only_held, _say_held),
)
"""Every finding of a comparison, in the order in which they are tried; an order that differs fits one of them."""

COMPARED = tuple(name for name, _, _ in _FINDINGS)
"""The names of these findings."""
