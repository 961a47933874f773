"""What searches have found out about the entries of a journal, kept as long as the entry is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Any

_EACH = 300
"""Bytes of a value besides its own, roughly: its place, and what it refers to."""

_MARKED = 20
"""Filters that were asked for last whose marks are kept, as many as a search may have: a byte for each entry, which
takes thousands."""

UNKNOWN = 2
"""The mark of an entry at which a filter has not looked; those that pass it have 1, the others 0."""

_UNKNOWN = bytes([UNKNOWN])


class Readings:
    """The values that each reader has read, by the number of the entry, and which entries pass a filter; ``size`` is
    roughly what the values take, in bytes. ``wording`` is how they were worded: with another one all are read anew."""

    __slots__ = ("_kept", "_marks", "size", "wording")

    def __init__(self, wording: object) -> None:
        self.wording = wording
        self.size = 0
        self._kept: dict[Callable[..., Any], dict[int, Any]] = {}
        # By filter: the number of the first entry that has a mark, and the marks from there on.
        self._marks: dict[Hashable, tuple[int, bytearray]] = {}

    def contents(self) -> list[dict[int, Any]]:
        """The dictionaries of all that is kept."""
        return list(self._kept.values())

    def of(self, reader: Callable[..., Any]) -> dict[int, Any]:
        """The values of a reader that are kept."""
        return self._kept.setdefault(reader, {})

    def keep(self, reader: Callable[..., Any], number: int, value: object, most: int) -> None:
        """Keep the value of an entry, unless all that is kept would take more than ``most``."""
        grown = _EACH + getsizeof(value)
        if self.size + grown <= most:
            self.size += grown
            self.of(reader)[number] = value

    def marks(self, asked: Hashable, first: int, count: int) -> bytearray:
        """A copy of the marks that a filter has given to so many entries."""
        begin, kept = self._marks.get(asked, (first, b""))
        missing = min(max(begin - first, 0), count)
        known = kept[max(first - begin, 0) : max(first - begin + count, 0)]
        return bytearray((_UNKNOWN * missing + known).ljust(count, _UNKNOWN))

    def keep_marks(self, asked: Hashable, first: int, marks: bytearray, dropped: int) -> None:
        """Keep the marks that a filter has given to entries; those of entries that were dropped go."""
        begin, kept = self._marks.pop(asked, (first, bytearray()))
        if len(self._marks) >= _MARKED:
            del self._marks[next(iter(self._marks))]
        if first < begin:
            begin, kept = first, bytearray(_UNKNOWN * (begin - first)) + kept
        kept.extend(_UNKNOWN * (first - begin - len(kept)))
        kept[first - begin : first - begin + len(marks)] = marks
        gone = max(dropped + 1 - begin, 0)
        del kept[:gone]
        self._marks[asked] = begin + gone, kept

    def forget(self, number: int) -> None:
        """An entry is no longer there."""
        for kept in self._kept.values():
            if (value := kept.pop(number, None)) is not None:
                self.size -= _EACH + getsizeof(value)
