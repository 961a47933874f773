"""The money that a run has moved, beside that of the run without a fault.

Nobody has to say what an order costs: the command has shown it when nothing failed. A run under a
fault is compared with that, order by order. Only orders of a *reference* that both runs without a
fault have can be found again: ids of charges and subscriptions are new in each run, and some shops
make a new reference each time too. All else counts in the total of its currency.

*More* than without the fault is harm, as no correct client takes it. That is not only what the
merchant has in the end. Two holds on one card use up the customer's limit, though one is released
later: so the most that the customer missed at once counts too (``peak``). A hold that is always
renewed before the old one is voided has the same peak without a fault, and is no harm.

*Less*, or the same money elsewhere (held, pending, in another currency), is a doubt. A decline may
have been handled, or the goods given away unpaid: only the shop's books can say.

A refund on its way counts as given back: the client has done what it can, and if it fails the
figures say so. Of a subscription only the payments within the time of the run without a fault
count: the service takes renewals by itself, more of them the longer a run lasts.

Source: docs/explore.md, Verdicts by money.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, NamedTuple, cast

from mockserver.books import shop_rows
from mockserver.domain.charge import ZERO
from mockserver.domain.clock import Micros, parse_instant
from mockserver.domain.figures import NAMES, Figures, OrderKey, money_text
from mockserver.domain.masking import mask_text
from mockserver.domain.money import number_text
from mockserver.domain.record import record, replace
from mockserver.explore.run_answers import BooksRow, OrderRow

ShopsRow = Mapping[str, Any]
"""A row of the shop's books, as the shop has written it."""

_REFUND = "charge.refund"


class Place(NamedTuple):
    """Where money is compared: an order and a currency. Without a name it is the total of all
    orders in the currency."""

    order: str
    currency: str

    @property
    def is_total(self) -> bool:
        return not self.order

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.order or "all orders"


class PlaceMoney(NamedTuple):
    """The money at a place, and the most that its customers missed at once."""

    figures: Figures = Figures()
    peak: Decimal = ZERO


_NO_MONEY = PlaceMoney()


@record
class RunMoney:
    """The money of a run: its orders as ``GET /__admin/books`` shows them, the sandbox's time at
    its end, and ``doubts``, the operations whose end the client never learnt."""

    orders: Sequence[OrderRow]
    ended: str = ""
    doubts: Sequence[str] = ()

    @classmethod
    def of(cls, books: BooksRow, after: int = 0) -> RunMoney:
        """The money that ``GET /__admin/books`` has answered, of charges that were made after a
        journal entry: other tests may have used the same sandbox before."""
        orders = books["orders"]
        if after:
            orders = [_made_after(after, order) for order in orders]
        doubts = [doubt["line"].partition(" ")[0] for doubt in books["in_doubt"]]
        return cls(orders, books["now"], doubts)

    @property
    def _began(self) -> Micros:
        """When its first charge was made; 0 where there is none, and nothing to compare."""
        instants = [
            parse_instant(charge["added"]) for order in self.orders for charge in order["charges"]
        ]
        return min(instants, default=0)

    @property
    def length(self) -> Micros:
        """From its first charge to its end."""
        return parse_instant(self.ended) - self._began

    def names(self) -> set[str]:
        """The orders that have the same name in every run: a subscription and a charge have another
        id each time."""
        return {row["reference"] for row in self.orders if row["reference"]}

    def unseen(self, rows: Iterable[ShopsRow]) -> list[ShopsRow]:
        """The rows of a shop's books about orders that the sandbox never saw, such as those of a
        database that is filled before a test."""
        seen = {key for order in self.orders for key in keys_of(order)}
        unseen = []
        for row in rows:
            key = key_of(row)
            if key is None or key not in seen:
                unseen.append(row)
        return unseen

    def untold(self, rows: Iterable[ShopsRow]) -> list[ShopsRow]:
        """A row ``unknown`` for each order in doubt of which a shop's books have none. Where the
        end of the command has told a person, that person knows what the books would have said: the
        customer has paid, and the order is not blamed for it."""
        known = {key_of(row) for row in rows}
        untold = []
        for order in self.orders:
            in_doubt = {
                OrderKey("charge", charge["chargeId"])
                for charge in order["charges"]
                if charge["in_doubt"]
            }
            # A shop may have booked the one charge of an order and not the other.
            if in_doubt - known and _own_key(order) not in known:
                untold += unknown_rows(order, known)
        return untold

    def unbooked(self, rows: Iterable[ShopsRow]) -> list[OrderRow]:
        """The orders that have money, or a hold, and of which a shop's books have no row: of these
        somebody has to be told."""
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

    def by_place(self, shared: Collection[str], length: Micros) -> dict[Place, PlaceMoney]:
        """The money of each order that is ``shared`` with the run that it is compared with, and of
        all orders together. Of subscriptions only what was taken in the first ``length`` counts."""
        found: dict[Place, PlaceMoney] = {}
        until = self._began + length
        for order in self.orders:
            figures, peak = _taken_until(until, order), Decimal(str(order["peak"]))
            # A set: an order that is compared in the total alone must not be counted twice in it.
            for place in {place_of(order, shared), Place("", order["currency"])}:
                before = found.get(place, _NO_MONEY)
                found[place] = PlaceMoney(before.figures + figures, before.peak + peak)
        return found


