"""The orders of a sandbox: which charges belong to one, what money they hold, and how it came to
that; and how the shop's books differ from them, order by order, reported as findings.

An order is a subscription, a reference, or a charge without either. Source: docs/books.md, What an
order is, and What a comparison finds.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import Any

from mockserver.books.comparison import COMPARED, Belief, agrees, difference
from mockserver.books.shop_rows import BadRow, Claim, ShopRow, excess
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
from mockserver.domain.record import record, replace
from mockserver.domain.states import Event, Subject
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.ledger import Evidence, Ledger

_MOST_LINES, _MOST_WEBHOOKS = 4, 2
_LONGEST_NAME = 60
_NO_MONEY = "paid-without-money"


def key_of(charge: Charge) -> OrderKey:
    """The order that a charge belongs to."""
    if charge.subscription_id is not None:
        return "subscription", charge.subscription_id
    return (
        ("charge", charge.charge_id)
        if charge.reference is None
        else ("reference", charge.reference)
    )


def charges_of(sandbox: Sandbox, key: OrderKey) -> Iterator[Charge]:
    """The charges of an order, from the oldest on; one that is named by its id belongs to whatever
    order."""
    kind, value = key
    if kind == "charge":
        charge = sandbox.charges.get(value)
        return iter(() if charge is None else (charge,))
    # A subscription's charges may carry the reference of an order of its own.
    return (charge for charge in sandbox.charges.find(kind, value) if key_of(charge) == key)


def orders_of(
    sandbox: Sandbox, key: OrderKey, charges: Iterable[Charge] | None = None
) -> list[OrderMoney]:
    """An order, once for each of its currencies; of its ``charges`` all, or these."""
    parted = defaultdict[str, list[Charge]](list)
    for charge in charges_of(sandbox, key) if charges is None else charges:
        parted[charge.currency].append(charge)
    return [
        OrderMoney(key, currency, tuple(of), tuple(_money_of(sandbox, charge) for charge in of))
        for currency, of in parted.items()
    ]


def _money_of(sandbox: Sandbox, charge: Charge) -> Figures:
    moved = sandbox.transfers.find("charge", charge.charge_id) if len(sandbox.transfers) else ()
    sent = sum((amount for one in moved for _, amount in transferred(one)), ZERO)
    return replace(figures_of(charge, sandbox.now), transferred=sent)


def touched(sandbox: Sandbox, after: int) -> dict[OrderKey, list[Charge]]:
    """The orders whose charges have changed after a journal entry, as far as the journal is kept,
    each with the charges that were made then."""
    found: dict[OrderKey, list[Charge]] = {}
    for event in (event for entry in sandbox.journal.since(after) for event in _of_charges(entry)):
        charge = sandbox.charges.get(event.subject_id)
        if charge is not None:
            made = found.setdefault(key_of(charge), [])
            made += [charge] if event.before is None else []
    return found


def _of_charges(entry: JournalEntry) -> Iterator[Event]:
    return (event for event in entry.events if event.subject is Subject.CHARGE)


def entries_about(
    sandbox: Sandbox, orders: Iterable[OrderMoney]
) -> Mapping[str, list[JournalEntry]]:
    """The journal entries in which each charge of some orders changed, oldest first, as far as they
    are kept."""
    found: dict[str, list[JournalEntry]] = {
        charge.charge_id: [] for order in orders for charge in order.charges
    }
    for entry in sandbox.journal.entries:
        for subject in {event.subject_id for event in _of_charges(entry)} & found.keys():
            found[subject].append(entry)
    return found


def parted(
    belief: Belief, order: OrderMoney, entries: Sequence[JournalEntry], *, is_settled: bool
) -> JournalEntry | None:
    """The journal entry with which an order and what the shop believes of it parted for good; None
    when they never agreed, or the journal does not hold the whole story of the order."""
    known = {charge.charge_id: charge for charge in order.charges}
    last: dict[str, Event] = {}
    parting: JournalEntry | None = None
    agreed = agrees(belief, Figures(), is_settled=is_settled)
    for entry in entries:
        moved = [
            event
            for event in _of_charges(entry)
            if event.subject_id in known and event.data is None
        ]
        last |= {event.subject_id: event for event in moved}
        then = (figures_of(known[one], entry.at, event) for one, event in last.items())
        agrees_now = agrees(belief, sum(then, Figures()), is_settled=is_settled)
        if agreed and not agrees_now:
            parting = entry
        agreed = agrees_now
    return parting if last.keys() == known.keys() and not agreed else None


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
        self.rows = defaultdict[OrderKey, list[tuple[int, ShopRow]]](list)
        for place, row in enumerate(rows):
            self.rows[row.key].append((place, row))
        self._named = {value for kind, value in self.rows if kind == "charge"}
        self.unknown = defaultdict[OrderKey, list[Charge]](list)
        """The charges of which the books have no row, by their orders."""
        self.recent: Mapping[OrderKey, Sequence[Charge]] = {}
        """The charges since a mark, by their orders: where the books agree with those, an earlier
        test has left the rest."""

    def faults(self, key: OrderKey) -> list[tuple[int, BadRow]]:
        """The rows of an order, by their place, that name no currency where the order has several,
        or where an amount has more digits than its only one."""
        currencies = list(dict.fromkeys(charge.currency for charge in self._charges(key)))
        unnamed = [(place, row) for place, row in self.rows[key] if row.currency is None]
        if len(currencies) == 1:
            return [
                (place, bad)
                for place, row in unnamed
                if (bad := excess(row, currencies[0])) is not None
            ]
        name = mask_start(key[1], _LONGEST_NAME)
        bad = BadRow("currency", f"missing, and {name} has charges in {' and '.join(currencies)}")
        return [(place, bad) for place, _ in unnamed if currencies]

    def note_unknown(self, charge: Charge) -> None:
        """Remember a charge of which the books have no row."""
        key = key_of(charge)
        if key not in self.rows and charge.charge_id not in self._named:
            self.unknown[key].append(charge)

    def differences(self, key: OrderKey) -> Iterator[BookDifference]:
        """The finding of an order in each of its currencies."""
        charges = self._charges(key)
        found = list(self._judged(key, charges))
        since = [one for one in self.recent.get(key, ()) if one in charges] if found else []
        if since and len(since) < len(charges) and not any(self._judged(key, since)):
            return
        yield from found

    def _judged(self, key: OrderKey, charges: Sequence[Charge]) -> Iterator[BookDifference]:
        orders = {order.currency: order for order in orders_of(self._sandbox, key, charges)}
        name = mask_start(key[1], _LONGEST_NAME)
        rows = defaultdict[str, list[ShopRow]](list)
        for _, row in self.rows.get(key, ()):
            # One that names no currency means the only one.
            rows[row.currency or next(iter(orders), "")].append(row)
        for currency in dict.fromkeys((*orders, *rows)):
            order, belief = (
                orders.get(currency) or OrderMoney(key, currency),
                Belief(name, rows[currency]),
            )
            asked = "" if order.charges else self._asked_in_vain.get(key, "")
            found = difference(
                belief, order, is_settled=self.is_settled, asked=asked
            ) or self._of_payers(belief, order)
            if found is not None:
                yield BookDifference(*found, belief, order)

    @cached_property
    def _asked_in_vain(self) -> Mapping[OrderKey, str]:
        """What was asked for orders by calls that have made no charge, the last of each, as far as
        the journal is kept."""
        asked: dict[OrderKey, str] = {}
        for entry in self._sandbox.journal.entries:
            if entry.op == "charge.create" and not entry.events:
                reference, amount = self._asked_of(entry)
                if reference:
                    words = f"whose payment{amount} was asked for and not made: {_ending(entry)}"
                    asked["reference", reference] = words
        return asked

    def _asked_of(self, entry: JournalEntry) -> tuple[str, str]:
        """The reference that the body of a payment gave, and its amount in words; empty without."""
        try:
            body = json.loads(entry.raw)
            fields = {str(name).lower(): value for name, value in body.items()}
            amount = Decimal(str(fields.get("amount")))
        except (ValueError, ArithmeticError, AttributeError):
            return "", ""
        provider = self._sandbox.providers.get(str(fields.get("providerid")))
        known = provider.currency if provider is not None else ""
        currency = str(fields.get("currency") or known).upper()
        words = f" of {money_text(amount, currency)}" if amount.is_finite() else ""
        return str(fields.get("reference") or ""), words

    def _of_payers(self, belief: Belief, order: OrderMoney) -> tuple[str, str] | None:
        """Money of an order that came from another customer than its rows name. Both must be known:
        a name that is no customer's says nothing, nor does a charge without one."""
        names = {
            row.payer for row in belief.rows if row.payer and Claim.UNKNOWN not in belief.claims
        }
        customers = {one for name in names for one in self._customers(name)}
        for charge, money in zip(order.charges, order.each, strict=True):
            payer = charge.customer_id
            if customers and payer is not None and payer not in customers and money.exposure > 0:
                amount, named = (
                    money_text(money.exposure, order.currency),
                    " or ".join(sorted(names)),
                )
                words = (
                    f"{amount} of {belief.order} came from customer {payer}, the shop's books "
                    f"name {named}"
                )
                return "paid-by-another", words
        return None

    def _customers(self, name: str) -> Iterator[str]:
        """The ids of the customers of an id, a reference or an email."""
        known = self._sandbox.customers
        for by, value in (("id", name), ("reference", name), ("email", name.lower())):
            yield from (one.customer_id for one in known.find(by, value))

    def _charges(self, key: OrderKey) -> list[Charge]:
        if key in self.unknown:
            return self.unknown[key]
        return [
            one
            for one in charges_of(self._sandbox, key)
            if key[0] == "charge" or one.charge_id not in self._named
        ]


