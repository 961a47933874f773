"""What searches have found out about the entries of a journal, kept as long as the entry is."""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof
from typing import Any

_EACH = 300
"""Bytes of a value besides its own, roughly: its place, and what it refers to."""


class JournalFactCache:
    """The values that each reader has read, by the number of the entry; ``size`` is roughly what they take, in bytes.
    ``wording`` is how they were worded: with another one all are read anew."""

    __slots__ = ("_kept", "size", "wording")

    def __init__(self, wording: object) -> None:
        self.wording = wording
        self.size = 0
        self._kept: dict[Callable[..., Any], dict[int, Any]] = {}

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

    def forget(self, number: int) -> None:
        """An entry is no longer there."""
        for kept in self._kept.values():
            if (value := kept.pop(number, None)) is not None:
                self.size -= _EACH + getsizeof(value)
