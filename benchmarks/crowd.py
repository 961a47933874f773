"""What creates cost while many look on: 1,000 rules, 1,000 calls that wait, 100 event streams,
against none of them.

    python -m benchmarks.crowd [--rounds N]

CPU time of the server for each create over HTTP at 16 connections, the rounds of all servers in
turn. The rules match nothing; the waiting calls wait in the sandbox that is written to, for a
charge that never comes. Rules cost a part of each create, calls and streams a part of each second:
more than 10 % of either is too much, and exit code 1. Needs wrk.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.findings import cpu_of
from benchmarks.run import Served, many_rules, sandbox, wrk

SECONDS = 3
MOST = 0.10
WAITERS = 1_000
STREAMS = 100
NOBODY, RULES, WAITING, STREAMING = (
    "nobody",
    "1,000 rules",
    f"{WAITERS:,} waiters",
    f"{STREAMS} streams",
)
WAIT = json.dumps({"for": {"charge": {"reference": "never"}}, "timeout": "60s"})


@contextlib.contextmanager
def looking_on(
    server: Served, count: int, head: str, body: str = ""
) -> Iterator[list[socket.socket]]:
    """So many connections whose request is sent, and whose answer is not read; an answer that comes
    is an error."""
    text = f"{head} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nx-secretkey: bench\r\n"
    text += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    with ExitStack() as opened:
        found = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            for _ in range(count)
        ]
        for one in found:
            one.sendall(text.encode())
        time.sleep(1)
        yield found


@dataclass(frozen=True, slots=True)
class Round:
    """CPU seconds of a create, and creates a second."""

    cost: float
    rate: float


def measure(rounds: int) -> dict[str, list[Round]]:
    """Every round, by who looks on."""
    found: dict[str, list[Round]] = {NOBODY: [], RULES: [], WAITING: [], STREAMING: []}
    crowds = {
        WAITING: (WAITERS, "POST /__admin/wait", WAIT),
        STREAMING: (STREAMS, "GET /__admin/events-stream", ""),
    }
    with ExitStack() as running:
        rules = running.enter_context(many_rules())
        options = {RULES: ("--scenario", str(rules))}
        servers = {name: running.enter_context(sandbox(*options.get(name, ()))) for name in found}
        for number in range(rounds + 1):
            for name, server in servers.items():
                server.call("POST", "/__admin/reset")
                with ExitStack() as crowd:
                    if name in crowds:
                        crowd.enter_context(looking_on(server, *crowds[name]))
                    begun = cpu_of(server)
                    load = wrk(server, SECONDS, "create", str(number * 1_000_000))
                    cost = (cpu_of(server) - begun) / (load.rate * SECONDS)
                if number:
                    found[name].append(Round(cost, load.rate))
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    found = measure(parser.parse_args().rounds)
    alone = statistics.median(one.cost for one in found[NOBODY])
    good = True
    for name, rounds in found.items():
        cost = statistics.median(one.cost for one in rounds)
        share = statistics.median((one.cost - alone) * one.rate for one in rounds)
        extra, of = (cost / alone - 1, "of a create") if name == RULES else (share, "of a core")
        good = good and extra <= MOST
        words = (
            ""
            if name == NOBODY
            else f"{extra:>+7.1%} {of}  {'kept' if extra <= MOST else 'MISSED'}"
        )
        print(f"{name:<16}{cost * 1e6:>7.0f} us of CPU a create {words}".rstrip())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
