"""Measure what keeping costs: charges with ``--store`` against charges without, in turns on one
machine, by CPU time of both servers; the least that a commit can take; the size of the file, and a
restart.

    python -m benchmarks.store [--quick]

Needs ``wrk``, as ``run.py``. ``--quick`` keeps 10,000 instead of 100,000 charges. Exit code 1 when
a figure misses its reach.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.run import Figure, Served, fill, sandbox, stored, wrk
from benchmarks.steps import busy

ADDED = {1: 150, 8: 75, 16: 75}
"""Most CPU time that keeping adds to a charge, in microseconds, by the connections."""

COMMITS = 2_000
"""Commits of the bare loop, each of as many bytes as those of a charge."""
BYTES = 6_500

RESTART = 3.0
"""Seconds until a server of 100,000 charges answers, its start and the reading of the sandbox
included."""

PER_CHARGE = 1_500
"""Bytes of the file for each charge, journal and all."""

ROUNDS = 3


def cpu(server: Served, seconds: int, connections: int, turn: int) -> float:
    """CPU time of a charge, in microseconds."""
    before = busy(server.process.pid)
    load = wrk(server, seconds, "create", str(turn * 1_000_000), connections=connections)
    return (busy(server.process.pid) - before) / (load.rate * seconds) * 1e6


def bare(folder: Path) -> float:
    """CPU time of a commit in a loop that does nothing else, in microseconds: the best of many
    stretches."""
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for setting in (
        "page_size = 8192",
        "locking_mode = EXCLUSIVE",
        "journal_mode = WAL",
        "synchronous = NORMAL",
    ):
        db.execute(f"PRAGMA {setting}")
    db.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, value BLOB NOT NULL)")
    best, value = float("inf"), os.urandom(BYTES)
    for _ in range(COMMITS // 20):
        began = time.thread_time()
        for _ in range(20):
            db.execute("INSERT INTO rows (value) VALUES (?)", (value,))
        best = min(best, (time.thread_time() - began) / 20)
    db.close()
    return best * 1e6


def measure(seconds: int, many: int) -> list[Figure]:
    """Every figure."""
    with tempfile.TemporaryDirectory() as folder:
        path, found = Path(folder) / "store.db", []
        with sandbox() as plain, sandbox("--store", str(path)) as kept:
            for server in (plain, kept):
                wrk(server, 1, "create", "0")
            for place, (connections, most) in enumerate(ADDED.items()):
                both = [
                    [
                        cpu(server, seconds, connections, ROUNDS * place + turn)
                        for server in (plain, kept)
                    ]
                    for turn in range(ROUNDS)
                ]
                without, with_store = map(statistics.median, zip(*both, strict=True))
                name = f"create without a store, {connections} connections"
                found.append(Figure(name, without, "us of CPU"))
                found.append(Figure("with one", with_store, "us of CPU"))
                found.append(Figure("added", with_store - without, "us of CPU", at_most=most))
            count = fill(kept, many)
        size = sum(os.path.getsize(Path(folder) / name) for name in os.listdir(folder))
        found.append(Figure("bare loop of INSERT and COMMIT", bare(Path(folder)), "us of CPU"))
        with sandbox("--store", str(path)) as again:
            restart, taken, again_there = again.first_answer, busy(again.process.pid), stored(again)
    if again_there <= count:
        raise RuntimeError(f"{count} charges were kept, {again_there} are there after the restart")
    return [
        *found,
        Figure(
            f"restart with {count} charges", restart, "s", at_most=RESTART * max(count / 100_000, 1)
        ),
        Figure("its CPU time", taken, "s"),
        Figure("file", size / count, "B a charge", at_most=PER_CHARGE),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="measure for a shorter time, with fewer charges"
    )
    quick = parser.parse_args().quick
    figures = measure(1 if quick else 4, 10_000 if quick else 100_000)
    for figure in figures:
        missed = "  MISSED" if figure.missed else ""
        print(f"{figure.name:42} {figure.value:10.2f} {figure.unit:16} {figure.reach}{missed}")
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
