"""What a payer types into a form: read as it was meant, else what is wrong with it, in a payer's words.

People type full-width digits, blanks of every kind, ``1240`` for a date and a comma in an amount. What can be meant in
one way only is taken so. Source: docs/browser.md.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

from mockserver.domain.cards import CCV_LENGTHS, MAX_LENGTH, MIN_LENGTH, Brand, brand_of, clean, passes_luhn
from mockserver.domain.money import MAX_INTEGER_DIGITS, Currency, places
from mockserver.engine.card_entry import read_expiry

MISSING = "Please fill this in."
_DATE = re.compile(r"(\d{1,2})[^\d]?(\d{2}|20\d{2})")
_COMMA_FOR_POINT = re.compile(r"(\d+),(\d{1,2})")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_PLAIN = re.compile(r"\d+(\.\d*)?|\.\d+")


def plain(text: str) -> str:
    """A text in the usual form of its characters, without blanks and invisible ones at its ends and in its digits."""
    usual = unicodedata.normalize("NFKC", text).strip()
    return usual if re.search(r"[^\W\d]", usual) else "".join(one for one in usual if not _is_blank(one))


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
    found = {
        "CardNumber": _number_words(number) if number else MISSING,
        "ExpiryDate": _expiry_words(expiry) if expiry else MISSING,
        "Ccv": _ccv_words(ccv, number) if ccv else MISSING,
        "Cardholder": "" if cardholder else MISSING,
    }
    return {field: words for field, words in found.items() if words}


def _number_words(number: str) -> str:
    digits = clean(number) or ""
    is_number = MIN_LENGTH <= len(digits) <= MAX_LENGTH and passes_luhn(digits)
    return "" if is_number else "This is not a card number."


def _expiry_words(expiry: str) -> str:
    return "" if read_expiry(expiry) else "Please write the expiry date as MM/YY."


def _ccv_words(ccv: str, number: str) -> str:
    digits = clean(number)
    brand = brand_of(digits) if digits else None
    shortest, longest = CCV_LENGTHS[brand]
    if re.fullmatch(rf"[0-9]{{{shortest},{longest}}}", ccv):
        return ""
    is_amex = brand is Brand.AMEX
    return f"Please write the {'4 digits on the front of' if is_amex else '3 or 4 digits on'} the card."


def amount_faults(amount: str, currency: Currency) -> dict[str, str]:
    """What is wrong with an amount."""
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


def _is_blank(one: str) -> bool:
    """Whether a character takes room or none, and says nothing: blanks, line ends, joiners, marks of direction."""
    return one.isspace() or unicodedata.category(one) in ("Cf", "Cc", "Zs")
