"""Amounts and cards as they come in: checked once, in one place, before anything is stored or
charged.

A check that finds a fault adds it to the ``Faults`` of the request and goes on, as a client puts
all of them right at once. It gives None then, and what follows from that value is not checked.

Sources: assumptions ``amount.minimum``, ``amount.maximum``, ``currency.default``,
``card.required``; docs/spec/service.md, Limits (ccv); docs/spec/published-facts.md, 3.1 (codes 2,
5, 6, 9, 14, 29, 59, 81).
"""

import re
from datetime import UTC, datetime
from decimal import Decimal

from mockserver.domain.cards import (
    CCV_LENGTHS,
    MAX_LENGTH,
    MIN_LENGTH,
    Card,
    CardNumber,
    clean,
    passes_luhn,
)
from mockserver.domain.clock import Micros, datetime_of, instant_of
from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults, Invalid
from mockserver.domain.money import (
    CURRENCIES,
    Currency,
    Money,
    check_length,
    currency,
    exact,
    number_text,
)
from mockserver.domain.sources import CardDetails, CheckoutTransfer
from mockserver.engine.card_registry import AcceptedCard, EnteredCard
from mockserver.engine.step import Step

PROVIDERS_OWN = "provider"
"""Value of ``currency.default`` that leaves the choice to the provider."""

_NO_TEST_NUMBER = (
    "accepted a card number that is not a published test number; never use a real "
    "one (--test-cards-only refuses them)"
)
_EXPIRY = re.compile(r"(?P<month>0?[1-9]|1[0-2])\s*/\s*(?P<year>(?:20)?[0-9]{2})")
_DOCUMENTED_EXPIRY = re.compile(r"(?:0[1-9]|1[0-2])/[0-9]{2}")
_TRANS_ID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
PARTED = "got blanks or hyphens between the digits, wanted digits alone"
"""What to say of a card number that is written as on a card."""


def check_amount(
    step: Step, amount: Decimal, asked_in: str | Currency | None, faults: Faults
) -> Money | None:
    """The money that is asked for in a currency, or in that of a code, or None: with a fault, or
    while only a provider knows the currency. In that case the caller asks again once the provider
    is known, as only a currency says how many digits an amount may have.

    Faults: an amount outside the bounds (90), an unknown currency (29), too many digits (2).
    """
    known = _currency_of(step, asked_in, faults)
    if known is None:
        # As much as can be said of an amount in any currency.
        if amount <= 0:
            faults.wrong("Amount", "wanted more than 0")
        else:
            faults.attempt(check_length, amount)
        return None
    least, most = step.assume("amount.minimum"), step.assume("amount.maximum")
    if least is None:
        least = known.unit
    # Without a maximum any amount will do that the currency can say.
    if amount < least or (most and amount > most):
        bounds = f"at least {least:f} and at most {most:f}" if most else f"at least {least:f}"
        faults.wrong("Amount", f"wanted {bounds}")
        return None
    try:
        return Money(exact(amount, known), known)
    except Invalid as refused:
        faults.absorb(refused)
        return None


def _currency_of(step: Step, asked_in: str | Currency | None, faults: Faults) -> Currency | None:
    """A currency, that of a code, or without one the usual; None while only a provider knows it,
    or with a fault."""
    if isinstance(asked_in, Currency):
        return asked_in
    if not asked_in:
        # The word ``provider`` names no currency.
        return CURRENCIES.get(step.assume("currency.default"))
    # Nearly all codes come in capital letters; the check takes any, and words the fault.
    known = CURRENCIES.get(asked_in)
    return known if known is not None else faults.attempt(currency, asked_in)


