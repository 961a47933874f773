"""Looking at the file of a store before anything is written to it, and reading it.

A file that is damaged, of another program or of another version is refused (``StoreRefused``), and
not a byte of it changes: it may be all that somebody has. So it is opened for reading only at
first, and what SQLite does by itself when it opens a file for writing comes after that. SQLite
says what is damaged: its ``integrity_check`` follows every page of the database. The sum of each
line tells a changed content. A small file is checked whole when it is opened; of a large one the
index is, and the lines of a sandbox when they are read.

For SQLite the log beside a file ends at its first incomplete frame, as when a process ends while it
writes one. A log that is missing or damaged has the commits before that, and nobody can tell.
"""

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol
from weakref import WeakSet
from zlib import crc32

from mockserver.adapters.exit_codes import Exit
from mockserver.domain.errors import MockserverError
from mockserver.domain.record import mutable
from mockserver.engine.sandbox import masked_key
from mockserver.store.schema import (
    INDEX,
    SERVER,
    SETTLED,
    PartRows,
    StoredRows,
    StoredSandbox,
    Unreadable,
)

FORMAT = 5
"""Version of the file's format."""

APPLICATION = 0x6D6F636B
"""What says in the beginning of a database that it is a store."""

_APPLICATION_OF_4 = 68
"""What says so in files of format 4."""

CHECKED = 1 << 26
"""Bytes of a file that is checked whole before it is used. Of a larger one the index is, and each
sandbox when it is read."""

SLICE = 5_000
"""Lines that are read, or deleted without a sandbox, while others wait for the file."""


class OpenFile(Protocol):
    """A store that is open. ``place`` is the same by whatever path it was opened (``place_of``)."""

    place: tuple[int, int]


OPEN_FILES: WeakSet[OpenFile] = WeakSet()
"""The stores that this process has open. SQLite's lock keeps other processes out, and this set a
second store of the same process, such as an application in a test."""

_VERSION_BITS = 0xFFFF
"""Format 4 kept something else above these bits."""

_MOST_NAMED = 5
_LAST_PART = "~"
"""A text behind the names of all parts."""

_UNSHARED: AbstractContextManager[object] = nullcontext()
_NEXT_LINES = """SELECT part, key, line, sum FROM lines
    WHERE sandbox = ? AND (part, key) > (?, ?) AND part <= ?
    ORDER BY part, key LIMIT ?"""
_INDEX_LINES = f"SELECT key, line, sum FROM lines WHERE sandbox = {SERVER} AND part = '{INDEX}'"
_NUMBERS = """WITH RECURSIVE numbers (number) AS (SELECT min(sandbox) FROM lines
    UNION ALL SELECT (SELECT min(sandbox) FROM lines WHERE sandbox > numbers.number) FROM numbers
        WHERE numbers.number IS NOT NULL)
    SELECT number FROM numbers WHERE number IS NOT NULL"""
"""Each number once, by one look at the index of the table for each."""

_MAGIC = b"SQLite format 3\x00"
_BESIDE = 32_768
"""Bytes that the database needs beside a file to open it."""

_TAKEN = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
"""Beginnings of the names of errors when another process has the file."""

_UNUSABLE = (
    "SQLITE_CANTOPEN",
    "SQLITE_READONLY",
    "SQLITE_PERM",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_AUTH",
)
"""When disk or rights are at fault. Any other error means that the file is damaged."""


class StoreRefused(MockserverError):
    """A file that cannot be used as a store. The text says why, and what to do; the process ends
    with ``exit_code``."""

    def __init__(self, text: str, code: Exit = Exit.USAGE) -> None:
        self.exit_code = code
        super().__init__(text)


class StoreDamaged(StoreRefused):
    """A store with damage."""


@mutable
class StoreReader:
    """A store that the commands read and never write. ``sandboxes`` is its index, ``damage`` what
    cannot be read of that."""

    path: Path
    db: sqlite3.Connection
    sandboxes: list[StoredSandbox]
    damage: list[str]

    def rows(self, number: int) -> StoredRows:
        """The lines of a sandbox. Raises ``Unreadable``."""
        return lines_of(self.db, number)

    def counts(self) -> Mapping[int, Mapping[str, int]]:
        """How many lines each part of each sandbox has."""
        counts: dict[int, dict[str, int]] = {}
        for number, part, count in self.db.execute(
            "SELECT sandbox, part, count(*) FROM lines GROUP BY sandbox, part"
        ):
            counts.setdefault(number, {})[part] = count
        return counts

    @property
    def size(self) -> int:
        """Bytes on disk, with the commits that stand beside the file."""
        files = (self.path, log_of(self.path))
        return sum(file.stat().st_size for file in files if file.exists())


@contextlib.contextmanager
def opened_store(path: Path) -> Iterator[StoreReader]:
    """A store as far as it can be read. Raises ``StoreRefused`` for one that is empty, in use,
    unreadable or of another version."""
    with _reading(path) as db:
        yield StoreReader(path, db, *_index_of(db))


