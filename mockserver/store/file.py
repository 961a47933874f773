"""The file of ``--store``: lines of sandboxes in one SQLite database, written by one process.

There is one table, ``lines``, whose rows are what ``schema.py`` says: sandbox, part, key, line,
with a sum of these four, as SQLite itself notices a page that makes no sense but not a changed
digit in it. The index of the sandboxes is lines too. Numbers of sandboxes are not used again: one
that is replaced, as by a reset, gets another number, and lines of a number that the index lacks are
cleared away later, some thousand at a time.

SQLite keeps the promises. Its write-ahead log (``-wal``, beside the file) makes a commit one write
to the end of a file: all of it is there after the end of the process, or nothing. Its exclusive
lock keeps other processes out. Nothing is written to a file before it was looked at
(``file_reading.py``).

Any thread may call a ``StoreFile``; a lock lets one in at a time.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import RLock

from mockserver.store.file_reading import (
    APPLICATION,
    CHECKED,
    FORMAT,
    OPEN_FILES,
    SLICE,
    examined,
    lines_of,
    make_or_find,
    named_failures,
    place_of,
    sum_of_line,
)
from mockserver.store.schema import (
    INDEX,
    PAGES,
    SERVER,
    Commit,
    NotWritten,
    StoredRows,
    StoredSandbox,
    Unreadable,
)

PAGE = 8_192
"""Bytes of a page of a new file: most commits write some entries of a journal, of 4 KB each."""

_LONG_LOG = 1 << 24
"""Bytes of the log, roughly, at which it is put into the file."""

_SCHEMA = (
    # The table keeps the row id of the database: without it the tree holds whole rows, a commit of
    # a charge takes half as long again, and SQLite reads a long line, such as the request of a
    # large batch, whenever it looks for its neighbour.
    "CREATE TABLE lines (sandbox INTEGER NOT NULL, part TEXT NOT NULL, key NOT NULL, "
    "line BLOB NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (sandbox, part, key))",
    # In which sandboxes an object has a page: few lines are of this part.
    f"CREATE INDEX pages ON lines (key) WHERE part = '{PAGES}'",
)
_PUT = """INSERT INTO lines VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET line = excluded.line, sum = excluded.sum"""
_DROP = "DELETE FROM lines WHERE sandbox = ? AND part = ? AND key BETWEEN ? AND ?"
_CLEAR = "DELETE FROM lines WHERE rowid IN (SELECT rowid FROM lines WHERE sandbox = ? LIMIT ?)"
# The few pages are looked at first: SQLite keeps the order of a cross join. The sign takes the type
# from a number, as keys have none, so that the index of the table is used.
_SANDBOXES_WITH_PAGE = f"""SELECT named.key, named.line
    FROM lines AS paged INDEXED BY pages CROSS JOIN lines AS named
    ON named.sandbox = {SERVER} AND named.part = '{INDEX}' AND named.key = +paged.sandbox
    WHERE paged.part = '{PAGES}' AND paged.key = ? ORDER BY named.key"""


class StoreFile:
    """An open store. ``sandboxes`` is the index as it was found, ``next_number`` one that no
    sandbox has had; ``waits_for_disk`` whether each commit does."""

    def __init__(self, path: str | Path, *, full: bool = False, whole: bool = False) -> None:
        """Open the file, or make it; one that is not small is checked ``whole`` on demand. Raises
        ``StoreRefused``."""
        self.path = Path(path)
        self.waits_for_disk = full
        self.sandboxes: list[StoredSandbox] = []
        self._lock = RLock()
        self._in_log = 0
        """Bytes of the log, roughly: pages that commits may have written."""
        numbers: set[int] = set()
        is_new = make_or_find(self.path)
        if not is_new:
            # A large one would take seconds: its sandboxes are checked as they are read.
            is_small = self.path.stat().st_size <= CHECKED
            self.sandboxes, numbers = examined(self.path, whole=whole or is_small)
            for beside in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    # The files of a killed process hold card numbers and keys too.
                    self.path.with_name(f"{self.path.name}{beside}").chmod(0o600)
        with named_failures(self.path):
            self._db = sqlite3.connect(
                self.path, timeout=0, isolation_level=None, check_same_thread=False
            )
            self._begin(is_new, full=full)
        self.place = place_of(self.path.stat())
        OPEN_FILES.add(self)
        named = {sandbox.number for sandbox in self.sandboxes}
        self._garbage = sorted(numbers - named - {SERVER})
        """Numbers of sandboxes that the index lacks: their lines are to be cleared away."""
        self.next_number = max((SERVER, *numbers)) + 1

    def claim(self) -> bool:
        """Keep the file for this thread until ``release``, if it is free and no commit waits for
        the disk; whether it was."""
        return not self.waits_for_disk and self._lock.acquire(blocking=False)

    def release(self) -> None:
        """Let other threads use the file again."""
        self._lock.release()

    def write(self, commit: Commit) -> None:
        """Write a commit. Raises ``NotWritten``: then nothing of it is there."""
        summed = [(*line, sum_of_line(*line)) for line in commit.puts]
        with self._transaction():
            if commit.drops:
                self._db.executemany(_DROP, commit.drops)
            self._db.executemany(_PUT, summed)
        self._in_log += PAGE * (len(commit.puts) + len(commit.drops)) + commit.size
        for sandbox, part, number, _ in commit.drops:
            if sandbox == SERVER and part == INDEX:
                self._garbage.append(number)

    def rows(self, number: int, part: str | None = None) -> StoredRows:
        """The lines of a sandbox, or of one part of it. Raises ``Unreadable``."""
        return lines_of(self._db, number, part, self._lock)

    def keys_with_page(self, page_id: str) -> list[str]:
        """The keys of the sandboxes in which an object of this id has a page for payers, whose
        address names the object and no sandbox. The oldest first: a fork has the objects of its
        origin, with their ids. Raises ``Unreadable``."""
        try:
            with self._lock:
                lines = self._db.execute(_SANDBOXES_WITH_PAGE, (page_id,)).fetchall()
            return [StoredSandbox.read(number, line).key for number, line in lines]
        except (sqlite3.Error, ValueError, TypeError) as problem:
            raise Unreadable(str(problem)) from None

    def clear_away(self) -> bool:
        """Delete some of the lines that no sandbox has any more; whether more are left. A few at a
        time, as commits wait meanwhile. Raises ``NotWritten``."""
        if not self._garbage:
            return False
        number = self._garbage[-1]
        with self._transaction():
            deleted = self._db.execute(_CLEAR, (number, SLICE)).rowcount
        self._in_log += PAGE * deleted
        self.shorten_log()
        if deleted < SLICE:
            # Those were the last of it. Not ``pop``: a commit of another thread may have added a
            # number meanwhile.
            self._garbage.remove(number)
        return bool(self._garbage)

    @property
    def is_log_long(self) -> bool:
        """Whether the log is to be put into the file."""
        return self._in_log >= _LONG_LOG

    def shorten_log(self) -> None:
        """Put a long log into the file, which waits for the disk. Commits go on when that fails."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self.is_log_long:
                self._into_file()

    def compact(self) -> None:
        """Rewrite the file without its unused space; that temporarily takes the same space again.
        Raises ``NotWritten``: then the file is as it was."""
        with self._lock:
            try:
                self._db.execute("VACUUM")
                self._into_file()
            except sqlite3.Error as problem:
                raise NotWritten(str(problem)) from None

    def close(self) -> None:
        """Put the log into the file, and close it."""
        with self._lock:
            with contextlib.suppress(sqlite3.Error):
                self._into_file()
            self._db.close()
        OPEN_FILES.discard(self)

    def probe(self) -> None:
        """Write a page that changes nothing, to see whether a full disk has room again. Raises
        ``NotWritten`` while nothing can be written."""
        with self._transaction():
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
        self._in_log += PAGE

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """What is done within is in the file as a whole, or not at all. Raises ``NotWritten``."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except sqlite3.Error as problem:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise NotWritten(str(problem)) from None

    def _begin(self, is_new: bool, *, full: bool) -> None:
        """Set the database up, and take the lock for as long as the file is open."""
        run = self._db.execute
        # The size of a page counts only before anything is written; locked before it has a log,
        # SQLite needs no shared memory in a file of its own.
        run(f"PRAGMA page_size = {PAGE}")
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        # Not at a commit, which would wait for the disk: ``shorten_log`` does that in a thread.
        run("PRAGMA wal_autocheckpoint = 0")
        # The lock comes with the first transaction.
        run("BEGIN IMMEDIATE")
        if is_new:
            for statement in _SCHEMA:
                run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {FORMAT}")
        run("COMMIT")
        # By now the log holds the schema, and what a server that was killed has left there. Both go
        # into the file before its first commit is counted.
        self._into_file()

    def _into_file(self) -> None:
        """Put the log into the file, all of it."""
        self._db.execute("PRAGMA wal_checkpoint(FULL)")
        self._in_log = 0