def check_transfer(
    transfer: CheckoutTransfer, amount: Decimal, money: Currency | None, faults: Faults
) -> None:
    """Faults of passing on a part of a charge: 67 (account or amount missing), 60 (amount), 68
    (more than charged).

    ``money`` is None while the currency of the charge is itself in doubt.
    """
    passed_on = transfer.amount
    if not transfer.account or passed_on is None:
        faults.add(Code.NO_TRANSFER_INFORMATION_PROVIDED, "Transfer", "wanted account and amount")
        return
    got = f"got {number_text(passed_on)}"
    fits_currency, digits = True, ""
    if money is not None:
        # A fault of its own code is told below, not that of an amount to be charged.
        fits_currency = Faults().attempt(exact, passed_on, money) is not None
        digits = f" with at most {money.digits} digits after the point"
    if passed_on <= 0 or not fits_currency:
        words = f"{got}, wanted more than 0{digits}"
        faults.add(Code.INVALID_TRANSFER_AMOUNT, "Transfer.Amount", words)
    elif passed_on > amount and not faults.blames("Amount"):
        words = f"{got}, charged are {number_text(amount)}"
        faults.add(Code.TRANSFER_LARGER_THAN_ORIGINAL_CHARGE, "Transfer.Amount", words)


def check_card(
    step: Step, details: CardDetails | None, faults: Faults, *, skip_expiry_check: bool = False
) -> EnteredCard | None:
    """The card as it may be remembered, and as something that can be charged; or None with at least
    one fault added.

    Faults: 81 (no card), 5 (number), 6 (ccv), 9 (expiry malformed), 14 (expired), 59 (3-D Secure
    transaction id).
    """
    sandbox = step.sandbox
    if details is None:
        faults.add(
            Code.INVALID_PAYMENT_INFORMATION,
            "PaymentInformation",
            "required: cardNumber and expiryDate",
        )
        return None
    as_sent = details.number, details.expiry, details.cardholder, details.three_ds_server_trans_id
    accepted = sandbox.cards.accepted.get(as_sent)
    if accepted is not None and details.ccv and sandbox.now < accepted.expires:
        # Tests pay with the same few cards: their checks are made once. What stays to be asked are
        # the ccv, which nobody keeps, and the clock.
        check_ccv(details.ccv, accepted.entered.card.number, faults)
        return accepted.entered
    facts = faults.attempt(check_number, step, details.number)
    if details.ccv is None and step.assume("card.ccv") == "required":
        faults.add(Code.INVALID_CCV, "Ccv", "required")
    check_ccv(details.ccv, facts, faults)
    # A date that is given is checked, though the number alone may be enough.
    is_dated = bool(details.expiry) or step.assume("card.required") == "number_and_expiry"
    expiry = None
    if is_dated:
        expiry = faults.attempt(check_expiry_date, step, details.expiry, skip_expiry_check)
    trans_id = details.three_ds_server_trans_id or None
    if trans_id is not None and not re.fullmatch(_TRANS_ID, trans_id):
        faults.add(Code.INVALID_THREE_DS_SERVER_TRANS_ID, "ThreeDSServerTransID", "wanted a UUID")
    if facts is None or (is_dated and expiry is None):
        return None
    card = Card(facts, expiry, details.cardholder, bool(details.ccv), trans_id)
    entered = sandbox.cards.entered(card)
    # One in another form is checked anew each time: it is a finding, and assumptions may refuse it.
    is_documented = details.number == clean(details.number or "") and details.expiry == expiry
    if details.ccv and expiry is not None and is_documented and not faults:
        sandbox.cards.accept(as_sent, AcceptedCard(_end_of(expiry), entered))
    return entered


def check_number(step: Step, number: str | None) -> CardNumber:
    """The facts of a card number. Raises ``Invalid`` (81, 5).

    One that is not published for tests may be a real card's: the sandbox warns, or takes none."""
    if not number:
        raise Invalid(Code.INVALID_PAYMENT_INFORMATION, {"CardNumber": "required"})
    digits = clean(number) or ""
    if digits and not takes_parts(step, number, digits):
        raise Invalid(Code.INVALID_CARD_NUMBER, {"CardNumber": PARTED})
    # One that was met before has passed the checks.
    facts = step.sandbox.cards.known(digits) if digits else None
    if facts is None:
        if not MIN_LENGTH <= len(digits) <= MAX_LENGTH or not passes_luhn(digits):
            words = f"wanted {MIN_LENGTH} to {MAX_LENGTH} digits with a right check digit"
            raise Invalid(Code.INVALID_CARD_NUMBER, {"CardNumber": words})
        facts = step.sandbox.cards.meet(digits)
    if facts.test_name is None:
        if step.sandbox.config.test_cards_only:
            words = "only published test numbers are accepted (--test-cards-only)"
            raise Invalid(Code.INVALID_CARD_NUMBER, {"CardNumber": words})
        step.warn(_NO_TEST_NUMBER)
    return facts