class Report:
    """What a comparison found, with the journal entries and webhooks of each order. What an earlier
    one reported is forgotten: the books were read anew."""

    def __init__(
        self,
        sandbox: Sandbox,
        ledger: Ledger,
        books: ComparedBooks,
        found: Sequence[BookDifference],
    ) -> None:
        self._now, self._ledger, self._books = sandbox.now, ledger, books
        self._entries = entries_about(sandbox, (one.order for one in found))
        self._webhooks = defaultdict[str, list[Delivery]](list)
        for sent in sandbox.deliveries:
            if sent.message.subject_id is not None and sent.message.subject_id in self._entries:
                self._webhooks[sent.message.subject_id].append(sent)
        ledger.retract(COMPARED)

    def add(self, found: BookDifference) -> None:
        """Raise one finding."""
        order, currency = found.order, found.order.currency
        ids = [charge.charge_id for charge in order.charges]
        story = {entry.number: entry for one in ids for entry in self._entries[one]}
        steps = [story[number] for number in sorted(story)]
        both = (
            f"the shop's books: {found.belief.told(currency)}",
            f"the sandbox: {order.figures.told(currency)}",
        )
        sent = [delivery for one in ids for delivery in self._webhooks[one]]
        credited = _credited_by_another(order, sent) if found.name == _NO_MONEY else ""
        lines = [Evidence(mask_text(line)) for line in (f"{found.words}{credited}", *both)]
        parting = parted(found.belief, order, steps, is_settled=self._books.is_settled)
        if parting is not None:
            how = f"{parting.op}: {_ending(parting)}"
            lines.append(Evidence(f"they agreed until journal {parting.number} ({how})"))
        lines += [Evidence(f"{one.op}: {_ending(one)}", one.number) for one in steps[-_MOST_LINES:]]
        lines += [
            Evidence(_sending(one), one.entry, one.delivery_id) for one in sent[-_MOST_WEBHOOKS:]
        ]
        about = {order.key[0]: found.belief.order, "currency": currency or None}
        self._ledger.add(found.name, self._now, lines, **about)


