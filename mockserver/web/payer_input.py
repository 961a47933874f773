"""What payers type, as it is meant.

People type full-width digits, blanks of every kind, ``1240`` for a date and a comma in an amount.
What can be meant in one way only is taken so; the rest is refused in words for people, who have no
program to fix. Every fault of a form is told at once.
"""

import re
import unicodedata
from decimal import Decimal

from mockserver.domain.cards import (
    CCV_LENGTHS,
    MAX_LENGTH,
    MIN_LENGTH,
    Brand,
    brand_of,
    clean,
    passes_luhn,
)
from mockserver.domain.money import MAX_INTEGER_DIGITS, Currency, places
from mockserver.domain.record import record
from mockserver.engine.intake import read_expiry


@record
class Bounds:
    """The smallest and the largest amount of a currency that a payer may choose; 0 is no
    largest."""

    currency: Currency
    least: Decimal
    most: Decimal

    @property
    def words(self) -> str:
        """What a payer is told of them."""
        words = f"at least {self.least:f}"
        if self.most:
            words += f" and at most {self.most:f}"
        return words

    def has(self, amount: Decimal) -> bool:
        """Whether an amount is within them."""
        return amount >= self.least and (not self.most or amount <= self.most)


MISSING = "Please fill this in."


_DATE = re.compile(r"(\d{1,2})[^\d]?(\d{2}|20\d{2})")


_COMMA_FOR_POINT = re.compile(r"(\d+),(\d{1,2})")


_GROUPED = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")


_PLAIN = re.compile(r"\d+(\.\d*)?|\.\d+")


def plain(text: str) -> str:
    """A text in the usual form of its characters, without blanks and invisible ones at its ends and
    in its digits, where people and copied texts have them. Between words blanks mean something."""
    usual = unicodedata.normalize("NFKC", text).strip()
    has_letter = re.search(r"[^\W\d]", usual) is not None
    if has_letter:
        return usual
    return "".join(character for character in usual if not _says_nothing(character))


def _says_nothing(character: str) -> bool:
    """Whether it is a blank, a line end, a joiner or a mark of direction."""
    return character.isspace() or unicodedata.category(character) in ("Cf", "Cc", "Zs")


def number_typed(text: str) -> str:
    """A card number or security code: its digits, without the dashes (category ``Pd``), of any
    length, that people type between its groups."""
    return "".join(
        character for character in plain(text) if unicodedata.category(character) != "Pd"
    )


def expiry_typed(text: str) -> str:
    """``MM/YY`` for a date that was typed without a slash or with another mark, else the text as it
    is."""
    date = _DATE.fullmatch(plain(text))
    if date is None:
        return plain(text)
    month, year = int(date[1]), date[2]
    if not 1 <= month <= 12:
        # No date: the payer is asked again, and shown what was typed.
        return plain(text)
    return f"{month:02d}/{year[-2:]}"


def amount_typed(text: str) -> str:
    """An amount with a point, for one with a decimal comma or with commas between thousands; else
    the text. ``1,250`` alone may mean either, and is left as it is, to be refused: a thousand times
    too much is worse than to be asked again."""
    amount = plain(text)
    if _GROUPED.fullmatch(amount) and ("." in amount or amount.count(",") > 1):
        return amount.replace(",", "")
    with_comma = _COMMA_FOR_POINT.fullmatch(amount)
    if with_comma is None:
        return amount
    return f"{with_comma[1]}.{with_comma[2]}"


def card_faults(number: str, expiry: str, ccv: str, cardholder: str) -> dict[str, str]:
    """What is wrong with the fields of a card, all at once; whether a date has passed, the service
    knows."""
    digits = clean(number) or ""
    brand = brand_of(digits) if digits else None
    shortest, longest = CCV_LENGTHS[brand]
    is_number = MIN_LENGTH <= len(digits) <= MAX_LENGTH and passes_luhn(digits)
    is_ccv = re.fullmatch(rf"[0-9]{{{shortest},{longest}}}", ccv)
    where_ccv_is = "3 or 4 digits on"
    if brand is Brand.AMEX:
        # The brand that prints it there.
        where_ccv_is = "4 digits on the front of"
    faults: dict[str, str] = {}
    if not is_number:
        faults["CardNumber"] = "This is not a card number."
    if not read_expiry(expiry):
        faults["ExpiryDate"] = "Please write the expiry date as MM/YY."
    if not is_ccv:
        faults["Ccv"] = f"Please write the {where_ccv_is} the card."
    typed = {"CardNumber": number, "ExpiryDate": expiry, "Ccv": ccv, "Cardholder": cardholder}
    for name, text in typed.items():
        if not text:
            faults[name] = MISSING
    return faults


def amount_faults(amount: str, bounds: Bounds) -> dict[str, str]:
    """What is wrong with the amount that a payer has chosen, by the name of its field."""
    words = _fault_of_amount(amount, bounds)
    if words is None:
        return {}
    return {"Amount": words}


def _fault_of_amount(amount: str, bounds: Bounds) -> str | None:
    """The first thing that is wrong with an amount: each later test needs what the one before it
    has found right."""
    money = bounds.currency
    if not amount:
        return MISSING
    if not _PLAIN.fullmatch(amount):
        return "Please write an amount in plain digits, such as 12.50."
    if len(amount.partition(".")[0]) > MAX_INTEGER_DIGITS:
        return "This amount is too large."
    if places(Decimal(amount)) > money.digits:
        return f"{money.code} has {money.digits or 'no'} digits after the point."
    if not bounds.has(Decimal(amount)):
        return f"Please pay {bounds.words}."
    return None
