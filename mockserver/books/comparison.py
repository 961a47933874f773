"""Compares what the shop believes about an order with what the sandbox knows: the differences, as
findings.

It goes in two steps. ``difference`` first asks whether the two agree (``agrees``), in the weakest
sense that the shop's words have. Only an order on which they differ is then looked at for the
reason (``_Difference``), and gets the first finding that fits; ``amount-differs`` fits always. So
no finding has to be careful about correct shops: that is decided before, in one place.

A finding on a correct shop costs more than a missed one: where the books say nothing, nothing is
held against them. Shops write very different books. Some keep refunds as amounts, some only lower
what was paid; some write a refund when they order it, some when it has gone; some call an order
paid that is partly refunded. Each of these agrees.

Source: docs/books.md, What a comparison finds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from mockserver.books.shop_rows import AMOUNTS, Claim, ShopRow
from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.figures import Figures, OrderMoney, money_text
from mockserver.domain.money import CURRENCIES
from mockserver.domain.states import ChargeState

_MINOR_UNITS = 100
"""What shops multiply by that take every currency for one of cents."""

_CAME_TO_NOTHING = (ChargeState.FAILED, ChargeState.AUTHORISE_CANCELLED)
"""States of a charge that has no money, and never will."""

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


class BookFinding(NamedTuple):
    """The name of a finding, and what it cost, as a merchant would say it."""

    name: str
    words: str


class AskedInVain(NamedTuple):
    """A payment that was asked of the service for an order, of which no charge was made: its amount
    and currency, and ``why`` nothing came of it; None for an amount that makes no sense."""

    amount: Decimal | None
    currency: str
    why: str

    @property
    def payment(self) -> str:
        """``payment of 20.00 AUD``."""
        of_amount = "" if self.amount is None else f" of {money_text(self.amount, self.currency)}"
        return f"payment{of_amount}"


class Belief:
    """What all ``rows`` of one order and currency say together: several payments, partial
    shipments. Without rows the shop does not know the order; an amount is None where none of them
    gives it.

    ``claims_no_money``: nothing was taken; ``claims_money``: money was; ``is_open``: it may still
    come, so an amount that was paid claims nothing.
    """

    def __init__(self, order: str, rows: Sequence[ShopRow] = ()) -> None:
        self.order, self.rows = order, rows
        self.amounts = {name: _sum_of(getattr(row, name) for row in rows) for name in AMOUNTS}
        self.paid, self.refunded, self.held = self.amounts.values()
        self.net = (self.paid or ZERO) - (self.refunded or ZERO)
        self.claims = {row.claim for row in rows if row.claim is not None}
        self.is_open = not self.claims.isdisjoint({Claim.PENDING, Claim.HELD, Claim.UNKNOWN})
        if self.claims:
            self.claims_no_money = self.claims <= {Claim.UNPAID, Claim.ENDED}
        else:
            # No state is known: the amounts say it. An order without rows claims that there is
            # none.
            says_zero = self.paid == 0 and not self.refunded and not self.held
            self.claims_no_money = says_zero or not rows
        may_be_paid = not self.claims_no_money and not self.is_open
        self.claims_money = Claim.TAKEN in self.claims or (may_be_paid and bool(self.paid))

    def in_words(self, currency: str) -> str:
        """``shipped, paid 20.00 AUD``: the states and the amounts that its rows give."""
        amounts = {
            name: money_text(amount, currency)
            for name, amount in self.amounts.items()
            if amount is not None
        }
        # The state "paid" beside "paid 20.00 AUD" would say it twice.
        words = [state for state in self.states if state.lower() not in amounts]
        words += [f"{name} {amount}" for name, amount in amounts.items()]
        if not words:
            return "nothing" if self.rows else "no such order"
        return ", ".join(words)

    @property
    def states(self) -> list[str]:
        """The states of its rows, as the shop spells them, each once."""
        return list(dict.fromkeys(row.state for row in self.rows if row.state))


def _sum_of(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """The sum of those that are there; None when none is: books that say nothing of refunds do not
    say that there were none."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known, ZERO) if known else None


