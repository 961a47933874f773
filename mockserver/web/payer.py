"""What a payer types into a form and reads on the pages: ways to pay, what became of a payment, what is wrong with a
field.

People type full-width digits, blanks of every kind, ``1240`` for a date and a comma in an amount. What can be meant in
one way only is taken so. The API's words speak to those who write programs; a payer has no program to fix.
Source: docs/browser.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mockserver.domain.cards import CCV_LENGTHS, MAX_LENGTH, MIN_LENGTH, Brand, brand_of, clean, passes_luhn
from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.money import MAX_INTEGER_DIGITS, Currency, places
from mockserver.domain.payment_link import LinkPaymentType
from mockserver.domain.sources import Instrument
from mockserver.domain.states import ChargeState
from mockserver.engine.card_entry import read_expiry

WAYS: Mapping[LinkPaymentType, str] = {
    LinkPaymentType.CARD: "Card",
    LinkPaymentType.PAYPAL: "PayPal",
    LinkPaymentType.APPLEPAY: "Apple Pay",
    LinkPaymentType.GOOGLEPAY: "Google Pay",
    LinkPaymentType.UPI: "UPI",
    LinkPaymentType.PAYTO: "PayTo",
    LinkPaymentType.PAYID: "PayID",
    LinkPaymentType.SHIFT: "Shift",
    LinkPaymentType.PESAPAL: "Pesapal",
    LinkPaymentType.PAYBYACCOUNT: "Pay by account",
    LinkPaymentType.PAYGLOCAL: "PayGlocal",
    LinkPaymentType.ZIP: "Zip",
}
"""Ways to pay on the page of a link."""

OUTCOMES: Mapping[ChargeState, tuple[str, str]] = {
    ChargeState.PENDING_CHECKOUT: ("Waiting", "The payment waits for your answer."),
    ChargeState.PENDING: ("Payment under way", "It is not complete yet: the bank still has to confirm it."),
    ChargeState.AUTHORISED: ("Thank you", "Your payment is authorised."),
    ChargeState.SUCCESS: ("Thank you", "Your payment was received."),
    ChargeState.PARTIAL_REFUND: ("Thank you", "Your payment was received and later refunded in part."),
    ChargeState.REFUND: ("Refunded", "Your payment was received and later refunded."),
    ChargeState.AUTHORISE_CANCELLED: ("Cancelled", "The authorisation was cancelled. Nothing was paid."),
    ChargeState.FAILED: ("Not paid", "Nothing was paid."),
}
"""Heading and sentence for what became of a payment."""

COMPLETE = frozenset({ChargeState.AUTHORISED, ChargeState.SUCCESS})
"""States in which the merchant's own confirmation is true."""

DECLINED = "Your bank has declined this payment. Try another card."
NOT_TAKEN = "The payment could not be made. Nothing was taken; ask the shop, or try another way to pay."
UNAVAILABLE = "The payment could not be made just now. Try again in a moment."
_DECLINES: Mapping[int, str] = {
    Code.INSUFFICIENT_FUNDS: "There is not enough money on this account. Try another card.",
    Code.EXPIRED_CARD: "This card has expired. Try another card.",
    Code.INVALID_CCV: "The security code is not that of the card. Check it and try again.",
    Code.THREE_D_SECURE_FAILED: "Your bank could not confirm that it is you. Try again, or try another card.",
    Code.CUSTOMER_CANCELLATION: "The payment was cancelled.",
    Code.EXCEEDS_WITHDRAWAL_FREQUENCY_LIMIT: DECLINED,
}
"""What a payer may know of a decline: not that a card is reported stolen, nor that a payment looks like fraud."""

_FIELDS = {"CardNumber": "This card is not taken here.", "ExpiryDate": "This card has expired."}

MISSING = "Please fill this in."
_DATE = re.compile(r"(\d{1,2})[^\d]?(\d{2}|20\d{2})")
_COMMA_FOR_POINT = re.compile(r"(\d+),(\d{1,2})")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_PLAIN = re.compile(r"\d+(\.\d*)?|\.\d+")


def plain(text: str) -> str:
    """A text in the usual form of its characters, without blanks and invisible ones at its ends and in its digits."""
    usual = unicodedata.normalize("NFKC", text).strip()
    if re.search(r"[^\W\d]", usual):
        return usual
    # Blanks, line ends, joiners and marks of direction say nothing.
    return "".join(one for one in usual if not (one.isspace() or unicodedata.category(one) in ("Cf", "Cc", "Zs")))


def number_typed(text: str) -> str:
    """A card number or security code: its digits, without dashes of any kind."""
    return "".join(one for one in plain(text) if unicodedata.category(one) != "Pd")


