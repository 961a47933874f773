"""Money: the ISO 4217 currencies, and amounts as exact ``Decimal`` numbers of major units.

Amounts stay decimal for every currency, those without minor units included (published facts, 3):
``5`` is five yen. No amount is ever a float, or a count of cents.

A number comes in with the digits that its sender wrote, and some answers show it with just these
(``12.50``), others in the shortest form (``12.5``). So an amount keeps its digits until it is
written; ``Decimal`` compares and adds 12.5 and 12.50 as the same money. What is computed (a cost, a
share) is rounded once, half up, in a context of 80 digits, whatever context a thread has.

An amount that a payment cannot have is refused here, in the order in which the service checks: not
above 0 (74), then not finite, too long, or too fine for its currency (2).
"""

import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.record import read_table, record

ZERO = Decimal(0)

MAX_INTEGER_DIGITS = 15
"""Digits that an amount may have before the point (settled fact ``amount.length``: more than a
payment meets, and safe for exact arithmetic)."""

_LONGEST_QUOTED = 12
"""Digits of an amount that a refusal quotes. A longer one may be a card number in the wrong
field: its digits are counted instead."""

_LONGEST_WORD = 24
"""Characters of a wrong currency that a refusal quotes, for the same reason."""

_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)


@record
class Currency:
    """A row of ISO 4217: alphabetic code, three-digit numeric code, English name, digits after the
    point, and the smallest amount that is not nothing: 0.01 AUD, 1 JPY."""

    code: str
    number: str
    name: str
    digits: int
    unit: Decimal


@record
class Money:
    """An exact amount of a currency."""

    amount: Decimal
    currency: Currency


def _row(digits: str, **texts: str) -> Currency:
    return Currency(digits=int(digits), unit=Decimal(1).scaleb(-int(digits)), **texts)


CURRENCIES: dict[str, Currency] = {row.code: row for row in read_table("currencies", _row)}
"""Every currency of ISO 4217 that is a means of payment, by its alphabetic code, in alphabetical
order.

Funds, metals, accounting units and test codes are left out.
"""

_BY_NAME: dict[str, str] = {row.name.lower(): row.code for row in CURRENCIES.values()}


def currency(text: str) -> Currency:
    """The currency of an alphabetic code in any letter case (settled fact ``currency.allowed``).
    Raises ``Invalid`` (29) with what was got and the nearest code."""
    # Of ASCII alone: letters such as a dotless i are upper-cased into others.
    known = CURRENCIES.get(text.strip().upper()) if text.isascii() else None
    if known is None:
        raise Invalid(Code.CURRENCY_NOT_SUPPORTED, {"Currency": _unknown(text)})
    return known


def exact(amount: Decimal, currency: Currency) -> Decimal:
    """``amount`` with the digits that it came with (assumption ``webhook.number_form``), zeros
    beyond those of the currency left out, and never in exponent form; its sign is the caller's to
    judge. Raises ``Invalid`` (2) when it is not finite, has more digits after the point than the
    currency has, or more than 15 before it (settled facts ``amount.digits``, ``amount.length``)."""
    # The short way of nearly all amounts: digits, perhaps a point and digits, none too many.
    whole, point, fraction = str(amount).partition(".")
    is_plain = whole.isdecimal() and (not point or fraction.isdecimal())
    if is_plain and len(fraction) <= currency.digits and len(whole) <= MAX_INTEGER_DIGITS:
        return amount or ZERO
    if not amount.is_finite():
        raise _refused("got a value that is not a finite number")
    if not amount:
        return ZERO
    check_length(amount)
    decimals = places(amount)
    if decimals > currency.digits:
        is_short = decimals + max(0, amount.adjusted()) < _LONGEST_QUOTED
        got = number_text(amount) if is_short else f"{decimals} digits after the point"
        raise _refused(
            f"got {got}, {currency.code} has {currency.digits or 'no'} digits after the point"
        )
    plain = Decimal(f"{amount:f}")
    # What is left beyond the digits of the currency are zeros.
    if digits_of(plain) > currency.digits:
        return plain.quantize(currency.unit, context=_EXACT)
    return plain


def in_full(amount: Decimal, currency: Currency) -> Decimal:
    """An amount with all digits after the point that its currency has, if it does not have more:
    0.20 AUD, 5 JPY. So the published webhook writes a cost (published facts, 6)."""
    if digits_of(amount) >= currency.digits:
        return amount
    return amount.quantize(currency.unit, context=_EXACT)


def digits_of(number: Decimal) -> int:
    """Digits after the point of a finite number, zeros at the end included; less than 0 of one such
    as 1E+2."""
    return -int(number.as_tuple().exponent)


