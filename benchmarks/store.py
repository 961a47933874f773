"""Measure what keeping costs: charges with ``--store`` against charges without, in turns on one machine, the size of
the file, and a restart.

    python benchmarks/store.py [--quick]

Needs ``wrk``, as ``run.py``. ``--quick`` keeps 10,000 instead of 100,000 charges. Exit code 1 when a figure
misses its reach.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from run import Figure, fill, sandbox, stored, wrk

RATIO = 0.5
"""Least rate of charges with a store, as a share of that without."""

RESTART = 3.0
"""Seconds until a server of 100,000 charges answers, its start and the reading of the sandbox included."""

PER_CHARGE = 3 * 1024
"""Bytes of the file for each charge, journal and all."""

ROUNDS = 3


def measure(seconds: int, many: int) -> list[Figure]:
    """Every figure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        ratios = []
        with sandbox() as plain, sandbox("--store", str(path)) as kept:
            for server in (plain, kept):
                wrk(server, 1, "create", "0")
            for turn in range(ROUNDS):
                without = wrk(plain, seconds, "create", str(turn * 1_000_000))
                ratios.append(wrk(kept, seconds, "create", str(turn * 1_000_000)).rate / without.rate)
            count = fill(kept, many)
        size = sum(os.path.getsize(Path(folder) / name) for name in os.listdir(folder))
        with sandbox("--store", str(path)) as again:
            restart, found = again.first_answer, stored(again)
    if found <= count:
        raise RuntimeError(f"{count} charges were kept, {found} are there after the restart")
    return [
        Figure("create, with a store", statistics.median(ratios), "of that without", at_least=RATIO),
        Figure(f"restart with {count} charges", restart, "s", at_most=RESTART * max(count / 100_000, 1)),
        Figure("file", size / count, "B a charge", at_most=PER_CHARGE),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="measure for a shorter time, with fewer charges")
    quick = parser.parse_args().quick
    figures = measure(2 if quick else 8, 10_000 if quick else 100_000)
    for figure in figures:
        missed = "  MISSED" if figure.missed else ""
        print(f"{figure.name:32} {figure.value:10.2f} {figure.unit:16} {figure.reach}{missed}")
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
