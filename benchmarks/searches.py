"""Searches of a sandbox with a million objects: how long each takes, and how long others wait
meanwhile.

    python -m benchmarks.searches [KIND ...] [--rows ROWS] [--steps]

Fills a sandbox with 1,000,000 objects of one kind after the other, or as many as there can be. Then
asks for each filter alone, for every two of them together, and for each field to sort by, alone and
with a filter, each twice: when it is first asked for, an index or an order may have to be made.
Somebody else creates charges in another sandbox all the while. With ``--steps`` the longest step of
the event loop is printed instead of their wait, in milliseconds of CPU time, and what counts of the
second time is the CPU time that the server takes while nobody creates charges: other users of the
machine hardly change either.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.batch import Caller, bother, serve, timed
from benchmarks.kinds import CARD_BODY, KINDS, Filters, Kind
from benchmarks.steps import busy, longest

LONGEST_S = 0.1
LONGEST_P99_MS = 50.0
LONGEST_STEP_MS = 50.0
JOURNAL = ("--journal-limit", "1000000", "--journal-memory", "1000MB")


def queries(kind: Kind, filters: Filters) -> Iterator[tuple[str, str]]:
    """The searches by name."""
    single = [({name}, parameters) for name, parameters in filters.items()]
    orders = [({name}, {"SortBy": name}) for name in kind.sorts]
    pairs = [*combinations(single, 2), *((one, order) for order in orders for one in single)]
    together = [(one | other, _both(given, also)) for (one, given), (other, also) in pairs]
    yield "all", kind.path
    for names, parameters in (*single, *orders, *together):
        sign = "&" if "?" in kind.path else "?"
        yield " ".join(names), f"{kind.path}{sign}{urlencode(parameters)}"


def _both(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    words = [given["q"] for given in (one, other) if "q" in given]
    return {**one, **other, **({"q": " ".join(words)} if words else {})}


def measure(name: str, kind: Kind, rows: int, *, by_steps: bool) -> bool:
    """Measure one kind and print the slowest searches; whether all are within reach."""
    taken: list[tuple[str, float, float, float, str]] = []
    turn = threading.Lock()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "longest"
        process, port = serve(Path(folder), *JOURNAL, steps=file if by_steps else None)
        try:
            call = Caller(port, "sk_large")
            took, _ = timed(lambda: kind.fill(call, rows))
            print(f"{rows:,} {name} made in {took:.0f} s", flush=True)
            over, waits = threading.Event(), list[float]()
            others = threading.Thread(target=bother, args=(port, over, waits, turn))
            filters = kind.filters(call, rows)
            # The first charge loads what it needs.
            Caller(port, "sk_other")("POST", "/charge/card", {**CARD_BODY, "amount": 5})
            others.start()
            for search, path in queries(kind, filters):
                if by_steps:
                    longest(file, process.pid)
                begun, what = len(waits), ""
                first, _ = timed(lambda path=path: call.raw("GET", path))  # type: ignore[misc]
                again, answer = timed(lambda path=path: call.raw("GET", path))  # type: ignore[misc]
                if "count" not in (said := json.loads(answer)):
                    raise SystemExit(f"{path}: {said}")
                wait = max(waits[begun:], default=0) * 1e3
                if by_steps:
                    wait, what = longest(file, process.pid)
                    with turn:
                        begun_s = busy(process.pid)
                        call.raw("GET", path)
                        again = busy(process.pid) - begun_s
                taken.append((search, first, again, wait, what))
            over.set()
            others.join()
        finally:
            process.terminate()
            process.wait()
    waits.sort()
    p99 = waits[int(len(waits) * 0.99)] * 1e3
    worst = "step ms" if by_steps else "others' worst ms"
    print(f"{'search':<40}{'first s':>9}{'again s':>9}{worst:>18}")
    shown = {row for place in (1, 2, 3) for row in sorted(taken, key=lambda row: -row[place])[:12]}
    for search, first, again, wait, what in sorted(shown, key=lambda row: -row[2]):
        print(
            f"{search:<40}{first:>9.3f}{again:>9.3f}{wait:>18.1f}  "
            f"{what[:90] if wait > LONGEST_STEP_MS else ''}"
        )
    at_first, slow = (sum(row[place] > LONGEST_S for row in taken) for place in (1, 2))
    print(
        f"{len(taken)} searches, {at_first} of them over {LONGEST_S} s the first time, {slow} the "
        "second"
    )
    print(
        f"others: p50 {waits[len(waits) // 2] * 1e3:.1f} ms, p99 {p99:.1f}, worst "
        f"{waits[-1] * 1e3:.1f}",
        flush=True,
    )
    stalls = by_steps and any(row[3] > LONGEST_STEP_MS for row in taken)
    return not slow and not stalls and p99 <= LONGEST_P99_MS


def main() -> int:
    """Measure each kind once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.searches")
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; all without one"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--steps", action="store_true")
    given = parser.parse_args()
    for name in given.kinds:
        if name not in KINDS:
            parser.error(f"got '{name}', wanted one of {', '.join(KINDS)}")
    wanted = {name: KINDS[name] for name in given.kinds or KINDS}
    good = [
        measure(name, kind, min(given.rows, kind.most), by_steps=given.steps)
        for name, kind in wanted.items()
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
