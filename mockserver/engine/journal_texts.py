"""The texts that searches look into, kept as long as the entries of the journal that they were made of."""

from __future__ import annotations

from sys import getsizeof

_EACH = 300
"""Bytes that a text takes besides its own, roughly."""


class JournalTexts:
    """Texts by the number of their entry; ``size`` is roughly what they take, in bytes. ``wording`` is how they were
    worded: with another one all are made anew."""

    __slots__ = ("by_number", "size", "wording")

    def __init__(self, wording: object) -> None:
        self.wording = wording
        self.size = 0
        self.by_number: dict[int, str] = {}

    def keep(self, number: int, text: str, most: int) -> None:
        """Keep the text of an entry, unless all that is kept would take more than ``most`` bytes."""
        grown = _EACH + getsizeof(text)
        if self.size + grown <= most:
            self.size += grown
            self.by_number[number] = text

    def forget(self, number: int) -> None:
        """An entry is no longer there."""
        text = self.by_number.pop(number, None)
        if text is not None:
            self.size -= _EACH + getsizeof(text)
