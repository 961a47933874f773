"""A text of hundreds of megabytes in parts, so that nobody waits for it to be put together, copied or forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from mmap import mmap

_MAP = 4_000_000
"""Bytes of one piece of memory: of smaller ones a process would reach the number that Linux allows it."""

_PIECE = 250_000


class Parts(list[mmap | bytes]):
    """A text in pieces of memory of their own, each filled up to where it was written last, or in texts that somebody
    keeps anyway.

    What Python's allocator has given out lies side by side, and goes back to the system when the last of it is free:
    for the 700 MB of an export in one step of 60 ms.
    """

    def add(self, pieces: Iterable[bytes]) -> None:
        """These come next."""
        text, last = b"".join(pieces), self[-1] if self else None
        if not isinstance(last, mmap) or len(last) - last.tell() < len(text):
            last = mmap(-1, max(len(text), _MAP))
            self.append(last)
        last.write(text)

    @property
    def length(self) -> int:
        """Bytes of the whole text."""
        return sum(map(_length, self))

    def whole(self) -> bytes:
        """The text in one piece."""
        return b"".join(part[: _length(part)] for part in self)

    def taken(self) -> Iterator[bytes]:
        """The text bit by bit; the memory of what was taken is given back."""
        self.reverse()
        while self:
            part = self.pop()
            for begin in range(0, _length(part), _PIECE):
                yield part[begin : min(begin + _PIECE, _length(part))]

    def beginning(self, most: int) -> bytes:
        """The first bytes of it."""
        text = b""
        for part in self:
            text += part[: min(most - len(text), _length(part))]
            if len(text) == most:
                break
        return text

    def __contains__(self, text: object) -> bool:
        """Whether a part has a text in it."""
        return isinstance(text, bytes) and any(part.find(text, 0, _length(part)) >= 0 for part in self)


def _length(part: mmap | bytes) -> int:
    return part.tell() if isinstance(part, mmap) else len(part)
