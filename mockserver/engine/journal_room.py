"""The room that the journals of one server share, so that a thousand sandboxes do not grow without end.

When it is full, one of those that keep most gives up its oldest entries: a quiet sandbox keeps its story beside a busy
one. Journals are ranked by the powers of two that their sizes have reached, so the largest is told to within a factor
of two, in a time that does not depend on how many there are.
Source: the command line's ``--journal-memory``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockserver.engine.journal import Journal

_RANKS = 64


class JournalRoom:
    """At most ``most`` bytes, roughly counted, for all journals that are in it; ``dropped`` counts the entries that
    were given up for that."""

    __slots__ = ("_ranks", "_tell_at", "dropped", "held", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0
        self.dropped = 0
        self._tell_at = 1
        # Dictionaries keep the order of their keys, which makes the choice among equals the same in every run.
        self._ranks: list[dict[Journal, None]] = [{} for _ in range(_RANKS)]

    def enter(self, journal: Journal) -> None:
        """Count what a journal holds from now on."""
        journal.room = self
        self.held += journal.size
        self._ranks[journal.size.bit_length()][journal] = None
        self._make_room()

    def leave(self, journal: Journal) -> None:
        """Count it no longer: its sandbox is gone."""
        if journal.room is self:
            journal.room = None
            self.held -= journal.size
            del self._ranks[journal.size.bit_length()][journal]

    def resize(self, journal: Journal, by: int) -> None:
        """A journal in it has grown, or shrunk when ``by`` is negative."""
        before = journal.size.bit_length()
        journal.size += by
        self.held += by
        after = journal.size.bit_length()
        if after != before:
            del self._ranks[before][journal]
            self._ranks[after][journal] = None
        if self.held > self.most:
            self._make_room()

    def news(self) -> str | None:
        """What a person should be told of entries that were given up: the first time, and whenever ten times as many
        are gone."""
        if self.dropped < self._tell_at:
            return None
        while self._tell_at <= self.dropped:
            self._tell_at *= 10
        return (
            f"the journals of all sandboxes hold {self.most} bytes (--journal-memory); "
            f"{self.dropped} of their oldest entries have been dropped for that so far"
        )

    def _make_room(self) -> None:
        while self.held > self.most:
            rank = next((rank for rank in reversed(self._ranks) if rank), None)
            largest = next(iter(rank)) if rank else None
            if largest is None or not largest.give_up_oldest():
                return
            self.dropped += 1
