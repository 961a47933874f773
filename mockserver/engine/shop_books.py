"""Compares the shop's books with a sandbox, order by order, and reports the differences as findings.

Source: docs/books.md, What a comparison finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mockserver.books.comparison import COMPARED, Belief, Truth, belief_of, difference, money_text
from mockserver.books.figures import NAMES
from mockserver.books.shop_rows import BadRow, ShopRow
from mockserver.domain.charge import Charge
from mockserver.domain.delivery import Delivery
from mockserver.domain.masking import mask_start, mask_text
from mockserver.engine.journal import JournalEntry
from mockserver.engine.orders import OrderCharges, OrderKey, by_currency, charges_of, entries_about, key_of, parted
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.ledger import Evidence, Ledger

Difference: TypeAlias = tuple[str, OrderCharges, list[str]]
"""The name of a finding, the order that it is about, and what there is to say of it."""

_MOST_LINES, _MOST_WEBHOOKS = 4, 2
_LONGEST_NAME = 60


class ShopBooks:
    """One comparison: ``rows`` by their place in the books. ``is_settled``: nothing waits any more, so what the shop
    calls pending has failed or is paid.

    A charge counts once: for the row that names it, else its subscription's, else its reference's.
    """

    def __init__(self, sandbox: Sandbox, rows: Sequence[ShopRow], *, is_settled: bool = False) -> None:
        self._sandbox = sandbox
        self._is_settled = is_settled
        self._rows = defaultdict[OrderKey, list[tuple[int, ShopRow]]](list)
        for place, row in enumerate(rows):
            self._rows[row.key].append((place, row))
        self._named = {value for kind, value in self._rows if kind == "charge"}
        self._unknown = defaultdict[OrderKey, list[Charge]](list)

    @property
    def orders(self) -> list[OrderKey]:
        """The orders of which the books have rows."""
        return list(self._rows)

    def faults(self, key: OrderKey) -> list[tuple[int, BadRow]]:
        """The rows of an order, by their place, that name no currency where the order has several."""
        currencies = list(dict.fromkeys(charge.currency for charge in self._charges(key)))
        if len(currencies) < 2:
            return []
        words = f"missing, and the order has charges in {' and '.join(currencies)}"
        return [(place, BadRow("currency", words)) for place, row in self._rows[key] if row.currency is None]

    def note_unknown(self, charge: Charge) -> None:
        """Remember a charge of which the books have no row."""
        key = key_of(charge)
        if key not in self._rows and charge.charge_id not in self._named:
            self._unknown[key].append(charge)

    @property
    def unknown(self) -> list[OrderKey]:
        """The orders of which the books have no row."""
        return list(self._unknown)

    def differences(self, key: OrderKey) -> Iterator[Difference]:
        """The finding of an order in each of its currencies, and what there is to say of it."""
        charges = self._unknown[key] if key in self._unknown else self._charges(key)
        orders = {order.currency: order for order in by_currency(self._sandbox, key, charges)}
        rows = self._by_currency(key, list(orders))
        for currency in dict.fromkeys((*orders, *rows)):
            order = orders.get(currency) or OrderCharges(key, currency, ())
            name = mask_start(key[1], _LONGEST_NAME)
            belief = belief_of(name, rows[currency]) if currency in rows else Belief(name, is_known=False)
            truth = Truth(currency, order.charges, self._sandbox.now)
            found = difference(belief, truth, is_settled=self._is_settled)
            if found is not None:
                yield found[0], order, [found[1], *self._told(belief, order)]

    def parting(self, order: OrderCharges, entries: Sequence[JournalEntry]) -> JournalEntry | None:
        """The journal entry with which the books and an order parted for good, if there is one."""
        belief = self._belief(order)
        truth = Truth(order.currency, order.charges, self._sandbox.now)
        return parted(belief, truth, entries, is_settled=self._is_settled)

    def _belief(self, order: OrderCharges) -> Belief:
        rows = self._by_currency(order.key, [order.currency]).get(order.currency)
        return belief_of(order.key[1], rows) if rows else Belief(order.key[1], is_known=False)

    def _charges(self, key: OrderKey) -> list[Charge]:
        charges = charges_of(self._sandbox, key)
        return charges if key[0] == "charge" else [one for one in charges if one.charge_id not in self._named]

    def _by_currency(self, key: OrderKey, currencies: Sequence[str]) -> dict[str, list[ShopRow]]:
        """The rows of an order by currency; one that names none means the only one."""
        parted = defaultdict[str, list[ShopRow]](list)
        for _, row in self._rows.get(key, ()):
            parted[row.currency or (currencies[0] if currencies else "")].append(row)
        return parted

    def _told(self, belief: Belief, order: OrderCharges) -> Iterator[str]:
        """What either side says of an order."""
        yield f"the shop's books: {belief.told(order.currency)}"
        figures = order.figures(self._sandbox.now)
        known = [f"{name} {money_text(getattr(figures, name), order.currency)}" for name in NAMES]
        yield f"the sandbox: {', '.join(one for one in known if not _is_nothing(one)) or 'no money'}"


def _is_nothing(words: str) -> bool:
    amount = words.split()[1]
    return not amount.strip("0.")


class Report:
    """What comparisons found, with the journal entries and webhooks of each order. What an earlier comparison reported
    is forgotten: the books were read anew."""

    def __init__(self, sandbox: Sandbox, ledger: Ledger, books: ShopBooks, found: Sequence[Difference]) -> None:
        self._sandbox, self._ledger, self._books = sandbox, ledger, books
        ids = {charge.charge_id for _, order, _ in found for charge in order.charges}
        self._entries = entries_about(sandbox, ids)
        self._webhooks = defaultdict[str, list[Delivery]](list)
        for one in sandbox.deliveries:
            if one.message.subject_id in ids:
                self._webhooks[one.message.subject_id].append(one)
        ledger.retract(COMPARED)

    def add(self, found: Difference) -> None:
        """Raise one finding."""
        name, order, words = found
        ids = [charge.charge_id for charge in order.charges]
        story = {entry.number: entry for one in ids for entry in self._entries[one]}
        steps = [story[number] for number in sorted(story)]
        lines = [Evidence(mask_text(line)) for line in words]
        parting = self._books.parting(order, steps)
        if parting is not None:
            lines.append(
                Evidence(f"they agreed until journal {parting.number} ({parting.asked.op}: {_ending(parting)})")
            )
        lines += [Evidence(f"{one.asked.op}: {_ending(one)}", one.number) for one in steps[-_MOST_LINES:]]
        sent = [delivery for one in ids for delivery in self._webhooks[one]]
        lines += [Evidence(_sending(one), one.entry, one.delivery_id) for one in sent[-_MOST_WEBHOOKS:]]
        kind, value = order.key
        about = {kind: mask_start(value, _LONGEST_NAME), "currency": order.currency or None}
        self._ledger.add(name, self._sandbox.now, lines, **about)


def _ending(entry: JournalEntry) -> str:
    """How a step ended for the client, in a few words."""
    if not entry.method:
        return f"it came due at {entry.asked.op}" if not entry.result.events else entry.result.events[-1].what
    if entry.fault is not None:
        return f"the answer was spoilt ({entry.fault.kind.value})"
    return f"answered {entry.status}"


def _sending(delivery: Delivery) -> str:
    """A webhook, and what its receiver answered."""
    last = delivery.tries[-1] if delivery.tries else None
    answered = f", answered {last.status or last.error}" if last is not None else ""
    return f"webhook {delivery.message.event_type}: {delivery.state.value}{answered}"
