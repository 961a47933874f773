"""The journal of a sandbox: what was asked, decided, changed and answered, in order, as far back as its bound reaches.

Entries hold the request as it came, so that it can be taken again; it is masked before it is shown.
Source: docs/control-api.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from sys import getsizeof
from typing import NamedTuple

from mockserver.domain.clock import Micros
from mockserver.engine.journal_room import Lodger
from mockserver.engine.result import Asked, Result
from mockserver.engine.stories import PER_ENTRY, Stories
from mockserver.findings.recent import Recent
from mockserver.scenario.transport import Transport

MOST_MARKS = 1_000
"""Marks that a journal keeps: a suite that sets one for each test needs the newest only."""

_TEXT = 300
"""Bytes that a text takes besides its own, roughly."""

_ENTRY = 3_000
"""Bytes that an entry takes besides the bodies of request and answer, as measured with ordinary charges."""


class JournalEntry(NamedTuple):
    """One step: a request with its answer, or due work that changed something (``method`` is empty then).

    ``at`` is sandbox time; ``endpoint`` carried the request out, and can again. ``raw`` and the step's headers are the
    request as it came, secrets included. ``answer`` is what the step answered, which a ``fault`` may have kept from
    the client.
    """

    number: int
    at: Micros
    asked: Asked
    result: Result
    method: str = ""
    endpoint: object = None
    path: str = ""
    query: bytes = b""
    raw: bytes = b""
    status: int | None = None
    answer: bytes = b""
    fault: Transport | None = None

    def __repr__(self) -> str:
        """Without what may be long or secret."""
        return f"JournalEntry(number={self.number}, at={self.at}, op={self.asked.op}, status={self.status})"


def size_of(entry: JournalEntry) -> int:
    """Roughly the memory that an entry takes, in bytes."""
    return _ENTRY + len(entry.raw) + len(entry.answer)


class JournalTexts:
    """The texts that searches look into, by the number of their entry; ``size`` is roughly what they take, in bytes.
    ``wording`` is how they were worded: with another one all are made anew."""

    __slots__ = ("by_number", "size", "wording")

    def __init__(self, wording: object) -> None:
        self.wording = wording
        self.size = 0
        self.by_number: dict[int, str] = {}

    def keep(self, number: int, text: str, most: int) -> None:
        """Keep the text of an entry, unless all that is kept would take more than ``most`` bytes."""
        grown = _TEXT + getsizeof(text)
        if self.size + grown <= most:
            self.size += grown
            self.by_number[number] = text

    def forget(self, number: int) -> None:
        """An entry is no longer there."""
        text = self.by_number.pop(number, None)
        if text is not None:
            self.size -= _TEXT + getsizeof(text)


class Journal(Lodger):
    """The newest ``limit`` entries. ``last`` is the number of the newest entry that ever was, 0 before the first.

    ``size`` is roughly what they take, in bytes; ``room`` what they share with the journals of other sandboxes, for
    which ``given_up`` of them went.
    ``opened`` is the instant at which the sandbox began; ``gap_reason`` says why the entries since then are not the
    whole story, None while they do. ``texts`` is there once the journal was searched, and never takes more than the
    entries: a search pushes none of them out.
    """

    __slots__ = ("entries", "gap_reason", "given_up", "last", "limit", "marks", "opened", "stories", "texts")

    def __init__(self, limit: int, opened: Micros) -> None:
        super().__init__()
        self.opened = opened
        self.limit = limit
        self.entries: deque[JournalEntry] = deque(maxlen=limit)
        self.last = 0
        self.gap_reason: str | None = None
        self.given_up = 0
        self.marks: Recent[str, int] = Recent(MOST_MARKS)
        self.stories = Stories(limit)
        self.texts: JournalTexts | None = None

    @property
    def dropped(self) -> int:
        """Entries that a bound has pushed out."""
        return self.last - len(self.entries)

    @property
    def overflown(self) -> int:
        """Entries that the bound of this journal alone has pushed out."""
        return self.dropped - self.given_up

    def note(self, entry: JournalEntry) -> None:
        """Keep the next entry: its number is one above ``last``."""
        self.last = entry.number
        entries = self.entries
        if not self.limit:
            return
        grown = size_of(entry)
        if entry.result.events:
            grown += self.stories.note(entry.number, entry.asked, entry.result)
        if len(entries) == self.limit:
            if self.room is not None:
                self.room.overflown += 1
            grown -= size_of(entries[0])
            if self.texts is not None:
                self.texts.forget(entries[0].number)
        entries.append(entry)
        self.resize(grown)

    def note_due(self, at: Micros, asked: Asked, result: Result) -> None:
        """Keep a piece of due work, unless it found nothing left to do."""
        if result.events or result.decisions or result.warnings:
            self.note(JournalEntry(self.last + 1, at, asked, result))

    def mark(self, name: str) -> None:
        """Give a name to this place, after the newest entry."""
        self.marks.put(name, self.last)

    def give_up_oldest(self) -> bool:
        """Drop the oldest entry; False when there is none."""
        if not self.entries:
            return False
        self.given_up += 1
        oldest = self.entries.popleft()
        if self.texts is not None:
            self.texts.forget(oldest.number)
        self.resize(-size_of(oldest) - self.stories.shrink(PER_ENTRY * len(self.entries)))
        return True

    def loss(self) -> str:
        """Why entries are no longer there, in words."""
        shared = f", those of all sandboxes {self.room.most} bytes (--journal-memory)," if self.room else ""
        return f"the journal keeps {self.limit} entries (--journal-limit){shared} and has dropped {self.dropped}"

    def texts_in(self, wording: object) -> JournalTexts:
        """What searches have made of entries, worded in this way."""
        if self.texts is None or self.texts.wording is not wording:
            self.texts = JournalTexts(wording)
        return self.texts

    def get(self, number: int) -> JournalEntry | None:
        """The entry of a number, while it is kept."""
        place = number - self.dropped - 1
        return self.entries[place] if 0 <= place < len(self.entries) else None

    def since(self, after: int) -> Iterator[JournalEntry]:
        """Kept entries with a number above ``after``, oldest first."""
        newer = max(self.last - after, 0)
        if newer < len(self.entries) // 2:
            # From the nearer end: a store asks for the newest after every few of them.
            return reversed(list(islice(reversed(self.entries), newer)))
        return islice(self.entries, max(after - self.dropped, 0), None)
