"""The money of charges as figures: what is held, taken, given back and waited for.

A figure follows from the charges alone, so it is right after every import, fork and restart. Amounts are exact decimals
of one currency in major units. Source: docs/books.md, What the figures mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from enum import StrEnum

from mockserver.domain.charge import ZERO, Charge, PartCaptured
from mockserver.domain.clock import Micros
from mockserver.domain.record import record, replace
from mockserver.domain.states import ChargeState, TransferState
from mockserver.domain.transfer import Transfer

TAKEN = frozenset({ChargeState.SUCCESS, ChargeState.PARTIAL_REFUND, ChargeState.REFUND})
"""States of a charge whose money has come in, though it may have been given back."""


@record
class Figures:
    """The money of some charges. ``refunding`` are refunds that wait for their provider, ``returned`` is what came in
    and was taken back by a bank, ``waiting`` what a payer has still to confirm (3-D Secure): no money yet."""

    held: Decimal = ZERO
    captured: Decimal = ZERO
    refunded: Decimal = ZERO
    refunding: Decimal = ZERO
    pending: Decimal = ZERO
    waiting: Decimal = ZERO
    returned: Decimal = ZERO
    transferred: Decimal = ZERO

    @classmethod
    def of(cls, shown: Mapping[str, object]) -> Figures:
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

    def __add__(self, other: Figures) -> Figures:
        return Figures(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def __sub__(self, other: Figures) -> Figures:
        return Figures(*(getattr(self, name) - getattr(other, name) for name in NAMES))


NAMES = tuple(one.name for one in fields(Figures))
"""The names of the figures, in the order in which they are shown."""


def figures_of(charge: Charge, now: Micros) -> Figures:
    """The figures of one charge at an instant: a refund counts once its provider has answered."""
    match charge.status:
        case ChargeState.AUTHORISED:
            return Figures(held=charge.amount)
        case ChargeState.PENDING:
            return Figures(pending=charge.amount)
        case ChargeState.PENDING_CHECKOUT:
            return Figures(waiting=charge.amount)
        case state if state in TAKEN:
            shown = sum((refund.amount for refund in charge.refunds if refund.moved > now), ZERO)
            reserved = sum((refund.amount for refund in charge.reserved or ()), ZERO)
            refunded = charge.refunded - shown
            return Figures(charge.kept or ZERO, charge.amount, refunded=refunded, refunding=shown + reserved)
        case ChargeState.FAILED if charge.returned is not None:
            return Figures(returned=charge.amount)
        case _:
            return Figures()


def total(charges: Iterable[Charge], now: Micros, transfers: Iterable[Transfer] = ()) -> Figures:
    """The figures of charges of one currency, and of what was transferred of them."""
    moved = sum((one.amount for one in transfers if one.status is TransferState.SUCCESS), ZERO)
    return sum((figures_of(charge, now) for charge in charges), Figures(transferred=moved))


def as_of(charge: Charge, state: ChargeState, at: Micros) -> Charge:
    """A charge as it was in a state at an instant; refunds that have failed since are not in it."""
    refunds = tuple(refund for refund in charge.refunds if refund.added <= at)
    held = charge.authorised if state is ChargeState.AUTHORISED else None
    kept = None
    if charge.captures and state is ChargeState.SUCCESS:
        held = sum((one.amount for one in charge.captures if one.added <= at), ZERO)
        kept = (charge.authorised or held) - held if charge.voided is None or charge.voided > at else None
    return replace(
        charge,
        status=state,
        amount=charge.amount if held is None else held,
        refunds=refunds,
        refunded=sum((refund.amount for refund in refunds), ZERO),
        returned=charge.returned if state is ChargeState.FAILED else None,
        kept=kept,
    )


class Account(StrEnum):
    """The accounts of the double entry; an account of a provider, or of a transfer, has its id behind it."""

    HELD = "Assets:Held"
    PENDING = "Assets:Pending"
    RECEIVABLE = "Assets:Receivable"
    TRANSFERRED = "Assets:Transferred"
    EXPECTED = "Liabilities:Expected"
    REFUNDING = "Liabilities:Refunding"
    CUSTOMERS = "Income:Customers"


@record
class Posting:
    """One entry: at an instant an amount moves from the account ``credit`` to the account ``debit``."""

    at: Micros
    what: str
    debit: str
    credit: str
    amount: Decimal


def postings_of(charge: Charge, now: Micros, transfers: Sequence[Transfer] = ()) -> list[Posting]:
    """The double entry of a charge, in the order of time: whatever is debited somewhere is credited elsewhere.

    What failed without taking money has no entry.
    """
    receivable, amount = f"{Account.RECEIVABLE}:{charge.provider.provider_id}", charge.amount
    found: list[Posting] = []

    def post(at: Micros, what: str, debit: str, credit: str, amount: Decimal) -> None:
        found.append(Posting(at, what, debit, credit, amount))

    state, paid = charge.status, charge.succeeded
    ended = charge.voided if paid is None else paid
    held = charge.authorised if charge.authorised is not None else amount
    if state is ChargeState.AUTHORISED:
        post(charge.added, "authorised", Account.HELD, Account.EXPECTED, amount)
    elif state is ChargeState.PENDING:
        post(charge.added, "pending", Account.PENDING, Account.EXPECTED, amount)
    elif not charge.capture and ended is not None:
        post(charge.added, "authorised", Account.HELD, Account.EXPECTED, held)
        for part in charge.captures:
            post(part.added, "released", Account.EXPECTED, Account.HELD, part.amount)
        if left := held - (charge.kept or ZERO) - sum((one.amount for one in charge.captures), ZERO):
            post(charge.voided or ended, "released", Account.EXPECTED, Account.HELD, left)
    if paid is not None and (state in TAKEN or charge.returned is not None):
        for part in charge.captures or (PartCaptured(amount, paid),):
            post(part.added, "captured", receivable, Account.CUSTOMERS, part.amount)
        for refund in charge.refunds:
            if refund.moved <= now:
                post(refund.moved, "refunded", Account.CUSTOMERS, receivable, refund.amount)
    if charge.returned is not None:
        post(charge.returned, "returned", Account.CUSTOMERS, receivable, amount)
    for one in transfers:
        if one.status is TransferState.SUCCESS:
            post(one.added, "transferred", f"{Account.TRANSFERRED}:{one.account}", receivable, one.amount)
    return sorted(found, key=lambda posting: posting.at)
