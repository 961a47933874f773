"""The file of ``--store``: rows of sandboxes in one SQLite database, written by one process.

A sandbox is a *world* of rows: part, number and bytes, each with its checksum. The table
``sandboxes`` names the world of each key: one commit replaces a sandbox by another, however many
rows they have. Worlds without a name are deleted.

The file is locked while it is open, and checked before anything is written to it: one that is
damaged, of another program or of another version is refused (``StoreRefused``). Of a large one only
the log and the index are checked then, and rows when they are read.

Its latest commits are in the log beside it (``-wal``). For SQLite the log ends at the first
incomplete frame, as when a process ends while it writes one. What was answered must not be lost
unnoticed: a commit behind that frame is damage, and so is a missing log that had commits. A log
that was cut looks like one that was written so far.

Source: the published format of SQLite's files (database header, write-ahead log, WAL-index header).
"""

import contextlib
import errno
import os
import sqlite3
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from secrets import randbelow
from tempfile import TemporaryFile
from threading import RLock
from typing import BinaryIO
from weakref import WeakSet
from zlib import crc32

from mockserver.adapters.exit_codes import Exit
from mockserver.domain.errors import MockserverError
from mockserver.domain.record import mutable
from mockserver.engine.sandbox import masked_key
from mockserver.store.schema import (
    HEAD,
    SERVER,
    Commit,
    NotWritten,
    PartRows,
    StoredRows,
    StoredSandbox,
    Unreadable,
    is_part,
)

FORMAT = 5
"""Version of the file's format. Records may gain fields with defaults at their end without another
one."""

CHECKED = 1 << 26
"""Bytes of a file that is checked whole before it is used. Of a larger one the index is, and each
sandbox when it is read."""

SLICE = 5_000
"""Rows that are read, or deleted without a sandbox, while others wait for the file."""

_APPLICATION = 0x6D6F636B
_MOST_NAMED = 5
_LAST_PART = "~"
_UNSHARED: AbstractContextManager[object] = nullcontext()
_NEXT_ROWS = """SELECT part, number, value, sum FROM rows
    WHERE world = ? AND (part, number) > (?, ?) AND part <= ?
    ORDER BY part, number LIMIT ?"""
_WORLDS = """WITH RECURSIVE found (world) AS (SELECT min(world) FROM rows
    UNION ALL SELECT (SELECT min(world) FROM rows WHERE world > found.world) FROM found
        WHERE found.world IS NOT NULL)
    SELECT world FROM found WHERE world IS NOT NULL"""
_PUT = """INSERT INTO rows VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, sum = excluded.sum"""
_MAGIC = b"SQLite format 3\x00"
PAGE = 8_192
"""Bytes of a page of a new file: most commits write some entries of a journal, of 4 KB each."""
_BESIDE = 32_768
"""Bytes that the database needs beside a file to open it."""
_LEAST_PAGES = 4
_MOST_PAGES = 2_000
"""Pages of the log, roughly, at which it is put into the file."""

_TAKEN = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
_UNUSABLE = (
    "SQLITE_CANTOPEN",
    "SQLITE_READONLY",
    "SQLITE_PERM",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_AUTH",
)

_SCHEMA = """
CREATE TABLE sandboxes (key TEXT PRIMARY KEY, world INTEGER NOT NULL, name TEXT,
    used INTEGER NOT NULL, touched INTEGER NOT NULL, due INTEGER, sum INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE rows (world INTEGER NOT NULL, part TEXT NOT NULL, number INTEGER NOT NULL,
    value BLOB NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (world, part, number));
CREATE TABLE pages (id TEXT NOT NULL, world INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (id, world)) WITHOUT ROWID;
CREATE INDEX pages_by_world ON pages (world);
"""
# Rows keep the row id of the database: without it the tree holds whole rows, and SQLite reads a
# long one, such as the request of a large batch, whenever it looks for its neighbour.


class StoreRefused(MockserverError):
    """A file that cannot be used as a store. The text says why, and what to do; the process ends
    with ``exit_code``."""

    def __init__(self, text: str, code: Exit = Exit.USAGE) -> None:
        self.exit_code = code
        super().__init__(text)