def examined(path: Path, *, whole: bool = True) -> tuple[list[StoredSandbox], set[int]]:
    """The sandboxes of an intact store of this version, and all numbers that its lines have; of one
    that is not to be checked ``whole``, the index is intact. Raises ``StoreRefused``."""
    with _reading(path) as db:
        try:
            index, damage = _index_of(db)
            if damage:
                raise ValueError(damage[0])
            if whole:
                _check(db, index)
            numbers = {number for (number,) in db.execute(_NUMBERS)}
            if any(type(number) is not int for number in numbers):
                raise ValueError("lines of a sandbox that has no number")
            return index, numbers
        except (sqlite3.Error, ValueError, TypeError) as problem:
            if _name_of(problem).startswith((*_TAKEN, *_UNUSABLE)):
                # That says nothing of what is in the file: ``_reading`` has words for it.
                raise
            raise StoreDamaged(f"{path} is damaged: {_words(problem)}; {_readable(db)}") from None


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A store of this version, opened for reading only: its log stays beside it. Raises
    ``StoreRefused``, also for errors of the database meanwhile."""
    size = _size_of(path)
    if size is None:
        raise StoreRefused(f"{path}: there is no such file")
    if not size:
        raise StoreRefused(f"{path} is empty: no server has kept anything in it yet")
    if not os.access(path.resolve().parent, os.W_OK):
        raise StoreRefused(f"{path}: its folder must be writable, for files beside it")
    with (
        named_failures(path),
        contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
        ) as db,
    ):
        [application] = db.execute("PRAGMA application_id").fetchone()
        [user_version] = db.execute("PRAGMA user_version").fetchone()
        version = user_version & _VERSION_BITS
        # One of format 4 is a store all the same: its version is refused, with the way out.
        if application not in (APPLICATION, _APPLICATION_OF_4):
            raise StoreRefused(
                f"{path} is a database of another program, not a store; it was not changed"
            )
        if version != FORMAT:
            whose = "a newer" if version > FORMAT else "an older"
            raise StoreRefused(
                f"{path} was written by {whose} mockserver (format {version}, this one has "
                f"{FORMAT}): serve it with that version, or export its sandboxes there (mockserver "
                "store export) and import them"
            )
        yield db


def _index_of(db: sqlite3.Connection) -> tuple[list[StoredSandbox], list[str]]:
    """The index of a store, and its damaged lines. Raises an error of the database."""
    index: list[StoredSandbox] = []
    damage: list[str] = []
    for number, line, written in db.execute(_INDEX_LINES):
        try:
            _check_line(SERVER, INDEX, number, line, written)
            index.append(StoredSandbox.read(number, line))
        except (ValueError, TypeError):
            damage.append(f"the index, at sandbox {number}")
    return index, damage


def _check(db: sqlite3.Connection, index: list[StoredSandbox]) -> None:
    """Check every page, line and sandbox. Raises ``ValueError`` for damage, or an error of the
    database."""
    [verdict] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(verdict.splitlines()[-1])
    for line in db.execute("SELECT sandbox, part, key, line, sum FROM lines"):
        _check_line(*line)
    settled = db.execute("SELECT sandbox FROM lines WHERE part = ?", (SETTLED,))
    numbers = {number for (number,) in settled}
    for sandbox in index:
        if sandbox.number not in numbers:
            raise ValueError(f"sandbox {masked_key(sandbox.key)} has no line {SETTLED}")


def _readable(db: sqlite3.Connection) -> str:
    """What can still be read of a damaged file, in words."""
    try:
        index, damage = _index_of(db)
    except (sqlite3.Error, ValueError):
        return "none of its sandboxes can be read; it was not changed"
    sound = []
    for sandbox in index:
        with contextlib.suppress(Unreadable):
            lines_of(db, sandbox.number)
            sound.append(masked_key(sandbox.key))
    count = f"{len(sound)} of {len(index) + len(damage)} sandboxes can be read"
    if sound:
        count += f": {', '.join(sound[:_MOST_NAMED])}"
    if len(sound) > _MOST_NAMED:
        count += " ..."
    return f"{count} (mockserver store export); it was not changed"


def lines_of(
    db: sqlite3.Connection,
    number: int,
    part: str | None = None,
    lock: AbstractContextManager[object] = _UNSHARED,
) -> StoredRows:
    """The lines of a sandbox, or of one part of it. Some thousand at a time under a ``lock``, so
    that commits need not wait for all of a large one. Raises ``Unreadable``."""
    parts: dict[str, PartRows] = {}
    # Each time from behind the last line that was read: others may write between two times.
    last_part: str = part or ""
    last_key: int | str = -1
    to_part = part or _LAST_PART
    try:
        while True:
            with lock:
                wanted = (number, last_part, last_key, to_part, SLICE)
                lines = db.execute(_NEXT_LINES, wanted).fetchall()
            for last_part, last_key, line, written in lines:
                _check_line(number, last_part, last_key, line, written)
            for name, lines_of_part in groupby(lines, itemgetter(0)):
                _, keys, texts, _ = zip(*lines_of_part, strict=True)
                parts.setdefault(name, PartRows()).add(keys, texts)
            if len(lines) < SLICE:
                return parts
    except (sqlite3.Error, ValueError, TypeError) as problem:
        raise Unreadable(str(problem)) from None


def _check_line(sandbox: int, part: str, key: int | str, line: object, written: int) -> None:
    """Raises ``ValueError`` for a line whose sum is another than the ``written`` one."""
    if type(line) is not bytes or sum_of_line(sandbox, part, key, line) != written:
        raise ValueError(f"line {key} of {part}")


def sum_of_line(sandbox: int, part: str, key: int | str, line: bytes) -> int:
    """The sum of a line."""
    return crc32(line, crc32(f"{key}".encode(), _sum_of_part(sandbox, part)))


@lru_cache(256)
def _sum_of_part(sandbox: int, part: str) -> int:
    """The beginning of a sum, the same for all lines of a part: a commit has several of them."""
    return crc32(f"{sandbox}.{part}.".encode())


@contextlib.contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Raise errors of the database as refusals, in words that say what to do."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        name = _name_of(problem)
        if name.startswith(_TAKEN):
            raise _in_use(path) from None
        if name.startswith(_UNUSABLE):
            raise StoreRefused(
                f"{path} cannot be used: {_full(path) or problem}; it was not changed"
            ) from None
        raise StoreDamaged(f"{path} is damaged: {_words(problem)}; it was not changed") from None


def _name_of(problem: Exception) -> str:
    """The name that SQLite gives an error, such as ``SQLITE_BUSY``; none of one that Python's own
    module has raised."""
    return getattr(problem, "sqlite_errorname", "")


def _full(path: Path) -> str | None:
    """In words, that the disk of a file is full; None when it is not. The database itself says so
    only of some of its files, so a page is written beside it."""
    try:
        with TemporaryFile(dir=path.resolve().parent, buffering=0) as file:
            file.write(bytes(_BESIDE))
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full ({problem.strerror}): make room, and start again"
    return None


def _words(problem: Exception) -> str:
    """What is wrong, without quoting a text that may be a key."""
    words = str(problem)
    # SQLite quotes the text that it could not decode.
    if "UTF-8" in words.upper():
        return "a text in it is not UTF-8"
    return words


def make_or_find(path: Path) -> bool:
    """Whether there is no store yet; then the file is made, for its owner alone. Raises
    ``StoreRefused``."""
    size = _size_of(path)
    if size is None:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as problem:
            where = path if path.parent.is_dir() else path.parent
            raise StoreRefused(f"{path} cannot be made: {where}: {problem.strerror}") from None
        return True
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.resolve().parent, os.W_OK):
        raise StoreRefused(f"{path} and its folder must be writable")
    return not size


def log_of(path: Path) -> Path:
    """The file beside a store that holds its latest commits."""
    place = path.resolve()
    return place.with_name(f"{place.name}-wal")


def _size_of(path: Path) -> int | None:
    """The bytes of a file that may be a store; None when it does not exist. Raises
    ``StoreRefused`` for anything else."""
    try:
        if not path.exists():
            _refuse_lone_log(path, "is not there")
            return None
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise StoreRefused(f"{path} is not a file")
        if any(file.place == place_of(status) for file in OPEN_FILES):
            # Closing any descriptor of a file releases all locks on it, the first one's too.
            raise _in_use(path)
        if not status.st_size:
            _refuse_lone_log(path, "is empty")
        elif not _is_database(path):
            raise StoreRefused(
                f"{path} is not a store: it does not begin as an SQLite database; "
                "it was not changed"
            )
        return status.st_size
    except OSError as problem:
        raise StoreRefused(f"{path} cannot be opened: {problem.strerror}") from None


def _refuse_lone_log(path: Path, state: str) -> None:
    """Commits without their file are refused: SQLite would throw that log away."""
    log = log_of(path)
    if log.exists() and log.stat().st_size:
        raise StoreDamaged(f"{path} {state}, and {log} beside it has commits; nothing was changed")


def place_of(status: os.stat_result) -> tuple[int, int]:
    """What a file is, by whatever path: two names may lead to one."""
    return status.st_dev, status.st_ino


def _is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's do. Of any other SQLite says that it may be encrypted."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _in_use(path: Path) -> StoreRefused:
    """The refusal of a file that is open: two servers would each overwrite what the other keeps."""
    return StoreRefused(
        f"{path} is in use by another process: stop it, or use another file", Exit.IN_USE
    )
