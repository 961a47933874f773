"""The orders of a sandbox: which charges belong to one, what money they hold, and how it came to
that; and how the shop's books differ from them, order by order, reported as findings.

An order is a subscription, a reference, or a charge without either: the service knows no orders,
and this is what shops mean by one. In each of its currencies it is compared by itself, as an
``OrderMoney``, with the ``Belief`` that the rows of the shop's books make of it.

A difference is only half of what a shop needs; the other half is when it arose. So each is reported
with its way there: the journal entries in which its charges changed, the entry with which books and
sandbox parted (``where_parted``), and the webhooks that told the shop of it.

Source: docs/books.md, What an order is, and What a comparison finds.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from mockserver.books.comparison import (
    COMPARED,
    AskedInVain,
    Belief,
    BookFinding,
    agrees,
    differs,
    finding_of,
)
from mockserver.books.shop_rows import BadRow, Claim, ShopRow, too_exact_for
from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.delivery import Delivery
from mockserver.domain.figures import (
    Figures,
    OrderKey,
    OrderMoney,
    figures_of,
    money_text,
    transferred,
)
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record, replace
from mockserver.domain.states import Event, Subject
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.ledger import Evidence, Ledger

_MOST_ENTRIES, _MOST_WEBHOOKS = 4, 2
"""Lines of evidence of an order: its newest entries of the journal, and its newest webhooks. With
the four lines of words these are as many as a finding keeps."""

_LONGEST_NAME = 60


def key_of(charge: Charge) -> OrderKey:
    """The order that a charge belongs to. A renewal belongs to its subscription, whatever reference
    it carries; a charge that names nothing is an order by itself."""
    if charge.subscription_id is not None:
        return OrderKey("subscription", charge.subscription_id)
    # An empty reference names no order: charges that have one are not the same order.
    if charge.reference is not None and charge.reference.strip():
        return OrderKey("reference", charge.reference)
    return OrderKey("charge", charge.charge_id)


def charges_of(sandbox: Sandbox, key: OrderKey) -> Iterator[Charge]:
    """The charges of an order, from the oldest on. Of a row that names a charge by its id, that
    charge, whatever order it is of: shops that keep no reference keep ids."""
    if key.kind == "charge":
        charge = sandbox.charges.get(key.name)
        if charge is not None:
            yield charge
        return
    # Both other kinds are indexes of charges.
    for charge in sandbox.charges.find(key.kind, key.name):
        # A subscription's charges may carry the reference of an order of its own.
        if key_of(charge) == key:
            yield charge


def orders_of(
    sandbox: Sandbox, key: OrderKey, charges: Iterable[Charge] | None = None
) -> list[OrderMoney]:
    """An order, once for each of its currencies; of its ``charges`` all, or these."""
    if charges is None:
        charges = charges_of(sandbox, key)
    by_currency = defaultdict[str, list[Charge]](list)
    for charge in charges:
        by_currency[charge.currency].append(charge)
    orders = []
    for currency, in_currency in by_currency.items():
        each = tuple(_money_of(sandbox, charge) for charge in in_currency)
        orders.append(OrderMoney(key, currency, tuple(in_currency), each))
    return orders


def _money_of(sandbox: Sandbox, charge: Charge) -> Figures:
    """The figures of a charge, with what transfers have moved on of it."""
    figures = figures_of(charge, sandbox.now)
    # Hardly a sandbox has transfers.
    if not len(sandbox.transfers):
        return figures
    moved_on = ZERO
    for transfer in sandbox.transfers.find("charge", charge.charge_id):
        for _, amount in transferred(transfer):
            moved_on += amount
    return replace(figures, transferred=moved_on)


def touched(sandbox: Sandbox, after: int) -> dict[OrderKey, list[Charge]]:
    """The orders whose charges have changed after a journal entry, as far as the journal is kept,
    each with the charges that were made then."""
    new_charges: dict[OrderKey, list[Charge]] = {}
    for entry in sandbox.journal.since(after):
        for event in _charge_events(entry):
            charge = sandbox.charges.get(event.subject_id)
            if charge is None:
                continue
            of_order = new_charges.setdefault(key_of(charge), [])
            is_new = event.before is None
            if is_new:
                of_order.append(charge)
    return new_charges


def _charge_events(entry: JournalEntry) -> Iterator[Event]:
    """The events of charges in an entry: money moves by these alone."""
    return (event for event in entry.events if event.subject is Subject.CHARGE)


def entries_about(
    sandbox: Sandbox, orders: Iterable[OrderMoney]
) -> Mapping[str, list[JournalEntry]]:
    """The journal entries in which each charge of some orders changed, oldest first, as far as they
    are kept. The journal is read once for all of them: it may be long."""
    entries: dict[str, list[JournalEntry]] = {}
    for order in orders:
        entries |= {charge.charge_id: [] for charge in order.charges}
    for entry in sandbox.journal.entries:
        changed = {event.subject_id for event in _charge_events(entry)}
        for charge_id in changed & entries.keys():
            entries[charge_id].append(entry)
    return entries


def where_parted(
    belief: Belief, order: OrderMoney, entries: Sequence[JournalEntry], *, is_settled: bool
) -> JournalEntry | None:
    """The journal entry with which an order and what the shop believes of it parted for good; None
    when they never agreed, or the journal does not hold the whole story of the order."""
    charges = {charge.charge_id: charge for charge in order.charges}
    # The last move of each charge so far. The shop's books are those of the end throughout: asked
    # is with which entry the money went another way than they say.
    last_moves: dict[str, Event] = {}
    parting: JournalEntry | None = None
    agreed = agrees(belief, Figures(), is_settled=is_settled)
    for entry in entries:
        for event in _charge_events(entry):
            # One with data has moved nothing: it is there for webhooks alone.
            if event.subject_id in charges and event.data is None:
                last_moves[event.subject_id] = event
        money_then = Figures()
        for charge_id, move in last_moves.items():
            money_then += figures_of(charges[charge_id], entry.at, move)
        agrees_now = agrees(belief, money_then, is_settled=is_settled)
        if agreed and not agrees_now:
            parting = entry
        agreed = agrees_now
    # The journal may have lost how some of the charges began.
    is_whole_story = last_moves.keys() == charges.keys()
    if agreed or not is_whole_story:
        return None
    return parting


class PlacedRow(NamedTuple):
    """A row of the shop's books, and its place there, from 0."""

    place: int
    row: ShopRow


