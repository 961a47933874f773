"""What goes into the file of a store together, or not at all: rows of parts of sandboxes, and their index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import orjson

from mockserver.domain.errors import MockserverError
from mockserver.domain.record import mutable, record
from mockserver.engine.tables import ROW_CLASSES

Row: TypeAlias = tuple[str, int, bytes]
"""A row: its part, its number and its content."""

StoredRows: TypeAlias = Mapping[str, Sequence[tuple[int, Any]]]
"""The rows of each part of a sandbox, by number, as plain data."""

SERVER = 0
"""The world of what belongs to no sandbox: scenarios."""

Fresh: TypeAlias = dict[tuple[str, int], tuple[Any, object]]
"""Rows of a commit by table and place, with their plain data: the journal of the same commit names most of them."""

HEAD = "head"
"""The part that every sandbox has."""

_OTHERS = (
    "batch_rows chains deliveries findings idempotency inbox journal marks past replays rule_keys scenarios schedule"
)
# Nothing reads "chains" any more, which older files have.
_PARTS = frozenset((HEAD, *ROW_CLASSES, *_OTHERS.split(), "scripts", "setup", "stories"))
_MEMORIES = "findings."


def is_part(name: str) -> bool:
    """Whether a part may have this name; those of the memories of judges follow from the types of their fields."""
    return name in _PARTS or name.startswith(_MEMORIES)


SMALL = 64
SMALL_BYTES = 256 * 1024
"""Rows and bytes of a small commit, at most."""


class Unreadable(MockserverError):
    """Something in the file that cannot be read. The text says what."""


class NotWritten(MockserverError):
    """A commit that did not succeed: nothing of it is in the file. The text says why."""


class StoredSandbox(NamedTuple):
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
        return crc32(repr(tuple(self)).encode("utf-8", "backslashreplace"))

    @property
    def row(self) -> tuple[object, ...]:
        """Its row in the file."""
        return *self, self.sum


@mutable
class Commit:
    """What is written together, or not at all: rows of worlds by (world, part, number), new pages, the keys of
    sandboxes that were deleted, and the index of those that have changed."""

    puts: list[tuple[int, str, int, bytes]] = field(default_factory=list)
    drops: list[tuple[int, str, int]] = field(default_factory=list)
    cuts: list[tuple[int, str, int]] = field(default_factory=list)
    pages: list[tuple[str, int]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    kept: list[StoredSandbox] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of its rows."""
        return sum(len(row[3]) for row in self.puts)

    @property
    def is_small(self) -> bool:
        """Whether it is written in a few milliseconds, also on a slow machine."""
        return len(self.puts) <= SMALL and not (self.drops or self.cuts or self.gone) and self.size <= SMALL_BYTES


@record
class Changes:
    """What has changed in the sandbox of a world, as it goes into a commit: rows that are new or have another content,
    rows that are gone, parts that begin after a number, and ids of new objects that have a page."""

    commit: Commit
    world: int

    def put(self, part: str, number: int, value: object) -> None:
        """A row with plain data."""
        self.commit.puts.append((self.world, part, number, json_text(value)))

    def drop(self, part: str, number: int) -> None:
        """A row is gone."""
        self.commit.drops.append((self.world, part, number))

    def cut(self, part: str, number: int) -> None:
        """The rows of a part up to a number are gone."""
        self.commit.cuts.append((self.world, part, number))


def json_text(value: object) -> bytes:
    """The JSON text of plain data. Raises ``TypeError`` for other data."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Halves of surrogate pairs, which header names and queries may hold, and numbers beyond 64 bits.
        return json.dumps(value, separators=(",", ":")).encode()


def json_value(text: bytes) -> Any:
    """The plain data of a JSON text. Raises ``ValueError``."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def by_part(rows: Iterable[Row]) -> StoredRows:
    """The rows of each part. A text that is not JSON raises ``ValueError`` when it is read."""
    found = {}
    for part, listed in groupby(rows, itemgetter(0)):
        _, numbers, texts = zip(*listed, strict=True)
        found[part] = _Rows(numbers, texts)
    return found


class _Rows(Sequence[tuple[int, Any]]):
    """Rows of one part, whose texts become plain data one by one when they are asked for: together they take ten times
    the memory."""

    def __init__(self, numbers: Sequence[int], texts: Sequence[bytes]) -> None:
        self._numbers = numbers
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: Any) -> Any:
        return self._numbers[place], json_value(self._texts[place])
