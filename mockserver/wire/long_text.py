"""A text of hundreds of megabytes in parts, so that nobody waits for it to be put together, copied or forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from mmap import mmap


class Parts(list[mmap]):
    """The parts of a text, each in memory of its own.

    What Python's allocator has given out lies side by side, and goes back to the system when the last of it is free:
    for the 700 MB of an export in one step of 60 ms.
    """

    def add(self, pieces: Iterable[bytes]) -> None:
        """The next part is put together of these, which are not all empty."""
        text = b"".join(pieces)
        part = mmap(-1, len(text))
        part.write(text)
        self.append(part)

    @property
    def length(self) -> int:
        """Bytes of the whole text."""
        return sum(map(len, self))

    def whole(self) -> bytes:
        """The text in one piece."""
        return b"".join(self)

    def beginning(self, most: int) -> bytes:
        """The first bytes of it."""
        text = b""
        for part in self:
            text += part[: most - len(text)]
            if len(text) == most:
                break
        return text

    def __contains__(self, text: object) -> bool:
        """Whether a part has a text in it."""
        return isinstance(text, bytes) and any(part.find(text, 0) >= 0 for part in self)
