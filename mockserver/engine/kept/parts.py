"""The parts of which a kept sandbox is made: each knows what has changed in it since it was last asked, as rows of a
name, a number and bytes, and takes the same rows back.

What may be large says itself what has changed (tables, the schedule, counters of rules, deliveries, inboxes) or only
ever grows at its end (the journal). What is bounded is compared with what was kept: its values are never changed in
place, so that comparing costs no more than a look at each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, Protocol, TypeAlias

from mockserver.domain.ids import digest
from mockserver.domain.record import mutable
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.codec import Form
from mockserver.engine.indexed_table import Table

BLOCK = 50
"""Entries of something that only grows of which a row is made, at most."""

KeptRow: TypeAlias = tuple[int, Any]
"""A row of a part as it is read: its number, and its plain data."""


class JsonWriter(Protocol):
    """Writes plain data."""

    def text(self, value: object) -> bytes:
        """The JSON text of plain data. Raises ``TypeError`` for what is none."""


@mutable
class Changes:
    """What has changed in one sandbox: rows that are new or have another content, rows that are gone, and parts that
    begin after a number. ``pages`` are the ids of new objects that have a page."""

    writer: JsonWriter
    puts: list[tuple[str, int, bytes]] = field(default_factory=list)
    drops: list[tuple[str, int]] = field(default_factory=list)
    cuts: list[tuple[str, int]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def put(self, part: str, number: int, value: object) -> None:
        """A row with plain data."""
        self.puts.append((part, number, self.writer.text(value)))


class KeptPart(Protocol):
    """One part of one sandbox."""

    name: str

    def gather(self, changes: Changes) -> None:
        """Say what has changed since the last time."""

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Take over what was kept, in the order of its numbers."""


class TablePart:
    """The rows of one table, by their place: the first ``_known`` were gathered, of which some have changed since."""

    __slots__ = ("_changed", "_kept", "_known", "_table", "name")

    def __init__(self, name: str, table: Table[Any], kept: Form) -> None:
        self.name = name
        self._table = table
        self._kept = kept
        self._known = 0
        # No set: an empty one takes three times the memory, and every sandbox has a dozen tables that stand still.
        self._changed: dict[int, None] = {}
        table.watch(self._hear)

    def _hear(self, _: Table[Any], row: Any, __: Any) -> None:
        if row.seq < self._known:
            self._changed[row.seq] = None

    def __len__(self) -> int:
        return len(self._table.rows) - self._known + len(self._changed)

    def take_some(self, changes: Changes, most: int) -> None:
        """Some of the rows that have another value, or the first of those that are new."""
        some: Iterable[int] = list(islice(self._changed, most))
        for seq in some:
            del self._changed[seq]
        if not some:
            first, self._known = self._known, min(self._known + most, len(self._table.rows))
            some = range(first, self._known)
        self._put(changes, some)

    def gather(self, changes: Changes) -> None:
        """Rows that have another value, and those that are new."""
        self._put(changes, (*sorted(self._changed), *range(self._known, len(self._table.rows))))
        self._known = len(self._table.rows)
        self._changed.clear()

    def _put(self, changes: Changes, places: Iterable[int]) -> None:
        for seq in places:
            changes.put(self.name, seq, self._kept.to_plain(self._table.rows[seq]))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every row, in its place. Raises ``ValueError`` when one is missing."""
        # What was kept is no change.
        heard, self._table.on_change = self._table.on_change, None
        for place, (seq, raw) in enumerate(rows):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(self._kept.to_value(raw, cards))
        self._table.on_change = heard
        self._known = len(rows)


class MemoryPart:
    """A bounded dictionary whose values are replaced, never changed: each entry is a row, in the order of the numbers.

    It is the attribute ``slot`` of its ``owner``; ``key`` and ``value`` are the forms of both. An entry that moves to
    the end gets another number.
    """

    __slots__ = ("_key", "_known", "_last", "_owner", "_slot", "_value", "name")

    def __init__(self, name: str, owner: object, slot: str, key: Form, value: Form) -> None:
        self.name = name
        self._owner = owner
        self._slot = slot
        self._key = key
        self._value = value
        self._known: dict[Any, tuple[int, Any]] | None = None
        self._last = 0

    def gather(self, changes: Changes) -> None:
        """Entries that are new, moved or have another value, and those that are gone."""
        memory, known = getattr(self._owner, self._slot), self._known or {}
        if not memory and not known:
            return
        before = 0
        for key, value in memory.items():
            here = known.get(key)
            if here is not None and here[0] > before:
                before = here[0]
                if here[1] is value:
                    continue
            else:
                if here is not None:
                    changes.drops.append((self.name, here[0]))
                self._last = before = self._last + 1
            known[key] = before, value
            changes.put(self.name, before, [self._key.to_plain(key), self._value.to_plain(value)])
        if len(known) > len(memory):
            for key in [key for key in known if key not in memory]:
                changes.drops.append((self.name, known.pop(key)[0]))
        self._known = known or None

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every entry, in order."""
        memory, known = getattr(self._owner, self._slot), {}
        for number, (key, value) in rows:
            name = self._key.to_value(key, cards)
            memory[name] = made = self._value.to_value(value, cards)
            known[name] = number, made
            self._last = number
        self._known = known or None


