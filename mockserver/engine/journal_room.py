"""The room that the journals and inboxes of one server share, so that a thousand sandboxes do not grow without end.

When it is full, one of those that keep most gives up its oldest entries: a quiet sandbox keeps its story beside a busy
one. They are ranked by the powers of two that their sizes have reached, so the largest is known to within a factor of
two, in a time that does not depend on how many there are.
Source: the command line's ``--journal-memory``.
"""

from __future__ import annotations

_RANKS = 64


class Lodger:
    """What keeps entries of ``size`` bytes, roughly counted, in a room that others share."""

    __slots__ = ("room", "size")

    def __init__(self) -> None:
        self.size = 0
        self.room: JournalRoom | None = None

    def give_up_oldest(self) -> bool:
        """Drop the oldest entry; False when there is none."""
        raise NotImplementedError

    def resize(self, by: int) -> None:
        """Entries have come, or gone when ``by`` is negative."""
        if self.room is None:
            self.size += by
        else:
            self.room.resize(self, by)


class JournalRoom:
    """At most ``most`` bytes, roughly counted, for all that are in it; ``dropped`` counts the entries that were given
    up for that, ``overflown`` those that the bound of a journal alone has pushed out."""

    __slots__ = ("_ranks", "_report_at", "dropped", "held", "most", "overflown")

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0
        self.dropped = 0
        self.overflown = 0
        self._report_at = 1
        # Dictionaries keep the order of their keys, which makes the choice among equals the same in every run.
        self._ranks: list[dict[Lodger, None]] = [{} for _ in range(_RANKS)]

    def enter(self, lodger: Lodger) -> None:
        """Count what it holds from now on."""
        lodger.room = self
        self.held += lodger.size
        self._ranks[lodger.size.bit_length()][lodger] = None
        self._make_room()

    def leave(self, lodger: Lodger) -> None:
        """Count it no longer: its sandbox is gone."""
        if lodger.room is self:
            lodger.room = None
            self.held -= lodger.size
            del self._ranks[lodger.size.bit_length()][lodger]

    def resize(self, lodger: Lodger, by: int) -> None:
        """What is in it has grown, or shrunk when ``by`` is negative."""
        before = lodger.size
        lodger.size = after = before + by
        self.held += by
        if before.bit_length() != after.bit_length():
            del self._ranks[before.bit_length()][lodger]
            self._ranks[after.bit_length()][lodger] = None
        # Who gives up an entry shrinks, and must not ask for room again: thousands may go for one large entry.
        if by > 0 and self.held > self.most:
            self._make_room()

    def news(self) -> str | None:
        """A warning about entries that were given up: the first time, and whenever ten times as many are gone."""
        if self.dropped < self._report_at:
            return None
        while self._report_at <= self.dropped:
            self._report_at *= 10
        return (
            f"the journals and inboxes of all sandboxes hold {self.most} bytes (--journal-memory); "
            f"{self.dropped} of their oldest entries have been dropped for that so far"
        )

    def _make_room(self) -> None:
        while self.held > self.most:
            rank = next((rank for rank in reversed(self._ranks) if rank), None)
            largest = next(iter(rank)) if rank else None
            if largest is None or not largest.give_up_oldest():
                return
            self.dropped += 1
