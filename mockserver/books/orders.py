"""The orders of a sandbox: which charges belong to one, what money they hold, and how it came to
that.

An order is a subscription, a reference, or a charge without either: the service knows no orders,
and this is what shops mean by one. In each of its currencies it is looked at by itself, as an
``OrderMoney``.

Source: docs/books.md, What an order is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.figures import Figures, OrderKey, OrderMoney, figures_of, transferred
from mockserver.domain.record import replace
from mockserver.domain.states import Event, Subject
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox


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
        for event in charge_events(entry):
            charge = sandbox.charges.get(event.subject_id)
            if charge is None:
                continue
            of_order = new_charges.setdefault(key_of(charge), [])
            is_new = event.before is None
            if is_new:
                of_order.append(charge)
    return new_charges


def charge_events(entry: JournalEntry) -> Iterator[Event]:
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
        changed = {event.subject_id for event in charge_events(entry)}
        for charge_id in changed & entries.keys():
            entries[charge_id].append(entry)
    return entries
