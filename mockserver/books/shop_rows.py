"""The rows of the shop's books: what it believes about its orders, as text and as claims.

Source: docs/books.md, The shop's books.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from typing import Any

from mockserver.domain.errors import nearest
from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, Currency, number_text
from mockserver.domain.reading import number_of
from mockserver.domain.record import record

LONGEST = 10_000_000
"""Bytes of the shop's books."""

KEYS = ("charge", "subscription", "reference")
"""The names of what a row is about; the first that it has counts."""

_DUST = Decimal("0.000001")
_SHOWN = 40
_BLANKS = re.compile(r"[ \t\r\n]*")


class BadRow(ValueError):
    """A row is wrong: ``field`` is its member, ``line`` its place in a text, from 1, where there is one."""

    def __init__(self, field: str, words: str, line: int | None = None) -> None:
        self.field, self.words, self.line = field, words, line
        super().__init__(f"line {line}: {field}: {words}" if line is not None else f"{field}: {words}")


class Claim(StrEnum):
    """What the state of a row claims."""

    UNPAID = "unpaid"
    ENDED = "ended"
    TAKEN = "taken"
    HELD = "held"
    PENDING = "pending"
    REFUNDED = "refunded"
    UNKNOWN = "unknown"


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
    """What the shop believes about one order. ``key`` is its kind and value; an amount is None where the shop says
    nothing of it. ``state`` is as the shop spells it, ``claim`` what that means, None without one."""

    key: tuple[str, str]
    currency: str | None = None
    paid: Decimal | None = None
    refunded: Decimal | None = None
    held: Decimal | None = None
    state: str = ""
    claim: Claim | None = None


def claim_of(word: str, mapped: Mapping[str, str] | None = None) -> Claim | None:
    """What a state of the shop claims, None when that is not known; ``mapped`` gives states of the shop's own in known
    words."""
    own = {name.strip().lower(): known for name, known in (mapped or {}).items()}
    folded = word.strip().lower()
    return STATES.get(own.get(folded, folded).strip().lower())


def mapping_of(words: Iterable[str]) -> dict[str, str]:
    """States of the shop in known words, each given as ``processing=pending``.

    Raises ``ValueError`` for another form, and for a word that is not known, with the nearest one.
    """
    made = {}
    for word in words:
        own, is_given, known = word.partition("=")
        if not is_given or not own.strip():
            raise ValueError(f"got '{word[:_SHOWN]}', wanted a state of the shop and its meaning: processing=pending")
        if known.strip().lower() not in STATES:
            raise ValueError(f"got '{known[:_SHOWN]}', allowed: {', '.join(STATES)}{nearest(known, STATES)}")
        made[own] = known
    return made


def read_row(row: Any, mapped: Mapping[str, str] | None = None) -> ShopRow:
    """The claim of one row; members of other names are ignored. Raises ``BadRow``."""
    if not isinstance(row, Mapping):
        raise BadRow("row", f'got {_kind(row)}, wanted an object such as {{"reference": "order-5", "paid": 20}}')
    given = {str(name).lower(): value for name, value in row.items() if value is not None and value != ""}
    key = next(((name, given[name]) for name in KEYS if name in given), None)
    if key is None:
        raise BadRow("reference", f"missing, wanted one of {', '.join(KEYS)}")
    name, value = key
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadRow(name, f"got {_kind(value)}, wanted a text")
    currency = _currency(given.get("currency"))
    state = given.get("state", "")
    if not isinstance(state, str):
        raise BadRow("state", f"got {_kind(state)}, wanted a text such as paid")
    amounts = {field: _amount(field, given.get(field), currency) for field in ("paid", "refunded", "held")}
    code = None if currency is None else currency.code
    return ShopRow((name, str(value)), code, **amounts, state=state, claim=claim_of(state, mapped))


def _currency(given: Any) -> Currency | None:
    if given is None:
        return None
    found = CURRENCIES.get(given.strip().upper()) if isinstance(given, str) else None
    if found is None:
        got = f"'{given[:_SHOWN]}'" if isinstance(given, str) else _kind(given)
        hint = nearest(given.upper(), CURRENCIES) if isinstance(given, str) else ""
        raise BadRow("currency", f"got {got}, wanted an ISO 4217 code such as AUD{hint}")
    return found


