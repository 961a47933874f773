"""Reading a JSON text of many megabytes in slices, so that others have their turn meanwhile.

The text is decoded a window at a time. What lies whole inside the window is read at once, by the same reader as any
other JSON; whatever is longer is opened, and its parts are read one after the other.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Generator
from json import JSONDecodeError
from typing import Any

from mockserver.domain.slices import Slices
from mockserver.wire.jsonio import (
    BLANKS,
    BOM,
    DECODER,
    MAX_DEPTH,
    SURROGATE,
    BadNumber,
    MalformedJson,
    depth_of,
    half_pair_in,
)

WINDOW = 65_536
"""Signs that are decoded, and read, at a time."""

_LONGEST_SCALAR = 1_000
"""Signs that must be seen of a number, which may end where the window does: more than any has that is not refused."""


def loads_in_slices(body: bytes, max_depth: int = MAX_DEPTH) -> Slices[object]:
    """What ``jsonio.loads`` makes of a text. Raises ``MalformedJson`` for what that refuses."""
    text = _Window(body)
    # Containers that are open, each with the key under which the next value goes; None in an array.
    stack: list[tuple[Any, str | None]] = []
    value: Any = None
    while True:
        read = yield from _whole(text, max_depth - len(stack))
        if read is not None:
            (value,) = read
        else:
            opened: Any = {} if text.sign() == "{" else []
            if text.sign() not in ("{", "["):
                raise text.malformed("not JSON: Expecting value")
            if len(stack) >= max_depth:
                raise text.malformed(f"more than {max_depth} levels")
            text.go(1)
            if text.sign() not in ("}", "]"):
                stack.append((opened, (yield from _key(text)) if isinstance(opened, dict) else None))
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
            if text.sign() == ",":
                text.go(1)
                stack.append((container, (yield from _key(text)) if key is not None else None))
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


def _key(text: _Window) -> Slices[str]:
    if text.sign() != '"':
        raise text.malformed("not JSON: Expecting property name enclosed in double quotes")
    read = yield from _whole(text, 0)
    if text.sign() != ":":
        raise text.malformed("not JSON: Expecting ':' delimiter")
    text.go(1)
    key: str = read[0] if read is not None else ""
    return key


def _whole(text: _Window, levels: int) -> Generator[None, None, tuple[Any] | None]:
    """The value that begins here, when it can be read at once; None for a container that is to be opened: it is too
    long, too deep, or its fault is to be found."""
    while True:
        if text.refill():
            yield
        sign, begin = text.sign(), text.at
        if sign not in ("{", "[", '"') and len(text.signs) - begin < _LONGEST_SCALAR and text.grow():
            continue
        try:
            value, end = DECODER.raw_decode(text.signs, begin)
        except (JSONDecodeError, BadNumber, RecursionError) as fault:
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
        text.check(begin, end)
        text.at = end
        return (value,)


class _Window:
    """The part of a text that is decoded: ``signs``, read as far as ``at``."""

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._next = len(BOM) if body.startswith(BOM) else 0
        self._decode = getincrementaldecoder("utf-8")().decode
        # What stood before the window.
        self._lines = 0
        self._column = 0
        self.signs = ""
        self.at = 0

    @property
    def _is_last(self) -> bool:
        return self._next >= len(self._body)

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

    def _move_on(self) -> None:
        gone = self.signs[: self.at]
        newlines = gone.count("\n")
        self._lines += newlines
        self._column = len(gone) - gone.rfind("\n") - 1 if newlines else self._column + len(gone)
        self.signs, self.at = self.signs[self.at :], 0

    def _take(self, count: int) -> None:
        part = self._body[self._next : self._next + count]
        self._next += count
        try:
            self.signs += self._decode(part, self._is_last)
        except UnicodeDecodeError as error:
            self.signs += bytes(error.object[: error.start]).decode()
            self.at = len(self.signs)
            raise self.malformed("not UTF-8") from None

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

    def go(self, count: int) -> None:
        """Leave so many signs behind."""
        self.at += count

    def openings(self, begin: int, end: int) -> int:
        """How many containers may begin in a part of the window."""
        return self.signs.count("{", begin, end) + self.signs.count("[", begin, end)

    def check(self, begin: int, end: int) -> None:
        """Refuse half of a surrogate pair in a part of the window. Raises ``MalformedJson``."""
        if self.signs.find("\\", begin, end) >= 0 and SURROGATE.search(self.signs, begin, end):
            place = half_pair_in(self.signs[begin:end])
            if place is not None:
                self.at = begin + place
                raise self.malformed("half of a surrogate pair")

    def malformed(self, words: str) -> MalformedJson:
        """What is wrong, and that it is so at the sign that was gone to."""
        before = self.signs[: self.at]
        newlines = before.count("\n")
        column = len(before) - before.rfind("\n") if newlines else self._column + len(before) + 1
        return MalformedJson(words, self._lines + newlines + 1, column)