class WholePart:
    """Something small, which is kept whole when its plain data has changed."""

    __slots__ = ("_kept", "_read", "_write", "name")

    def __init__(self, name: str, write: Callable[[], object], read: Callable[[Any, CardRegistry], None]) -> None:
        self.name = name
        self._write = write
        self._read = read
        self._kept = b""

    def gather(self, changes: Changes) -> None:
        """All of it, if anything is different."""
        now = changes.writer.text(self._write())
        if (written := digest(self.name, now)) != self._kept:
            self._kept = written
            changes.puts.append((self.name, 0, now))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """All of it. Raises ``ValueError`` when it is missing."""
        if len(rows) != 1:
            raise ValueError("it is missing")
        self._read(rows[0][1], cards)


class ListedPart:
    """What says itself which of its rows have changed: ``note`` takes the number of one, with its plain data or None
    when it is gone. ``take`` takes all of them over."""

    def __init__(self, name: str, take: Callable[[Iterable[KeptRow], CardRegistry], None]) -> None:
        self.name = name
        self._take = take
        self._changed: dict[int, Callable[[], object] | None] = {}

    def note(self, number: int, write: Callable[[], object] | None) -> None:
        """A row is another from now on, or gone."""
        self._changed[number] = write

    def __len__(self) -> int:
        return len(self._changed)

    def take_some(self, changes: Changes, most: int) -> None:
        """Some of the rows that were noted."""
        for _ in range(min(most, len(self._changed))):
            number, write = self._changed.popitem()
            if write is None:
                changes.drops.append((self.name, number))
            else:
                changes.put(self.name, number, write())

    def gather(self, changes: Changes) -> None:
        """The rows that were noted."""
        self.take_some(changes, len(self))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """All rows."""
        self._take(rows, cards)
        self._changed.clear()


class GrowingPart(ListedPart):
    """What only grows at its end: a row has the entries that a commit holds, some at most, under the number of the
    last. ``note`` is called with each entry once, in order. What is too old goes by the row (``Changes.cuts``), so that
    the oldest row may hold entries which are gone already."""

    def __init__(self, name: str, take: Callable[[Iterable[KeptRow], CardRegistry], None]) -> None:
        super().__init__(name, take)
        self._cut = 0

    def cut(self, changes: Changes, gone: int) -> None:
        """The entries up to a number are gone: as many rows with them as are worth a statement."""
        if gone - self._cut >= BLOCK:
            self._cut = gone
            changes.cuts.append((self.name, gone))

    def take_some(self, changes: Changes, most: int) -> None:
        """The oldest of the entries that were noted."""
        for _ in range(0, min(most, len(self._changed)), BLOCK):
            numbers = list(islice(self._changed, min(most, BLOCK)))
            block = [(number, write()) for number in numbers if (write := self._changed.pop(number)) is not None]
            changes.put(self.name, numbers[-1], block)

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """All entries, one by one."""
        self._take((entry for _, block in rows for entry in block), cards)
        self._changed.clear()
