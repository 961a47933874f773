"""Measure the sandbox against the bare reference, in one run on one machine, and hold the ratios to
their reach.

    python benchmarks/run.py [--quick] [--json FILE]

Needs ``wrk`` (and ``taskset``: the server gets core 0, the load core 1). Absolute figures depend on
the machine; ratios travel. ``--quick`` measures for a shorter time and with 20,000 instead of
100,000 charges. The charges are made through ``POST /charge/card`` over HTTP, one sandbox, closed
loop, 16 connections. Exit code 1 when a figure misses its reach.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONNECTIONS = 16
SMALL = 1_000
KEY = {"x-secretkey": "bench"}
CUSTOMER_CHARGES = 10
RULES = 1_000
PROVIDER = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
CARD = {
    "CardNumber": "4111111111111111",
    "ExpiryDate": "12/40",
    "Ccv": "123",
    "Cardholder": "Ann Example",
}
CHARGE = {"Amount": 12.5, "Currency": "AUD", "ProviderId": PROVIDER, "PaymentInformation": CARD}


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of wrk saw. Latencies in microseconds."""

    rate: float
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value, and the reach that it must keep below or above; None is for
    information."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def missed(self) -> bool:
        return (self.at_least is not None and self.value < self.at_least) or (
            self.at_most is not None and self.value > self.at_most
        )

    @property
    def reach(self) -> str:
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"


