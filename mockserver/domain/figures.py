"""The money of charges as figures: what is held, taken, given back and waited for.

A figure follows from the charges alone, so it is right after every import, fork and restart: no
counter has to be kept in step with them. Amounts are exact decimals of one currency in major units.

Money of a payment is in one place at a time. It is ``waiting`` for its payer, then ``pending`` at
its provider or ``held`` by the issuer, then ``captured``; from there it is ``refunding`` and
``refunded``, or ``returned`` by a bank, which is none of the merchant's any more. What a merchant
has is the ``net``; what a customer misses, or will miss, is more: the ``exposure``.

Source: docs/books.md, What the figures mean.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Micros
from mockserver.domain.money import CURRENCIES
from mockserver.domain.record import record
from mockserver.domain.states import ChargeState, Event, TransferState
from mockserver.domain.transfer import Transfer

TAKEN = frozenset({ChargeState.SUCCESS, ChargeState.PARTIAL_REFUND, ChargeState.REFUND})
"""States of a charge whose money has come in, though it may have been given back."""


class OrderKey(NamedTuple):
    """What an order is known by: its ``kind`` is ``subscription``, ``reference`` or ``charge``, its
    ``name`` the id or the text."""

    kind: str
    name: str


@record
class Figures:
    """The money of some charges. ``refunding`` are refunds that wait for their provider,
    ``returned`` is what came in and was taken back by a bank, ``waiting`` what a payer has still to
    confirm (3-D Secure): no money yet."""

    held: Decimal = ZERO
    captured: Decimal = ZERO
    refunded: Decimal = ZERO
    refunding: Decimal = ZERO
    pending: Decimal = ZERO
    waiting: Decimal = ZERO
    returned: Decimal = ZERO
    transferred: Decimal = ZERO

    @classmethod
    def of(cls, members: Mapping[str, object]) -> "Figures":
        """The figures out of an answer of the control API."""
        return cls(*(Decimal(str(members[name])) for name in NAMES))

    @property
    def net(self) -> Decimal:
        """What the merchant has."""
        return self.captured - self.refunded

    @property
    def exposure(self) -> Decimal:
        """What the customer misses, or will miss."""
        return self.net + self.held + self.pending

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def in_words(self, currency: str) -> str:
        """``captured 20.00 AUD, refunded 5.00 AUD``; ``no money`` where all are 0."""
        amounts = {name: getattr(self, name) for name in NAMES}
        words = [
            f"{name} {money_text(amount, currency)}" for name, amount in amounts.items() if amount
        ]
        return ", ".join(words) or "no money"


NAMES = tuple(figure.name for figure in fields(Figures))
"""The names of the figures, in the order in which they are shown."""


def money_of(
    charge: Charge, at: Micros, last: Event | None = None
) -> Iterator[tuple[str, Decimal]]:
    """The figures of one charge at an instant, by their names, none of them twice; those that are
    missing are 0. ``last`` is the last move of the charge by then, where it may have moved on
    since; None says that it stands as it is. Refunds that have failed since are not in it.

    Pairs, not ``Figures``: sums over all charges of a sandbox add up the few that are there.
    """
    status = charge.status if last is None else last.after
    # What was held or pending then: amount is what of it has been captured since.
    asked_for = charge.authorised or charge.amount
    if status in TAKEN:
        captured = charge.amount
        if charge.captures:
            captured = sum((part.amount for part in charge.captures if part.added <= at), ZERO)
            if charge.voided is None or charge.voided > at:
                yield "held", (charge.authorised or captured) - captured
        yield "captured", captured
        if charge.refunds or charge.reserved:
            # One that is ordered is on its way until its provider has answered.
            refunds = (*charge.refunds, *(charge.reserved or ()))
            ordered = sum((refund.amount for refund in refunds if refund.added <= at), ZERO)
            refunded = sum((refund.amount for refund in charge.refunds if refund.moved <= at), ZERO)
            yield "refunded", refunded
            yield "refunding", ordered - refunded
    elif status == ChargeState.AUTHORISED:
        yield "held", charge.amount if last is None else asked_for
    elif status == ChargeState.PENDING:
        # A capture that its provider has still to confirm is pending for what it asks, which may
        # be less than was authorised.
        is_capture = last is None or last.before == ChargeState.AUTHORISED
        yield "pending", charge.amount if is_capture else asked_for
    elif status == ChargeState.PENDING_CHECKOUT:
        yield "waiting", charge.amount
    elif status == ChargeState.FAILED and charge.returned is not None:
        yield "returned", charge.amount


def figures_of(charge: Charge, at: Micros, last: Event | None = None) -> Figures:
    """The figures of one charge at an instant (``money_of``), all of them."""
    return Figures(**dict(money_of(charge, at, last)))


def transferred(transfer: Transfer) -> Iterator[tuple[str, Decimal]]:
    """What a transfer has moved on of the money of its charge."""
    if transfer.status is TransferState.SUCCESS and transfer.charge_id is not None:
        yield "transferred", transfer.amount


def peak(charges: Iterable[Charge], now: Micros) -> Decimal:
    """The most that the customer of some charges has missed at once; at one instant money was taken
    first."""
    # As the customer's purse sees it: what is taken is below 0, and so comes first at an instant.
    # A refund and a new payment of one instant are then missed together, the worst that can be.
    changes = sorted(change for charge in charges for change in _changes(charge, now))
    return -min(accumulate(amount for _, amount in changes), default=ZERO)


def _changes(charge: Charge, now: Micros) -> Iterator[tuple[Micros, Decimal]]:
    """When a charge took money from its customer (an amount below 0), or a hold on it, and when it
    gave some back."""
    authorised = charge.authorised or charge.amount
    if charge.status in TAKEN:
        yield charge.added, -authorised
        if charge.kept is None:
            # A smaller capture gave back the rest of the hold, when it was made or let go.
            released = charge.voided or charge.succeeded or charge.added
            yield released, authorised - charge.amount
        for refund in charge.refunds:
            if refund.moved <= now:
                yield refund.moved, refund.amount
        return
    ended = charge.voided or charge.returned
    if ended is not None:
        yield charge.added, -authorised
        yield ended, authorised
    elif charge.status in (ChargeState.AUTHORISED, ChargeState.PENDING):
        yield charge.added, -authorised


@record
class OrderMoney:
    """One order in one currency: its charges from the oldest on, and the money of ``each``."""

    key: OrderKey
    currency: str
    charges: tuple[Charge, ...] = ()
    each: tuple[Figures, ...] = ()

    @property
    def figures(self) -> Figures:
        """The money of the whole order: that of its charges together."""
        return sum(self.each, Figures())


def money_text(amount: Decimal, currency: str) -> str:
    """An amount with the digits of its currency: ``40.00 AUD``, ``5 JPY``."""
    known = CURRENCIES.get(currency)
    digits = 2 if known is None else known.digits
    return f"{amount:.{digits}f} {currency}".rstrip()