class StoreDamaged(StoreRefused):
    """A store with damage."""


class StoreFile:
    """An open store. Any thread may call its methods; a lock lets one in at a time. ``sandboxes``
    is the index as it was found, ``next_world`` a number that no world has; ``waits_for_disk``
    whether each commit does."""

    def __init__(self, path: str | Path, *, full: bool = False, whole: bool = False) -> None:
        """Open the file, or make it; one that is not small is checked ``whole`` on demand. Raises
        ``StoreRefused``."""
        self.path = Path(path)
        self.waits_for_disk = full
        self._lock = RLock()
        is_new = _is_new(self.path)
        self.sandboxes: list[StoredSandbox] = []
        worlds: set[int] = set()
        if not is_new:
            self.sandboxes, worlds = examined(
                self.path, whole=whole or self.path.stat().st_size <= CHECKED
            )
            for beside in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    # The files of a killed process hold card numbers and keys too.
                    self.path.with_name(f"{self.path.name}{beside}").chmod(0o600)
        with _named_failures(self.path):
            self._db = sqlite3.connect(
                self.path, timeout=0, isolation_level=None, check_same_thread=False
            )
            self._begin(is_new, full=full)
        self.place = _place(self.path.stat())
        _OPEN.add(self)
        self._named = {kept.key: kept.world for kept in self.sandboxes}
        self._garbage = sorted(worlds.difference(self._named.values(), (SERVER,)))
        self.next_world = max((SERVER, *worlds)) + 1

    def claim(self) -> bool:
        """Keep the file for this thread until ``release``, when it is free; whether it was."""
        return not self.waits_for_disk and self._lock.acquire(blocking=False)

    def release(self) -> None:
        """Let other threads use the file again."""
        self._lock.release()

    def write(self, commit: Commit) -> None:
        """Write a commit. Raises ``NotWritten``: then nothing of it is there."""
        with self._transaction():
            self._write(commit)
        self._in_log += len(commit.puts) + len(commit.drops) + _LEAST_PAGES + commit.size // PAGE
        self._garbage += [self._named.pop(key) for key in commit.gone if key in self._named]
        for kept in commit.kept:
            before = self._named.get(kept.key, kept.world)
            self._named[kept.key] = kept.world
            if before != kept.world:
                self._garbage.append(before)

    def rows(self, world: int, part: str | None = None) -> StoredRows:
        """The rows of a world, or of one part of it. Raises ``Unreadable``."""
        return rows_of(self._db, world, part, self._lock)

    def keys_with_page(self, page_id: str) -> list[str]:
        """The keys of the sandboxes in which an object of this id has a page, those first whose
        world is older. Raises ``Unreadable``."""
        query = (
            "SELECT key FROM pages JOIN sandboxes USING (world) WHERE pages.id = ? ORDER BY world"
        )
        try:
            with self._lock:
                return [key for (key,) in self._db.execute(query, (page_id,))]
        except sqlite3.Error as problem:
            raise Unreadable(str(problem)) from None

    def clear_away(self) -> bool:
        """Delete some of the rows that no sandbox has any more; whether more are left. Raises
        ``NotWritten``."""
        if not self._garbage:
            return False
        world, gone = self._garbage[-1], 0
        with self._transaction():
            for table, keys in (("rows", "world, part, number"), ("pages", "id, world")):
                some = f"SELECT {keys} FROM {table} WHERE world = ? LIMIT ?"
                gone += self._db.execute(
                    f"DELETE FROM {table} WHERE ({keys}) IN ({some})", (world, SLICE)
                ).rowcount
            self._in_log += gone // 5 + _LEAST_PAGES
        self.shorten_log()
        if not gone:
            self._garbage.remove(world)
        return bool(self._garbage)

    @property
    def is_log_long(self) -> bool:
        """Whether the log is to be put into the file."""
        return self._in_log >= _MOST_PAGES

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
        _OPEN.discard(self)

    def probe(self) -> None:
        """Write a page that changes nothing. Raises ``NotWritten`` while nothing can be written."""
        with self._transaction():
            [version] = self._db.execute("PRAGMA user_version").fetchone()
            self._db.execute(f"PRAGMA user_version = {version}")
        self._in_log += 1

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except sqlite3.Error as problem:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise NotWritten(str(problem)) from None

    def _write(self, commit: Commit) -> None:
        pages = [(*page, page_sum(*page)) for page in commit.pages]
        for statement, values in (
            ("DELETE FROM rows WHERE world = ? AND part = ? AND number <= ?", commit.cuts),
            ("DELETE FROM rows WHERE world = ? AND part = ? AND number = ?", commit.drops),
            (_PUT, [(*row, row_sum(*row)) for row in commit.puts]),
            ("INSERT OR IGNORE INTO pages VALUES (?, ?, ?)", pages),
            ("DELETE FROM sandboxes WHERE key = ?", [(key,) for key in commit.gone]),
            (
                "INSERT OR REPLACE INTO sandboxes VALUES (?, ?, ?, ?, ?, ?, ?)",
                [one.row for one in commit.kept],
            ),
        ):
            if values:
                self._db.executemany(statement, values)

    def _begin(self, is_new: bool, *, full: bool) -> None:
        """Take the lock, for as long as the file is open."""
        run = self._db.execute
        run(f"PRAGMA page_size = {PAGE}")
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        run("BEGIN IMMEDIATE")
        if is_new:
            for statement in _SCHEMA.split(";"):
                run(statement)
            run(f"PRAGMA application_id = {_APPLICATION}")
            run(f"PRAGMA user_version = {randbelow(STORES) << STORE_SHIFT | FORMAT}")
        run("COMMIT")
        run("PRAGMA wal_autocheckpoint = 0")
        self._into_file()

    def _into_file(self) -> None:
        """Put the commits of the log into the file. Afterwards the file says that later commits are
        in the log; the log itself does not, so that a log which SQLite has put into the file is not
        missed."""
        run = self._db.execute
        [version] = run("PRAGMA user_version").fetchone()
        run(f"PRAGMA user_version = {version | IN_LOG}")
        try:
            run("PRAGMA wal_checkpoint(FULL)")
        finally:
            run(f"PRAGMA user_version = {version & ~IN_LOG}")
        self._in_log = 0


