"""State documents, of up to hundreds of megabytes: their text is read and written in parts, with pauses between them.

A window of the text is decoded at a time. What lies whole inside it is read at once, by the same reader as any other
JSON; whatever is longer is opened, and its members are read one after the other. What is written is opened likewise.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from json import JSONDecodeError
from typing import Any

from mockserver.domain.cooperative import Cooperative
from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import capitalised
from mockserver.wire.jsonio import (
    BLANKS,
    BOM,
    DECODER,
    MAX_DEPTH,
    SURROGATE,
    UNIQUE_DECODER,
    MalformedJson,
    NotTaken,
    depth_of,
    dumps,
    given_twice,
    half_pair_in,
)

WINDOW = 1_000_000
"""Bytes that are decoded at a time."""

_LONGEST_NUMBER = 1_000
"""Characters that must be seen of a number, which may go on behind the window: more than any has that is taken."""

LONG = 500
"""Items that a list may have to be written at a time."""

PART = 1_000_000
"""Bytes of a part of a written text, at least."""

_OPENED = 3
"""Levels of a document that are opened when it is written: down to the rows of a table."""

_BLANKS = re.compile(f"[{BLANKS}]*+")

Known = Mapping[str, Collection[str]]
"""The members that objects of the two outermost levels may have, by the name of the object; that of all is empty."""


def dumps_in_slices(document: dict[str, Any]) -> Cooperative[deque[bytes]]:
    """The parts of the text that ``jsonio.dumps`` makes of a document, which is used up by that."""
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
    body: deque[bytes], max_depth: int = MAX_DEPTH, *, unique: bool = False, known: Known | None = None
) -> Cooperative[object]:
    """What ``jsonio.loads`` makes of a text that comes in parts, which are used up. Raises ``MalformedJson`` for what
    that refuses, and ``Invalid`` (90) as soon as an object has ``MOST_FAULTS`` members that are not ``known``."""
    reader = _Reader(_Window(body), max_depth, unique, known or {})
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
        # What stood before the window.
        self._lines = 0
        self._column = 0

    def go_on(self) -> bool:
        """Leave behind what is read and decode more, at least as much as is left; False at the end of the text."""
        if self.is_last:
            return False
        gone, self.text = self.text[: self.at], self.text[self.at :]
        newlines = gone.count("\n")
        self._lines += newlines
        self._column = len(gone) - gone.rfind("\n") - 1 if newlines else self._column + len(gone)
        self.at = 0
        raw = self._taken(max(WINDOW, len(self.text)))
        try:
            self.text += self._decode(raw, self.is_last)
        except UnicodeDecodeError as error:
            self.text += bytes(error.object[: error.start]).decode()
            self.at = len(self.text)
            raise self.malformed("not UTF-8") from None
        if self._begins and self.text:
            self._begins, self.text = False, self.text.removeprefix(BOM.decode())
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
        before = self.text[: self.at]
        newlines = before.count("\n")
        column = len(before) - before.rfind("\n") if newlines else self._column + len(before) + 1
        return MalformedJson(words, self._lines + newlines + 1, column)


class _Reader:
    """Reads the values of a text. Every function begins at the character that was gone to."""

    def __init__(self, text: _Window, max_depth: int, unique: bool, known: Known) -> None:
        self.text = text
        self._max_depth = max_depth
        self._is_unique = unique
        self._known = known
        self._begun = 0
        self._decode = (UNIQUE_DECODER if unique else DECODER).raw_decode

    def character(self) -> Cooperative[str]:
        """Go to the next character that is not blank, and give it; empty at the end of the text."""
        text = self.text
        while True:
            text.at += len(_BLANKS.match(text.text, text.at)[0])  # type: ignore[index]
            if text.at < len(text.text):
                return text.text[text.at]
            if not text.go_on():
                return ""
            yield

    def value(self, depth: int, name: str) -> Cooperative[Any]:
        """The next value, which is the member of a ``name`` inside so many open objects and arrays."""
        char, text = (yield from self.character()), self.text
        if len(text.text) - text.at < WINDOW // 2:
            text.go_on()
        yield
        if char not in ("{", "["):
            return (yield from self._scalar(char))
        whole = self._whole(self._max_depth - depth)
        if whole is not None:
            return whole
        yield
        return (yield from self._opened(depth, name))

    def _whole(self, levels: int) -> Any:
        """The object or array that begins here; None when it is to be opened: it goes on behind the window, has more
        levels, or its fault is to be found."""
        text, begin = self.text, self.text.at
        try:
            value, end = self._decode(text.text, begin)
        except (JSONDecodeError, NotTaken, RecursionError):
            return None
        openings = text.text.count("{", begin, end) + text.text.count("[", begin, end)
        if openings > levels and depth_of(value) > levels:
            return None
        self._refuse_half_pair(begin, end)
        text.at = end
        return value

    def _scalar(self, char: str) -> Cooperative[Any]:
        """The text, number or word that begins here."""
        text = self.text
        while True:
            if char != '"' and len(text.text) - text.at < _LONGEST_NUMBER and text.go_on():
                continue
            try:
                value, end = self._decode(text.text, text.at)
            except (JSONDecodeError, NotTaken) as fault:
                if char == '"' and text.go_on():
                    yield
                    continue
                text.at = fault.pos if isinstance(fault, JSONDecodeError) else text.at
                words = f"not JSON: {fault.msg}" if isinstance(fault, JSONDecodeError) else str(fault)
                raise text.malformed(words) from None
            self._begun = text.at
            self._refuse_half_pair(text.at, end)
            text.at = end
            return value

    def _refuse_half_pair(self, begin: int, end: int) -> None:
        text = self.text
        if SURROGATE.search(text.text, begin, end) and (place := half_pair_in(text.text[begin:end])) is not None:
            text.at = begin + place
            raise text.malformed("half of a surrogate pair")

    def _opened(self, depth: int, name: str) -> Cooperative[Any]:
        """The object or array that begins here, member by member."""
        text = self.text
        if depth >= self._max_depth:
            raise text.malformed(f"more than {self._max_depth} levels")
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
        key: str = yield from self._scalar('"')
        if self._is_unique and key in into:
            text.at = self._begun
            raise text.malformed(given_twice(key))
        if (yield from self.character()) != ":":
            raise text.malformed("not JSON: Expecting ':' delimiter")
        text.at += 1
        return key


def _note_unknown(unknown: list[str], name: str, key: str, known: Collection[str]) -> None:
    """Raises ``Invalid`` (90) for the last of the faults that are named."""
    unknown.append(key)
    if len(unknown) >= MOST_FAULTS:
        above = f"{capitalised(name)}." if name else ""
        details = {f"{above}{mask_start(one, 40)}": f"unknown field{nearest(one, known)}" for one in unknown}
        raise invalid(details)