def positive(amount: Decimal, currency: Currency) -> Decimal:
    """The exact amount. Raises ``Invalid`` 74 (not above 0), and as ``exact``."""
    check_positive(amount)
    return exact(amount, currency)


def check_positive(amount: Decimal) -> None:
    """Raises ``Invalid`` (74) for 0 and less."""
    if amount <= 0:
        words = f"got {number_text(amount)}, wanted more than 0"
        raise Invalid(Code.INVALID_AMOUNT_MUST_BE_POSITIVE, {"Amount": words})


def check_length(amount: Decimal) -> None:
    """Raises ``Invalid`` (2) for a finite number with more than 15 digits before the point."""
    if amount.adjusted() >= MAX_INTEGER_DIGITS:
        before = amount.adjusted() + 1
        raise _refused(
            f"got {before} digits before the point, at most {MAX_INTEGER_DIGITS} are allowed"
        )


def amount_fault(text: str, code: str, most: int) -> str:
    """Why a text, which was refused as an amount, is none, in words. ``code`` is the currency that
    its sender named, known or not; ``most`` the digits after the point that are allowed where it is
    not known."""
    number = re.fullmatch(r"-?([0-9]+)(?:\.([0-9]+))?", text)
    if number is None:
        got = "got a comma, " if "," in text else ""
        return f"{got}wanted a number such as 12.50"
    whole, fraction = number[1], number[2] or ""
    if len(whole) > MAX_INTEGER_DIGITS:
        return f"got {len(whole)} digits before the point, at most {MAX_INTEGER_DIGITS} are allowed"
    allowed = f"at most {most} are allowed"
    known = CURRENCIES.get(code.strip().upper())
    if known is not None:
        allowed = f"{known.code} has {known.digits or 'no'} digits after the point"
    return f"got {len(fraction)} digits after the point, {allowed}"


def number_text(number: Decimal) -> str:
    """JSON text of a finite number: ``5``, ``200``, ``12.5``; never ``5.0`` or ``2E+2`` (published
    facts, 0 rule 4). Raises ``ValueError`` when ``number`` is not finite."""
    text = str(number)
    if not number.is_finite():
        raise ValueError(f"got {text[:4]}, wanted a finite number")
    if "E" in text:
        text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if number else "0"


def cut(amount: Decimal, currency: Currency) -> Money:
    """What can be paid of an amount above 0: rounded down to the digits of its currency, as nobody
    pays more than was approved, but never to nothing, as no charge is of nothing."""
    rounded = amount.quantize(currency.unit, ROUND_DOWN, context=_EXACT)
    return Money(Decimal(number_text(max(rounded, currency.unit))), currency)


@lru_cache(maxsize=4096)
def share(amount: Decimal, percent: Decimal, digits: int = 2, plus: Decimal = ZERO) -> Decimal:
    """``percent`` per cent of ``amount`` and ``plus``, rounded half up to ``digits`` after the
    point, without trailing zeros."""
    hundredths = _EXACT.multiply(amount, percent)
    exact_share = _EXACT.add(hundredths.scaleb(-2, _EXACT), plus)
    rounded = exact_share.quantize(Decimal(1).scaleb(-digits), context=_EXACT)
    return Decimal(number_text(rounded))


def places(amount: Decimal) -> int:
    """Digits after the point that are left without trailing zeros, for a finite number."""
    if not amount:
        return 0
    _, digits, exponent = amount.as_tuple()
    written = "".join(map(str, digits))
    trailing_zeros = len(written) - len(written.rstrip("0"))
    return max(0, -int(exponent) - trailing_zeros)


def _refused(reason: str) -> Invalid:
    """The refusal (2) of an amount that no payment can have."""
    return Invalid(Code.INVALID_AMOUNT, {"Amount": reason})


def _unknown(text: str) -> str:
    """What is wrong with the text of a currency, and which may be meant."""
    word = text.strip()
    allowed = "wanted an ISO 4217 code such as AUD"
    if not word:
        return f"got an empty text, {allowed}"
    # With digits it may be a card number in the wrong field.
    if len(word) > _LONGEST_WORD or any(character.isdigit() for character in word):
        return f"got a text of {len(word)} characters, {allowed}"
    # A currency's name, then the first two letters, which name its country; only then what looks
    # alike.
    meant = _BY_NAME.get(word.lower()) or _first_of_country(word.upper()[:2])
    hint = f" - did you mean '{meant}'?" if meant else nearest(word, CURRENCIES)
    return f"got '{word}', {allowed}{hint}"


def _first_of_country(country: str) -> str | None:
    """The first currency whose code begins with that of a country."""
    return next((code for code in CURRENCIES if code[:2] == country), None)
