"""Amount and currency of a charge: checked before anything else, every fault of them together with the others.

Sources: assumptions ``amount.minimum``, ``amount.maximum``, ``currency.default``; docs/spec/published-facts.md, 3.1
(codes 2, 29).
"""

from decimal import Decimal

from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults, Invalid
from mockserver.domain.money import CURRENCIES, Currency, Money, check_length, currency, exact, number_text
from mockserver.domain.sources import CheckoutTransfer
from mockserver.engine.step import Step

PROVIDERS_OWN = "provider"
"""Value of ``currency.default`` that leaves the choice to the provider."""


def check(step: Step, amount: Decimal, given: str | Currency | None, faults: Faults) -> Money | None:
    """The money that is asked for in a currency, or in that of a code, or None: with a fault, or while only a provider
    knows the currency.

    Faults: an amount outside the bounds (90), an unknown currency (29), too many digits (2).
    """
    known = given if isinstance(given, Currency) else CURRENCIES.get(given or step.assume("currency.default"))
    if known is None and isinstance(given, str) and given:
        known = faults.attempt(currency, given)
    if known is None and amount <= 0:
        faults.wrong("Amount", "wanted more than 0")
        return None
    if known is None:
        faults.attempt(check_length, amount)
        return None
    least, most = step.assume("amount.minimum"), step.assume("amount.maximum")
    least = known.unit if least is None else least
    if amount < least or (most and amount > most):
        bounds = f"at least {least:f}" + (f" and at most {most:f}" if most else "")
        faults.wrong("Amount", f"wanted {bounds}")
        return None
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
    elif given <= 0 or (money is not None and not Faults().attempt(exact, given, money) is not None):
        digits = "" if money is None else f" with at most {money.digits} digits after the point"
        text = f"got {number_text(given)}, wanted more than 0{digits}"
        faults.add(Code.INVALID_TRANSFER_AMOUNT, "Transfer.Amount", text)
    elif given > amount and not faults.blames("Amount"):
        text = f"got {number_text(given)}, charged are {number_text(amount)}"
        faults.add(Code.TRANSFER_LARGER_THAN_ORIGINAL_CHARGE, "Transfer.Amount", text)
