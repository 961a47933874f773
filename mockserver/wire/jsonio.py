"""JSON in and out with exact numbers: ``0.10`` comes in as a ``Decimal``, ``Decimal("200.0")`` goes
out as ``200``.

An amount must never become a float: 0.1 + 0.2 is not 0.3 there, and a sum of refunds would miss the
amount of its charge. That decides about both directions:

- **In** (``loads``) by the scanner of Python's ``json``, written in C, which lets us read every
  number from its text. orjson would be faster, but reads numbers as floats. What the scanner takes
  and strict JSON does not is looked for after it, by tests that are cheap for an ordinary text. The
  place of a fault is worked out only once there is one, by a walk through the text (``_refused``).
- **Out** (``dumps``) by orjson, which asks us for the text of each ``Decimal``.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

import orjson

from mockserver.domain.masking import mask_start
from mockserver.domain.money import number_text
from mockserver.domain.reading import MAX_NUMBER

MAX_DEPTH = 64
"""Objects and arrays inside one another that a body may have, when the caller says nothing else."""

Encoded = orjson.Fragment
"""A value that has its JSON text already."""

_BOM = b"\xef\xbb\xbf"
_LONG = 18
"""Characters of a number up to which it is nothing unusual: it fits into 64 bits."""

_BLANK = " \t\n\r"
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME

# Escapes one after the other from the left, so that an escaped backslash is never taken for the
# begin of a surrogate.
_ESCAPE = (
    r"(?s)\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>u[dD][89a-fA-F])|.)"
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# What a search for the place of a fault must distinguish: texts, brackets, numbers.
_TOKEN = (
    r'(?s)"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]'
    r"|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|NaN|-?Infinity"
)

_BLANKS = re.compile(f"[{_BLANK}]*+")
_COLON = re.compile(f"[{_BLANK}]*+:")
_MOST_OF_KEY = 60


class MalformedJson(ValueError):
    """A body that is not strict JSON. The text says what and where, and quotes no more of it than
    the masked name of a key."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(f"{message} (line {line}, column {column})")


class _NotTaken(ValueError):
    """A number or an object that is JSON and is refused all the same. Its place is not known where
    it is raised."""


def loads(body: bytes, max_depth: int = MAX_DEPTH, *, unique: bool = False) -> object:
    """The value of a JSON text in UTF-8, with or without a byte order mark. Of equal keys the last
    one counts, or with ``unique`` none may come twice: for what people write, where one of them is
    a mistake.

    Numbers are ``int``, or ``Decimal`` with every digit when they have a fraction, an exponent or
    over 18 digits. Raises ``MalformedJson``: not UTF-8, not JSON, NaN or Infinity, a number of over
    400 digits or an exponent beyond 400, half of a surrogate pair, more than ``max_depth`` levels.
    """
    if body.startswith(_BOM):
        body = body[len(_BOM) :]
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _malformed("not UTF-8", body[: error.start].decode(), error.start) from None
    start = _behind_blanks(text, 0) if text[:1] in _BLANK else 0
    scan = _UNIQUE_SCAN if unique else _SCAN
    try:
        value, end = scan(text, start)
    except StopIteration as nothing:
        # So the scanner says that no value begins at this place.
        raise _malformed("not JSON: Expecting value", text, nothing.value) from None
    except json.JSONDecodeError as error:
        raise _fault_of_scanner(error, text) from None
    except (_NotTaken, RecursionError):
        raise _refused(text, max_depth, unique=unique) from None
    if end != len(text):
        end = _behind_blanks(text, end)
        if end != len(text):
            raise _malformed("not JSON: more text after the value", text, end)
    # As many brackets as that are rare, and cheap to count (one character is found ten times faster
    # than two): only then is it worth a walk.
    openings = text.count("{") + (text.count("[") if "[" in text else 0)
    if openings > max_depth and _depth_of(value) > max_depth:
        raise _refused(text, max_depth, unique=unique)
    if "\\" in text and _SURROGATE.search(text):
        place = _half_pair_in(text)
        if place is not None:
            # It cannot be written as UTF-8, so no answer could have it.
            raise _malformed("half of a surrogate pair", text, place)
    return value


def dumps(value: object, *, zeros: bool = False) -> bytes:
    """The JSON text in UTF-8, without blanks. Every ``Decimal`` keeps its digits, with ``zeros``
    also those that end it (``0.20``); enums go as their values.

    Raises ``TypeError`` for anything else that JSON does not know, dataclasses and date-times
    included: their form is a decision of the caller.
    """
    return orjson.dumps(value, _number_in_full if zeros else _number_written, _OPTIONS)


def kept_text(value: object) -> bytes:
    """The JSON text of a value, to be kept: the encoder leaves one in a far larger buffer, which a
    copy leaves out."""
    return b"%b" % orjson.dumps(value, _number_written, _OPTIONS)


