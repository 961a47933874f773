"""Compares what the shop believes about an order with what the sandbox knows: the differences, as
findings.

Each order gets the first finding that fits. A finding on a correct shop costs more than a missed
one: where the books say nothing, nothing is held against them. Source: docs/books.md, What a
comparison finds.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from mockserver.books.shop_rows import AMOUNTS, Claim, ShopRow
from mockserver.domain.charge import ZERO
from mockserver.domain.figures import Figures, OrderMoney, money_text
from mockserver.domain.money import CURRENCIES
from mockserver.domain.states import ChargeState

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
    "paid-by-another",
)
"""The findings of a comparison."""


class Belief:
    """What all ``rows`` of one order and currency say together: several payments, partial
    shipments. Without rows the shop does not know the order; an amount is None where none of them
    gives it.

    ``claims_no_money``: nothing was taken; ``is_positive``: money was; ``is_open``: it may still
    come, so an amount that was paid claims nothing.
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
        self.claims_no_money = self.claims <= {Claim.UNPAID, Claim.ENDED} and not is_silent
        self.is_positive = Claim.TAKEN in self.claims or bool(
            self.paid and not self.claims_no_money and not self.is_open
        )

    def told(self, currency: str) -> str:
        said = {
            name: money_text(one, currency) for name, one in self.amounts.items() if one is not None
        }
        states = (state for state in self.states if state.lower() not in said)
        return ", ".join((*states, *map(" ".join, said.items()))) or (
            "nothing" if self.rows else "no such order"
        )

    @property
    def states(self) -> list[str]:
        """The states of its rows, as the shop spells them, each once."""
        return list(dict.fromkeys(row.state for row in self.rows if row.state))


def _added(amounts: Iterable[Decimal | None]) -> Decimal | None:
    given = [amount for amount in amounts if amount is not None]
    return sum(given, ZERO) if given else None


def agrees(belief: Belief, truth: Figures, *, is_settled: bool = False) -> bool:
    """Whether books and sandbox agree on an order; when ``is_settled``, money that has come is not
    pending.

    What a shop writes about an order is read in the weakest sense that its words have. The first of
    these that it claims is looked at: that it does not know; a hold of an amount; that no money was
    taken; that money may still come; else that money was taken. The ``net`` of an order is what was
    captured less what was given back. A refund that is on its way (``refunding``) may be booked
    already or not yet, so each of the two nets is right.
    """
    if Claim.UNKNOWN in belief.claims:
        return True
    if belief.held not in (None, truth.held):
        return False
    if belief.claims_no_money:
        return _agrees_on_none(belief, truth)
    if belief.is_open:
        return _agrees_on_open(belief, truth, is_settled=is_settled)
    return _agrees_on_taken(belief, truth)


def _nets(truth: Figures) -> set[Decimal]:
    """What books may call left of an order: with the refund that is on its way, or without."""
    return {truth.net, truth.net - truth.refunding}


def _agrees_on_none(belief: Belief, truth: Figures) -> bool:
    """The shop says that it has no money of the order."""
    if ZERO not in _nets(truth):
        return False
    # An order that waits for its payment may well be called unpaid; one that was cancelled must not
    # be paid later.
    if Claim.ENDED in belief.claims and truth.pending:
        return False
    # An order that the shop does not know may leave a hold: that runs out by itself.
    return not (truth.held and belief.rows)


def _agrees_on_open(belief: Belief, truth: Figures, *, is_settled: bool) -> bool:
    """The shop says that money may still come."""
    if belief.claims == {Claim.HELD}:
        return bool(truth.held) and not truth.net
    is_late = is_settled and belief.claims == {Claim.PENDING}
    return not (is_late and truth.net)


