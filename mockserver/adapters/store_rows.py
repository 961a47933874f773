"""What stands in the tables of a store: read with its sums, and checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from zlib import crc32

from mockserver.engine.kept.commits import HEAD_PART, KeptSandbox, Row, is_part
from mockserver.engine.sandbox import masked_key

_MOST_NAMED = 5
_ROWS = "SELECT world, part, number, value, sum FROM rows"


def index_of(db: sqlite3.Connection) -> tuple[list[KeptSandbox], list[str]]:
    """The sandboxes that a store knows, and what is damaged among their entries. Raises an error of the database."""
    found, damage = [], []
    for *row, written in db.execute("SELECT key, world, name, used, touched, due, sum FROM sandboxes"):
        kept = KeptSandbox(*row)
        if kept.sum == written:
            found.append(kept)
        else:
            damage.append(f"the index, at sandbox {masked_key(str(kept.key) or '?')}")
    return found, damage


def checked(db: sqlite3.Connection, index: list[KeptSandbox]) -> set[int]:
    """The worlds, when every page and every row is whole, and no sandbox is without its own. Raises ``ValueError``, or
    an error of the database."""
    [verdict] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(verdict.splitlines()[-1])
    found = {(world, part) for world, part, _, _ in _sound(db.execute(_ROWS))}
    for page_id, world, written in db.execute("SELECT id, world, sum FROM pages"):
        if page_sum(page_id, world) != written:
            raise ValueError(f"the pages, at {page_id}")
    for _, part in found:
        if not is_part(part):
            raise ValueError(f"rows of {part}, a part that no sandbox has")
    for kept in index:
        if (kept.world, HEAD_PART) not in found:
            raise ValueError(f"sandbox {masked_key(kept.key)} has no {HEAD_PART}")
    return {world for world, _ in found}


def readable(db: sqlite3.Connection) -> str:
    """What can still be read of a damaged file, in words."""
    sound = []
    try:
        index, damage = index_of(db)
    except (sqlite3.Error, ValueError):
        return "none of its sandboxes can be read; it was not changed"
    broken = len(damage)
    for kept in index:
        try:
            rows_of(db, kept.world)
            sound.append(masked_key(kept.key))
        except (sqlite3.Error, ValueError, TypeError):
            broken += 1
    names = ", ".join(sound[:_MOST_NAMED]) + (" ..." if len(sound) > _MOST_NAMED else "")
    count = f"{len(sound)} of {len(sound) + broken} sandboxes can be read{': ' + names if sound else ''}"
    return f"{count} (mockserver store export); it was not changed"


def rows_of(db: sqlite3.Connection, world: int) -> list[Row]:
    """Every row of a world, by part and number. Raises ``ValueError`` when one is damaged, or an error of the
    database."""
    found = _sound(db.execute(f"{_ROWS} WHERE world = ? ORDER BY part, number", (world,)))
    return [(part, number, value) for _, part, number, value in found]


def _sound(rows: Iterable[tuple[int, str, int, object, int]]) -> Iterator[tuple[int, str, int, bytes]]:
    """Stored rows without their sums. Raises ``ValueError`` at one that is damaged."""
    for world, part, number, value, written in rows:
        if not isinstance(value, bytes) or row_sum(world, part, number, value) != written:
            raise ValueError(f"row {number} of {part}")
        yield world, part, number, value


def row_sum(world: int, part: str, number: int, value: bytes) -> int:
    """The sum of a row."""
    return crc32(value, crc32(f"{world}.{part}.{number}".encode()))


def page_sum(page_id: str, world: int) -> int:
    """The sum of an entry of the pages."""
    return crc32(f"{world}.{page_id}".encode())
