"""A store that is looked at from outside, by the commands of ``mockserver store``: read, and never written to.

A server locks its file for as long as it runs, so that nobody reads what is about to change: ``StoreRefused`` says that
it is in use. What can be read of a damaged file is read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from mockserver.adapters.store_file import reading
from mockserver.adapters.store_log import log_of
from mockserver.adapters.store_rows import index_of, rows_of
from mockserver.domain.record import mutable
from mockserver.engine.kept.commits import KeptSandbox, Row, Unreadable


@mutable
class StoreReader:
    """An open store. ``sandboxes`` are those that it knows, ``damage`` is what cannot be read of its index."""

    path: Path
    db: sqlite3.Connection
    sandboxes: list[KeptSandbox]
    damage: list[str]

    def rows(self, world: int) -> list[Row]:
        """Every row of a world, by part and number. Raises ``Unreadable``."""
        try:
            return rows_of(self.db, world)
        except (sqlite3.Error, ValueError, TypeError) as problem:
            raise Unreadable(str(problem)) from None

    def counts(self) -> Mapping[int, Mapping[str, int]]:
        """How many rows each part of each world has."""
        found: dict[int, dict[str, int]] = {}
        for world, part, count in self.db.execute("SELECT world, part, count(*) FROM rows GROUP BY world, part"):
            found.setdefault(world, {})[part] = count
        return found

    @property
    def size(self) -> int:
        """Bytes on disk, with the commits that stand beside the file."""
        return sum(one.stat().st_size for one in (self.path, log_of(self.path)) if one.exists())


@contextlib.contextmanager
def opened_store(path: Path) -> Iterator[StoreReader]:
    """A store as it can be read. Raises ``StoreRefused``: for one of which nothing can be, that nobody has written,
    that another version has written, and that a server has open."""
    with reading(path) as db:
        yield StoreReader(path, db, *index_of(db))