@dataclass(frozen=True, slots=True)
class Served:
    """A server under measurement."""

    port: int
    process: subprocess.Popen[bytes]
    first_answer: float

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON answer. Raises RuntimeError when it is a refusal."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {**KEY, "content-type": "application/json"} if body is not None else KEY
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {content[:500]!r}")
        return json.loads(content)

    def resident(self) -> int:
        """Resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def pinned(core: int, *command: str) -> list[str]:
    if shutil.which("taskset") and len(os.sched_getaffinity(0)) > 1:
        return ["taskset", "-c", str(core), *command]
    return list(command)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(*command: str, port: int) -> Iterator[Served]:
    """Start a server and time its first answer to a charge."""
    # Without compiled modules every start would compile them anew, which no installed product does.
    left_out = ("MOCKSERVER_", "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
    begin = time.perf_counter()
    process = subprocess.Popen(
        pinned(0, sys.executable, *command),
        cwd=ROOT,
        env={**environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # The log of requests is written as always, but unknown field it.
        stderr=log,
    )
    try:
        while True:
            if process.poll() is not None:
                log.seek(0)
                words = log.read().decode("utf-8", "replace")
                raise RuntimeError(
                    f"the server ended with exit code {process.returncode} before it answered: "
                    f"{words}"
                )
            try:
                Served(port, process, 0).call("POST", "/charge/card", CHARGE)
                break
            except OSError:
                time.sleep(0.002)
        yield Served(port, process, time.perf_counter() - begin)
    finally:
        process.terminate()
        process.wait(20)
        log.close()


@contextlib.contextmanager
def sandbox(*options: str) -> Iterator[Served]:
    port = free_port()
    with served("-m", "mockserver", "serve", "--port", str(port), *options, port=port) as server:
        yield server


@contextlib.contextmanager
def many_rules() -> Iterator[Path]:
    """A scenario of 1,000 rules on the creation of charges, none of which any benchmarked charge
    meets."""
    rules = [
        {"id": f"never-{number}", "when": {"op": "charge.create", "request.reference": f"never-{number}"},
         "then": {"decline": "insufficient_funds"}}
        for number in range(RULES)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.json"
        path.write_text(json.dumps({"version": 1, "name": "many", "rules": rules}))
        yield path


@contextlib.contextmanager
def reference() -> Iterator[Served]:
    port = free_port()
    with served(str(HERE / "reference.py"), str(port), port=port) as server:
        yield server


def wrk(server: Served, seconds: int, *args: str, connections: int = CONNECTIONS) -> Load:
    """Run wrk with ``load.lua``. Raises RuntimeError when an answer was a refusal or a connection
    failed."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(HERE / "load.lua")]
    address = [f"http://127.0.0.1:{server.port}", "--", *args]
    done = subprocess.run(
        [*pinned(1, *command), *address], capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    if seen["errors"]:
        raise RuntimeError(
            f"{' '.join(args[:3])}: {seen['errors']} of {seen['requests']} requests failed"
        )
    return Load(seen["requests"] / seen["seconds"], seen["p50"], seen["p99"])


def stored(server: Served) -> int:
    """How many charges there are."""
    return int(server.call("GET", "/charge?limit=1")["count"])


def fill(server: Served, target: int) -> int:
    """Make charges until at least ``target`` are stored; how many there are then."""
    while (count := stored(server)) < target:
        # Answers under way at the end of a run are stored but not counted by wrk: no reference is
        # used twice.
        wrk(server, 2, "create", str(count * 2))
    return count


def create_and_read(server: Served, seconds: int) -> tuple[Load, Load]:
    """Both rates on an otherwise empty store; a short run warms up."""
    wrk(server, 1, "create", "0")
    created = wrk(server, seconds, "create", "0")
    paths = [
        f"/charge/{server.call('POST', '/charge/card', CHARGE)['chargeId']}" for _ in range(64)
    ]
    return created, wrk(server, seconds, "read", *paths)


def make_customer(server: Served) -> str:
    """A customer with a few charges; its id."""
    body = {
        "ProviderId": PROVIDER,
        "FirstName": "Ann",
        "LastName": "Example",
        "PaymentInformation": CARD,
    }
    identifier = str(server.call("POST", "/customer/card", body)["customerId"])
    for _ in range(CUSTOMER_CHARGES):
        server.call(
            "POST", "/charge/customer", {"CustomerId": identifier, "Amount": 5, "Currency": "AUD"}
        )
    return identifier


def searches(server: Served, customer: str, seconds: int) -> dict[str, Load]:
    """Runs of the two indexed searches. Raises RuntimeError when one finds another number of
    charges."""
    asked = {"Reference": "/charge?Reference=r-500", "CustomerId": f"/charge?CustomerId={customer}"}
    for name, (path, count) in zip(
        asked, zip(asked.values(), (1, CUSTOMER_CHARGES), strict=True), strict=True
    ):
        if (found := server.call("GET", path)["count"]) != count:
            raise RuntimeError(f"search by {name} found {found} charges, wanted {count}")
    return {name: wrk(server, seconds, "read", path) for name, path in asked.items()}


def measure(seconds: int, many: int, starts: int) -> list[Figure]:
    """Every figure of one run."""
    cold = []
    for _ in range(starts):
        with sandbox() as server:
            cold.append(server.first_answer)
    with reference() as server:
        bare_first = server.first_answer
        bare_create, bare_read = create_and_read(server, seconds)
    with sandbox() as server:
        create, read = create_and_read(server, seconds)
    with many_rules() as path, sandbox("--scenario", str(path)) as server:
        ruled, _ = create_and_read(server, seconds)
    with sandbox() as server:
        customer = make_customer(server)
        for number in range(SMALL):
            server.call("POST", "/charge/card", {**CHARGE, "Reference": f"r-{number}"})
        few, small_memory = stored(server), server.resident()
        small = searches(server, customer, seconds)
        total, memory = fill(server, many), server.resident()
        large = searches(server, customer, seconds)
        full = wrk(server, seconds, "create", str(total * 2))
    return [
        Figure("reference: POST /charge/card", bare_create.rate, "req/s"),
        Figure("reference: GET /charge/<id>", bare_read.rate, "req/s"),
        Figure("reference: first answer", bare_first, "s"),
        Figure("POST /charge/card", create.rate, "req/s"),
        Figure("GET /charge/<id>", read.rate, "req/s"),
        Figure("create / reference", create.rate / bare_create.rate, "ratio", at_least=0.6),
        Figure(
            f"create with {RULES:,} rules that match nothing / with none",
            ruled.rate / create.rate,
            "ratio",
            0.8,
        ),
        Figure("get / reference", read.rate / bare_read.rate, "ratio", at_least=0.6),
        Figure(f"create with {many:,} stored, p50", full.p50 / 1e3, "ms"),
        Figure(f"create with {many:,} stored, p99", full.p99 / 1e3, "ms"),
        Figure("p99 / p50", full.p99 / full.p50, "ratio", at_most=10),
        *(
            Figure(f"search by {name}, {many:,} stored", large[name].rate, "req/s")
            for name in large
        ),
        *(
            Figure(
                f"search by {name}, time {many:,} / {SMALL:,}",
                small[name].rate / large[name].rate,
                "ratio",
                None,
                2,
            )
            for name in large
        ),
        Figure("first answer", statistics.median(cold), "s", at_most=0.5),
        Figure("memory of a charge", (memory - small_memory) / (total - few), "B", at_most=4096),
    ]


def main() -> int:
    """Measure, print the table, and say by the exit code whether every reach was kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="shorter runs, 20,000 charges")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    chosen = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed (Debian: apt-get install wrk)")
    figures = measure(2, 20_000, 3) if chosen.quick else measure(8, 100_000, 5)
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        verdict = (
            ""
            if not figure.reach
            else f"{figure.reach:>8}  {'MISSED' if figure.missed else 'kept'}"
        )
        print(f"{figure.name:<{width}}  {figure.value:>12,.2f} {figure.unit:<6}{verdict}".rstrip())
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    return 1 if any(figure.missed for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