def place_of(order: OrderRow, shared: Collection[str]) -> Place:
    """Where the money of an order is compared: by itself where it comes again in each run under its
    reference, else in the total of its currency."""
    reference = order["reference"]
    if reference is None or reference not in shared:
        reference = ""
    return Place(reference, order["currency"])


def _taken_until(until: Micros, order: OrderRow) -> Figures:
    """The figures of an order; of a subscription those of its payments until then."""
    if order["subscription"] is None:
        return Figures.of(order)
    in_time = [charge for charge in order["charges"] if parse_instant(charge["added"]) <= until]
    return sum(map(Figures.of, in_time), Figures())


def _made_after(after: int, order: OrderRow) -> OrderRow:
    """An order with those of its charges that were made after a journal entry."""
    charges = []
    for charge in order["charges"]:
        requests = charge["journal"]
        # A charge whose requests the journal has dropped is older than what it holds.
        if requests and requests[0] > after:
            charges.append(charge)
    if len(charges) == len(order["charges"]):
        return order
    figures = sum(map(Figures.of, charges), Figures())
    # As much as it may have been at once: when each of them moved is not told.
    amounts = {"peak": figures.captured + figures.held + figures.pending}
    amounts |= {name: getattr(figures, name) for name in NAMES}
    texts = {name: str(amount) for name, amount in amounts.items()}
    return cast(OrderRow, {**order, "charges": charges, **texts})


def _own_key(order: OrderRow) -> OrderKey:
    """What the sandbox knows an order by: its charge, its subscription or its reference."""
    if order["charge"] is not None:
        return OrderKey("charge", order["charge"])
    if order["subscription"] is not None:
        return OrderKey("subscription", order["subscription"])
    return OrderKey("reference", order["reference"] or "")


def keys_of(order: OrderRow) -> Iterator[OrderKey]:
    """What rows of a shop's books may be about that are about an order, or a charge of it: shops
    that keep no reference keep the ids of charges."""
    yield _own_key(order)
    yield from (OrderKey("charge", charge["chargeId"]) for charge in order["charges"])


def key_of(row: ShopsRow) -> OrderKey | None:
    """What a row of a shop's books is about, as the sandbox shows it; None where it does not
    say."""
    found = shop_rows.key_of(row)
    if found is None:
        return None
    kind, value = found
    return shown_key(OrderKey(kind, str(value)))


def shown_key(key: OrderKey) -> OrderKey:
    """A key of a shop's books as the sandbox shows it: it masks an order number that could be a
    card's, as some of 13 digits and more could; the shop does not."""
    return OrderKey(key.kind, mask_text(key.name))


def unknown_rows(
    order: OrderRow, known: Collection[OrderKey | None] = frozenset()
) -> list[ShopsRow]:
    """The rows of a shop's books that say of an order that the shop does not know: of such an order
    nothing that the sandbox knows is a difference. ``known`` is what its books have rows of."""
    keys = [_own_key(order)]
    if keys[0].kind == "reference" and "*" in keys[0].name:
        # It may be masked, and the sandbox would not find it by that: so its charges are named.
        of_charges = [OrderKey("charge", charge["chargeId"]) for charge in order["charges"]]
        keys = [key for key in of_charges if key not in known]
    return [{kind: name, "currency": order["currency"], "state": "unknown"} for kind, name in keys]


