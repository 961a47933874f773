"""What goes into the file of a store together, or not at all: rows of parts of sandboxes, and their
index."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from mockserver.domain.codes import Code
from mockserver.domain.errors import MockserverError, NotKept
from mockserver.domain.masking import mask_text
from mockserver.domain.record import mutable, record
from mockserver.engine.tables import ROW_CLASSES
from mockserver.store.row_codec import json_text, json_value


class PartRows(Sequence[tuple[int, Any]]):
    """The rows of one part by their numbers. Their ``texts`` become plain data one by one when they
    are asked for: together they take ten times the memory. One that is not JSON raises
    ``ValueError``."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.texts: list[bytes] = []

    def add(self, numbers: Iterable[int], texts: Iterable[bytes]) -> None:
        """Add rows behind those that there are."""
        self.numbers += numbers
        self.texts += texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: Any) -> Any:
        return self.numbers[place], json_value(self.texts[place])


StoredRows: TypeAlias = Mapping[str, PartRows]
"""The rows of each part of a sandbox."""

SERVER = 0
"""The world of what belongs to no sandbox: scenarios."""

HEAD = "head"
"""The part that every sandbox has."""

_OTHERS = (
    "batch_rows cards deliveries findings idempotency inbox journal marks past replays "
    "rule_keys scenarios schedule"
)
_PARTS = frozenset((HEAD, *ROW_CLASSES, *_OTHERS.split(), "scripts", "setup", "stories"))
_MEMORIES = "findings."


def is_part(name: str) -> bool:
    """Whether a part may have this name; those of the memories of judges follow from the types of
    their fields."""
    return name in _PARTS or name.startswith(_MEMORIES)


WAIT = 5
"""Seconds that a client is asked to wait when its request could not be stored."""

SMALL = 64
SMALL_BYTES = 256 * 1024
"""Rows and bytes of a small commit, at most."""


class Unreadable(MockserverError):
    """Something in the file that cannot be read. The text says what."""


NONSENSE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What reading rows raises that make no sense."""


class DamagedSandbox(NotKept):
    """What the file holds of a sandbox cannot be read: ``text`` says why, with quotes masked."""

    def __init__(self, place: str, fault: Exception | None = None) -> None:
        why = place if fault is None else f"{place}: {type(fault).__name__}: {fault}"
        self.text = mask_text(why[:300])
        words = f"what the store holds of this sandbox cannot be read: {self.text}"
        super().__init__(Code.TRANSACTION_ERROR, {"Store": words}, WAIT)


class NotWritten(MockserverError):
    """A commit that did not succeed: nothing of it is in the file. The text says why."""


class StoredSandbox(NamedTuple):
    """A sandbox as the index knows it. ``due`` is the machine's time at which something is to be
    done in it, ``used`` and ``touched`` as the sandbox has them."""

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
    """What is written together, or not at all: rows of worlds by (world, part, number), new pages,
    the keys of sandboxes that were deleted, and the index of those that have changed."""

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
        return (
            len(self.puts) <= SMALL
            and not (self.drops or self.cuts or self.gone)
            and self.size <= SMALL_BYTES
        )


@record
class Changes:
    """What has changed in the sandbox of a world, as it goes into a commit: rows that are new or
    have another content, rows that are gone, parts that begin after a number, and ids of new
    objects that have a page."""

    commit: Commit
    world: int

    def put(self, part: str, number: int, value: object) -> None:
        """A row with a value."""
        self.commit.puts.append((self.world, part, number, json_text(value)))

    def drop(self, part: str, number: int) -> None:
        """A row is gone."""
        self.commit.drops.append((self.world, part, number))

    def cut(self, part: str, number: int) -> None:
        """The rows of a part up to a number are gone."""
        self.commit.cuts.append((self.world, part, number))
