"""Compares what the shop believes about an order with what the sandbox knows: the differences, as
findings.

It goes in two steps. ``differs`` asks whether the two agree (``agrees``), in the weakest sense that
the shop's words have. Only an order on which they differ is then looked at for the reason
(``finding_of``), and gets the first finding that fits; ``amount-differs`` fits always. So no
finding has to be careful about correct shops: that is decided before, in one place.

A finding on a correct shop costs more than a missed one: where the books say nothing, nothing is
held against them. Shops write very different books. Some keep refunds as amounts, some only lower
what was paid; some write a refund when they order it, some when it has gone; some call an order
paid that is partly refunded. Each of these agrees.

Source: docs/books.md, What a comparison finds.
"""

from collections.abc import Iterable, Sequence
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
        if self.amount is None:
            return "payment"
        return f"payment of {money_text(self.amount, self.currency)}"


class Belief:
    """What all ``rows`` of one order and currency say together: several payments, partial
    shipments. Without rows the shop does not know the order; an amount is None where none of them
    gives it.

    ``claims_no_money``: nothing was taken; ``claims_money``: money was; ``is_open``: it may still
    come, so an amount that was paid claims nothing.
    """

    def __init__(self, order: str, rows: Sequence[ShopRow] = ()) -> None:
        self.order, self.rows = order, rows
        self.paid = _sum_of(row.paid for row in rows)
        self.refunded = _sum_of(row.refunded for row in rows)
        self.held = _sum_of(row.held for row in rows)
        self.net = (self.paid or ZERO) - (self.refunded or ZERO)
        self.claims = {row.claim for row in rows if row.claim is not None}
        self.is_open = not self.claims.isdisjoint({Claim.PENDING, Claim.HELD, Claim.UNKNOWN})
        self.claims_no_money = self._claims_no_money()
        self.claims_money = self._claims_money()

    def _claims_no_money(self) -> bool:
        """Whether the rows say that nothing was taken: by their states, which must all say so, and
        where no state is known by their amounts."""
        if self.claims:
            return self.claims <= {Claim.UNPAID, Claim.ENDED}
        if not self.rows:
            # Who does not know an order has no money of it.
            return True
        return self.paid == 0 and not self.refunded and not self.held

    def _claims_money(self) -> bool:
        """Whether the rows say that money was taken: by a state, or by an amount that nothing else
        takes back."""
        if Claim.TAKEN in self.claims:
            return True
        return bool(self.paid) and not self.claims_no_money and not self.is_open

    def in_words(self, currency: str) -> str:
        """``shipped, paid 20.00 AUD``: the states and the amounts that its rows give."""
        amounts: dict[str, str] = {}
        for name in AMOUNTS:
            amount = getattr(self, name)
            if amount is not None:
                amounts[name] = money_text(amount, currency)
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
    if not known:
        return None
    return sum(known, ZERO)


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
    if belief.held is not None and belief.held != truth.held:
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
    return not truth.held or not belief.rows


def _agrees_on_open(belief: Belief, truth: Figures, *, is_settled: bool) -> bool:
    """The shop says that money may still come. Who says no more than that is right whatever comes,
    until everything has settled; who calls it held says that a hold is there."""
    if belief.claims == {Claim.HELD}:
        return bool(truth.held) and not truth.net
    if is_settled and belief.claims == {Claim.PENDING}:
        # It has come, so it is pending no more.
        return not truth.net
    return True


def _agrees_on_taken(belief: Belief, truth: Figures) -> bool:
    """The shop says that money was taken, or given back, with the amounts where it gives them."""
    claims, paid, refunded = belief.claims, belief.paid, belief.refunded
    if Claim.REFUNDED in claims and not (truth.refunded or truth.refunding):
        return False
    # What was paid by vouchers alone (0) has no money here, and what was given back has none left.
    has_to_have_money = Claim.TAKEN in claims and refunded is None and paid != 0
    if has_to_have_money and truth.net <= 0:
        return False
    if paid is None:
        # A refund that is on its way is booked, or not yet.
        return refunded in (None, truth.refunded, truth.refunded + truth.refunding)
    if refunded is None:
        # Books that keep no refunds give what was taken, or what is left of it.
        return paid in _nets(truth) or paid == truth.captured
    return belief.net in _nets(truth)


def differs(belief: Belief, order: OrderMoney, *, is_settled: bool = False) -> bool:
    """Whether books and sandbox differ on an order."""
    # Until its provider has answered a capture, or a hold, the order may well be called held.
    awaits_provider = any(
        charge.status is ChargeState.PENDING and not charge.capture for charge in order.charges
    )
    if belief.claims == {Claim.HELD} and awaits_provider and not order.figures.net:
        return False
    return not agrees(belief, order.figures, is_settled=is_settled)


