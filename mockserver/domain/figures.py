"""The money of charges as figures: what is held, taken, given back and waited for.

A figure follows from the charges alone, so it is right after every import, fork and restart.
Amounts are exact decimals of one currency in major units. Source: docs/books.md, What the figures
mean.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from itertools import accumulate, chain
from typing import TypeAlias

from mockserver.domain.charge import ZERO, Charge
from mockserver.domain.clock import Micros
from mockserver.domain.money import CURRENCIES
from mockserver.domain.record import record
from mockserver.domain.states import ChargeState, Event, TransferState
from mockserver.domain.transfer import Transfer

TAKEN = frozenset({ChargeState.SUCCESS, ChargeState.PARTIAL_REFUND, ChargeState.REFUND})
"""States of a charge whose money has come in, though it may have been given back."""

OrderKey: TypeAlias = tuple[str, str]
"""What an order is known by: ``subscription``, ``reference`` or ``charge``, and its id or text."""


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
    def of(cls, shown: Mapping[str, object]) -> "Figures":
        """The figures that an answer of the control API shows."""
        return cls(*(Decimal(str(shown[name])) for name in NAMES))

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

    def told(self, currency: str) -> str:
        amounts = ((name, getattr(self, name)) for name in NAMES)
        return (
            ", ".join(
                f"{name} {money_text(amount, currency)}" for name, amount in amounts if amount
            )
            or "no money"
        )


NAMES = tuple(one.name for one in fields(Figures))
"""The names of the figures, in the order in which they are shown."""


def money_of(
    charge: Charge, at: Micros, last: Event | None = None
) -> Iterator[tuple[str, Decimal]]:
    """The figures of one charge at an instant, by their names, none of them twice; those that are
    missing are 0. A refund counts once its provider has answered. ``last`` is the last move of the
    charge by then, where it may have moved on since; refunds that have failed since are not in
    it."""
    status = charge.status if last is None else last.after
    if status in TAKEN:
        captured = charge.amount
        if charge.captures:
            captured = sum((one.amount for one in charge.captures if one.added <= at), ZERO)
            if charge.voided is None or charge.voided > at:
                yield "held", (charge.authorised or captured) - captured
        yield "captured", captured
        if charge.refunds or charge.reserved:
            refunded = sum((one.amount for one in charge.refunds if one.moved <= at), ZERO)
            asked = (one for one in (*charge.refunds, *(charge.reserved or ())) if one.added <= at)
            yield "refunded", refunded
            yield "refunding", sum((one.amount for one in asked), -refunded)
    elif status == ChargeState.AUTHORISED:
        yield "held", charge.amount if last is None else charge.authorised or charge.amount
    elif status == ChargeState.PENDING:
        # What was captured since of a hold that was pending then is less than was asked for.
        is_past_hold = last is not None and last.before != ChargeState.AUTHORISED
        yield "pending", (charge.authorised or charge.amount) if is_past_hold else charge.amount
    elif status == ChargeState.PENDING_CHECKOUT:
        yield "waiting", charge.amount
    elif status == ChargeState.FAILED and charge.returned is not None:
        yield "returned", charge.amount


def figures_of(charge: Charge, at: Micros, last: Event | None = None) -> Figures:
    return Figures(**dict(money_of(charge, at, last)))


def transferred(transfer: Transfer) -> Iterator[tuple[str, Decimal]]:
    """What a transfer has moved on of the money of its charge."""
    if transfer.status is TransferState.SUCCESS and transfer.charge_id is not None:
        yield "transferred", transfer.amount


def peak(charges: Iterable[Charge], now: Micros) -> Decimal:
    """The most that the customer of some charges has missed at once; at one instant money was taken
    first."""
    moves = sorted(chain.from_iterable(_moves(charge, now) for charge in charges))
    return -min(accumulate(less for _, less in moves), default=ZERO)


def _moves(charge: Charge, now: Micros) -> Iterator[tuple[Micros, Decimal]]:
    """When a charge took money from its customer (less than 0), and when it gave some back."""
    authorised, is_taken = charge.authorised or charge.amount, charge.status in TAKEN
    ended = None if is_taken else charge.voided or charge.returned
    if (
        is_taken
        or ended is not None
        or charge.status in (ChargeState.AUTHORISED, ChargeState.PENDING)
    ):
        yield charge.added, -authorised
    if ended is not None:
        yield ended, authorised
    if is_taken:
        if charge.kept is None:
            yield charge.voided or charge.succeeded or charge.added, authorised - charge.amount
        yield from (
            (refund.moved, refund.amount) for refund in charge.refunds if refund.moved <= now
        )


@record
class OrderMoney:
    """One order in one currency: its charges from the oldest on, and the money of ``each``."""

    key: OrderKey
    currency: str
    charges: tuple[Charge, ...] = ()
    each: tuple[Figures, ...] = ()

    @property
    def figures(self) -> Figures:
        return sum(self.each, Figures())


def money_text(amount: Decimal, currency: str) -> str:
    """An amount with the digits of its currency: ``40.00 AUD``, ``5 JPY``."""
    known = CURRENCIES.get(currency)
    return f"{amount:.{known.digits if known is not None else 2}f} {currency}".rstrip()
