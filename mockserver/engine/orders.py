"""The orders of a sandbox: which charges belong to one, what money they hold, and how it came to that.

An order is a subscription, a reference, or a charge without either. Source: docs/books.md, What an order is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from mockserver.books.comparison import Belief, Truth, agrees
from mockserver.books.figures import Figures, as_of, total
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.events import Event, Subject
from mockserver.domain.record import record
from mockserver.domain.states import ChargeState
from mockserver.domain.transfer import Transfer
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox

OrderKey: TypeAlias = tuple[str, str]
"""What an order is known by: ``subscription``, ``reference`` or ``charge``, and its id or text."""


def key_of(charge: Charge) -> OrderKey:
    """The order that a charge belongs to."""
    if charge.subscription_id is not None:
        return "subscription", charge.subscription_id
    return ("charge", charge.charge_id) if charge.reference is None else ("reference", charge.reference)


@record
class OrderCharges:
    """One order in one currency, with its charges from the oldest on, and what was transferred of them."""

    key: OrderKey
    currency: str
    charges: tuple[Charge, ...]
    transfers: tuple[Transfer, ...] = ()

    def figures(self, now: Micros) -> Figures:
        """Its money at an instant."""
        return total(self.charges, now, self.transfers)

    def transfers_of(self, charge: Charge) -> list[Transfer]:
        """What was transferred of one of its charges."""
        return [one for one in self.transfers if one.charge_id == charge.charge_id]


def charges_of(sandbox: Sandbox, key: OrderKey) -> list[Charge]:
    """The charges of an order, from the oldest on; one that is named by its id belongs to whatever order."""
    kind, value = key
    if kind == "charge":
        charge = sandbox.charges.get(value)
        return [] if charge is None else [charge]
    return [charge for charge in sandbox.charges.find(kind, value) if key_of(charge) == key]


def orders_of(sandbox: Sandbox, key: OrderKey) -> list[OrderCharges]:
    """An order, once for each of its currencies."""
    return by_currency(sandbox, key, charges_of(sandbox, key))


def by_currency(sandbox: Sandbox, key: OrderKey, charges: Iterable[Charge]) -> list[OrderCharges]:
    """The charges of an order, parted by currency."""
    parted = defaultdict[str, list[Charge]](list)
    for charge in charges:
        parted[charge.currency].append(charge)
    return [OrderCharges(key, currency, tuple(of), _transfers(sandbox, of)) for currency, of in parted.items()]


def _transfers(sandbox: Sandbox, charges: Iterable[Charge]) -> tuple[Transfer, ...]:
    if not len(sandbox.transfers):
        return ()
    return tuple(one for charge in charges for one in sandbox.transfers.find("charge", charge.charge_id))


def is_first(sandbox: Sandbox, charge: Charge) -> bool:
    """Whether a charge is the oldest of its order: orders are listed as they began."""
    kind, value = key_of(charge)
    if kind == "charge":
        return True
    # A subscription's charges may carry the reference of an order of its own.
    same = (one for one in sandbox.charges.find(kind, value) if key_of(one)[0] == kind)
    return next(same) is charge


def touched(sandbox: Sandbox, after: int) -> list[OrderKey]:
    """The orders whose charges have changed after a journal entry, as far as the journal is kept."""
    journal = sandbox.journal
    entries = islice(journal.entries, max(0, after - journal.dropped), None)
    ids = dict.fromkeys(event.subject_id for entry in entries for event in _of_charges(entry))
    charges = (sandbox.charges.get(charge_id) for charge_id in ids)
    return list(dict.fromkeys(key_of(charge) for charge in charges if charge is not None))


def _of_charges(entry: JournalEntry) -> Iterator[Event]:
    return (event for event in entry.result.events if event.subject is Subject.CHARGE)


def entries_about(sandbox: Sandbox, ids: Iterable[str]) -> Mapping[str, list[JournalEntry]]:
    """The journal entries in which each of some charges changed, oldest first, as far as they are kept."""
    found: dict[str, list[JournalEntry]] = {one: [] for one in ids}
    for entry in sandbox.journal.entries:
        for subject in {event.subject_id for event in _of_charges(entry)} & found.keys():
            found[subject].append(entry)
    return found


def parted(belief: Belief, truth: Truth, entries: Sequence[JournalEntry], *, is_settled: bool) -> JournalEntry | None:
    """The journal entry with which an order and what the shop believes of it parted for good; None when they never
    agreed, or the journal does not hold the whole story of the order."""
    known = {charge.charge_id: charge for charge in truth.charges}
    states: dict[str, tuple[ChargeState, Micros]] = {}
    parting: JournalEntry | None = None
    agreed = agrees(belief, Figures(), is_settled=is_settled)
    for entry in entries:
        for event in _of_charges(entry):
            if event.subject_id in known and event.after is not None:
                states[event.subject_id] = ChargeState(event.after), event.at
        then = [as_of(known[one], state, at) for one, (state, at) in states.items()]
        agrees_now = agrees(belief, total(then, entry.at), is_settled=is_settled)
        if agreed and not agrees_now:
            parting = entry
        agreed = agrees_now
    return parting if states.keys() == known.keys() and not agreed else None
