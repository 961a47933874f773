"""Creates, reads and searches beside a million charges against the same in a sandbox that is nearly
empty.

    python -m benchmarks.flat [CHARGES] [ROUNDS]

Needs ``wrk``. Two servers run at once; one sandbox is filled with 1,000,000 charges by batches.
They are loaded in turn as ``benchmarks.table`` loads them, a second at a time. Ends with exit code
1 when one of them costs over a quarter more CPU time beside the million, at the median of all
rounds.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.batch import Caller
from benchmarks.large import filled
from benchmarks.table import kinds, loads, running

MOST = 1.25
"""Memory that lies further away is slower, in whatever structure."""


def main() -> int:
    """Measure once and print."""
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    stored, rounds = (*given, *(1_000_000, 10)[len(given) :])
    kind = kinds(None)[0]
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        small, large = (stack.enter_context(running(kind, folder)) for folder in folders)
        before, call = large.resident(), Caller(large.port, "bench")
        filled(call, stored)
        call("PUT", "/__admin/clock", {"mode": "real"})
        print(f"{stored:,} charges take {(large.resident() - before) / stored:,.0f} bytes each")
        seen: dict[str, list[tuple[float, float]]] = {}
        p99: dict[str, list[float]] = {}
        for server in (small, large):
            server.paths = kind.prepare(server)
        for number in range(rounds):
            both = {
                server.port: loads(server, 1)
                for server in ((small, large) if number % 2 else (large, small))
            }
            for name, load in both[large.port].items():
                seen.setdefault(name, []).append((both[small.port][name].cpu, load.cpu))
                p99.setdefault(name, []).append(load.p99)
    print("| | CPU us, few charges | many | ratio | p99 ms, many |\n|---|---|---|---|---|")
    good = True
    for name, pairs in seen.items():
        few, many = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"| {name} | {few:.0f} | {many:.0f} | {many / few:.2f} | "
            f"{statistics.median(p99[name]):.1f} |"
        )
        good = good and many <= few * MOST
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