class PlacedFault(NamedTuple):
    """What is wrong with the row at a place."""

    place: int
    fault: BadRow


@record
class BookDifference:
    """A difference: the name of the finding, what it cost in words, and what either side knows."""

    name: str
    words: str
    belief: Belief
    order: OrderMoney


class ComparedBooks:
    """One comparison: ``rows`` by their place in the books. ``is_settled``: nothing waits any more,
    so what the shop calls pending has failed or is paid.

    A charge counts once: for the row that names it, else its subscription's, else its reference's.
    """

    def __init__(
        self, sandbox: Sandbox, rows: Iterable[ShopRow], *, is_settled: bool = False
    ) -> None:
        self._sandbox, self.is_settled = sandbox, is_settled
        self.rows = defaultdict[OrderKey, list[PlacedRow]](list)
        for place, row in enumerate(rows):
            self.rows[row.key].append(PlacedRow(place, row))
        self._named = {key.name for key in self.rows if key.kind == "charge"}
        """The ids of the charges that a row names: they count for that row alone."""
        self.unknown = defaultdict[OrderKey, list[Charge]](list)
        """The charges of which the books have no row, by their orders."""
        self.recent: Mapping[OrderKey, Sequence[Charge]] = {}
        """The charges since a mark, by their orders: where the books agree with those, an earlier
        test has left the rest."""

    def faults(self, key: OrderKey) -> list[PlacedFault]:
        """The rows of an order that name no currency where the order has several, or where an
        amount has more digits than its only one. What a row means by that is known only beside the
        charges of its order."""
        currencies = list(dict.fromkeys(charge.currency for charge in self._charges(key)))
        if not currencies:
            return []
        only, *others = currencies
        name, joined = mask_start(key.name, _LONGEST_NAME), " and ".join(currencies)
        faults: list[PlacedFault] = []
        for place, row in self.rows[key]:
            if row.currency is not None:
                # It was held against that currency when it was read.
                continue
            fault: BadRow | None
            if others:
                fault = BadRow("currency", f"missing, and {name} has charges in {joined}")
            else:
                fault = too_exact_for(row, only)
            if fault is not None:
                faults.append(PlacedFault(place, fault))
        return faults

    def note_unknown(self, charge: Charge) -> None:
        """Remember a charge, if the books have no row of it: neither of its order, nor one that
        names it by its id."""
        key = key_of(charge)
        if key not in self.rows and charge.charge_id not in self._named:
            self.unknown[key].append(charge)

    def differences(self, key: OrderKey) -> Iterator[BookDifference]:
        """The finding of an order in each of its currencies. There is none where the whole order
        differs, and its charges since the mark (``recent``) alone agree."""
        charges = self._charges(key)
        differences = list(self._differences_of(key, charges))
        if not differences:
            return
        recent = [charge for charge in self.recent.get(key, ()) if charge in charges]
        has_older_ones = 0 < len(recent) < len(charges)
        if has_older_ones and not any(self._differences_of(key, recent)):
            # The others are of an earlier test that used the same reference.
            return
        yield from differences

    def _differences_of(self, key: OrderKey, charges: Sequence[Charge]) -> Iterator[BookDifference]:
        """What the books differ in if an order has just these charges."""
        orders = {order.currency: order for order in orders_of(self._sandbox, key, charges)}
        name = mask_start(key.name, _LONGEST_NAME)
        # One that names no currency means the only one; where there is no charge it has none.
        only_currency = next(iter(orders), "")
        rows = defaultdict[str, list[ShopRow]](list)
        for _, row in self.rows.get(key, ()):
            rows[row.currency or only_currency].append(row)
        for currency in dict.fromkeys((*orders, *rows)):
            order = orders.get(currency) or OrderMoney(key, currency)
            belief = Belief(name, rows[currency])
            finding: BookFinding | None
            if differs(belief, order, is_settled=self.is_settled):
                finding = finding_of(belief, order, self._asked_in_vain.get(key, ()))
            else:
                finding = self._paid_by_another(belief, order)
            if finding is not None:
                yield BookDifference(finding.name, finding.words, belief, order)

    @cached_property
    def _asked_in_vain(self) -> Mapping[OrderKey, Sequence[AskedInVain]]:
        """What was asked for orders by calls that have made no charge, as far as the journal is
        kept. The journal is read once for all orders, and only if one differs."""
        in_vain = defaultdict[OrderKey, list[AskedInVain]](list)
        for entry in self._sandbox.journal.entries:
            if entry.op != "charge.create" or entry.events:
                continue
            fields = _fields_of(entry)
            reference = str(fields.get("reference") or "")
            if reference:
                asked = self._payment_in(fields, _ending(entry))
                in_vain[OrderKey("reference", reference)].append(asked)
        return in_vain

    def _payment_in(self, fields: Mapping[str, object], why: str) -> AskedInVain:
        """What the body of a payment has asked for."""
        currency = fields.get("currency")
        if not currency:
            # A payment that names no currency has that of its provider.
            provider = self._sandbox.providers.get(str(fields.get("providerid")))
            currency = "" if provider is None else provider.currency
        asked_for = fields.get("amount")
        if isinstance(asked_for, float):
            # Its text is the shortest that means it; the float itself has 50 digits more.
            asked_for = str(asked_for)
        return AskedInVain(number_of(asked_for), str(currency).upper(), why)

    def _paid_by_another(self, belief: Belief, order: OrderMoney) -> BookFinding | None:
        """Money of an order that came from another customer than its rows name. Both must be known:
        a name that is no customer's says nothing, nor does a charge without one."""
        if Claim.UNKNOWN in belief.claims:
            # The shop leaves the order to a person.
            return None
        names = {row.payer for row in belief.rows if row.payer}
        customers = set[str]()
        for name in names:
            customers.update(self._customers(name))
        if not customers:
            return None
        for charge, money in zip(order.charges, order.each, strict=True):
            payer = charge.customer_id
            if payer is None or payer in customers or money.exposure <= 0:
                continue
            amount = money_text(money.exposure, order.currency)
            words = (
                f"{amount} of {belief.order} came from customer {payer}, the shop's books "
                f"name {' or '.join(sorted(names))}"
            )
            return BookFinding("paid-by-another", words)
        return None

    def _customers(self, name: str) -> Iterator[str]:
        """The ids of the customers of an id, a reference or an email: shops know customers by any
        of these."""
        # Each is an index of customers; addresses stand there in small letters.
        values = {"id": name, "reference": name, "email": name.lower()}
        for index, value in values.items():
            for customer in self._sandbox.customers.find(index, value):
                yield customer.customer_id

    def _charges(self, key: OrderKey) -> list[Charge]:
        """The charges of an order that count for its rows: none that another row names by its
        id."""
        if key in self.unknown:
            # No row is about this order: these charges are told as what the books lack.
            return self.unknown[key]
        charges = list(charges_of(self._sandbox, key))
        if key.kind == "charge":
            return charges
        return [charge for charge in charges if charge.charge_id not in self._named]


