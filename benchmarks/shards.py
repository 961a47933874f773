"""What a request costs on two servers behind nginx, against one server alone: CPU time of the
servers, in one run.

    python -m benchmarks.shards [--rounds N]

Sandboxes share nothing, so two servers on two cores of their own take twice the requests of one, as
long as a request costs each of them no more than it costs one alone. That is measured here: client,
proxy and servers need more cores than many machines have, and CPU time is the same whoever else
uses the machine. Needs ``wrk`` and ``nginx``. Creates charges under 64 keys. Exit code 1 when a
request costs more than 15 % more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from benchmarks.findings import cpu_of
from benchmarks.proxy import cluster
from benchmarks.run import Served, sandbox, wrk

KEYS = 64
SECONDS = 4
MOST = 1.15


def cost(front: Served, servers: Sequence[Served], number: int) -> tuple[float, list[float]]:
    """CPU seconds of the servers for each request, and the share of each server in that."""
    before = [cpu_of(server) for server in servers]
    load = wrk(front, SECONDS, "create", str(number * 1_000_000), str(KEYS))
    used = [cpu_of(server) - begun for server, begun in zip(servers, before, strict=True)]
    return sum(used) / (load.rate * SECONDS), [part / sum(used) for part in used]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    taken: dict[str, list[float]] = {
        "one server": [],
        "one behind nginx": [],
        "two behind nginx": [],
    }
    shares: list[float] = []
    with sandbox() as alone, cluster(1) as one, cluster(2) as two:
        ways = {
            "one server": (alone, (alone,)),
            "one behind nginx": (one.front, one.shards),
            "two behind nginx": (two.front, two.shards),
        }
        for number in range(rounds + 1):
            for name, (front, servers) in ways.items():
                seconds, parts = cost(front, servers, number)
                if number:
                    taken[name].append(seconds)
                    shares = parts
    for name, seconds_each in taken.items():
        print(f"{name:<18}{statistics.median(seconds_each) * 1e6:>8.0f} us of CPU a request")
    ratio = statistics.median(taken["two behind nginx"]) / statistics.median(taken["one server"])
    print(
        f"two behind nginx / one alone: {ratio:.2f}, reach at most {MOST:g}; busiest of the two "
        f"{max(shares):.0%}"
    )
    print(f"so two on cores of their own take {min(2 / ratio, 2):.1f} times the requests of one")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
