"""What stands in the tables of a store: read with its sums, and checked."""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from zlib import crc32

from mockserver.engine.kept.commits import HEAD_PART, KeptSandbox, Row, is_part
from mockserver.engine.sandbox import masked_key

_MOST_NAMED = 5


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
    worlds, begun, parts = set(), set(), set()
    stored = db.execute("SELECT world, part, number, value, sum FROM rows")
    for (world, part), rows in groupby(stored, itemgetter(0, 1)):
        begin = _part_sum(world, part)
        for _, _, number, value, written in rows:
            if type(value) is not bytes or crc32(value, crc32(f"{number}".encode(), begin)) != written:
                raise ValueError(f"row {number} of {part}")
        worlds.add(world)
        parts.add(part)
        if part == HEAD_PART:
            begun.add(world)
    for page_id, world, written in db.execute("SELECT id, world, sum FROM pages"):
        if page_sum(page_id, world) != written:
            raise ValueError(f"the pages, at {page_id}")
    for part in parts:
        if not is_part(part):
            raise ValueError(f"rows of {part}, a part that no sandbox has")
    for kept in index:
        if kept.world not in begun:
            raise ValueError(f"sandbox {masked_key(kept.key)} has no {HEAD_PART}")
    return worlds


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
    rows = []
    query = "SELECT part, number, value, sum FROM rows WHERE world = ? ORDER BY part, number"
    for part, number, value, written in db.execute(query, (world,)):
        if not isinstance(value, bytes) or row_sum(world, part, number, value) != written:
            raise ValueError(f"row {number} of {part}")
        rows.append((part, number, value))
    return rows


def row_sum(world: int, part: str, number: int, value: bytes) -> int:
    """The sum of a row."""
    return crc32(value, crc32(f"{number}".encode(), _part_sum(world, part)))


@lru_cache(maxsize=1_000)
def _part_sum(world: int, part: str) -> int:
    return crc32(f"{world}.{part}.".encode())


def page_sum(page_id: str, world: int) -> int:
    """The sum of an entry of the pages."""
    return crc32(f"{world}.{page_id}".encode())