def _agrees_on_taken(belief: Belief, truth: Figures) -> bool:
    """The shop says that money was taken, or given back, with the amounts where it gives them."""
    claims, paid, refunded = belief.claims, belief.paid, belief.refunded
    if Claim.REFUNDED in claims and not (truth.refunded or truth.refunding):
        return False
    # What was paid by vouchers alone has no money here.
    if Claim.TAKEN in claims and refunded is None and paid != 0 and truth.net <= 0:
        return False
    if paid is None:
        return refunded in (None, truth.refunded, truth.refunded + truth.refunding)
    if refunded is None:
        # Books that keep no refunds give what was taken, or what is left of it.
        return paid in _nets(truth) or paid == truth.captured
    return belief.net in _nets(truth)


def difference(
    belief: Belief, order: OrderMoney, *, is_settled: bool = False, asked: str = ""
) -> tuple[str, str] | None:
    """The finding of an order on which books and sandbox differ, and what it cost, in words; None
    when they agree. ``asked`` says of an order without a charge what was asked of the service for
    it, and why nothing came of that."""
    # Until its provider has answered a capture, or a hold, the order may well be called held.
    moves = (one.status is ChargeState.PENDING and not one.capture for one in order.charges)
    is_held_soon = belief.claims == {Claim.HELD} and not order.figures.net and any(moves)
    if is_held_soon or agrees(belief, order.figures, is_settled=is_settled):
        return None
    return next(_Difference(belief, order, asked).findings())