def money_of(order: OrderRow) -> str:
    """What of an order's money was taken, held and is pending, in words."""
    figures = Figures.of(order)
    amounts = {"taken": figures.net, "held": figures.held, "pending": figures.pending}
    words = []
    for how, amount in amounts.items():
        if amount:
            words.append(f"{money_text(amount, order['currency'])} {how}")
    _, name = _own_key(order)
    return f"{' and '.join(words)} for {name}"


def net_kept(figures: Figures) -> Decimal:
    """What the merchant keeps when all refunds on their way have come."""
    return figures.net - figures.refunding


def exposure_kept(figures: Figures) -> Decimal:
    """What the customer misses, or will miss, when all refunds on their way have come."""
    return figures.exposure - figures.refunding


def given_back(figures: Figures) -> Decimal:
    """What the customer has got back, or will get."""
    return figures.refunded + figures.refunding


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
    """How the money of a run differs from that of the run without a fault (``base``), order by
    order; with ``totals`` also that of all orders together."""
    before, after = base.by_place(shared, base.length), run.by_place(shared, base.length)
    usual_currencies = {place.currency for place in before}
    found: list[MoneyDifference] = []
    for place in _orders_first((*before, *after)):
        if place.is_total and not totals:
            continue
        usual, now = before.get(place, _NO_MONEY), after.get(place, _NO_MONEY)
        compared = _Compared(place, usual.figures, usual.peak, now.figures)
        difference = compared.difference(is_refund_in_doubt=_REFUND in run.doubts)
        if difference is None:
            continue
        if usual_currencies and place.currency not in usual_currencies:
            # Money in another currency may be the same money: only the shop's books can say.
            difference = replace(difference, is_harm=False)
        if not place.is_total or _shows_more(difference, found):
            found.append(difference)
    return found


def _shows_more(total: MoneyDifference, of_orders: Sequence[MoneyDifference]) -> bool:
    """Whether the difference of a total shows more than those of its orders, which differ in it
    too, and are told once: where no order differs, or where harm was done to orders that cannot be
    found again."""
    if not of_orders:
        return True
    return total.is_harm and not any(difference.is_harm for difference in of_orders)


def _orders_first(places: Iterable[Place]) -> list[Place]:
    """Each place once. A difference of an order says more than one of a total."""
    return sorted(dict.fromkeys(places), key=attrgetter("is_total"))


@record
class _Compared:
    """The money at a place in the run without a fault (``usual``), with its peak, and ``now``."""

    place: Place
    usual: Figures
    usual_peak: Decimal
    now: Figures

    def difference(self, *, is_refund_in_doubt: bool) -> MoneyDifference | None:
        """The worst that differs, if anything does: what was lost for sure before what may be
        right. ``is_refund_in_doubt``: the client does not know whether one of its refunds was made;
        one that it knows to be refused it may have told its customer."""
        harm = [self._taken_more(), self._held_more(), self._given_back_more()]
        if is_refund_in_doubt:
            harm.append(self._refund_lost())
        for words in harm:
            if words:
                return MoneyDifference(True, words)
        transferred = self.transferred_more()
        if transferred is not None:
            return transferred
        return self._elsewhere()

    def _text(self, amount: Decimal) -> str:
        return money_text(amount, self.place.currency)

    def _taken_more(self) -> str:
        """In words, that the merchant keeps more than without the fault. Where nothing new was
        taken less was given back, which may be right."""
        usual, now = self.usual, self.now
        if net_kept(now) <= net_kept(usual):
            return ""
        if now.captured <= usual.captured and exposure_kept(now) <= self.usual_peak:
            return ""
        # Without the fault a part of the price may still be held or pending at the end.
        price = max(net_kept(usual), exposure_kept(usual))
        paid = self._text(net_kept(now))
        return f"customer paid {paid} for {self.place.name} of {self._text(price)}"

    def _held_more(self) -> str:
        """In words, that the customer misses more at once than ever without the fault."""
        exposure = exposure_kept(self.now)
        if exposure <= self.usual_peak:
            return ""
        amount, most = self._text(exposure), self._text(self.usual_peak)
        return f"{amount} are taken, held or pending for {self.place.name} of {most}"

    def _given_back_more(self) -> str:
        """In words, that a refund was made again. A refund where none was meant is how a client
        makes good what it cannot deliver; and who has taken more may give more back."""
        usual, now = self.usual, self.now
        is_again = bool(usual.refunded) and now.refunded > usual.refunded
        if not is_again or now.captured > usual.captured:
            return ""
        back, meant = self._text(now.refunded), self._text(usual.refunded)
        return f"{back} of {self.place.name} were given back, {meant} were meant"

    def _refund_lost(self) -> str:
        """In words, that a refund in doubt has not happened: the client took it for made."""
        if given_back(self.now) >= self.usual.refunded:
            return ""
        meant = self._text(self.usual.refunded)
        return f"the refund of {meant} of {self.place.name} was not made; nobody looked"

    def transferred_more(self) -> MoneyDifference | None:
        """That more was transferred, and no more was taken, so the shop pays the rest itself: the
        share of a higher price is higher too."""
        usual, now = self.usual, self.now
        if now.transferred <= usual.transferred or now.net > usual.net:
            return None
        sent, meant = self._text(now.transferred), self._text(usual.transferred)
        return MoneyDifference(
            True, f"{sent} of {self.place.name} were transferred, {meant} were meant"
        )

    def _elsewhere(self) -> MoneyDifference | None:
        """That money is less or in another state, which may be right."""
        usual, now = self.usual, self.now
        amounts = {
            "paid": (net_kept(usual), net_kept(now)),
            "held": (usual.held, now.held),
            "pending": (usual.pending, now.pending),
            "transferred": (usual.transferred, now.transferred),
        }
        changes = []
        for what, (before, after) in amounts.items():
            if before != after:
                changes.append(f"{what} {self._text(after)} instead of {self._text(before)}")
        if not changes:
            return None
        return MoneyDifference(False, f"{self.place.name}: {', '.join(changes)}")