def _credited_by_another(order: OrderMoney, sent: Iterable[Delivery]) -> str:
    """Which webhook of another order has come to the address of an order and was taken; empty when
    none has."""
    for delivery in sent:
        data = _data_of(delivery)
        other, charge = data.get("reference"), data.get("chargeId")
        is_own = order.key == ("reference", other) or any(
            charge == own.charge_id for own in order.charges
        )
        is_taken = any(one.is_accepted for one in delivery.tries)
        if charge is None or is_own or not is_taken:
            continue
        named = mask_start(str(other or charge), _LONGEST_NAME)
        return f"; a webhook of {named} came to its address, and was taken to be about it"
    return ""


def _data_of(delivery: Delivery) -> Mapping[str, Any]:
    """What a webhook says of its object; empty where it says nothing that can be read."""
    with suppress(ValueError, AttributeError):
        data = json.loads(delivery.content.body).get("data")
        return data if isinstance(data, dict) else {}
    return {}


def _ending(entry: JournalEntry) -> str:
    """How a step ended for the client, in a few words."""
    if not entry.method:
        return f"it came due at {entry.op}" if not entry.events else entry.events[-1].what
    if entry.fault is not None and entry.fault.let_it_happen:
        return f"the answer was spoilt ({entry.fault.kind.value})"
    if entry.fault is not None:
        return f"nothing has happened ({entry.fault.status or entry.fault.kind.value})"
    return f"answered {entry.status}"


def _sending(delivery: Delivery) -> str:
    """A webhook, and what its receiver answered."""
    last = delivery.tries[-1] if delivery.tries else None
    answered = f", answered {last.status or last.error}" if last is not None else ""
    return f"webhook {delivery.message.event_type}: {delivery.state.value}{answered}"
