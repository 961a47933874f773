"""What is said of each row of a long table, for searches that look for a part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from mockserver.domain.slices import Slices
from mockserver.engine.places import LOT
from mockserver.engine.query import Section

R = TypeVar("R")

_MARKED = 20
"""Texts that were looked for last whose marks are kept, as many as a search may have: a byte for each row of the table,
where its text takes over a hundred."""

SLICE = 1_000
"""Rows whose texts are made without a pause: some milliseconds."""


class Texts(Generic[R]):
    """The texts of the first rows. To look into one that is kept takes a thirtieth of the time of making it anew."""

    __slots__ = ("_marks", "_read", "_rows", "_texts")

    def __init__(self, rows: Sequence[R], read: Callable[[R], str]) -> None:
        self._rows = rows
        self._read = read
        self._texts: list[str] = []
        # Each is right as far as it goes.
        self._marks: dict[tuple[str, Section | None], bytearray] = {}

    def marks(self, part: str, section: Section | None) -> Slices[bytearray]:
        """A byte for each row that was there before, 1 where its text, or a section of that, has this part."""
        rows, texts, total = self._rows, self._texts, len(self._rows)
        while (start := len(texts)) < min(total, len(rows)):
            texts += map(self._read, rows[start : min(start + SLICE, total)])
            yield
        marks = self._marks.pop((part, section), bytearray())
        if len(self._marks) >= _MARKED:
            del self._marks[next(iter(self._marks))]
        self._marks[part, section] = marks
        lot = LOT if section is None else SLICE
        while (start := len(marks)) < min(total, len(texts)):
            marks += _looked_at(texts[start : start + lot], part, section)
            yield
        return marks

    def look_again(self, seq: int) -> None:
        """A row may have another text by now."""
        if seq < len(self._texts):
            text = self._texts[seq] = self._read(self._rows[seq])
            for (part, section), marks in self._marks.items():
                if seq < len(marks):
                    marks[seq : seq + 1] = _looked_at((text,), part, section)

    def take_back(self, seq: int) -> None:
        """The newest row is no more."""
        del self._texts[seq:]
        for marks in self._marks.values():
            del marks[seq:]


def _looked_at(texts: Iterable[str], part: str, section: Section | None) -> bytes:
    if section is None:
        return bytes([part in text for text in texts])
    word = max(part.split(" "), key=len)
    # Most texts do not have the word, and to take a section of one takes several times as long as to see that.
    return bytes([word in text and part in section(text) for text in texts])
