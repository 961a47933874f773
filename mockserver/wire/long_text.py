"""A text of hundreds of megabytes in parts, so that nobody waits for it to be put together or forgotten at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_PIECE = 250_000


class Parts(list[bytes]):
    """The parts of a text, in order."""

    def add(self, pieces: Iterable[bytes]) -> None:
        """These come next."""
        self.append(b"".join(pieces))

    @property
    def length(self) -> int:
        """Bytes of the whole text."""
        return sum(map(len, self))

    def whole(self) -> bytes:
        """The text in one piece."""
        return b"".join(self)

    def taken(self) -> Iterator[bytes]:
        """The text bit by bit; what was taken is forgotten."""
        self.reverse()
        while self:
            part = self.pop()
            for begin in range(0, len(part), _PIECE):
                yield part[begin : begin + _PIECE]

    def beginning(self, most: int) -> bytes:
        """The first bytes of it."""
        text = b""
        for part in self:
            text += part[: most - len(text)]
            if len(text) == most:
                break
        return text
