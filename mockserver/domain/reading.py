"""How the service reads numbers, flags and choices, also where they are written as texts: one
reading for requests, for the rules that look at them, for assumptions and for the control API. None
is the answer for anything else.

Sources: docs/spec/published-facts.md, 5.1 (numeric texts), 8 (rows 7-16).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import TypeVar
from urllib.parse import parse_qsl

MAX_NUMBER = 400
"""Digits, and the size of the exponent, that a number may have."""

_NUMBER = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]+))?")
_LONG = 18
_LONGEST_WHOLE = 20
_LONGEST_INDEX = 3

En = TypeVar("En", bound=Enum)


class SpelledWord(str):
    """A word as spelt by a caller; ``plain`` is the one name by which it is compared."""

    __slots__ = ("plain",)

    plain: str

    def __new__(cls, word: str, plain: str) -> SpelledWord:
        """The word of a name."""
        spelled = super().__new__(cls, word)
        spelled.plain = plain
        return spelled


def number_of(value: object) -> Decimal | None:
    """The number that a JSON number or a numeric text means: ``1e2``, ``+100``, ``050`` and ``" 50
    "`` are numbers; true is not."""
    if type(value) is int or type(value) is Decimal:
        return Decimal(value)
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    digits, exponent = match[1], match[2] or "0"
    if len(digits) > MAX_NUMBER or len(exponent) > _LONG or abs(int(exponent)) > MAX_NUMBER:
        return None
    return Decimal(match[0])


def whole_of(value: object, low: int = 0, high: int = 10**18) -> int | None:
    """The whole number from ``low`` to ``high`` that a JSON number or a text of plain digits
    means."""
    if type(value) is int:
        number = value
    elif isinstance(value, str) and _is_short_number(value, _LONGEST_WHOLE):
        number = int(value)
    else:
        return None
    return number if low <= number <= high else None


def _is_short_number(text: str, longest: int) -> bool:
    """Whether a text is of plain digits, and of so many at most: longer ones take time to read."""
    return text.isascii() and text.isdecimal() and len(text) <= longest


def flag_of(value: object) -> bool | None:
    """True or false, as JSON or as the word in any letter case."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    return {"true": True, "false": False}.get(value.lower())


def choice_of(choices: type[En]) -> Callable[[object], En | None]:
    """A reader of a member of an enumeration, given by its word in any letter case or by its index
    (published facts, 8, row 12)."""
    members = list(choices)
    by_fold = {str(member.value).lower(): member for member in members}
    by_fold |= getattr(choices, "other_words", dict)()

    def read(value: object) -> En | None:
        index = value
        if isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_INDEX:
            index = int(value)
        if type(index) is int and 0 <= index < len(members):
            return members[index]
        return by_fold.get(value.lower()) if isinstance(value, str) else None

    return read


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """A name of the wire as code spells it: ``paymentMethodId`` as ``payment_method_id``."""
    return _HUMP.sub("_", name).lower()


def camel(name: str) -> str:
    """A name of code as the wire spells it: ``payment_method_id`` as ``paymentMethodId``."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def capitalised(name: str) -> str:
    """A name that begins with a capital."""
    return name[:1].upper() + name[1:]


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string, in its order, those without a value too."""
    text = query.decode("utf-8", "replace")
    if "%" in text or "+" in text:
        return parse_qsl(text, keep_blank_values=True, errors="replace")
    # Without escapes it is only to be split.
    pairs = [pair.partition("=") for pair in text.split("&") if pair]
    return [(name, value) for name, _, value in pairs]
