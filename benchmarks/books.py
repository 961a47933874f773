"""What the books cost: on a create, and to read them beside a million charges.

    python -m benchmarks.books [CHARGES]

Needs ``valgrind``. Counts the instructions of a create in a sandbox whose books nobody has asked
for, and in one that keeps the running sums. Then fills a sandbox step by step, by batches, to
10,000 and to 1,000,000 charges, and takes the CPU time that one order, a page and the totals of all
cost the server. Ends with exit code 1 when the sums cost over 3 % of a create, or a read over a
quarter more beside the many than beside the few.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.batch import Caller
from benchmarks.instructions import FEW, MANY, instructions
from benchmarks.large import filled
from benchmarks.table import Running, kinds, running

MOST_OF_A_CREATE = 1.03
MOST = 1.25
"""Memory that lies further away is slower, in whatever structure."""

FIRST = 10_000
ROUNDS, CALLS = 9, 100


def of_a_create() -> float:
    """What a create costs that counts for running sums, of what it costs else."""
    plain, counted = (
        (instructions(kind, MANY, []) - instructions(kind, FEW, [])) / (MANY - FEW)
        for kind in ("create", "create-totals")
    )
    print(f"| a create | {plain:,.0f} | {counted:,.0f} | {counted / plain:.3f} |", flush=True)
    return counted / plain


def reads(call: Caller, stored: int) -> dict[str, Callable[[int], object]]:
    """What is read, by its name; a number makes each call another one."""
    return {
        "one order": lambda number: call.raw(
            "GET", f"/__admin/books?reference=row-{number * 7919 % stored}"
        ),
        "ten orders and the totals": lambda number: call.raw(
            "GET", f"/__admin/books?limit=10&after={number}"
        ),
    }


def cpu(server: Running, read: Callable[[int], object]) -> float:
    """Microseconds of CPU that a read costs the server, at the median of some rounds."""
    seen = []
    for turn in range(ROUNDS):
        begun = server.seconds()
        for number in range(CALLS):
            read(turn * CALLS + number)
        seen.append((server.seconds() - begun) / CALLS * 1e6)
    return statistics.median(seen)


def main() -> int:
    """Measure once and print."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print("| instructions | books never asked for | with running sums | ratio |\n|---|---|---|---|")
    good = of_a_create() <= MOST_OF_A_CREATE
    seen: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running(kinds(None)[0], folder))
        call, stored = Caller(server.port, "sk_books"), 0
        for wanted in (FIRST, most):
            filled(call, wanted - stored, begin=stored)
            stored, begun = wanted, server.seconds()
            call.raw("GET", "/__admin/books?limit=1")
            call.raw("GET", "/__admin/books?reference=row-0")
            print(
                f"{stored:,} charges: the first look takes {server.seconds() - begun:.2f} s of CPU",
                flush=True,
            )
            for name, read in reads(call, stored).items():
                seen.setdefault(name, []).append(cpu(server, read))
    print(f"| CPU us | {FIRST:,} charges | {most:,} | ratio |\n|---|---|---|---|")
    for name, (few, many) in seen.items():
        print(f"| {name} | {few:.0f} | {many:.0f} | {many / few:.2f} |")
        good = good and many <= few * MOST
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
