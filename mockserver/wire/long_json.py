"""Reading and writing a JSON text of many megabytes in slices, so that others have their turn meanwhile.

The text is in parts, never in one piece: to put 100 MB together takes as long as others may wait. It is decoded a
window at a time. What lies whole inside the window is read at once, by the same reader as any other JSON; whatever is
longer is opened, and its parts are read one after the other. What is written is opened likewise.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Generator, Iterable
from io import StringIO
from json import JSONDecodeError, JSONDecoder
from typing import Any

from mockserver.domain.slices import Slices
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
    half_pair,
)
from mockserver.wire.long_text import Parts

WINDOW = 32_768
"""Signs that are decoded, and read, at a time."""

_MARK = BOM.decode()
_LONGEST_SCALAR = 1_000
"""Signs that must be seen of a number, which may end where the window does: more than any has that is not refused."""

_VALUES = 200
"""Values that are read one by one before others have their turn."""

_FEW = 100
"""Signs of a value after which many others like it are read at once, if they can be."""

_RUNS = (8_192, 512)
"""Signs in which they are looked for."""

ROWS = 500
"""Items of one container that are written at a time."""

_PART = 250_000
"""Bytes of a part, after which others have their turn; where few items are as long, each is written by itself."""

_OPENED = 3
"""Levels of a document that are opened however few items they have: a row of a table may have megabytes."""


def dumps_in_slices(document: dict[str, Any]) -> Slices[Parts]:
    """The parts of the text that ``jsonio.dumps`` makes of a document. The document is used up: its lists are given
    back bit by bit, as all at once would take as long as the writing."""
    text = _Text()
    yield from text.write(document, _OPENED)
    text.end_part()
    return text.parts


class _Text:
    """A text that is being written."""

    def __init__(self) -> None:
        self.parts = Parts()
        self._part: list[bytes] = []
        self._length = 0

    def end_part(self) -> None:
        """What has been written since the last part is the next."""
        self.parts.add(self._part)
        self._part.clear()
        self._length = 0

    def write(self, value: Any, levels: int) -> Slices[None]:
        """Write a value, ``levels`` of which are opened whatever they hold."""
        if not isinstance(value, (dict, list)) or not (value and (levels > 0 or _is_long(value, 2))):
            self._add(dumps(value))
            return
        is_map, start, step = isinstance(value, dict), 0, 1
        items: list[Any] = value if isinstance(value, list) else [*value]
        while start < len(items):
            self._add(b"," if start else b"{" if is_map else b"[")
            some = items[start : start + step]
            # To one who has them all, those that are written are of no more use.
            items[start : start + step] = [None] * len(some)
            if isinstance(value, dict):
                some = [(name, value.pop(name)) for name in some]
            start += step
            before = self._length
            yield from self._write_some(some, levels - 1, is_map=is_map)
            is_short = self._length - before < _PART and not (levels > 0 and is_map)
            step = min(2 * step, ROWS) if is_short else 1
            if self._length >= _PART:
                self.end_part()
                yield
        self._add(b"}" if is_map else b"]")

    def _write_some(self, some: list[Any], levels: int, *, is_map: bool) -> Slices[None]:
        """Some items of a container, those at once that are short."""
        if levels <= 0 and not any(_is_long(one[1], 2) if is_map else _is_long(one, 1) for one in some):
            self._add(dumps(dict(some) if is_map else some)[1:-1])
            return
        for number, one in enumerate(some):
            self._add(b"," if number else b"")
            if is_map:
                self._add(dumps(one[0]) + b":")
            yield from self.write(one[1] if is_map else one, levels)

    def _add(self, raw: bytes) -> None:
        self._part.append(raw)
        self._length += len(raw)


def _is_long(value: object, levels: int) -> bool:
    """Whether a container has many items, or one in it so many levels below."""
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return len(value) > ROWS or (levels > 0 and any(_is_long(one, levels - 1) for one in inner))


def loads_in_slices(body: Iterable[bytes], max_depth: int = MAX_DEPTH, *, unique: bool = False) -> Slices[object]:
    """What ``jsonio.loads`` makes of a text that comes in parts. Raises ``MalformedJson`` for what that refuses."""
    text = _Window(body, UNIQUE_DECODER if unique else DECODER)
    # Containers that are open, each with the key under which the next value goes; None in an array.
    stack: list[tuple[Any, str | None]] = []
    value: Any = None
    read_since = 0
    while True:
        read_since += 1
        if read_since >= _VALUES:
            read_since = 0
            yield
        text.put_back()
        begun = text.at
        read = yield from _whole(text, max_depth - len(stack))
        if read is not None:
            value, _ = read
        else:
            opened: Any = {} if text.sign() == "{" else []
            if text.sign() not in ("{", "["):
                raise text.malformed("not JSON: Expecting value")
            if len(stack) >= max_depth:
                raise text.malformed(f"more than {max_depth} levels")
            text.go(1)
            if text.sign() not in ("}", "]"):
                stack.append((opened, (yield from _key(text, opened)) if isinstance(opened, dict) else None))
                continue
            _close(text, opened)
            value = opened
        # A value has been read: it goes into what is open, which may be complete by that.
        while stack:
            container, key = stack.pop()
            if key is None:
                container.append(value)
            else:
                container[key] = value
            if text.at - begun < _FEW:
                text.run_into(container, max_depth - len(stack) - 1)
            if text.sign() == ",":
                text.go(1)
                stack.append((container, (yield from _key(text, container)) if key is not None else None))
                break
            _close(text, container)
            value = container
        else:
            if text.sign():
                raise text.malformed("not JSON: more text after the value")
            return value


def _close(text: _Window, container: object) -> None:
    if text.sign() != ("}" if isinstance(container, dict) else "]"):
        raise text.malformed("not JSON: Expecting ',' delimiter")
    text.go(1)


def _key(text: _Window, into: dict[str, Any]) -> Slices[str]:
    if text.sign() != '"':
        raise text.malformed("not JSON: Expecting property name enclosed in double quotes")
    read = yield from _whole(text, 0)
    key, begin = read if read is not None else ("", text.at)
    if text.unique and key in into:
        text.at = begin
        raise text.malformed(given_twice(key))
    if text.sign() != ":":
        raise text.malformed("not JSON: Expecting ':' delimiter")
    text.go(1)
    return str(key)


def _whole(text: _Window, levels: int) -> Generator[None, None, tuple[Any, int] | None]:
    """The value that begins here, and where in the window that is, when it can be read at once; None for a container
    that is to be opened: it is too long, too deep, or its fault is to be found."""
    while True:
        if text.refill():
            yield
        sign, begin = text.sign(), text.at
        if sign not in ("{", "[", '"') and len(text.signs) - begin < _LONGEST_SCALAR and text.grow():
            continue
        try:
            value, end = text.decoder.raw_decode(text.signs, begin)
        except (JSONDecodeError, NotTaken, RecursionError) as fault:
            if sign in ("{", "["):
                return None
            if sign == '"' and text.grow():
                yield
                continue
            words = f"not JSON: {fault.msg}" if isinstance(fault, JSONDecodeError) else str(fault)
            text.at = fault.pos if isinstance(fault, JSONDecodeError) else begin
            raise text.malformed(words) from None
        if sign in ("{", "[") and text.openings(begin, end) > levels and depth_of(value) > levels:
            return None
        if end - begin > 2 * WINDOW:
            yield
        yield from text.check(begin, end)
        text.at = end
        return value, begin


class _Window:
    """The part of a text that is decoded: ``signs``, read as far as ``at``."""

    def __init__(self, body: Iterable[bytes], decoder: JSONDecoder) -> None:
        self.decoder = decoder
        self.unique = decoder is UNIQUE_DECODER
        self._parts = iter(body)
        self._part = memoryview(b"")
        self._is_last = False
        self._later = StringIO()
        self._begins = True
        self._decode = getincrementaldecoder("utf-8")().decode
        # What stood before the window.
        self._lines = 0
        self._column = 0
        self.signs = ""
        self.at = 0

    def refill(self) -> bool:
        """Go on to the next window before the end of this one is read; whether it did."""
        if self._is_last or len(self.signs) - self.at > WINDOW // 2:
            return False
        self._move_on()
        self._take(WINDOW)
        return True

    def grow(self) -> bool:
        """Look twice as far ahead; False at the end of the text."""
        if self._is_last:
            return False
        self._move_on()
        self._take(max(len(self.signs), WINDOW))
        return True

    def put_back(self) -> None:
        """Look no farther ahead than at first: all that is in the window, but for one text, may be read at once."""
        if len(self.signs) - self.at > 2 * WINDOW:
            far = self.at + WINDOW
            self._later = StringIO(self.signs[far:] + self._later.read(), newline="")
            self.signs = self.signs[:far]
            self._is_last = False

    def _move_on(self) -> None:
        gone = self.signs[: self.at]
        newlines = gone.count("\n")
        self._lines += newlines
        self._column = len(gone) - gone.rfind("\n") - 1 if newlines else self._column + len(gone)
        self.signs, self.at = self.signs[self.at :], 0

    def _take(self, count: int) -> None:
        if later := self._later.read(count):
            self.signs += later
            return
        raw = self._next(count)
        try:
            self.signs += self._decode(raw, self._is_last)
        except UnicodeDecodeError as error:
            self.signs += bytes(error.object[: error.start]).decode()
            self.at = len(self.signs)
            raise self.malformed("not UTF-8") from None
        if self._begins and self.signs:
            self._begins = False
            self.signs = self.signs.removeprefix(_MARK)

    def _next(self, count: int) -> bytearray:
        """So many bytes of the body, fewer at its end; then ``_is_last``."""
        found = bytearray()
        while len(found) < count or not self._part:
            if not self._part:
                part = next(self._parts, None)
                if part is None:
                    self._is_last = True
                    break
                self._part = memoryview(part)
            some = self._part[: count - len(found)]
            found += some
            self._part = self._part[len(some) :]
        return found

    def sign(self) -> str:
        """Moves to the next character that is not blank, and gives it; empty at the end of the text."""
        while True:
            signs, at = self.signs, self.at
            while at < len(signs) and signs[at] in BLANKS:
                at += 1
            self.at = at
            if at < len(signs):
                return signs[at]
            if self._is_last:
                return ""
            self._move_on()
            self._take(WINDOW)

    def run_into(self, container: Any, levels: int) -> None:
        """Read further values of a container at once, as many as lie whole before a comma; none when they cannot be,
        such as faulty ones. What is complete before a comma stands in this container: a text or container that was cut
        there would be no JSON."""
        if self.sign() != ",":
            return
        begin, (opening, closing) = self.at + 1, "[]" if isinstance(container, list) else "{}"
        for length in _RUNS:
            end = self.signs.rfind(",", begin, begin + length)
            if end < 0 or SURROGATE.search(self.signs, begin, end):
                continue
            run = f"{opening}{self.signs[begin:end]}{closing}"
            try:
                values, stop = self.decoder.raw_decode(run)
            except (JSONDecodeError, NotTaken, RecursionError):
                continue
            too_deep = self.openings(begin, end) > levels and depth_of(values) - 1 > levels
            is_new = not self.unique or isinstance(container, list) or container.keys().isdisjoint(values)
            if values and stop == len(run) and not too_deep and is_new:
                (container.extend if isinstance(container, list) else container.update)(values)
                self.at = end
                return

    def go(self, count: int) -> None:
        """Leave so many signs behind."""
        self.at += count

    def openings(self, begin: int, end: int) -> int:
        """How many containers may begin in a part of the window."""
        return self.signs.count("{", begin, end) + self.signs.count("[", begin, end)

    def check(self, begin: int, end: int) -> Slices[None]:
        """Refuse half of a surrogate pair in a part of the window. Raises ``MalformedJson``."""
        if self.signs.find("\\", begin, end) >= 0 and SURROGATE.search(self.signs, begin, end):
            place = yield from half_pair(self.signs[begin:end])
            if place is not None:
                self.at = begin + place
                raise self.malformed("half of a surrogate pair")

    def malformed(self, words: str) -> MalformedJson:
        """What is wrong, and that it is so at the sign that was gone to."""
        before = self.signs[: self.at]
        newlines = before.count("\n")
        column = len(before) - before.rfind("\n") if newlines else self._column + len(before) + 1
        return MalformedJson(words, self._lines + newlines + 1, column)
