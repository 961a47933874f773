"""What is said of each row of a long table, for searches that look for a part of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from mockserver.domain.slices import Slices
from mockserver.engine.places import LOT

R = TypeVar("R")

_MARKED = 4
"""Texts that were looked for last whose marks are kept: a byte for each row of the table."""

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
        self._marks: dict[str, bytearray] = {}

    def marks(self, part: str) -> Slices[bytearray]:
        """A byte for each row that was there before, 1 where its text has this part."""
        rows, texts, total = self._rows, self._texts, len(self._rows)
        while (start := len(texts)) < min(total, len(rows)):
            texts += map(self._read, rows[start : min(start + SLICE, total)])
            yield
        marks = self._marks.get(part)
        if marks is None:
            if len(self._marks) >= _MARKED:
                del self._marks[next(iter(self._marks))]
            marks = self._marks[part] = bytearray()
        while (start := len(marks)) < min(total, len(texts)):
            marks += bytes([part in text for text in texts[start : start + LOT]])
            yield
        return marks

    def look_again(self, seq: int) -> None:
        """A row may have another text by now."""
        if seq < len(self._texts):
            text = self._texts[seq] = self._read(self._rows[seq])
            for part, marks in self._marks.items():
                if seq < len(marks):
                    marks[seq] = part in text

    def take_back(self, seq: int) -> None:
        """The newest row is no more."""
        del self._texts[seq:]
        for marks in self._marks.values():
            del marks[seq:]
