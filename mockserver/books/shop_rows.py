"""The rows of the shop's books: what it believes about its orders, as text and as claims.

Source: docs/books.md, The shop's books.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from typing import Any

from mockserver.domain.csv_header import BYTE_ORDER_MARK, header_advice, shown_header
from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, Currency, number_text, places
from mockserver.domain.reading import number_of
from mockserver.domain.record import record

LONGEST = 10_000_000
"""Bytes of the shop's books."""

KEYS = ("charge", "subscription", "reference")
"""The names of what a row is about; the first that it has counts."""

AMOUNTS = ("paid", "refunded", "held")
"""The names of its amounts."""

CLAIMS = (*AMOUNTS, "state")
"""The names of what a row may claim."""

_NAMES = (*KEYS, "currency", "payer", *CLAIMS)

_DUST = Decimal("0.000001")
_SHOWN = 40
_NAMED = 6
_KINDS: Mapping[type, str] = {
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}
_BETWEEN = re.compile(r"[ \t\r\n,]*")


class BadRow(ValueError):
    """A row is wrong: ``field`` is its member, ``line`` its place in a text, from 1, where there is
    one."""

    def __init__(self, field: str, words: str, line: int | None = None) -> None:
        self.field, self.words, self.line = field, words, line
        super().__init__(
            f"line {line}: {field}: {words}" if line is not None else f"{field}: {words}"
        )


Claim = StrEnum("Claim", "UNPAID ENDED TAKEN HELD PENDING REFUNDED UNKNOWN")
"""What the state of a row claims."""

STATES: Mapping[str, Claim] = {
    "unpaid": Claim.UNPAID,
    **dict.fromkeys(("cancelled", "canceled", "failed"), Claim.ENDED),
    **dict.fromkeys(("paid", "shipped"), Claim.TAKEN),
    **dict.fromkeys(("held", "authorised", "authorized"), Claim.HELD),
    "pending": Claim.PENDING,
    **dict.fromkeys(("refunded", "partially_refunded"), Claim.REFUNDED),
    "unknown": Claim.UNKNOWN,
}
"""The states of rows in lower case."""


@record
class ShopRow:
    """What the shop believes about one order. ``key`` is its kind and value; an amount is None
    where the shop says nothing of it. ``state`` is as the shop spells it, ``claim`` what that
    means, None where that is not known. ``payer`` is who shall have paid: a customer's id,
    reference or email."""

    key: tuple[str, str]
    currency: str | None = None
    paid: Decimal | None = None
    refunded: Decimal | None = None
    held: Decimal | None = None
    state: str = ""
    claim: Claim | None = None
    payer: str = ""


def mapping_of(words: Iterable[str]) -> dict[str, str]:
    """States of the shop, in lower case, in known words, each given as ``processing=pending``.

    Raises ``ValueError`` for another form, and for a word that is not known, with the nearest one.
    """
    made = {}
    for word in words:
        own, is_given, known = (part.strip().lower() for part in word.partition("="))
        if not is_given or not own:
            raise ValueError(
                f"got '{word[:_SHOWN]}', wanted a state of the shop and its meaning: "
                "processing=pending"
            )
        if known not in STATES:
            raise ValueError(
                f"got '{known[:_SHOWN]}', allowed: {', '.join(STATES)}{nearest(known, STATES)}"
            )
        made[own] = known
    return made


def key_of(row: Mapping[str, Any]) -> tuple[str, Any] | None:
    """What a row is about: the kind and the value, as it is given; None where it does not say."""
    given = _members(row)
    return next(((kind, given[kind]) for kind in KEYS if kind in given), None)


def _members(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(name).lower(): value for name, value in row.items() if value is not None and value != ""
    }


