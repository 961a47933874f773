"""What a cell of ``mockserver explore`` costs above its command.

    python -m benchmarks.explore [--seeds 200] [--milliseconds 50]

The command is a shell that calls the service with curl and works for so many milliseconds of CPU
time. It runs alone, then under as many seeds, on two jobs. ``CPU`` is what explorer and server
themselves use for each cell; ``wall`` compares the time of all cells with that of the command alone
on as many jobs, on an idle machine. The reach is a CPU time of 10 ms a cell, and 1.44 times the
command alone: 36 s for 1,000 cells of 50 ms on two cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mockserver.adapters.local_server import start, stop

JOBS = 2
REACH_MS, REACH_RATIO = 10.0, 1.44
PAY = """
curl -s --max-time 1 "$MOCKSERVER_URL/charge/card" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" -o /dev/null --json '{
  "amount": 20, "reference": "order-5", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
  "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}}'
PYTHON -S -E -c 'import time
while time.process_time() < LENGTH: pass'
exit 0
"""


EXPLORER = """
import atexit, resource
from mockserver.cli import main
def tell():
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime)
atexit.register(tell)
main()
"""
"""The command, which says last how many seconds of CPU time it has used itself."""


def children() -> float:
    """Seconds of CPU time of all processes that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alone(script: Path, count: int) -> float:
    """Seconds of CPU time of one run of the command, with a server that answers it."""
    with tempfile.TemporaryDirectory() as folder:
        url, process = start(["--log-level", "error"], Path(folder))
        variables = {**os.environ, "MOCKSERVER_URL": url, "MOCKSERVER_SECRET_KEY": "sk_bench"}
        before = children()
        for _ in range(count):
            subprocess.run(["sh", str(script)], env=variables, check=True)
        taken = (children() - before) / count
        stop(process)
    return taken


def own(process: int) -> float:
    """Seconds of CPU time of a process that runs, without its children."""
    spent = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


def explored(script: Path, seeds: int, folder: str) -> tuple[float, float]:
    """Seconds of CPU time of explorer and server, and of real time, of an exploration of so many
    seeds."""
    url, server = start(["--log-level", "error"], Path(folder))
    asked = [
        "--seeds",
        str(seeds),
        "--all",
        "--jobs",
        str(JOBS),
        "--client-timeout",
        "1s",
        "--faults",
        "declined_soft",
    ]
    line = [
        sys.executable,
        "-c",
        EXPLORER,
        "explore",
        "--url",
        url,
        *asked,
        "--out",
        f"{folder}/out",
    ]
    before, began = own(server.pid), time.monotonic()
    ended = subprocess.run(
        [*line, "--", "sh", str(script)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    took, served = time.monotonic() - began, own(server.pid) - before
    stop(server)
    return float(ended.stdout.split()[-1]) + served, took


def main() -> int:
    """Measure, print, and say whether it is within reach."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--milliseconds", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "pay.sh"
        script.write_text(
            PAY.replace("LENGTH", str(given.milliseconds / 1_000)).replace("PYTHON", sys.executable)
        )
        command = alone(script, 20)
        for name in ("few", "many"):
            (Path(folder) / name).mkdir()
        few, short = explored(script, 20, f"{folder}/few")
        many, long = explored(script, 20 + given.seeds, f"{folder}/many")
    # What starting and reporting cost is in both.
    cell, wall = (many - few) / given.seeds, (long - short) / given.seeds
    above, ratio = cell * 1e3, wall * JOBS / command
    print(f"the command alone: {command * 1e3:.1f} ms of CPU time")
    print(f"a cell above it: {above:.1f} ms of CPU time (reach {REACH_MS:.0f})")
    print(
        f"wall: {ratio:.2f} times the command's CPU time on {JOBS} jobs (reach {REACH_RATIO}, on "
        "an idle machine)"
    )
    return int(above > REACH_MS)


if __name__ == "__main__":
    sys.exit(main())