def finding_of(
    belief: Belief, order: OrderMoney, in_vain: Sequence[AskedInVain] = ()
) -> BookFinding:
    """The finding of an order on which books and sandbox differ. ``in_vain`` is what was asked of
    the service for it in vain, the last one last."""
    return _Difference(belief, order, in_vain).finding()


class _Difference:
    """An order on which books and sandbox differ: a method for each finding, which is None where it
    does not fit. ``order_name`` is the order, ``shop_says`` and ``shop_calls`` what the shop books
    for it, in words."""

    def __init__(self, belief: Belief, order: OrderMoney, in_vain: Sequence[AskedInVain]) -> None:
        self.belief, self.order, self.truth = belief, order, order.figures
        self.in_vain = in_vain
        self.order_name = belief.order
        self.shop_says = belief.in_words(order.currency)
        self.shop_calls = f"books as {self.shop_says}"
        if belief.states:
            self.shop_calls = f"calls {', '.join(belief.states)}"

    def finding(self) -> BookFinding:
        """The first that fits: the dearest mistakes come first."""
        for found in (
            self._pending_counted_as_paid,
            self._paid_without_money,
            self._taken_twice,
            self._booked_twice,
            self._charged_but_unpaid,
            self._refund_not_booked,
            self._refund_not_made,
            self._hold_left_open,
            self._may_still_come,
        ):
            finding = found()
            if finding is not None:
                return finding
        return self._amount_differs()

    def _money(self, amount: Decimal | None) -> str:
        """An amount in the currency of the order; none at all is 0."""
        return money_text(amount or ZERO, self.order.currency)

    def _part(self, amount: Decimal | None) -> str:
        """``20.00 AUD of order-5``; the order alone for no amount."""
        if not amount:
            return self.order_name
        return f"{self._money(amount)} of {self.order_name}"

    def _pending_counted_as_paid(self) -> BookFinding | None:
        """The shop counts money that may still come."""
        truth, belief = self.truth, self.belief
        coming = truth.pending or truth.waiting
        counts_more = belief.paid is None or belief.net > truth.net
        if not belief.claims_money or not coming or not counts_more:
            return None
        why = "is still pending" if truth.pending else "waits for the payer (3-D Secure)"
        return BookFinding(
            "pending-counted-as-paid",
            f"the shop counts {self.order_name} as paid, but {self._money(coming)} of it {why}",
        )

    def _paid_without_money(self) -> BookFinding | None:
        """The shop counts money that has not come."""
        # Who has given it back must have had it.
        claims_money = self.belief.claims_money or Claim.REFUNDED in self.belief.claims
        if not claims_money or self.truth.captured:
            return None
        is_shipped = any(state.lower() == "shipped" for state in self.belief.states)
        does = "ships" if is_shipped else "counts as paid"
        goods = self._part(self.belief.paid)
        return BookFinding("paid-without-money", f"the shop {does} {goods}, {self._why_no_money()}")

    def _why_no_money(self) -> str:
        """Why an order has no money that its shop counts."""
        truth, charges = self.truth, self.order.charges
        if truth.returned:
            return f"which bounced: {self._money(truth.returned)}"
        if truth.held:
            return f"of which {self._money(truth.held)} are only held: they were never captured"
        if charges:
            # Earlier tries failed too: the last one says how it ended.
            return f"whose payment of {self._how_failed(charges[-1])}"
        if self.in_vain:
            asked = self.in_vain[-1]
            return f"whose {asked.payment} was asked for and not made: {asked.why}"
        return "for which no payment was ever asked"

    def _how_failed(self, charge: Charge) -> str:
        """``20.00 AUD was declined: Insufficient Funds``: the amount of a charge without money, and
        what became of it."""
        amount = self._money(charge.amount)
        if charge.voided is not None:
            return f"{amount} was voided"
        if charge.failed_attempts:
            return f"{amount} was declined: {charge.failed_attempts[-1].error_message}"
        return f"{amount} failed"

    def _taken_twice(self) -> BookFinding | None:
        """The customer paid several times what the shop books."""
        truth, belief = self.truth, self.belief
        if belief.paid == truth.captured or not self._is_taken_twice():
            # Books that give all that was taken count no order twice.
            return None
        back = ""
        if belief.paid is not None and _is_multiple(truth.captured, belief.paid):
            # The books give what was taken, so what came back is told beside it.
            paid, booked = truth.captured, belief.paid
            if truth.refunded:
                back = f", and got {self._money(truth.refunded)} back"
        else:
            paid, booked = truth.net, belief.net
        order = f"{self.order_name} of {self._money(booked)}"
        return BookFinding("taken-twice", f"customer paid {self._money(paid)} for {order}{back}")

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

    def _booked_twice(self) -> BookFinding | None:
        """The shop books several times what the customer paid."""
        truth, belief = self.truth, self.belief
        if belief.paid == truth.captured or truth.net <= 0:
            return None
        # A payment that came to nothing, and makes up the difference, explains it better.
        if not _is_multiple(belief.net, truth.net) or self._missing_payment():
            return None
        # Twice as much is a mistake of counting, a hundred times as much one of units.
        units = (_MINOR_UNITS, 10 ** CURRENCIES[self.order.currency].digits)
        is_scaled = any(belief.net == unit * truth.net for unit in units)
        words = (
            f"the shop books {self._money(belief.net)} for {self.order_name}, "
            f"whose customer paid {self._money(truth.net)}"
        )
        if truth.returned:
            # That explains it, whatever the units.
            words = f"{words}; {self._money(truth.returned)} bounced"
        elif is_scaled:
            words = f"minor units? {words}"
        return BookFinding("booked-twice", words)

    def _charged_but_unpaid(self) -> BookFinding | None:
        """The customer has paid, and the shop does not count it."""
        belief, net = self.belief, self.truth.net
        # What has come is pending no more.
        calls_unpaid = belief.claims_no_money or belief.claims == {Claim.PENDING}
        if net <= 0 or not calls_unpaid:
            return None
        # An order without rows is in none of its books.
        shop = self.shop_calls if belief.rows else "does not know"
        return BookFinding(
            "charged-but-unpaid",
            f"customer paid {self._money(net)} for {self.order_name}, which the shop {shop}",
        )

    @property
    def _is_same_gross(self) -> bool:
        """Whether books that give what was taken, as it was taken, agree on that: then they may
        differ in the refunds alone."""
        return self.belief.paid in (None, self.truth.captured)

    def _refund_not_booked(self) -> BookFinding | None:
        """More was given back than the shop books."""
        truth, belief = self.truth, self.belief
        missing = truth.refunded - (belief.refunded or ZERO)
        if missing <= 0 or belief.is_open or not self._is_same_gross:
            return None
        if not self._is_whole_refund(missing):
            # A refund that is booked with another amount: ``amount-differs`` says it better.
            return None
        books = "no such refund"
        if belief.refunded:
            books = f"{self._money(belief.refunded)} of it"
        given_back = f"{self._part(truth.refunded)} were given back"
        return BookFinding(
            "refund-not-booked", f"{given_back}, and the shop books {books} ({self.shop_says})"
        )

    def _is_whole_refund(self, missing: Decimal) -> bool:
        """Whether what the books lack is a refund as a whole; else they have another amount of
        one."""
        if not self.belief.refunded:
            return True
        refunds = (refund for charge in self.order.charges for refund in charge.refunds)
        return any(refund.amount == missing for refund in refunds)

    def _refund_not_made(self) -> BookFinding | None:
        """The shop believes that it has given money back, and nothing went back."""
        truth, belief = self.truth, self.belief
        claims_refund = bool(belief.refunded) or Claim.REFUNDED in belief.claims
        if not claims_refund or not self._is_same_gross or truth.refunded or truth.refunding:
            return None
        goods = self._part(belief.refunded)
        return BookFinding(
            "refund-not-made", f"the shop believes {goods} refunded, the customer got nothing back"
        )

    def _hold_left_open(self) -> BookFinding | None:
        """The issuer still holds money for an order that the shop has given up."""
        truth = self.truth
        if not self.belief.claims_no_money or not truth.held or truth.net or truth.pending:
            return None
        held = self._part(truth.held)
        return BookFinding("hold-left-open", f"{held} stay held, which the shop {self.shop_calls}")

    def _may_still_come(self) -> BookFinding | None:
        """The shop has given an order up whose payment is under way."""
        truth = self.truth
        if not self.belief.claims_no_money or not truth.pending or truth.net:
            return None
        coming = self._part(truth.pending)
        return BookFinding(
            "amount-differs", f"{coming} may still come, which the shop {self.shop_calls}"
        )

    def _amount_differs(self) -> BookFinding:
        """What either side has; this fits always."""
        has = self.truth.in_words(self.order.currency)
        paying = sum(figures.captured > 0 for figures in self.order.each)
        if paying > 1:
            # One of them may be what the books lack.
            has += f" in {paying} charges"
        missing = self._missing_payment()
        return BookFinding(
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


def _is_multiple(greater: Decimal, smaller: Decimal | None) -> bool:
    """Whether one amount is another twice, three times, ..."""
    return smaller is not None and greater >= 2 * smaller > 0 and not greater % smaller
