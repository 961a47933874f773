"""JSON in and out with exact numbers: ``0.10`` comes in as a ``Decimal``, ``Decimal("200.0")`` goes
out as ``200``.

State documents may have hundreds of megabytes: their text is read and written in parts, with pauses
between them. A window of the text is decoded at a time. What lies whole inside it is read at once;
what is longer is opened, and its members are read one after the other. What is written is opened
likewise.
"""

import json
import re
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

import orjson

from mockserver.domain.cooperative import Cooperative
from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.money import number_text
from mockserver.domain.reading import MAX_NUMBER, capitalised

MAX_DEPTH = 64
"""Objects and arrays inside one another that a body may have, when the caller says nothing else."""

Encoded = orjson.Fragment
"""A value that has its JSON text already."""

_BOM = b"\xef\xbb\xbf"
_LONG = 18
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

# What of a text can be decoded by itself: no escape is cut, and no pair of surrogates. The first
# half of a pair is left for later when the window ends before the second.
_PART_OF_TEXT = re.compile(
    r'(?s)(?:[^"\\]++|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}(?=.{6}))*+'
)

_LONGEST_ESCAPE = 12
"""Characters of a pair of surrogates, each as an escape."""

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
    try:
        value, end = (_UNIQUE_SCAN if unique else _SCAN)(text, start)
    except StopIteration as nothing:
        raise _malformed("not JSON: Expecting value", text, nothing.value) from None
    except json.JSONDecodeError as error:
        raise _malformed(*_fault(error, text)) from None
    except (_NotTaken, RecursionError):
        raise _refused(text, max_depth, unique=unique) from None
    if end != len(text) and (more := _behind_blanks(text, end)) != len(text):
        raise _malformed("not JSON: more text after the value", text, more)
    # Rarely true, and cheap to ask (one character is found ten times faster than two): only then is
    # it worth a walk.
    openings = text.count("{") + (text.count("[") if "[" in text else 0)
    if openings > max_depth and _depth_of(value) > max_depth:
        raise _refused(text, max_depth, unique=unique)
    if "\\" in text and _SURROGATE.search(text) and (place := _half_pair_in(text)) is not None:
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
    raise _NotTaken("NaN and Infinity are not JSON")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
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
    level = [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        yield level
        level = [
            child for one in level for child in (one.values() if isinstance(one, dict) else one)
        ]


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
    return next((escape.start() for escape in re.finditer(_ESCAPE, text) if escape["lone"]), None)


def _given_twice(key: str) -> str:
    """What is wrong with a key that an object has already."""
    return f"got the key '{mask_start(key, _MOST_OF_KEY).encode(errors='replace').decode()}' twice"


def _refused(text: str, max_depth: int, *, unique: bool) -> MalformedJson:
    """The first level that is too deep, number that is refused or key that comes twice, with its
    place."""
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
                try:
                    _constant(token[0]) if token[0].endswith(("NaN", "Infinity")) else _decimal(
                        token[0]
                    )
                except _NotTaken as reason:
                    return _malformed(str(reason), text, token.start())
    return _malformed("more levels than can be read", text, 0)


def _fault(error: json.JSONDecodeError, text: str) -> tuple[str, str, int]:
    """What is wrong and where. Python 3.13 points at a comma that is too many, all before at what
    stands behind it."""
    if "trailing comma" not in error.msg:
        return f"not JSON: {error.msg}", text, error.pos
    behind = _behind_blanks(text, error.pos + 1)
    words = (
        "Expecting value"
        if text[behind] == "]"
        else "Expecting property name enclosed in double quotes"
    )
    return f"not JSON: {words}", text, behind


def _behind_blanks(text: str, start: int) -> int:
    # A pattern takes a third of the time of ``lstrip``: a batch may have 10 MB of them.
    return _BLANKS.match(text, start).end()  # type: ignore[union-attr]


def _malformed(message: str, text: str, offset: int) -> MalformedJson:
    return MalformedJson(message, *_place_in(text, offset))


def _place_in(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character, from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


WINDOW = 1_000_000
"""Bytes that are decoded at a time."""

_LONGEST_NUMBER = 1_000
"""Characters that must be seen of a number, which may go on behind the window: more than any has
that is taken."""

LONG = 500
"""Items that a list may have to be written at a time."""

PART = 1_000_000
"""Bytes of a part of a written text, at least."""

_OPENED = 3
"""Levels of a document that are opened when it is written: down to the rows of a table."""

Known = Mapping[str, Collection[str]]
"""The members that objects of the two outermost levels may have, by the name of the object; that of
all is empty."""


def dumps_in_slices(document: dict[str, Any]) -> Cooperative[deque[bytes]]:
    """The parts of the text that ``dumps`` makes of a document, which is used up by that."""
    parts, some, length = deque[bytes](), list[bytes](), 0
    for piece in _pieces(document, _OPENED):
        some.append(piece)
        length += len(piece)
        if length >= PART:
            parts.append(b"".join(some))
            some, length = [], 0
            yield
    parts.append(b"".join(some))
    return parts


def _pieces(value: Any, levels: int) -> Iterator[bytes]:
    """The text of a value, ``levels`` of which are opened, and more where a list is long."""
    is_opened = value and (levels > 0 or _is_long(value))
    if is_opened and isinstance(value, dict):
        before = b"{"
        for name in [*value]:
            yield before + dumps(name) + b":"
            yield from _pieces(value.pop(name), levels - 1)
            before = b","
        yield b"}"
    elif is_opened and isinstance(value, list):
        before = b"["
        for place, item in enumerate(value):
            value[place] = None
            yield before
            yield from _pieces(item, levels - 1)
            before = b","
        yield b"]"
    else:
        yield dumps(value)


def _is_long(value: Any) -> bool:
    """Whether a value is a long list or has one as a member."""
    held = value.values() if isinstance(value, dict) else (value,)
    return any(type(one) is list and len(one) > LONG for one in held)


def loads_in_slices(
    body: deque[bytes], *, unique: bool = False, known: Known | None = None
) -> Cooperative[object]:
    """What ``loads`` makes of a text that comes in parts, which are used up. Raises
    ``MalformedJson`` for what that refuses, and ``Invalid`` (90) as soon as an object has
    ``MOST_FAULTS`` members that are not ``known``."""
    reader = _Reader(_Window(body), unique, known or {})
    value = yield from reader.value(0, "")
    if (yield from reader.character()):
        raise reader.text.malformed("not JSON: more text after the value")
    return value


class _Window:
    """The part of a text that is decoded: ``text``, read as far as ``at``."""

    def __init__(self, body: deque[bytes]) -> None:
        self.text = ""
        self.at = 0
        self.is_last = False
        self._parts = body
        self._rest = memoryview(b"")
        self._decode = getincrementaldecoder("utf-8")().decode
        self._begins = True
        # The place of its first character.
        self._line, self._column = 1, 1

    def go_on(self) -> bool:
        """Leave behind what is read and decode more, at least as much as is left; False at the end
        of the text."""
        if self.is_last:
            return False
        self._line, self._column = self.place(self.at)
        self.text, self.at = self.text[self.at :], 0
        raw = self._taken(max(WINDOW, len(self.text)))
        try:
            self.text += self._decode(raw, self.is_last)
        except UnicodeDecodeError as error:
            self.text += bytes(error.object[: error.start]).decode()
            self.at = len(self.text)
            raise self.malformed("not UTF-8") from None
        if self._begins and self.text:
            self._begins, self.text = False, self.text.removeprefix(_BOM.decode())
        return True

    def _taken(self, count: int) -> bytes:
        """So many bytes of the body, fewer at its end; then ``is_last``."""
        found = bytearray()
        while len(found) < count and (self._rest or self._parts):
            rest, wanted = self._rest or memoryview(self._parts.popleft()), count - len(found)
            found += rest[:wanted]
            self._rest = rest[wanted:]
        self.is_last = not (self._rest or self._parts)
        return bytes(found)

    def malformed(self, words: str) -> MalformedJson:
        """What is wrong at the character that was gone to."""
        return MalformedJson(words, *self.place(self.at))

    def place(self, offset: int) -> tuple[int, int]:
        """The line and the column of a character of the window."""
        line, column = _place_in(self.text, offset)
        return self._line + line - 1, column if line > 1 else self._column + column - 1


class _Reader:
    """Reads the values of a text. Every function begins at the character that was gone to."""

    def __init__(self, text: _Window, unique: bool, known: Known) -> None:
        self.text = text
        self._is_unique = unique
        self._known = known
        # Where the last text began: in the window, and in the document when the window has gone on
        # since.
        self._begun = 0
        self._begun_at: tuple[int, int] | None = None
        self._decode = (_UNIQUE_DECODER if unique else _DECODER).raw_decode

    def character(self) -> Cooperative[str]:
        """Go to the next character that is not blank, and give it; empty at the end of the text."""
        text = self.text
        while True:
            text.at = _behind_blanks(text.text, text.at)
            if text.at < len(text.text):
                return text.text[text.at]
            if not text.go_on():
                return ""
            yield

    def value(self, depth: int, name: str) -> Cooperative[Any]:
        """The next value, which is the member of a ``name`` inside so many open objects and
        arrays."""
        char, text = (yield from self.character()), self.text
        if len(text.text) - text.at < WINDOW // 2:
            text.go_on()
        yield
        if char == '"':
            return (yield from self._text())
        if char not in ("{", "["):
            return self._scalar()
        whole = self._whole(MAX_DEPTH - depth)
        if whole is not None:
            return whole
        yield
        return (yield from self._opened(depth, name))

    def _whole(self, levels: int) -> Any:
        """The object or array that begins here; None when it is to be opened: it goes on behind the
        window, has more levels, or its fault is to be found."""
        text, begin = self.text, self.text.at
        try:
            value, end = self._decode(text.text, begin)
        except (json.JSONDecodeError, _NotTaken, RecursionError):
            return None
        openings = text.text.count("{", begin, end) + text.text.count("[", begin, end)
        if openings > levels and _depth_of(value) > levels:
            return None
        half = self._half_pair(begin, end)
        if half is not None:
            raise half
        text.at = end
        return value

    def _scalar(self) -> Any:
        """The number or word that begins here."""
        text = self.text
        while len(text.text) - text.at < _LONGEST_NUMBER and text.go_on():
            pass
        try:
            value, text.at = self._decode(text.text, text.at)
        except _NotTaken as refused:
            raise text.malformed(str(refused)) from None
        except json.JSONDecodeError as fault:
            text.at = fault.pos
            raise text.malformed(f"not JSON: {fault.msg}") from None
        return value

    def _text(self) -> Cooperative[str]:
        """The text that begins here. It may be as long as the document: one that goes on behind the
        window is decoded part by part, with a pause after each."""
        text, parts = self.text, list[str]()
        half: MalformedJson | None = None
        self._begun, self._begun_at = text.at, None
        text.at += 1
        while True:
            stop = _PART_OF_TEXT.match(text.text, text.at).end()  # type: ignore[union-attr]
            is_closed = text.text[stop : stop + 1] == '"'
            is_faulty = stop == text.at and len(text.text) - stop >= _LONGEST_ESCAPE
            if is_closed or is_faulty or text.is_last:
                # To decode a faulty rest, or one without an end, raises.
                end = stop + 1 if is_closed else len(text.text)
                parts.append(self._decoded(text.text[text.at : end]))
                half = half or self._half_pair(text.at, end)
                # What is no JSON at all is told first, wherever in the text it stands.
                if half is not None:
                    raise half
                text.at = end
                return "".join(parts)
            parts.append(self._decoded(text.text[text.at : stop] + '"'))
            half = half or self._half_pair(text.at, stop)
            self._begun_at = self._begun_place()
            text.at = stop
            text.go_on()
            yield

    def _decoded(self, written: str) -> str:
        """The part of a text that is written here, up to a quote. Raises ``MalformedJson``."""
        try:
            value: str = self._decode('"' + written)[0]
        except json.JSONDecodeError as fault:
            raise self._not_json(fault) from None
        return value

    def _not_json(self, fault: json.JSONDecodeError) -> MalformedJson:
        """A fault of a text that was decoded from here on, behind a quote."""
        words = f"not JSON: {fault.msg}"
        if fault.pos == 0:
            return MalformedJson(words, *self._begun_place())
        self.text.at += fault.pos - 1
        return self.text.malformed(words)

    def _begun_place(self) -> tuple[int, int]:
        """The line and the column at which the last text began."""
        return self._begun_at or self.text.place(self._begun)

    def _half_pair(self, begin: int, end: int) -> MalformedJson | None:
        """The refusal of the first half of a surrogate pair in a part of the window that has no
        other half."""
        text = self.text
        if _SURROGATE.search(text.text, begin, end) is None:
            return None
        place = _half_pair_in(text.text[begin:end])
        if place is None:
            return None
        return MalformedJson("half of a surrogate pair", *text.place(begin + place))

    def _opened(self, depth: int, name: str) -> Cooperative[Any]:
        """The object or array that begins here, member by member."""
        text = self.text
        if depth >= MAX_DEPTH:
            raise text.malformed(f"more than {MAX_DEPTH} levels")
        made: Any = {} if text.text[text.at] == "{" else []
        closing = "}" if text.text[text.at] == "{" else "]"
        known, unknown = self._known.get(name) if depth < len(self._known) else None, list[str]()
        text.at += 1
        char = yield from self.character()
        while char != closing or made:
            if closing == "]":
                made.append((yield from self.value(depth + 1, "")))
            else:
                key = yield from self._key(made)
                if known is not None and key not in known:
                    _note_unknown(unknown, name, key, known)
                made[key] = yield from self.value(depth + 1, key)
            char = yield from self.character()
            if char == closing:
                break
            if char != ",":
                raise text.malformed("not JSON: Expecting ',' delimiter")
            text.at += 1
        text.at += 1
        return made

    def _key(self, into: dict[str, Any]) -> Cooperative[str]:
        """The next name of a member, and the colon behind it."""
        text = self.text
        if (yield from self.character()) != '"':
            raise text.malformed("not JSON: Expecting property name enclosed in double quotes")
        key = yield from self._text()
        if self._is_unique and key in into:
            raise MalformedJson(_given_twice(key), *self._begun_place())
        if (yield from self.character()) != ":":
            raise text.malformed("not JSON: Expecting ':' delimiter")
        text.at += 1
        return key


def _note_unknown(unknown: list[str], name: str, key: str, known: Collection[str]) -> None:
    """Raises ``Invalid`` (90) for the last of the faults that are named."""
    unknown.append(key)
    if len(unknown) >= MOST_FAULTS:
        above = f"{capitalised(name)}." if name else ""
        details = {
            f"{above}{mask_start(one, 40)}": f"unknown field{nearest(one, known)}"
            for one in unknown
        }
        raise invalid(details)
