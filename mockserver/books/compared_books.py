"""The shop's books beside a sandbox, order by order: what the rows of an order make of it (its
``Belief``), and the differences.

A charge counts for one row alone, so what a row is about is settled for all rows together, before
any order is compared.

Source: docs/books.md, What an order is, and What a comparison finds.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from mockserver.books.comparison import AskedInVain, Belief, BookFinding, differs, finding_of
from mockserver.books.orders import charges_of, key_of, orders_of
from mockserver.books.shop_rows import BadRow, Claim, ShopRow, too_exact_for
from mockserver.domain.charge import Charge
from mockserver.domain.figures import OrderKey, OrderMoney, money_text
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import number_of
from mockserver.domain.record import record
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox

LONGEST_NAME = 60
"""Characters of the name of an order that are shown."""


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
        name, joined = mask_start(key.name, LONGEST_NAME), " and ".join(currencies)
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
        name = mask_start(key.name, LONGEST_NAME)
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
                asked = self._payment_in(fields, ending_of(entry))
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


def _fields_of(entry: JournalEntry) -> Mapping[str, object]:
    """The fields of the body of a call, by their names in small letters: the service takes them in
    any case."""
    return {name.lower(): value for name, value in json_members(entry.raw).items()}


def json_members(text: bytes) -> Mapping[str, object]:
    """The members of a JSON object; none of what is no such object, or is nested deeper than Python
    reads: scenarios spoil webhooks, and clients send anything."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def ending_of(entry: JournalEntry) -> str:
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