class _Difference:
    """An order on which books and sandbox differ: the findings that fit it, each as a merchant
    would say it."""

    def __init__(self, belief: Belief, order: OrderMoney, asked: str) -> None:
        self.belief, self.order, self.truth, self.about = belief, order, order.figures, belief.order
        self.asked = asked
        self.is_same_gross = belief.paid in (None, self.truth.captured)
        self.booked = belief.told(order.currency)
        self.called = (
            f"calls {', '.join(belief.states)}" if belief.states else f"books as {self.booked}"
        )

    def money(self, amount: Decimal | None) -> str:
        return money_text(amount or ZERO, self.order.currency)

    def findings(self) -> Iterator[tuple[str, str]]:
        """Those that fit, the first of which counts."""
        truth, belief = self.truth, self.belief
        yield from self._without_money()
        yield from self._of_other_sums()
        if (belief.claims_no_money or belief.claims == {Claim.PENDING}) and truth.net > 0:
            known = self.called if belief.rows else "does not know"
            yield (
                "charged-but-unpaid",
                f"customer paid {self.money(truth.net)} for {self.about}, which the shop {known}",
            )
        yield from self._of_refunds()
        if belief.claims_no_money and truth.held and not truth.net and not truth.pending:
            held = f"{self.money(truth.held)} of {self.about}"
            yield "hold-left-open", f"{held} stay held, which the shop {self.called}"
        if belief.claims_no_money and truth.pending and not truth.net:
            coming = f"{self.money(truth.pending)} of {self.about} may still come"
            yield "amount-differs", f"{coming}, which the shop {self.called}"
        paying = sum(one.captured > 0 for one in self.order.each)
        has = truth.told(self.order.currency) + (f" in {paying} charges" if paying > 1 else "")
        yield "amount-differs", f"{self.about}: the shop books {self.booked}, the sandbox has {has}"

    def _without_money(self) -> Iterator[tuple[str, str]]:
        """The shop counts money that has not come."""
        truth, belief, coming = self.truth, self.belief, self.truth.pending or self.truth.waiting
        if belief.is_positive and coming and (belief.paid is None or belief.net > truth.net):
            why = "is still pending" if truth.pending else "waits for the payer (3-D Secure)"
            counts = f"the shop counts {self.about} as paid"
            yield "pending-counted-as-paid", f"{counts}, but {self.money(coming)} of it {why}"
        if (belief.is_positive or Claim.REFUNDED in belief.claims) and not truth.captured:
            does = (
                "ships"
                if any(state.lower() == "shipped" for state in belief.states)
                else "counts as paid"
            )
            amount = f"{self.money(belief.paid)} of " if belief.paid else ""
            yield (
                "paid-without-money",
                f"the shop {does} {amount}{self.about}, {self._why_none()}",
            )

    def _why_none(self) -> str:
        """Why an order has no money that its shop counts."""
        truth, charges = self.truth, self.order.charges
        if truth.returned:
            return f"which bounced: {self.money(truth.returned)}"
        if truth.held:
            return f"of which {self.money(truth.held)} are only held: they were never captured"
        if not charges:
            return self.asked or "for which no payment was ever asked"
        last = charges[-1]
        payment = f"whose payment of {self.money(last.amount)}"
        if last.voided is not None:
            return f"{payment} was voided"
        if last.failed_attempts:
            return f"{payment} was declined: {last.failed_attempts[-1].error_message}"
        return f"{payment} failed"

    def _of_other_sums(self) -> Iterator[tuple[str, str]]:
        """The customer paid several times what the shop books, or the other way round."""
        truth, belief = self.truth, self.belief
        if belief.paid == truth.captured:
            return
        if self._is_taken_twice():
            paid, booked, back = truth.net, belief.net, ""
            if _is_multiple(truth.captured, belief.paid):
                paid, booked = truth.captured, belief.paid or ZERO
                back = f", and got {self.money(truth.refunded)} back" if truth.refunded else ""
            yield (
                "taken-twice",
                f"customer paid {self.money(paid)} for {self.about} of {self.money(booked)}{back}",
            )
        if truth.net > 0 and _is_multiple(belief.net, truth.net):
            units = (_MINOR_UNITS, 10 ** CURRENCIES[self.order.currency].digits)
            is_scaled = belief.net in [unit * truth.net for unit in units]
            # Twice as much is a mistake of counting, a hundred times as much one of units.
            question = "minor units? " if is_scaled and not truth.returned else ""
            hint = f"; {self.money(truth.returned)} bounced" if truth.returned else ""
            books = f"{question}the shop books {self.money(belief.net)} for {self.about}"
            yield "booked-twice", f"{books}, whose customer paid {self.money(truth.net)}{hint}"

    def _is_taken_twice(self) -> bool:
        """Whether several charges hold what the books give for one: what is left of them, as books
        that keep no refunds say, or what was taken."""
        truth, belief, each = self.truth, self.belief, self.order.each
        if truth.net <= belief.net:
            return False
        is_left = (
            _is_multiple(truth.net, belief.net) and sum(one.net == belief.net for one in each) > 1
        )
        is_whole = (
            _is_multiple(truth.captured, belief.paid)
            and sum(one.captured == belief.paid for one in each) > 1
        )
        return is_left or is_whole

    def _of_refunds(self) -> Iterator[tuple[str, str]]:
        truth, belief = self.truth, self.belief
        missing = truth.refunded - (belief.refunded or ZERO)
        made = {refund.amount for charge in self.order.charges for refund in charge.refunds}
        if (
            self.is_same_gross
            and not belief.is_open
            and missing > 0
            and (not belief.refunded or missing in made)
        ):
            given = f"{self.money(truth.refunded)} of {self.about} were given back"
            less = f"{self.money(belief.refunded)} of it" if belief.refunded else "no such refund"
            yield "refund-not-booked", f"{given}, and the shop books {less} ({self.booked})"
        claims_refund = bool(belief.refunded) or Claim.REFUNDED in belief.claims
        if self.is_same_gross and claims_refund and not truth.refunded and not truth.refunding:
            amount = f"{self.money(belief.refunded)} of " if belief.refunded else ""
            yield (
                "refund-not-made",
                (f"the shop believes {amount}{self.about} refunded, the customer got nothing back"),
            )


def _is_multiple(greater: Decimal, smaller: Decimal | None) -> bool:
    return smaller is not None and greater >= 2 * smaller > 0 and not greater % smaller