def takes_parts(step: Step, number: str, digits: str) -> bool:
    """Whether a card number may be written as it is: as its digits alone, or with blanks and
    hyphens between them, where the assumption ``card.number_parts`` takes those."""
    if number == digits:
        return True
    is_taken = step.assume("card.number_parts") == "taken"
    return step.takes("CardNumber", PARTED, by_assumption=is_taken)


def check_ccv(ccv: str | None, facts: CardNumber | None, faults: Faults) -> None:
    """A fault (6) when a given ccv has not the digits that the brand wants. Without ``facts`` the
    number is at fault, and any brand's digits do."""
    if ccv is None:
        return
    shortest, longest = CCV_LENGTHS[facts.brand if facts else None]
    # Digits of other scripts are digits too, but none of a card.
    is_number = ccv.isdigit() and ccv.isascii()
    if not is_number or not shortest <= len(ccv) <= longest:
        wanted = " or ".join(str(length) for length in dict.fromkeys((shortest, longest)))
        faults.add(Code.INVALID_CCV, "Ccv", f"wanted {wanted} digits")


def check_expiry_date(step: Step, expiry: str | None, skip: bool = False) -> str:
    """``MM/YY``. A card is good to the end of its month, on the sandbox's clock. Raises ``Invalid``
    (81, 9, 14)."""
    if not expiry:
        raise Invalid(Code.INVALID_PAYMENT_INFORMATION, {"ExpiryDate": "required"})
    words = f"got '{expiry[:7]}', wanted MM/YY"
    date = read_expiry(expiry)
    if date is None:
        raise Invalid(Code.INVALID_EXPIRY_DATE, {"ExpiryDate": words})
    if not _DOCUMENTED_EXPIRY.fullmatch(expiry):
        is_other_form_taken = step.assume("card.expiry_form") == "any"
        if not step.takes("ExpiryDate", words, by_assumption=is_other_form_taken):
            raise Invalid(Code.INVALID_EXPIRY_DATE, {"ExpiryDate": words})
    written, month = date
    if not skip and month < _month_of(step.sandbox.now):
        today = datetime_of(step.sandbox.now)
        raise Invalid(
            Code.EXPIRED_CARD, {"ExpiryDate": f"got {written}, today is {today:%Y-%m-%d}"}
        )
    return written


def check_stored(step: Step, card: Card | None, field: str, faults: Faults) -> None:
    """A fault (14) when a card that was stored has expired since (assumption ``card.expired``). A
    card without an expiry date was taken without one, and never expires."""
    if card is None or not card.expiry:
        return
    date = read_expiry(card.expiry)
    if date is None:
        return
    written, month = date
    if month < _month_of(step.sandbox.now) and step.assume("card.expired") == "refuse":
        today = datetime_of(step.sandbox.now)
        words = f"its card expired {written}, today is {today:%Y-%m-%d}"
        faults.add(Code.EXPIRED_CARD, field, words)


def read_expiry(expiry: str) -> tuple[str, int] | None:
    """``MM/YY`` and the months from the year 0 to its month, by which dates are compared; None when
    it is not an expiry date."""
    match = _EXPIRY.fullmatch(expiry.strip())
    if match is None:
        return None
    month, year = int(match["month"]), int(match["year"][-2:])
    return f"{month:02d}/{year:02d}", (2000 + year) * 12 + month


def _month_of(now: Micros) -> int:
    """The months from the year 0 to the month of an instant."""
    date = datetime_of(now)
    return date.year * 12 + date.month


def _end_of(expiry: str) -> Micros:
    """The instant at which a card expires, ``MM/YY``: the first of the next month."""
    month, year = int(expiry[:2]), 2000 + int(expiry[3:])
    if month == 12:
        return instant_of(datetime(year + 1, 1, 1, tzinfo=UTC))
    return instant_of(datetime(year, month + 1, 1, tzinfo=UTC))
