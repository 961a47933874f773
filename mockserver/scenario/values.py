"""Values of requests and of scenario files: how they are compared, and how a message quotes them.

Equality is that of canonical values: amounts as exact decimals, numeric text included (``"1.50"``
is 1.5, ``"015"`` is a text); ``true`` and ``false`` equal the words; an absent field and null are
the same. Clients write the same amount as a number or as a text, and a rule that says ``10`` means
both. Everything else is compared as text, exactly; a word that is spelt in several ways is itself
in each of them.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

from mockserver.domain.masking import LONGEST_CARD_TEXT, mask_start
from mockserver.domain.reading import SpelledWord

Value: TypeAlias = Decimal | str | None
"""A canonical value."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?")
_BEGINS_NUMBER = frozenset("-0123456789")
_LONGEST_EXCERPT = 80


def canonical(value: object) -> Value:
    """The form in which values are compared and indexed."""
    match value:
        case str():
            if isinstance(value, SpelledWord):
                return value.plain
            # Most texts are words, which need no closer look.
            if value[:1] not in _BEGINS_NUMBER:
                return value
            return Decimal(value) if _NUMBER.fullmatch(value) else value
        case None | Decimal():
            return value
        case bool():
            # Before numbers, as in Python a bool is one.
            return "true" if value else "false"
        case int():
            return Decimal(value)
        case _:
            return str(value)


def json_text(value: object) -> str:
    """The JSON text of plain data; decimals keep their digits."""
    match value:
        case Decimal():
            return format(value, "f")
        case Mapping():
            members = (f"{json.dumps(str(key))}:{json_text(item)}" for key, item in value.items())
            return "{" + ",".join(members) + "}"
        case list() | tuple():
            return "[" + ",".join(map(json_text, value)) + "]"
        case _:
            return json.dumps(value)


def excerpt(value: object) -> str:
    """A value as a message quotes it: short, and with anything that looks like a card number
    masked."""
    if value is None:
        return "nothing"
    text = text_excerpt(plain_text(value))
    if isinstance(value, str):
        # So a reader tells the text '5' from the number.
        return f"'{text}'"
    return text


def plain_text(value: object) -> str:
    """The whole text of a value that is there, as it came: JSON where Python would write it
    otherwise."""
    if isinstance(value, Mapping | list | tuple | Decimal | bool):
        return json_text(value)
    return str(value)


def text_excerpt(text: str) -> str:
    """The beginning of a text as an explanation shows it, masked."""
    masked = mask_start(text, _LONGEST_EXCERPT + 1)
    if len(masked) <= _LONGEST_EXCERPT:
        return masked
    return masked[: _LONGEST_EXCERPT - 3] + "..."


LONGEST_LOOKED_AT = _LONGEST_EXCERPT + 1 + LONGEST_CARD_TEXT
"""Characters of a text that decide what ``text_excerpt`` shows of it."""


def as_text(got: object) -> str:
    """A value as tests of texts see it; decimals keep their digits."""
    if got is None:
        return ""
    if isinstance(got, bool | Decimal):
        return json_text(got)
    return str(got)


def text_operand(wanted: object) -> str:
    """The text that a test of texts wants: its operand. Raises ``ValueError`` for one of no
    length, and for what is not plain."""
    is_plain = isinstance(wanted, str | int | Decimal) and not isinstance(wanted, bool)
    # Every text begins, ends and contains an empty one: such a test says nothing.
    if not is_plain or wanted == "":
        raise ValueError(f"got {excerpt(wanted)}, wanted a text")
    return as_text(wanted)