_OPEN: WeakSet[StoreFile] = WeakSet()


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A store of this version, opened for reading only: its log stays beside it. Raises
    ``StoreRefused``, also for errors of the database meanwhile."""
    status = _status(path)
    if status is None:
        raise StoreRefused(f"{path}: there is no such file")
    if _is_empty(path, status):
        raise StoreRefused(f"{path} is empty: no server has kept anything in it yet")
    if not os.access(path.resolve().parent, os.W_OK):
        raise StoreRefused(f"{path}: its folder must be writable, for files beside it")
    with (
        _named_failures(path),
        # Closing any descriptor of a file releases all locks on it: this one is closed last.
        path.open("rb") as file,
        contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
        ) as db,
    ):
        [application] = db.execute("PRAGMA application_id").fetchone()
        [user_version] = db.execute("PRAGMA user_version").fetchone()
        version = user_version & (IN_LOG - 1)
        if application != _APPLICATION:
            raise StoreRefused(
                f"{path} is a database of another program, not a store; it was not changed"
            )
        if version != FORMAT:
            whose = "a newer" if version > FORMAT else "an older"
            way = (
                "serve it with that version, or export its sandboxes there (mockserver store "
                "export) and import them"
            )
            words = (
                f"{path} was written by {whose} mockserver (format {version}, this one has "
                f"{FORMAT})"
            )
            raise StoreRefused(f"{words}: {way}")
        if fault := fault_of_log(path, file, user_version):
            raise StoreDamaged(f"{path} is damaged: {fault}; it was not changed")
        yield db


def examined(path: Path, *, whole: bool = True) -> tuple[list[StoredSandbox], set[int]]:
    """The sandboxes and the worlds of an intact store of this version; of one that is not to be
    checked ``whole``, the index is intact. Raises ``StoreRefused``."""
    with reading(path) as db:
        try:
            index, damage = index_of(db)
            if damage:
                raise ValueError(damage[0])
            if whole:
                check(db, index)
            worlds = {world for (world,) in db.execute(_WORLDS)}
            if any(type(world) is not int for world in worlds):
                raise ValueError("rows of a world that has no number")
            return index, worlds
        except (sqlite3.Error, ValueError, TypeError) as problem:
            if getattr(problem, "sqlite_errorname", "").startswith((*_TAKEN, *_UNUSABLE)):
                raise
            raise StoreDamaged(f"{path} is damaged: {_words(problem)}; {readable(db)}") from None


@mutable
class StoreReader:
    """A store that the commands read and never write. ``sandboxes`` is its index, ``damage`` what
    cannot be read of that."""

    path: Path
    db: sqlite3.Connection
    sandboxes: list[StoredSandbox]
    damage: list[str]

    def rows(self, world: int) -> StoredRows:
        """The rows of a world. Raises ``Unreadable``."""
        return rows_of(self.db, world)

    def counts(self) -> Mapping[int, Mapping[str, int]]:
        """How many rows each part of each world has."""
        found: dict[int, dict[str, int]] = {}
        for world, part, count in self.db.execute(
            "SELECT world, part, count(*) FROM rows GROUP BY world, part"
        ):
            found.setdefault(world, {})[part] = count
        return found

    @property
    def size(self) -> int:
        """Bytes on disk, with the commits that stand beside the file."""
        return sum(one.stat().st_size for one in (self.path, log_of(self.path)) if one.exists())


@contextlib.contextmanager
def opened_store(path: Path) -> Iterator[StoreReader]:
    """A store as far as it can be read. Raises ``StoreRefused`` for one that is empty, in use,
    unreadable or of another version."""
    with reading(path) as db:
        yield StoreReader(path, db, *index_of(db))


@contextlib.contextmanager
def _named_failures(path: Path) -> Iterator[None]:
    """Word the errors of the database."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        # An error of the module itself has no code.
        code = getattr(problem, "sqlite_errorname", "")
        if code.startswith(_TAKEN):
            raise _in_use(path) from None
        if code.startswith(_UNUSABLE):
            raise StoreRefused(
                f"{path} cannot be used: {_full(path) or problem}; it was not changed"
            ) from None
        raise StoreDamaged(f"{path} is damaged: {_words(problem)}; it was not changed") from None