def transferred_again(
    base: RunMoney, run: RunMoney, shared: Collection[str]
) -> list[MoneyDifference]:
    """The orders of which more was transferred than without a fault, and no more taken."""
    before = base.by_place(shared, base.length)
    found = []
    for place, now in run.by_place(shared, base.length).items():
        usual = before.get(place, _NO_MONEY)
        sent = _Compared(place, usual.figures, usual.peak, now.figures).transferred_more()
        if sent is not None and not place.is_total:
            found.append(sent)
    return found


def given_back_less(base: RunMoney, run: RunMoney, paid: Collection[str]) -> list[str]:
    """Of which ``paid`` orders less was given back than without a fault, in words, though as much
    was taken: a refund that was refused may be told to its customer, or be forgotten."""
    before = base.by_place(paid, base.length)
    less = []
    for place, money in run.by_place(paid, base.length).items():
        if place.is_total:
            continue
        usual, now = before.get(place, _NO_MONEY).figures, money.figures
        if given_back(now) < usual.refunded and now.captured >= usual.captured:
            back = money_text(given_back(now), place.currency)
            meant = money_text(usual.refunded, place.currency)
            less.append(f"{back} of {place.name} were given back, {meant} were meant")
    return less


def first_difference(
    first: RunMoney, second: RunMoney, shared: Collection[str], length: Micros
) -> str:
    """Where two runs without a fault moved different money, in words; empty where they did not."""
    before, after = first.by_place(shared, length), second.by_place(shared, length)
    for place in _orders_first((*before, *after)):
        had, has = before.get(place, _NO_MONEY).figures, after.get(place, _NO_MONEY).figures
        if had != has:
            currency = place.currency
            return f"{place.name}: {had.in_words(currency)}, then {has.in_words(currency)}"
    return ""


def invariants_of(
    money: RunMoney, shared: Collection[str], *, has_books: bool = False
) -> list[str]:
    """Sentences for the scenario of a run that do not hold when it takes more than the run without
    a fault: so that the file alone, replayed later or by another, comes to the same verdict. With
    the shop's books only of what these cannot say."""
    currencies = Counter(order["reference"] for order in money.orders)
    lines = []
    for order in money.orders:
        reference, figures = order["reference"], Figures.of(order)
        if reference is None or reference not in shared:
            continue
        # A sentence has no currency and no escapes: what it cannot say of one order is left out.
        can_be_said = currencies[reference] == 1 and {'"', "\\"}.isdisjoint(reference)
        if not can_be_said:
            continue
        net = number_text(figures.net)
        if figures.transferred:
            # The share of a higher price is higher too.
            sent = number_text(figures.transferred)
            lines.append(f'transferred("{reference}") <= {sent} or net("{reference}") > {net}')
        if not has_books:
            lines.append(f'net("{reference}") <= {net}')
            if figures.refunded:
                refunded = number_text(figures.refunded)
                lines.append(f'refunded("{reference}") <= {refunded}')
    return lines
