"""Amount and currency of a charge: checked at the door, every fault of them together with the others.

Sources: assumptions ``amount.minimum``, ``amount.maximum``, ``currency.default``; published facts, 3.1 (codes 2, 29).
"""

from __future__ import annotations

from decimal import Decimal

from mockserver.assumptions import AMOUNT_MAXIMUM, AMOUNT_MINIMUM, CURRENCY_DEFAULT
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Invalid
from mockserver.domain.faults import Faults
from mockserver.domain.money import CURRENCIES, Currency, currency, exact, number_text
from mockserver.domain.provider import Provider
from mockserver.domain.record import record
from mockserver.domain.sources import CheckoutTransfer
from mockserver.engine.sandbox import Sandbox

PROVIDERS_OWN = "provider"
"""Value of ``currency.default`` that leaves the choice to the provider."""


@record
class Money:
    """An exact amount of a currency."""

    amount: Decimal
    currency: Currency


def check(box: Sandbox, command: NewCharge, faults: Faults) -> Money | None:
    """The money that is asked for, or None: with a fault, or while only a provider can tell the currency.

    Faults: an amount outside the bounds (90), an unknown currency (29), too many digits for it (2).
    """
    given = command.currency
    try:
        known = currency(given) if given else _default(box)
    except Invalid as refused:
        faults.absorb(refused)
        known = None
    least, most = box.assume(AMOUNT_MINIMUM), box.assume(AMOUNT_MAXIMUM)
    if command.amount < least or (most and command.amount > most):
        bounds = f"at least {least:f}" + (f" and at most {most:f}" if most else "")
        faults.add(Code.VALIDATION_ERROR, "Amount", f"wanted {bounds}")
        return None
    return None if known is None else _exactly(command.amount, known, faults)


def of_provider(command: NewCharge, provider: Provider, faults: Faults) -> Money | None:
    """The money of a charge that names no currency: the provider's. None, and a fault (2), for too many digits."""
    return _exactly(command.amount, CURRENCIES[provider.currency], faults)


def _default(box: Sandbox) -> Currency | None:
    word = box.assume(CURRENCY_DEFAULT)
    return None if word == PROVIDERS_OWN else CURRENCIES[word]


def _exactly(amount: Decimal, known: Currency, faults: Faults) -> Money | None:
    try:
        return Money(exact(amount, known), known)
    except Invalid as refused:
        faults.absorb(refused)
        return None


def check_transfer(transfer: CheckoutTransfer, amount: Decimal, money: Currency | None, faults: Faults) -> None:
    """Faults of passing on a part of a charge: 67 (account or amount missing), 60 (amount), 68 (more than charged).

    ``money`` is None while the currency of the charge is itself in doubt.
    """
    given = transfer.amount
    if not transfer.account or given is None:
        faults.add(Code.NO_TRANSFER_INFORMATION_PROVIDED, "Transfer", "wanted account and amount")
    elif given <= 0 or (money is not None and not _fits(given, money)):
        digits = "" if money is None else f" with at most {money.digits} digits after the point"
        text = f"got {number_text(given)}, wanted more than 0{digits}"
        faults.add(Code.INVALID_TRANSFER_AMOUNT, "Transfer.Amount", text)
    elif given > amount and not faults.blames("Amount"):
        text = f"got {number_text(given)}, charged are {number_text(amount)}"
        faults.add(Code.TRANSFER_LARGER_THAN_ORIGINAL_CHARGE, "Transfer.Amount", text)


def _fits(amount: Decimal, money: Currency) -> bool:
    try:
        exact(amount, money)
    except Invalid:
        return False
    return True
