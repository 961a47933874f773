"""The log beside a store (``-wal``), in which its latest commits are: whether any of them is lost.

SQLite takes the first frame that is not whole for the end of the log, as it is when a process ends while it writes one.
What was answered must not be lost unnoticed: a commit behind that frame is damage, and so is a log that is not there
though commits were in it. A log that was cut looks like one that was written so far.

Source: the published format of SQLite's files (database header, write-ahead log, WAL-index header).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

IN_LOG = 1 << 16
"""Part of the user version of a file whose latest commits are in its log. What the log itself says is without it: when
SQLite has put all of the log into the file, the file is without it too."""

STORE_SHIFT = 17
STORES = 1 << 14
"""The bits above are chance, and the same in a file and in its log."""

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
_USER_VERSION, _APPLICATION, _BEGINNING = 60, 68, 100
_LAST_FRAME = 16
_LARGEST_PAGE = 65_536


def log_of(path: Path) -> Path:
    """The file beside a store in which its latest commits are."""
    place = path.resolve()
    return place.with_name(f"{place.name}-wal")


def fault_of_log(path: Path, file: BinaryIO, version: int) -> str | None:
    """What is lost of the commits beside a file, None when nothing is. ``file`` is the store, ``version`` its user
    version as the log has it; a connection must have it open."""
    log = log_of(path)
    header = file.read(_BEGINNING)
    if len(header) < _BEGINNING:
        return "it ends within its beginning"
    [alone], [application] = (struct.unpack_from(">i", header, place) for place in (_USER_VERSION, _APPLICATION))
    size = log.stat().st_size if log.exists() else 0
    if not size:
        return f"{log.name} beside it, with its latest commits, is missing" if alone & IN_LOG else None
    whole = _whole_frames(path)
    with log.open("rb") as opened:
        fault = _fault_of_frames(opened, whole)
    if fault is not None:
        return f"{log.name} beside it is damaged: {fault}"
    is_other = alone >> STORE_SHIFT != version >> STORE_SHIFT or (not alone & IN_LOG and whole > 1)
    # What has not been put into a new file yet is all in its log.
    return f"{log.name} beside it is the log of another file" if application and is_other else None


def _whole_frames(path: Path) -> int:
    """How many frames SQLite takes for whole, by the index that it makes of the log."""
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
    for number, head, before, body in _frames(log, page, whole, (first, second)):
        _, is_commit, *rest = head
        if is_commit and rest[:2] == salts and _sum(order, body, before) == tuple(rest[2:]):
            return f"frame {whole + 1} is not whole, and frame {number}, which ends a commit, is"
    return None


def _frames(
    log: BinaryIO, page: int, whole: int, first: tuple[int, int]
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, int], bytes]]:
    """The frames behind those that are whole: number, header, the sum of the frame before, and what its own sum is
    of."""
    before, number = first, whole
    if whole:
        log.seek(_HEADER.size + (whole - 1) * (_FRAME.size + page))
        *_, one, other = _FRAME.unpack(log.read(_FRAME.size))
        before = one, other
    log.seek(_HEADER.size + whole * (_FRAME.size + page))
    while len(raw := log.read(_FRAME.size + page)) == _FRAME.size + page:
        number += 1
        head = _FRAME.unpack_from(raw)
        yield number, head, before, raw[:8] + raw[_FRAME.size :]
        before = head[4], head[5]


def _sum(order: str, content: bytes, begin: tuple[int, int]) -> tuple[int, int]:
    first, second = begin
    for one, other in struct.iter_unpack(f"{order}2I", content):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