def compared_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the members that are not compared."""
    return {name: value for name, value in row.items() if name.lower() in _NAMES}


def read_row(row: Any, mapped: Mapping[str, str] | None = None) -> ShopRow:
    """The claim of a row, without other members; ``mapped``: states of the shop (``mapping_of``).
    Raises ``BadRow``."""
    if not isinstance(row, Mapping):
        raise BadRow(
            "row",
            f'got {_kind(row)}, wanted an object such as {{"reference": "order-5", "paid": 20}}',
        )
    key, given = key_of(row), _members(row)
    if key is None:
        raise BadRow("reference", f"missing, wanted one of {', '.join(KEYS)}")
    if isinstance(key[1], bool) or not isinstance(key[1], str | int):
        raise BadRow(key[0], f"got {_kind(key[1])}, wanted a text")
    currency, state = _currency(given.get("currency")), given.get("state", "")
    if not isinstance(state, str):
        raise BadRow("state", f"got {_kind(state)}, wanted a text such as paid")
    amounts = {field: _amount(field, given.get(field), currency) for field in AMOUNTS}
    folded, code = state.strip().lower(), None if currency is None else currency.code
    claim = STATES.get((mapped or {}).get(folded, folded))
    payer = given.get("payer", "")
    who = str(payer).strip() if isinstance(payer, str | int) else ""
    return ShopRow((key[0], str(key[1])), code, **amounts, state=state, claim=claim, payer=who)


def check_claims(names: Iterable[str]) -> None:
    """Refuse books of whose members, all ``names``, none is compared: they would agree with
    everything. Rows that say no more than what they are about are orders that the shop knows.
    Raises ``BadRow``."""
    folded = dict.fromkeys(name.lower() for name in names)
    others = [name for name in folded if name not in _NAMES][:_NAMED]
    if others and folded.keys().isdisjoint(CLAIMS):
        near = next(filter(None, (nearest(name, CLAIMS) for name in others)), "")
        shown = ", ".join(mask_start(name, _SHOWN) for name in others)
        raise BadRow("rows", f"got {shown}; no row says {', '.join(AMOUNTS)} or state{near}")


def _currency(given: Any) -> Currency | None:
    if given is None:
        return None
    code = given.strip().upper() if isinstance(given, str) else ""
    if code not in CURRENCIES:
        hint = nearest(code, CURRENCIES) if code else ""
        raise BadRow("currency", f"got {_kind(given)}, wanted an ISO 4217 code such as AUD{hint}")
    return CURRENCIES[code]


def _amount(field: str, given: Any, currency: Currency | None) -> Decimal | None:
    """An amount from 0, without the dust of binary fractions."""
    if given is None:
        return None
    number = number_of(str(given)) if isinstance(given, float) else number_of(given)
    if number is None:
        raise BadRow(field, f"got {_kind(given)}, wanted a number such as 12.50")
    if number < 0:
        raise BadRow(field, f"got {number_text(number)[:_SHOWN]}, wanted 0 or more")
    if number.adjusted() >= MAX_INTEGER_DIGITS:
        raise BadRow(
            field,
            f"got {number.adjusted() + 1} digits before the point, at most {MAX_INTEGER_DIGITS}",
        )
    near = number.quantize(
        Decimal(1).scaleb(-3 if currency is None else -currency.digits), ROUND_HALF_EVEN
    )
    if abs(near - number) > _DUST:
        raise _too_exact(field, number, currency)
    return near


def excess(row: ShopRow, code: str) -> BadRow | None:
    """The fault of a row that names no currency and means this one, where an amount has more digits
    than it."""
    currency = CURRENCIES[code]
    given = ((field, getattr(row, field) or Decimal()) for field in AMOUNTS)
    bad = (
        _too_exact(field, amount, currency)
        for field, amount in given
        if places(amount) > currency.digits
    )
    return next(bad, None)


def _too_exact(field: str, number: Decimal, currency: Currency | None) -> BadRow:
    whose, digits = ("an amount", 3) if currency is None else (currency.code, currency.digits)
    return BadRow(
        field,
        f"got {number_text(number)[:_SHOWN]}, {whose} has {digits or 'no'} digits after the point",
    )


def checked_rows(raw: bytes, states: Mapping[str, str] | None = None) -> list[tuple[int, Any]]:
    """The rows of the shop's books, a JSON array, JSON lines, or CSV whose first line has the
    names, each with its line and fit to be compared.

    Raises ``BadRow`` with the line of what cannot be read, also for a text without rows, and for
    one that claims nothing (``check_claims``).
    """
    if len(raw) > LONGEST:
        raise BadRow("books", f"got more than {LONGEST} bytes")
    try:
        text = raw.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as fault:
        raise BadRow(
            "books", "got a text that is not UTF-8", raw.count(b"\n", 0, fault.start) + 1
        ) from None
    rows = list(_rows(text))
    for line, row in rows:
        try:
            read_row(row, states)
        except BadRow as bad:
            raise BadRow(bad.field, bad.words, line) from None
    check_claims(name for _, row in rows for name in row)
    return rows


def _rows(text: str) -> Iterator[tuple[int, Any]]:
    """The rows of a text with the line of each."""
    match text.lstrip()[:1]:
        case "":
            raise BadRow(
                "books",
                "got nothing, wanted a JSON array, JSON lines or CSV; [] means no orders",
                1,
            )
        case "[" | "{":
            return _json(text)
        case _:
            return _csv(text)


def _json(text: str) -> Iterator[tuple[int, Any]]:
    """The rows of an array, or of lines, read one at a time for their lines."""
    decoder = json.JSONDecoder(parse_float=_number, parse_constant=_no_constant)
    is_array, line, seen = text.lstrip().startswith("["), 1, 0
    try:
        if is_array:
            decoder.decode(text)
        at = _after_blanks(text, text.index("[") + 1 if is_array else 0)
        while at < len(text) and not (is_array and text[at] == "]"):
            line, seen = line + text.count("\n", seen, at), at
            row, end = decoder.raw_decode(text, at)
            yield line, row
            at = _after_blanks(text, end)
    except json.JSONDecodeError as fault:
        raise BadRow("books", f"got JSON that cannot be read: {fault.msg}", fault.lineno) from None
    except RecursionError:
        raise BadRow("books", "got JSON that is nested too deep", line) from None
    except ValueError as fault:
        raise BadRow("books", str(fault), line) from None


def _after_blanks(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _csv(text: str) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        has_mark = "".join(names).startswith(BYTE_ORDER_MARK)
        if has_mark or not set(KEYS) & set(names):
            got = (
                f"got {shown_header(names)}, which is not JSON, nor CSV whose first line has "
                "reference"
            )
            raise BadRow("books", got + header_advice(names, _NAMES), reader.line_num)
        for row in reader:
            if None in row or None in row.values():
                words = f"got another number of values than the {len(names)} of the first line"
                raise BadRow("books", words, reader.line_num)
            yield (
                reader.line_num,
                {name.strip().lower(): value.strip() for name, value in row.items()},
            )
    except csv.Error as fault:
        raise BadRow(
            "books", f"got CSV that cannot be read: {fault}", reader.line_num + 1
        ) from None


def _number(digits: str) -> Decimal:
    if (number := number_of(digits)) is None:
        raise ValueError(f"got {digits[:_SHOWN]}, which is too long a number")
    return number


def _no_constant(word: str) -> Any:
    raise ValueError(f"got {word}, which is not a number of JSON")


def _kind(value: Any) -> str:
    return f"'{value[:_SHOWN]}'" if isinstance(value, str) else _KINDS.get(type(value), "a number")
