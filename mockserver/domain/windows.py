"""Long texts a window at a time, so that others have their turn between two of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

from mockserver.domain.slices import Slices

WINDOW = 10_000
"""Characters that are looked at in one go."""

_AHEAD = 64
"""Characters within which it is known whether a pattern matches."""


Piece: TypeAlias = tuple[int, int, bool, bool]
"""Where something begins and ends that was found, or so much of it as a window has; whether it goes on with the piece
before, and whether the next piece goes on with this one."""


def windows(text: str) -> Iterator[str]:
    """A text in parts."""
    return (text[begin : begin + WINDOW] for begin in range(0, len(text), WINDOW))


def pieces(
    text: str, pattern: re.Pattern[str], more: re.Pattern[str], quick: re.Pattern[str]
) -> Iterator[Piece | None]:
    """What ``pattern.finditer`` finds but for what a named group matches, and a None between two windows. ``more`` is
    what a match may go on with, where a window ends; without that each is shorter than what is looked ahead. ``quick``
    is found wherever it is worth while to look."""
    at, size = 0, len(text)
    while at < size:
        begun, end = at, min(at + WINDOW, size)
        at = sure = end if end == size else end - _AHEAD
        for match in pattern.finditer(text, begun, end) if quick.search(text, begun, end) else ():
            begin, stop = match.span()
            if begin >= sure:
                break
            if match.lastgroup is not None:
                at = max(at, stop)
            elif stop <= sure:
                yield begin, stop, False, False
            elif begin > begun:
                # The next window begins with it, and has more of it.
                at = begin
                break
            else:
                at = yield from _long(text, more, begin, stop)
                break
        if at < size:
            yield None


def _long(text: str, more: re.Pattern[str], begin: int, stop: int) -> Generator[Piece | None, None, int]:
    is_more = False
    while rest := more.match(text, stop, stop + WINDOW):
        yield begin, stop, is_more, True
        yield None
        begin, stop, is_more = stop, rest.end(), True
    yield begin, stop, is_more, False
    return stop


def replaced(
    text: str, pattern: re.Pattern[str], more: re.Pattern[str], shown: Callable[[str, bool, bool], str]
) -> Slices[str]:
    """The text with what ``shown`` makes of each piece in its place."""
    parts, done = list[str](), 0
    for piece in pieces(text, pattern, more, pattern):
        if piece is None:
            yield
            continue
        begin, end, is_more, goes_on = piece
        parts += text[done:begin], shown(text[begin:end], is_more, goes_on)
        done = end
    return "".join(parts) + text[done:]