def expiry_typed(text: str) -> str:
    """``MM/YY`` for a date that was typed without a slash or with another mark, else the text as it is."""
    found = _DATE.fullmatch(plain(text))
    return f"{int(found[1]):02d}/{found[2][-2:]}" if found and 1 <= int(found[1]) <= 12 else plain(text)


def amount_typed(text: str) -> str:
    """An amount with a point, for one with a decimal comma or with commas between thousands; else the text."""
    amount = plain(text)
    if _GROUPED.fullmatch(amount) and ("." in amount or amount.count(",") > 1):
        return amount.replace(",", "")
    found = _COMMA_FOR_POINT.fullmatch(amount)
    return f"{found[1]}.{found[2]}" if found else amount


def card_faults(number: str, expiry: str, ccv: str, cardholder: str) -> dict[str, str]:
    """What is wrong with the fields of a card, all at once; whether a date has passed, the service knows."""
    digits = clean(number) or ""
    brand = brand_of(digits) if digits else None
    shortest, longest = CCV_LENGTHS[brand]
    is_number = MIN_LENGTH <= len(digits) <= MAX_LENGTH and passes_luhn(digits)
    is_ccv = re.fullmatch(rf"[0-9]{{{shortest},{longest}}}", ccv)
    ccv_is = "4 digits on the front of" if brand is Brand.AMEX else "3 or 4 digits on"
    fields = (
        ("CardNumber", number, is_number, "This is not a card number."),
        ("ExpiryDate", expiry, read_expiry(expiry), "Please write the expiry date as MM/YY."),
        ("Ccv", ccv, is_ccv, f"Please write the {ccv_is} the card."),
        ("Cardholder", cardholder, True, ""),
    )
    return {name: words if typed else MISSING for name, typed, is_sound, words in fields if not (typed and is_sound)}


def amount_faults(amount: str, currency: Currency) -> dict[str, str]:
    words = ""
    if not amount:
        words = MISSING
    elif not _PLAIN.fullmatch(amount):
        words = "Please write an amount in plain digits, such as 12.50."
    elif len(amount.partition(".")[0]) > MAX_INTEGER_DIGITS:
        words = "This amount is too large."
    elif places(Decimal(amount)) > currency.digits:
        words = f"{currency.code} has {currency.digits or 'no'} digits after the point."
    elif not Decimal(amount):
        words = f"Please pay at least {currency.unit}."
    return {"Amount": words} if words else {}


def paid_with(instrument: Instrument) -> str:
    """``VISA •••• 1111``, ``Pay by account``: how a payment was made."""
    card = instrument.card
    if card is not None:
        brand = card.number.brand
        return f"{'Card' if brand is Brand.UNKNOWN else brand.value} •••• {card.number.last4}"
    shown = instrument.display_type or instrument.type.value.replace("_", " ").capitalize()
    return next((name for kind, name in WAYS.items() if kind.value == shown.lower()), shown)


def failure_of(charge: Charge) -> str:
    """Why a payment failed, and what the payer can do; the journal has code and message."""
    if charge.authorised is not None:
        return "Your bank has returned the payment."
    if not charge.failed_attempts:
        return "The payment was not made."
    attempt = charge.failed_attempts[-1]
    return _DECLINES.get(attempt.error_code) or (UNAVAILABLE if attempt.is_retryable else DECLINED)


def refusal_of(body: Any) -> str:
    """An alert for a payment that was not even tried; ``body`` is the error's, or None."""
    code = body.get("code") if isinstance(body, dict) else None
    return _DECLINES.get(code or 0) or (UNAVAILABLE if code is None or body.get("isRetryable") else NOT_TAKEN)


def faults_of(body: Any) -> dict[str, str]:
    """What the service finds wrong with the fields of a form that is well typed, by the last part of their names;
    ``body`` is the error's."""
    if not isinstance(body, dict):
        return {}
    if body.get("code") == Code.INVALID_CARD_NUMBER and not body.get("details"):
        return {"CardNumber": _field_words("CardNumber", "")}
    faults = ((name.rpartition(".")[2], text) for name, text in (body.get("details") or {}).items())
    return {name: _field_words(name, text) for name, text in faults}


def _field_words(name: str, text: str) -> str:
    if text == "wanted a text that is not empty" or text.startswith("required"):
        return MISSING
    if name in _FIELDS:
        return _FIELDS[name]
    wanted = text.partition(", ")[2] if text.startswith("got ") else text
    wanted = wanted.replace("wanted at least", "please pay at least").replace("wanted ", "please write ")
    return f"{wanted[:1].upper()}{wanted[1:]}."
