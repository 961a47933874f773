"""The orders of a sandbox: which charges belong to one, what money they hold, and how it came to that.

An order is a subscription, a reference, or a charge without either. Source: docs/books.md, What an order is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from mockserver.books.comparison import Belief, agrees
from mockserver.books.figures import Figures, OrderKey, OrderMoney, figures_of, transferred
from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.events import Event, Subject
from mockserver.domain.record import replace
from mockserver.domain.states import ChargeState
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox


def key_of(charge: Charge) -> OrderKey:
    """The order that a charge belongs to."""
    if charge.subscription_id is not None:
        return "subscription", charge.subscription_id
    return ("charge", charge.charge_id) if charge.reference is None else ("reference", charge.reference)


def charges_of(sandbox: Sandbox, key: OrderKey) -> Iterator[Charge]:
    """The charges of an order, from the oldest on; one that is named by its id belongs to whatever order."""
    kind, value = key
    if kind == "charge":
        charge = sandbox.charges.get(value)
        return iter(() if charge is None else (charge,))
    # A subscription's charges may carry the reference of an order of its own.
    return (charge for charge in sandbox.charges.find(kind, value) if key_of(charge) == key)


def orders_of(sandbox: Sandbox, key: OrderKey, charges: Iterable[Charge] | None = None) -> list[OrderMoney]:
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
    """The orders whose charges have changed after a journal entry, as far as the journal is kept, each with the charges
    that were made then."""
    journal = sandbox.journal
    entries = islice(journal.entries, max(0, after - journal.dropped), None)
    found: dict[OrderKey, list[Charge]] = {}
    for event in (event for entry in entries for event in _of_charges(entry)):
        charge = sandbox.charges.get(event.subject_id)
        if charge is not None:
            made = found.setdefault(key_of(charge), [])
            made += [charge] if event.before is None else []
    return found


def _of_charges(entry: JournalEntry) -> Iterator[Event]:
    return (event for event in entry.result.events if event.subject is Subject.CHARGE)


def entries_about(sandbox: Sandbox, orders: Iterable[OrderMoney]) -> Mapping[str, list[JournalEntry]]:
    """The journal entries in which each charge of some orders changed, oldest first, as far as they are kept."""
    found: dict[str, list[JournalEntry]] = {charge.charge_id: [] for order in orders for charge in order.charges}
    for entry in sandbox.journal.entries:
        for subject in {event.subject_id for event in _of_charges(entry)} & found.keys():
            found[subject].append(entry)
    return found


def parted(
    belief: Belief, order: OrderMoney, entries: Sequence[JournalEntry], *, is_settled: bool
) -> JournalEntry | None:
    """The journal entry with which an order and what the shop believes of it parted for good; None when they never
    agreed, or the journal does not hold the whole story of the order."""
    known = {charge.charge_id: charge for charge in order.charges}
    states: dict[str, ChargeState] = {}
    parting: JournalEntry | None = None
    agreed = agrees(belief, Figures(), is_settled=is_settled)
    for entry in entries:
        moved = [event for event in _of_charges(entry) if event.subject_id in known]
        states |= {event.subject_id: ChargeState(event.after) for event in moved if event.after is not None}
        then = (figures_of(known[one], entry.at, state) for one, state in states.items())
        agrees_now = agrees(belief, sum(then, Figures()), is_settled=is_settled)
        if agreed and not agrees_now:
            parting = entry
        agreed = agrees_now
    return parting if states.keys() == known.keys() and not agreed else None