class Report:
    """What a comparison found, with the journal entries and webhooks of each order. What an earlier
    one reported is forgotten: the books were read anew."""

    def __init__(
        self,
        sandbox: Sandbox,
        ledger: Ledger,
        books: ComparedBooks,
        differences: Sequence[BookDifference],
    ) -> None:
        self._now, self._ledger, self._books = sandbox.now, ledger, books
        self._entries = entries_about(sandbox, (item.order for item in differences))
        self._webhooks = defaultdict[str, list[Delivery]](list)
        for delivery in sandbox.deliveries:
            subject_id = delivery.message.subject_id
            if subject_id is not None and subject_id in self._entries:
                self._webhooks[subject_id].append(delivery)
        ledger.retract(COMPARED)

    def add(self, item: BookDifference) -> None:
        """Raise one finding."""
        order, currency = item.order, item.order.currency
        deliveries: list[Delivery] = []
        for charge in order.charges:
            deliveries += self._webhooks[charge.charge_id]
        what = item.words
        if item.name == "paid-without-money":
            what += _credited_by_another(order, deliveries)
        words = (
            what,
            f"the shop's books: {item.belief.in_words(currency)}",
            f"the sandbox: {order.figures.in_words(currency)}",
        )
        # Names of orders and states are the shop's own, and may have a card number in them.
        lines = [Evidence(mask_text(line)) for line in words]
        entries = self._entries_of(order)
        parting = where_parted(item.belief, order, entries, is_settled=self._books.is_settled)
        if parting is not None:
            how = f"{parting.op}: {_ending(parting)}"
            lines.append(Evidence(f"they agreed until journal {parting.number} ({how})"))
        for entry in entries[-_MOST_ENTRIES:]:
            lines.append(Evidence(f"{entry.op}: {_ending(entry)}", entry.number))
        for delivery in deliveries[-_MOST_WEBHOOKS:]:
            lines.append(Evidence(_sending(delivery), delivery.entry, delivery.delivery_id))
        about = {order.key.kind: item.belief.order, "currency": currency or None}
        self._ledger.add(item.name, self._now, lines, **about)

    def _entries_of(self, order: OrderMoney) -> list[JournalEntry]:
        """The journal entries of all charges of an order, each once, from the oldest on."""
        by_number: dict[int, JournalEntry] = {}
        for charge in order.charges:
            by_number |= {entry.number: entry for entry in self._entries[charge.charge_id]}
        return [by_number[number] for number in sorted(by_number)]