def _full(path: Path) -> str | None:
    """That the disk of a file is full; None when it is not. The database says so only of some of
    its files."""
    try:
        with TemporaryFile(dir=path.resolve().parent, buffering=0) as file:
            file.write(bytes(_BESIDE))
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full ({problem.strerror}): make room, and start again"
    return None


def _words(problem: Exception) -> str:
    """What is wrong, without quoting a text that may be a key."""
    return "a text in it is not UTF-8" if "UTF-8" in str(problem).upper() else str(problem)


def _is_new(path: Path) -> bool:
    """Whether there is no store yet; creates the file, for its owner alone. Raises
    ``StoreRefused``."""
    status = _status(path)
    if status is None:
        log = log_of(path)
        if log.exists() and log.stat().st_size:
            raise StoreDamaged(
                f"{path} is not there, and {log} beside it, with commits, is; nothing was changed"
            )
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as problem:
            where = path.parent if not path.parent.is_dir() else path
            raise StoreRefused(f"{path} cannot be made: {where}: {problem.strerror}") from None
        return True
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.resolve().parent, os.W_OK):
        raise StoreRefused(f"{path} and its folder must be writable")
    return _is_empty(path, status)


def _in_use(path: Path) -> StoreRefused:
    return StoreRefused(
        f"{path} is in use by another process: stop it, or use another file", Exit.IN_USE
    )


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _status(path: Path) -> os.stat_result | None:
    """The status of a file, None when it does not exist. Raises ``StoreRefused`` for anything but a
    file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise StoreRefused(f"{path} cannot be opened: {problem.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise StoreRefused(f"{path} is not a file")
    if any(one.place == _place(status) for one in _OPEN):
        # Opening the file twice in one process would release the lock of the first.
        raise _in_use(path)
    return status


def _is_empty(path: Path, status: os.stat_result) -> bool:
    """Whether a file is empty. Raises ``StoreRefused`` for one that cannot be a store."""
    if not status.st_size:
        log = log_of(path)
        if log.exists() and log.stat().st_size:
            raise StoreDamaged(
                f"{path} is damaged: it is empty, and {log} beside it is not; it was not changed"
            )
        return True
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except OSError as problem:
        raise StoreRefused(f"{path} cannot be opened: {problem.strerror}") from None
    if begins != _MAGIC:
        raise StoreRefused(
            f"{path} is not a store: it does not begin as an SQLite database; it was not changed"
        )
    return False


def index_of(db: sqlite3.Connection) -> tuple[list[StoredSandbox], list[str]]:
    """The index of a store, and its damaged entries. Raises an error of the database."""
    found, damage = [], []
    for *row, written in db.execute(
        "SELECT key, world, name, used, touched, due, sum FROM sandboxes"
    ):
        kept = StoredSandbox(*row)
        if kept.sum == written:
            found.append(kept)
        else:
            damage.append(f"the index, at sandbox {masked_key(str(kept.key) or '?')}")
    return found, damage


def check(db: sqlite3.Connection, index: list[StoredSandbox]) -> None:
    """Check every page, row and sandbox. Raises ``ValueError`` for damage, or an error of the
    database."""
    [verdict] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(verdict.splitlines()[-1])
    found = set()
    for world, part, number, value, written in db.execute(
        "SELECT world, part, number, value, sum FROM rows"
    ):
        _check_row(world, part, number, value, written)
        found.add((world, part))
    for page_id, world, written in db.execute("SELECT id, world, sum FROM pages"):
        if page_sum(page_id, world) != written:
            raise ValueError(f"the pages, at {page_id}")
    for _, part in found:
        if not is_part(part):
            raise ValueError(f"rows of {part}, a part that no sandbox has")
    for kept in index:
        if (kept.world, HEAD) not in found:
            raise ValueError(f"sandbox {masked_key(kept.key)} has no {HEAD}")


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
        except Unreadable:
            broken += 1
    names = ", ".join(sound[:_MOST_NAMED]) + (" ..." if len(sound) > _MOST_NAMED else "")
    count = (
        f"{len(sound)} of {len(sound) + broken} sandboxes can be "
        f"read{': ' + names if sound else ''}"
    )
    return f"{count} (mockserver store export); it was not changed"


def rows_of(
    db: sqlite3.Connection,
    world: int,
    part: str | None = None,
    lock: AbstractContextManager[object] = _UNSHARED,
) -> StoredRows:
    """The rows of a world, or of one part of it, some thousand under a ``lock``. Raises
    ``Unreadable``."""
    found: dict[str, PartRows] = {}
    name, number = part or "", -1
    try:
        while True:
            with lock:
                some = db.execute(
                    _NEXT_ROWS, (world, name, number, part or _LAST_PART, SLICE)
                ).fetchall()
            for name, number, value, written in some:
                _check_row(world, name, number, value, written)
            for name, rows in groupby(some, itemgetter(0)):
                _, numbers, texts, _ = zip(*rows, strict=True)
                found.setdefault(name, PartRows()).add(numbers, texts)
            if len(some) < SLICE:
                return found
    except (sqlite3.Error, ValueError, TypeError) as problem:
        raise Unreadable(str(problem)) from None


def _check_row(world: int, part: str, number: int, value: object, written: int) -> None:
    if (
        type(value) is not bytes
        or type(number) is not int
        or row_sum(world, part, number, value) != written
    ):
        raise ValueError(f"row {number} of {part}")


def row_sum(world: int, part: str, number: int, value: bytes) -> int:
    """The sum of a row."""
    return crc32(value, _sum_of_part(world, part) ^ number & 0xFFFFFFFF ^ number >> 32)


@lru_cache(256)
def _sum_of_part(world: int, part: str) -> int:
    return crc32(f"{world}.{part}".encode())


def page_sum(page_id: str, world: int) -> int:
    """The sum of an entry of the pages."""
    return crc32(f"{world}.{page_id}".encode())


IN_LOG = 1 << 16
"""Bit of the user version of a file whose latest commits are in its log. The page in the log lacks
it, and so does the file when SQLite has put all of the log into it."""

STORE_SHIFT = 17
STORES = 1 << 14
"""The bits above are random, and the same in a file and in its log."""

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
_USER_VERSION, _APPLICATION, _BEGINNING = 60, 68, 100
_LAST_FRAME = 16
_LARGEST_PAGE = 65_536


def log_of(path: Path) -> Path:
    """The file beside a store that holds its latest commits."""
    place = path.resolve()
    return place.with_name(f"{place.name}-wal")


def fault_of_log(path: Path, file: BinaryIO, version: int) -> str | None:
    """What is wrong with the log of a store, None when nothing is. ``file`` is the store,
    ``version`` its user version as the log has it; a connection must have it open."""
    log = log_of(path)
    header = file.read(_BEGINNING)
    if len(header) < _BEGINNING:
        return "it ends within its beginning"
    [alone], [application] = (
        struct.unpack_from(">i", header, place) for place in (_USER_VERSION, _APPLICATION)
    )
    size = log.stat().st_size if log.exists() else 0
    if not size:
        return (
            f"{log.name} beside it, with its latest commits, is missing" if alone & IN_LOG else None
        )
    whole = _whole_frames(path)
    with log.open("rb") as opened:
        fault = _fault_of_frames(opened, whole)
        # SQLite puts the pages of a log into the file in their order: one that could not end with
        # that, on a full disk or as the process ended, has the beginning that the log has.
        is_begun = fault is None and _has_beginning_of(opened, whole, file)
    if fault is not None:
        return f"{log.name} beside it is damaged: {fault}"
    is_other = alone >> STORE_SHIFT != version >> STORE_SHIFT or (
        not alone & IN_LOG and whole > 1 and not is_begun
    )
    # All of a new file is in its log at first.
    return f"{log.name} beside it is the log of another file" if application and is_other else None


def _has_beginning_of(log: BinaryIO, whole: int, file: BinaryIO) -> bool:
    """Whether the first page of a store is the one that its log had last, with the same counter of
    changes."""
    log.seek(0)
    page, last = _HEADER.unpack(log.read(_HEADER.size))[2], b""
    for number in range(whole):
        log.seek(_HEADER.size + number * (_FRAME.size + page))
        if _FRAME.unpack(log.read(_FRAME.size))[0] == 1:
            last = log.read(page)
    file.seek(0)
    return bool(last) and file.read(len(last)) == last


def _whole_frames(path: Path) -> int:
    """How many frames of the log SQLite accepts, by the index that it makes of it."""
    place = path.resolve()
    index = place.with_name(f"{place.name}-shm").read_bytes()[_LAST_FRAME : _LAST_FRAME + 4]
    [last] = struct.unpack("=I", index)
    return int(last)


def _fault_of_frames(log: BinaryIO, whole: int) -> str | None:
    begin = log.read(_HEADER.size)
    if len(begin) < _HEADER.size:
        return None
    magic, _, page, _, *salts, first, second = _HEADER.unpack(begin)
    order = _MAGICS.get(magic)
    if order is None or page > _LARGEST_PAGE or _sum(order, begin[:24], (0, 0)) != (first, second):
        return "its beginning is not that of a log"
    size, before, number = _FRAME.size + page, (first, second), whole
    if whole:
        log.seek(_HEADER.size + (whole - 1) * size)
        before = _FRAME.unpack(log.read(_FRAME.size))[4:]
    # Behind those that SQLite accepts.
    log.seek(_HEADER.size + whole * size)
    while len(raw := log.read(size)) == size:
        number += 1
        _, is_commit, *found = _FRAME.unpack_from(raw)
        sums = found[2], found[3]
        if (
            is_commit
            and found[:2] == salts
            and _sum(order, raw[:8] + raw[_FRAME.size :], before) == sums
        ):
            return f"frame {whole + 1} is not whole, and frame {number}, which ends a commit, is"
        before = sums
    return None


def _sum(order: str, content: bytes, begin: tuple[int, int]) -> tuple[int, int]:
    first, second = begin
    for one, other in struct.iter_unpack(f"{order}2I", content):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