def agrees(belief: Belief, truth: Figures, *, is_settled: bool = False) -> bool:
    """Whether books and sandbox agree on an order; when ``is_settled``, money that has come is not
    pending.

    What a shop writes about an order is read in the weakest sense that its words have. One that
    does not know leaves it to a person, and is right whatever came. An amount that it calls held
    must be held, whatever else it claims. Then the weakest claim counts: that no money was taken;
    that money may still come; else that money was taken. The ``net`` of an order is what was
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
    """The shop says that it has no money of the order. Then nothing may be left of what came in."""
    if ZERO not in _nets(truth):
        return False
    # An order that waits for its payment may well be called unpaid; one that was cancelled must not
    # be paid later.
    if Claim.ENDED in belief.claims and truth.pending:
        return False
    # An order that the shop does not know may leave a hold: that runs out by itself.
    return not (truth.held and belief.rows)


def _agrees_on_open(belief: Belief, truth: Figures, *, is_settled: bool) -> bool:
    """The shop says that money may still come. Who says no more than that is right whatever comes,
    until everything has settled; who calls it held says that a hold is there."""
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
    belief: Belief,
    order: OrderMoney,
    *,
    is_settled: bool = False,
    asked_in_vain: Callable[[], Sequence[AskedInVain]] = tuple,
) -> BookFinding | None:
    """The finding of an order on which books and sandbox differ; None when they agree.
    ``asked_in_vain`` gives what was asked of the service for it in vain, the last one last."""
    # Until its provider has answered a capture, or a hold, the order may well be called held.
    awaits_provider = any(
        charge.status is ChargeState.PENDING and not charge.capture for charge in order.charges
    )
    if belief.claims == {Claim.HELD} and awaits_provider and not order.figures.net:
        return None
    if agrees(belief, order.figures, is_settled=is_settled):
        return None
    return next(_Difference(belief, order, asked_in_vain()).findings())


class _Difference:
    """An order on which books and sandbox differ: the findings that fit it. ``order_name`` is the
    order, ``shop_says`` and ``shop_calls`` what the shop books for it, in words."""

    def __init__(self, belief: Belief, order: OrderMoney, in_vain: Sequence[AskedInVain]) -> None:
        self.belief, self.order, self.truth = belief, order, order.figures
        self.in_vain = in_vain
        self.order_name = belief.order
        # Where the books give what was taken, as it was taken, they may differ in the refunds
        # alone.
        self.is_same_gross = belief.paid in (None, self.truth.captured)
        self.shop_says = belief.in_words(order.currency)
        self.shop_calls = f"books as {self.shop_says}"
        if belief.states:
            self.shop_calls = f"calls {', '.join(belief.states)}"

    def money(self, amount: Decimal | None) -> str:
        """An amount in the currency of the order; none at all is 0."""
        return money_text(amount or ZERO, self.order.currency)

    def part(self, amount: Decimal | None) -> str:
        """``20.00 AUD of ``, before the name of the order; nothing for no amount."""
        return f"{self.money(amount)} of " if amount else ""

    def findings(self) -> Iterator[BookFinding]:
        """Those that fit, the first of which counts: the dearest mistakes come first."""
        yield from self._without_money()
        yield from self._of_other_sums()
        yield from self._charged_but_unpaid()
        yield from self._of_refunds()
        yield from self._hold_left_open()
        yield from self._may_still_come()
        has = self.truth.in_words(self.order.currency)
        paying = sum(figures.captured > 0 for figures in self.order.each)
        if paying > 1:
            has += f" in {paying} charges"
        missing = self._missing_payment()
        yield BookFinding(
            "amount-differs",
            f"{self.order_name}: the shop books {self.shop_says}, the sandbox has {has}{missing}",
        )

    def _missing_payment(self) -> str:
        """Which payment of the order makes up what the books have more than the sandbox, and why it
        has no money; empty where none does, or another of the same amount was paid: that may be
        booked twice."""
        excess = self.belief.net - self.truth.net
        paid = [
            charge.amount
            for charge, figures in zip(self.order.charges, self.order.each, strict=True)
            if figures.captured
        ]
        if excess <= 0 or excess in paid:
            return ""
        for charge in self.order.charges:
            if charge.amount == excess and charge.status in _CAME_TO_NOTHING:
                return f"; a payment of {self._how_failed(charge)}"
        for asked in self.in_vain:
            if asked.amount == excess and asked.currency == self.order.currency:
                return f"; a {asked.payment} was asked for and not made: {asked.why}"
        return ""

    def _may_still_come(self) -> Iterator[BookFinding]:
        """The shop has given an order up whose payment is under way."""
        truth = self.truth
        if self.belief.claims_no_money and truth.pending and not truth.net:
            coming = f"{self.part(truth.pending)}{self.order_name}"
            yield BookFinding(
                "amount-differs", f"{coming} may still come, which the shop {self.shop_calls}"
            )

    def _without_money(self) -> Iterator[BookFinding]:
        """The shop counts money that has not come."""
        truth, belief = self.truth, self.belief
        coming = truth.pending or truth.waiting
        counts_more = belief.paid is None or belief.net > truth.net
        if belief.claims_money and coming and counts_more:
            why = "is still pending" if truth.pending else "waits for the payer (3-D Secure)"
            yield BookFinding(
                "pending-counted-as-paid",
                f"the shop counts {self.order_name} as paid, but {self.money(coming)} of it {why}",
            )
        if (belief.claims_money or Claim.REFUNDED in belief.claims) and not truth.captured:
            is_shipped = any(state.lower() == "shipped" for state in belief.states)
            does = "ships" if is_shipped else "counts as paid"
            goods = f"{self.part(belief.paid)}{self.order_name}"
            yield BookFinding(
                "paid-without-money", f"the shop {does} {goods}, {self._why_no_money()}"
            )

    def _why_no_money(self) -> str:
        """Why an order has no money that its shop counts."""
        truth, charges = self.truth, self.order.charges
        if truth.returned:
            return f"which bounced: {self.money(truth.returned)}"
        if truth.held:
            return f"of which {self.money(truth.held)} are only held: they were never captured"
        if not charges:
            if not self.in_vain:
                return "for which no payment was ever asked"
            asked = self.in_vain[-1]
            return f"whose {asked.payment} was asked for and not made: {asked.why}"
        return f"whose payment of {self._how_failed(charges[-1])}"

    def _how_failed(self, charge: Charge) -> str:
        """``20.00 AUD was declined: Insufficient Funds``: the amount of a charge without money, and
        what became of it."""
        amount = self.money(charge.amount)
        if charge.voided is not None:
            return f"{amount} was voided"
        if charge.failed_attempts:
            return f"{amount} was declined: {charge.failed_attempts[-1].error_message}"
        return f"{amount} failed"

    def _of_other_sums(self) -> Iterator[BookFinding]:
        """The customer paid several times what the shop books, or the other way round."""
        truth, belief = self.truth, self.belief
        if belief.paid == truth.captured:
            return
        if self._is_taken_twice():
            paid, booked, back = truth.net, belief.net, ""
            if _is_multiple(truth.captured, belief.paid):
                paid, booked = truth.captured, belief.paid or ZERO
                back = f", and got {self.money(truth.refunded)} back" if truth.refunded else ""
            order = f"{self.order_name} of {self.money(booked)}"
            yield BookFinding("taken-twice", f"customer paid {self.money(paid)} for {order}{back}")
        if truth.net > 0 and _is_multiple(belief.net, truth.net) and not self._missing_payment():
            # Twice as much is a mistake of counting, a hundred times as much one of units.
            units = (_MINOR_UNITS, 10 ** CURRENCIES[self.order.currency].digits)
            is_scaled = belief.net in [unit * truth.net for unit in units]
            question = "minor units? " if is_scaled and not truth.returned else ""
            hint = f"; {self.money(truth.returned)} bounced" if truth.returned else ""
            books = f"{question}the shop books {self.money(belief.net)} for {self.order_name}"
            yield BookFinding(
                "booked-twice", f"{books}, whose customer paid {self.money(truth.net)}{hint}"
            )

    def _is_taken_twice(self) -> bool:
        """Whether several charges hold what the books give for one: what is left of them, as books
        that keep no refunds say, or what was taken."""
        truth, belief, each = self.truth, self.belief, self.order.each
        if truth.net <= belief.net:
            return False
        if _is_multiple(truth.net, belief.net):
            # Each by itself is what the books give: the same payment, made again.
            alike = sum(figures.net == belief.net for figures in each)
            if alike > 1:
                return True
        if _is_multiple(truth.captured, belief.paid):
            alike = sum(figures.captured == belief.paid for figures in each)
            return alike > 1
        return False

    def _charged_but_unpaid(self) -> Iterator[BookFinding]:
        """The customer has paid, and the shop does not count it."""
        belief, net = self.belief, self.truth.net
        if net > 0 and (belief.claims_no_money or belief.claims == {Claim.PENDING}):
            shop = self.shop_calls if belief.rows else "does not know"
            yield BookFinding(
                "charged-but-unpaid",
                f"customer paid {self.money(net)} for {self.order_name}, which the shop {shop}",
            )

    def _of_refunds(self) -> Iterator[BookFinding]:
        """What was taken agrees, and what was given back does not."""
        if not self.is_same_gross:
            return
        truth, belief = self.truth, self.belief
        # Each guard leaves the order to a finding that fits better: an open order claims no
        # amounts, and a refund that is booked with another amount is ``amount-differs``.
        missing = truth.refunded - (belief.refunded or ZERO)
        if missing > 0 and not belief.is_open and self._is_refund_missing(missing):
            books = f"{self.money(belief.refunded)} of it" if belief.refunded else "no such refund"
            yield BookFinding(
                "refund-not-booked",
                f"{self.part(truth.refunded)}{self.order_name} were given back, and the shop books "
                f"{books} ({self.shop_says})",
            )
        claims_refund = bool(belief.refunded) or Claim.REFUNDED in belief.claims
        if claims_refund and not truth.refunded and not truth.refunding:
            goods = f"{self.part(belief.refunded)}{self.order_name}"
            yield BookFinding(
                "refund-not-made",
                f"the shop believes {goods} refunded, the customer got nothing back",
            )

    def _is_refund_missing(self, missing: Decimal) -> bool:
        """Whether the books lack a refund as a whole; else they have another amount of one."""
        if not self.belief.refunded:
            return True
        refunds = (refund for charge in self.order.charges for refund in charge.refunds)
        return any(refund.amount == missing for refund in refunds)

    def _hold_left_open(self) -> Iterator[BookFinding]:
        """The issuer still holds money for an order that the shop has given up."""
        truth = self.truth
        if self.belief.claims_no_money and truth.held and not truth.net and not truth.pending:
            yield BookFinding(
                "hold-left-open",
                f"{self.part(truth.held)}{self.order_name} stay held, which the shop "
                f"{self.shop_calls}",
            )


def _is_multiple(greater: Decimal, smaller: Decimal | None) -> bool:
    """Whether one amount is another twice, three times, ..."""
    return smaller is not None and greater >= 2 * smaller > 0 and not greater % smaller