def _amount(field: str, given: Any, currency: Currency | None) -> Decimal | None:
    """An amount from 0, without the dust of binary fractions."""
    if given is None:
        return None
    number = number_of(str(given)) if isinstance(given, float) else number_of(given)
    if number is None:
        got = f"'{given[:_SHOWN]}'" if isinstance(given, str) else _kind(given)
        raise BadRow(field, f"got {got}, wanted a number such as 12.50")
    if number < 0:
        raise BadRow(field, f"got {number_text(number)}, wanted 0 or more")
    if number.adjusted() >= MAX_INTEGER_DIGITS:
        raise BadRow(field, f"got {number.adjusted() + 1} digits before the point, at most {MAX_INTEGER_DIGITS}")
    digits = 3 if currency is None else currency.digits
    near = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
    if abs(near - number) > _DUST:
        whose = "an amount" if currency is None else currency.code
        raise BadRow(field, f"got {number_text(number)[:_SHOWN]}, {whose} has {digits or 'no'} digits after the point")
    return near


def read_rows(text: str) -> list[tuple[int, Any]]:
    """The rows of the shop's books with the line that each begins at: a JSON array, JSON lines, or CSV whose first line
    has the names.

    Raises ``BadRow`` with the line of what cannot be read, also for a text without rows.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise BadRow("books", "got nothing, wanted a JSON array, JSON lines or CSV; [] means no orders", 1)
    before = text[: len(text) - len(start)].count("\n")
    if start.startswith("["):
        return list(_array(start, before + 1))
    if start.startswith("{"):
        return list(_lines(start, before))
    return list(_csv(start, before))


def checked_rows(raw: bytes, states: Mapping[str, str]) -> list[Any]:
    """The rows of a text of the shop's books, each fit to be compared. Raises ``BadRow`` with the line."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        raise BadRow("books", "got a text that is not UTF-8", line) from None
    rows = read_rows(text)
    for line, row in rows:
        try:
            read_row(row, states)
        except BadRow as bad:
            raise BadRow(bad.field, bad.words, line) from None
    return [row for _, row in rows]


def _array(text: str, first: int) -> Iterator[tuple[int, Any]]:
    """The rows of a JSON array, read one at a time for their lines."""
    decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)
    seen, at, line = 0, _blank(text, 1), first
    is_open = not text.startswith("]", at)
    while is_open:
        line, seen = line + text.count("\n", seen, at), at
        try:
            row, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as fault:
            raise _unreadable(fault, text, first) from None
        yield line, row
        at = _blank(text, end)
        is_open = text.startswith(",", at)
        if is_open:
            at = _blank(text, at + 1)
        elif not text.startswith("]", at):
            raise BadRow("books", "got JSON that ends early or lacks a comma", first + text.count("\n", 0, at))
    if _blank(text, at + 1) < len(text):
        raise BadRow("books", "got more behind the end of the array", first + text.count("\n", 0, at + 1))


def _blank(text: str, at: int) -> int:
    """The place of the next character that is not a blank."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _lines(text: str, before: int) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.splitlines(), before + 1):
        if line.strip():
            try:
                yield number, json.loads(line, parse_float=Decimal, parse_constant=_no_constant)
            except (ValueError, RecursionError) as fault:
                raise _unreadable(fault, line, number) from None


def _csv(text: str, before: int) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        if not set(KEYS) & set(names):
            shown = ",".join(names)[:_SHOWN]
            raise BadRow(
                "books", f"got '{shown}', which is not JSON, nor CSV whose first line has reference", before + 1
            )
        for row in reader:
            line = before + reader.line_num
            if None in row or None in row.values():
                raise BadRow("books", f"got another number of values than the {len(names)} of the first line", line)
            yield line, {name.strip().lower(): value.strip() for name, value in row.items()}
    except csv.Error as fault:
        raise BadRow("books", f"got CSV that cannot be read: {fault}", before + reader.line_num + 1) from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"got {word}, which is not a number of JSON")


def _unreadable(fault: Exception, text: str, first: int) -> BadRow:
    if isinstance(fault, json.JSONDecodeError):
        return BadRow("books", f"got JSON that cannot be read: {fault.msg}", first + text.count("\n", 0, fault.pos))
    deep = isinstance(fault, RecursionError)
    return BadRow("books", "got JSON that is nested too deep" if deep else str(fault), first)


def _kind(value: Any) -> str:
    words = {bool: "true or false", dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return words.get(type(value), "a number")
