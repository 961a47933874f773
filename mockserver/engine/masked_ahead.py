"""What is written of a stored object without secrets, where much of it has to be masked: one row may have megabytes of
text. What writes it cannot pause, so it leaves out what is too much; that is masked with pauses, and it writes again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mockserver.domain.masking import EFFORT, MUCH, mask_field, masking_field
from mockserver.domain.slices import Slices
from mockserver.domain.windows import WINDOW

V = TypeVar("V")
W = TypeVar("W")


class _Texts:
    """Texts of an object by the names of their fields, as they are shown; None for those that were left out."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], str | None] = {}
        self.most = 0

    def shown(self, name: str, text: str) -> str:
        if (known := self.known.get((name, text))) is not None:
            return known
        if len(text) <= WINDOW and EFFORT.signs <= self.most:
            return mask_field(name, text)
        self.known[name, text] = None
        return ""

    def write(self, write: Callable[[V, bool], W], value: V) -> W:
        global _used
        self.most, _used = EFFORT.signs + MUCH, self
        try:
            return write(value, False)
        finally:
            _used = None


_used: _Texts | None = None


def shown_field(name: str, text: str) -> str:
    """The text of a field as it is shown without secrets."""
    return mask_field(name, text) if _used is None else _used.shown(name, text)


def written(write: Callable[[V, bool], W], value: V) -> Slices[W]:
    """What ``write`` makes of a value without secrets."""
    texts = _Texts()
    made = texts.write(write, value)
    while left_out := [key for key, known in texts.known.items() if known is None]:
        for name, text in left_out:
            texts.known[name, text] = yield from masking_field(name, text)
            yield
        made = texts.write(write, value)
    return made