def _credited_by_another(order: OrderMoney, deliveries: Iterable[Delivery]) -> str:
    """Which of the webhooks about the charges of an order has spoken of another order and was
    taken; empty when none has. A scenario can make them (``foreign``), and a shop that credits what
    the address names, instead of what the webhook says, books money that nobody paid for it."""
    own_charges = {charge.charge_id for charge in order.charges}
    for delivery in deliveries:
        data = _members(delivery.content.body).get("data")
        if not isinstance(data, dict):
            continue
        reference, charge_id = data.get("reference"), data.get("chargeId")
        is_own = charge_id in own_charges or order.key == ("reference", reference)
        is_taken = any(attempt.is_accepted for attempt in delivery.tries)
        if charge_id is None or is_own or not is_taken:
            continue
        name = mask_start(str(reference or charge_id), _LONGEST_NAME)
        return f"; a webhook of {name} came to its address, and was taken to be about it"
    return ""


def _members(text: bytes) -> Mapping[str, object]:
    """The members of a JSON object; none of what is no such object, or is nested deeper than Python
    reads: scenarios spoil webhooks, and clients send anything."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _fields_of(entry: JournalEntry) -> Mapping[str, object]:
    """The fields of the body of a call, by their names in small letters: the service takes them in
    any case."""
    return {name.lower(): value for name, value in _members(entry.raw).items()}


def _ending(entry: JournalEntry) -> str:
    """How a step ended for the client, in a few words."""
    fault = entry.fault
    is_call = bool(entry.method)
    if not is_call and entry.events:
        return entry.events[-1].what
    if not is_call:
        return f"it came due at {entry.op}"
    if fault is None:
        return f"answered {entry.status}"
    if fault.let_it_happen:
        return f"the answer was spoilt ({fault.kind.value})"
    return f"nothing has happened ({fault.status or fault.kind.value})"


def _sending(delivery: Delivery) -> str:
    """A webhook, and what its receiver answered."""
    line = f"webhook {delivery.message.event_type}: {delivery.state.value}"
    if not delivery.tries:
        return line
    newest = delivery.tries[-1]
    return f"{line}, answered {newest.status or newest.error}"