@lru_cache(4_096)
def _number_written(value: object) -> Encoded:
    """The text of a number, which the encoder does not know: equal ones have the same, whatever
    digits they came with. Raises ``TypeError`` for anything else."""
    if isinstance(value, Decimal):
        return Encoded(number_text(value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _number_in_full(value: object) -> Encoded:
    """The text of a number with every digit that it came with. Raises ``TypeError`` for anything
    else."""
    if isinstance(value, Decimal) and value.is_finite():
        return Encoded(f"{value:f}")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _decimal(number: str) -> Decimal:
    """An exact number. Raises ``_NotTaken`` for one so long that to reckon with it takes long:
    ``1e999999`` is eight characters, and a million digits."""
    if len(number) <= _LONG and "e" not in number and "E" not in number:
        return Decimal(number)
    mantissa, _, exponent = number.lower().partition("e")
    if len(mantissa) > MAX_NUMBER:
        raise _NotTaken(f"a number is longer than {MAX_NUMBER} digits")
    if len(exponent) > _LONG or abs(int(exponent or 0)) > MAX_NUMBER:
        raise _NotTaken(f"the exponent of a number is beyond {MAX_NUMBER}")
    return Decimal(number)


def _integer(number: str) -> int | Decimal:
    # Beyond 64 bits the encoder refuses an int; a Decimal keeps every digit and can go out again.
    return int(number) if len(number) <= _LONG else _decimal(number)


def _constant(_: str) -> NoReturn:
    """Python's scanner takes ``NaN`` and ``Infinity``, which JSON does not know."""
    raise _NotTaken("NaN and Infinity are not JSON")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys all differ. Raises ``_NotTaken``."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _NotTaken
    return made


_READS: dict[str, Any] = {
    "parse_float": _decimal,
    "parse_int": _integer,
    "parse_constant": _constant,
}
_DECODER = json.JSONDecoder(**_READS)
_UNIQUE_DECODER = json.JSONDecoder(**_READS, object_pairs_hook=_unique)
"""Refuses an object with a key that comes twice."""

_Scan: TypeAlias = Callable[[str, int], tuple[object, int]]
_SCAN: _Scan = vars(_DECODER)["scan_once"]
_UNIQUE_SCAN: _Scan = vars(_UNIQUE_DECODER)["scan_once"]


def _levels(value: object) -> Iterator[list[Any]]:
    """The objects and arrays of a value, level by level: no recursion."""
    level: list[Any] = [value]
    while True:
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        yield level
        children: list[Any] = []
        for container in level:
            children += container.values() if isinstance(container, dict) else container
        level = children


def _depth_of(value: object) -> int:
    return sum(1 for _ in _levels(value))


def count_of_values(value: object, most: int) -> int:
    """How many values are in a value, at whatever depth; of more than ``most`` the outer levels are
    counted."""
    count = 0
    for level in _levels(value):
        count += sum(map(len, level))
        if count > most:
            break
    return count


def _half_pair_in(text: str) -> int | None:
    """Where the first half of a surrogate pair stands that has no other half; None where there is
    none."""
    for escape in re.finditer(_ESCAPE, text):
        if escape["lone"]:
            return escape.start()
    return None


def _given_twice(key: str) -> str:
    """What is wrong with a key that an object has already."""
    return f"got the key '{mask_start(key, _MOST_OF_KEY).encode(errors='replace').decode()}' twice"


def _refused(text: str, max_depth: int, *, unique: bool) -> MalformedJson:
    """The first level that is too deep, number that is refused or key that comes twice, with its
    place: who has raised knew that there is one, and not where. Goes through the text token by
    token; ``open_keys`` has the keys so far of each object around the token."""
    open_keys: list[set[str]] = []
    for token in re.finditer(_TOKEN, text):
        match token[0][0]:
            case '"' if not unique or not _COLON.match(text, token.end()):
                continue
            case '"':
                key = json.loads(token[0])
                if key in open_keys[-1]:
                    return _malformed(_given_twice(key), text, token.start())
                open_keys[-1].add(key)
            case "[" | "{":
                open_keys.append(set())
                if len(open_keys) > max_depth:
                    return _malformed(f"more than {max_depth} levels", text, token.start())
            case "]" | "}":
                open_keys.pop()
            case _:
                read = _constant if token[0].endswith(("NaN", "Infinity")) else _decimal
                try:
                    read(token[0])
                except _NotTaken as reason:
                    return _malformed(str(reason), text, token.start())
    return _malformed("more levels than can be read", text, 0)


def _fault_of_scanner(error: json.JSONDecodeError, text: str) -> MalformedJson:
    """What the scanner says is wrong, in the same words under every Python: 3.13 points at a comma
    that is too many, all before at what stands behind it."""
    if "trailing comma" not in error.msg:
        return _malformed(f"not JSON: {error.msg}", text, error.pos)
    behind = _behind_blanks(text, error.pos + 1)
    if text[behind] == "]":
        return _malformed("not JSON: Expecting value", text, behind)
    return _malformed("not JSON: Expecting property name enclosed in double quotes", text, behind)


def _behind_blanks(text: str, start: int) -> int:
    # A pattern takes a third of the time of ``lstrip``: a batch may have 10 MB of them.
    return _BLANKS.match(text, start).end()  # type: ignore[union-attr]


def _malformed(message: str, text: str, offset: int) -> MalformedJson:
    """What is wrong with a text at a character, told by its line and column, from 1."""
    line = text.count("\n", 0, offset) + 1
    return MalformedJson(message, line, column=offset - text.rfind("\n", 0, offset))
