"""What goes into the file of a store together, or not at all, and what is asked of the file."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol, TypeAlias
from zlib import crc32

from mockserver.domain.errors import MockserverError
from mockserver.domain.record import mutable, record
from mockserver.engine.tables import ROW_CLASSES

Row: TypeAlias = tuple[str, int, bytes]
"""A row: its part, its number and its content."""

SERVER = 0
"""The world of what belongs to no sandbox: scenarios."""


class Unreadable(MockserverError):
    """Something in the file that cannot be read. The text says what."""


class NotWritten(MockserverError):
    """A commit that did not succeed: nothing of it is in the file. The text says why."""


@record
class KeptSandbox:
    """A sandbox as the index knows it. ``due`` is the machine's time at which something is to be done in it, ``used``
    and ``touched`` as the sandbox has them."""

    key: str
    world: int
    name: str | None
    used: int
    touched: int
    due: int | None

    @property
    def sum(self) -> int:
        """The sum of its content."""
        content = (self.key, self.world, self.name, self.used, self.touched, self.due)
        return crc32(repr(content).encode("utf-8", "backslashreplace"))

    @property
    def row(self) -> tuple[object, ...]:
        """Its row in the file."""
        return self.key, self.world, self.name, self.used, self.touched, self.due, self.sum


@mutable
class Commit:
    """What is written together, or not at all: rows of worlds by (world, part, number), new pages, and the index of the
    sandboxes that have changed."""

    puts: list[tuple[int, str, int, bytes]] = field(default_factory=list)
    drops: list[tuple[int, str, int]] = field(default_factory=list)
    cuts: list[tuple[int, str, int]] = field(default_factory=list)
    pages: list[tuple[str, int]] = field(default_factory=list)
    kept: list[KeptSandbox] = field(default_factory=list)


class KeptFile(Protocol):
    """The file of a store. Its methods may be called from any thread. ``sandboxes`` is the index as it was found,
    ``next_world`` a number that no world has."""

    sandboxes: list[KeptSandbox]
    next_world: int

    def write(self, commit: Commit) -> None:
        """Write a commit. Raises ``NotWritten``: then nothing of it is there."""

    def rows(self, world: int, part: str | None = None) -> list[Row]:
        """Every row of a world, or of one part of it, by part and number. Raises ``Unreadable``."""

    def keys_with_page(self, page_id: str) -> list[str]:
        """The keys of the sandboxes in which an object of this id has a page, those first whose world is older."""

    def clear_away(self) -> bool:
        """Take away a slice of the rows that no sandbox has any more; whether there are others. Raises
        ``NotWritten``."""

    def close(self) -> None:
        """Close the file."""


HEAD_PART = "head"
"""The part that every sandbox has."""

_PARTS = frozenset(ROW_CLASSES) | {
    HEAD_PART,
    "batch_rows",
    "deliveries",
    "fields",
    "findings",
    "idempotency",
    "inbox",
    "journal",
    "marks",
    "past",
    "replays",
    "rule_keys",
    "scenarios",
    "schedule",
    "scripts",
    "setup",
    "stories",
}
_MEMORIES = "findings."


def is_part(name: str) -> bool:
    """Whether a part may have this name; those of the memories of judges follow from the types of their fields."""
    return name in _PARTS or name.startswith(_MEMORIES)
