"""State documents, of up to hundreds of megabytes: read in a thread, and written in parts with pauses between them."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Iterator
from typing import Any

from mockserver.domain.cooperative import Cooperative
from mockserver.wire.jsonio import MAX_DEPTH, SURROGATE, UNIQUE_DECODER, depth_of, dumps, half_pair_in, loads

_WINDOW, _ESCAPE = 1_000_000, 6
"""Characters that are searched at a time, and those of an escape, which may go over two windows."""

LONG = 500
"""Items that a list may have to be written at a time."""

PART = 1_000_000
"""Bytes of a part of a written text, at least."""

_OPENED = 3
"""Levels of a document that are opened when it is written: down to the rows of a table."""


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


def loads_parts(parts: deque[bytes]) -> object:
    """What ``jsonio.loads`` makes of a text that comes in parts, which are used up, with ``unique`` keys. Raises
    ``MalformedJson`` as that does. For a thread: others are served after each part, each number and each object.
    """
    decode, text = getincrementaldecoder("utf-8-sig")().decode, ""
    try:
        for part in parts:
            text += decode(part)
        text += decode(b"", True)
        parts.clear()
        value: object = UNIQUE_DECODER.decode(text)
    except (ValueError, RecursionError):
        # Only the other reader knows what is wrong, and where.
        return loads(b"".join(parts) or text.encode(), unique=True)
    windows = range(0, len(text), _WINDOW)
    has_halves = any(SURROGATE.search(text, start, start + _WINDOW + _ESCAPE) for start in windows)
    if depth_of(value) > MAX_DEPTH or (has_halves and half_pair_in(text) is not None):
        return loads(text.encode(), unique=True)
    return value
