"""The table of ``benchmarks/README.md``: the sandbox beside the bare references and its peers, in
one run.

    python -m benchmarks.table [--peers FOLDER] [--rounds N] [--seconds N] [--stored N]

Needs ``wrk``. All servers run at once and are loaded in turn with the same operation, round by
round, on one core, the load on another: each figure is the median of the rounds, each ratio that of
the ratios of the rounds, which a machine that others use moves least. ``CPU us`` is what a request
costs the server in CPU time. Ends with exit code 1 when a ratio of rates, or what is
said of waits, start and memory, misses its reach.

``--peers`` is a folder for the servers to compare with: what npm (stripe-stateful-mock,
json-server, wiremock) and pip (localstripe, pytest-httpserver) can fetch is installed there first,
unless it is there already. ``@stoplight/prism-cli`` is measured too when it is there. What is not
there is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

from benchmarks.run import CARD, HERE, PROVIDER, ROOT, free_port, pinned

CONNECTIONS = 16
SPREAD = 2_000
"""Charges that ``get, many`` reads in turn: more than any cache of answers holds."""

BODY = {
    "Amount": 12.5,
    "Currency": "AUD",
    "ProviderId": PROVIDER,
    "PaymentInformation": CARD,
    "Email": "ann@example.test",
    "Phone": "0400000000",
    "FirstName": "Ann",
    "LastName": "Example",
    "Address": {
        "Line1": "1 Example Street",
        "City": "Sydney",
        "Country": "AU",
        "PostalCode": "2000",
        "State": "NSW",
    },
    "Order": {"OrderNumber": "o-1", "FreightAmount": 1.5},
    "Ip": "203.0.113.7",
    "Metadata": {"shop": "benchmark", "tier": "gold"},
}
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


OURS, REFERENCE, BARE, SKETCH = (
    "this sandbox",
    "Starlette, pydantic, orjson, dict",
    "Starlette, constant answer",
    "sketch of a sandbox, its log to /dev/null",
)
STATEFUL = ("stripe-stateful-mock", "localstripe", "json-server")
"""Peers that keep what they are told."""

OPERATIONS = ("create", "get", "search", "get, many", "search, many")


@dataclass(frozen=True, slots=True)
class Load:
    """What was seen of one operation in one round: requests a second, the median and the 99th
    percentile of their times in ms, and the CPU time of one in us."""

    rate: float
    p50: float
    p99: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Kind:
    """A server that can be measured. ``first`` is the path, type and body of the call whose answer
    is waited for; ``create`` what ``load.lua`` is told to make charges, ``prepare`` gives the paths
    to read by name."""

    name: str
    command: Callable[[int, Path], list[str]]
    first: tuple[str, str, str]
    create: tuple[str, ...]
    prepare: Callable[[Running], dict[str, list[str]]]
    fills: bool = False


@dataclass(slots=True)
class Running:
    """A server under measurement: ``first`` is how long its first answer took, ``cpu`` what that
    cost, both in seconds; ``idle`` its memory after that, in bytes."""

    kind: Kind
    port: int
    process: subprocess.Popen[bytes]
    first: float = 0
    cpu: float = 0
    idle: int = 0
    made: int = 0
    create: tuple[str, ...] = ()
    paths: dict[str, list[str]] = field(default_factory=dict)

    def call(self, method: str, path: str, body: str | None = None, kind: str = JSON) -> Any:
        """The JSON answer. Raises ``RuntimeError`` when it is a refusal."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {
            "x-secretkey": "bench",
            "authorization": "Bearer sk_test_bench",
            "content-type": kind,
        }
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise RuntimeError(
                f"{self.kind.name}: {method} {path} answered {answer.status}: {content[:300]!r}"
            )
        return json.loads(content)

    def seconds(self) -> float:
        """CPU time that it has used."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def resident(self) -> int:
        """Resident memory, in bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )

    def load(self, seconds: int, *args: str) -> Load:
        """Ask for the same again and again."""
        before = self.seconds()
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(HERE / "load.lua")]
        address = [f"http://127.0.0.1:{self.port}", "--", *args]
        done = subprocess.run(
            [*pinned(1, *command), *address], capture_output=True, text=True, check=True
        )
        seen = json.loads(done.stdout.splitlines()[-1])
        if seen["errors"] or not seen["requests"]:
            raise RuntimeError(
                f"{self.kind.name}: {args[:2]}: {seen['errors']} of {seen['requests']} failed"
            )
        cpu = (self.seconds() - before) / seen["requests"]
        rate = seen["requests"] / seen["seconds"]
        return Load(rate, seen["p50"] / 1e3, seen["p99"] / 1e3, cpu * 1e6)

    def load_with(self, operation: str, seconds: int) -> Load | None:
        """Ask for one operation; None where the server does not have it."""
        if operation != "create":
            paths = self.paths.get(operation)
            return None if paths is None else self.load(seconds, "read", *paths)
        words = self.create or self.kind.create
        first, self.made = str(self.made), self.made + 1_000_000
        return self.load(seconds, *(word.replace("{first}", first) for word in words))


def charges(server: Running) -> dict[str, list[str]]:
    """Paths of charges and searches of the payments API."""
    for count in range(SPREAD // 10):
        for _ in range(10):
            server.call("POST", "/charge/card", json.dumps({**BODY, "Reference": f"ten-{count}"}))
    found: list[str] = []
    searches = [f"/charge?Reference=ten-{count}&limit=10" for count in range(SPREAD // 10)]
    for path in searches:
        found += [f"/charge/{charge['chargeId']}" for charge in server.call("GET", path)["charges"]]
    return {"get": found[:64], "get, many": found, "search": searches[:1], "search, many": searches}


def stripe_charges(server: Running) -> dict[str, list[str]]:
    """The same of a mock of Stripe's API, which lists the newest ten."""
    found = [
        server.call("POST", *server.kind.first[:1], server.kind.first[2], FORM)["id"]
        for _ in range(64)
    ]
    return {"get": [f"/v1/charges/{one}" for one in found], "search": ["/v1/charges?limit=10"]}


def local_charges(server: Running) -> dict[str, list[str]]:
    """The same of localstripe, whose charges need a customer; its list shows all charges, and is
    left out."""
    token = server.call("POST", server.kind.first[0], server.kind.first[2], FORM)["id"]
    customer = server.call("POST", "/v1/customers", urlencode({"source": token}), FORM)["id"]
    body = urlencode({"amount": 1250, "currency": "aud", "customer": customer})
    server.create = "post", "/v1/charges", FORM, body
    found = [server.call("POST", "/v1/charges", body, FORM)["id"] for _ in range(64)]
    return {"get": [f"/v1/charges/{one}" for one in found]}


def rows(server: Running) -> dict[str, list[str]]:
    """The same of json-server, which looks at every row."""
    found = [
        server.call("POST", "/charges", json.dumps({**BODY, "reference": f"ten-{n % 6}"}))["id"]
        for n in range(60)
    ]
    return {
        "get": [f"/charges/{one}" for one in found],
        "search": ["/charges?reference=ten-3&_limit=10"],
    }


ANSWER = {"chargeId": "1", "amount": 12.5, "currency": "AUD", "status": "SUCCESS"}
"""What a tool for any API is told to answer: it keeps nothing."""
HTTPSERVER = """
import sys, threading
from pytest_httpserver import HTTPServer
server = HTTPServer(port=int(sys.argv[1]))
server.expect_request("/charge/card", method="POST").respond_with_json({answer}, status=201)
server.start()
threading.Event().wait()
"""


def wiremock(jar: Path, port: int, folder: Path) -> list[str]:
    """WireMock with one stub."""
    (folder / "mappings").mkdir(exist_ok=True)
    stub = {
        "request": {"method": "POST", "url": "/charge/card"},
        "response": {"status": 201, "jsonBody": ANSWER},
    }
    (folder / "mappings" / "charge.json").write_text(json.dumps(stub))
    return [
        "java",
        "-jar",
        str(jar),
        "--port",
        str(port),
        "--root-dir",
        str(folder),
        "--disable-banner",
    ]


def as_documented(value: Any) -> Any:
    """A body with its names as the document spells them: Prism refuses others."""
    if not isinstance(value, dict):
        return value
    return {name[:1].lower() + name[1:]: as_documented(part) for name, part in value.items()}


def prism(command: Path, port: int, folder: Path) -> list[str]:
    """Prism with our own OpenAPI document."""
    document = subprocess.run(
        [sys.executable, "-m", "mockserver", "openapi"], capture_output=True, check=True
    )
    (folder / "openapi.json").write_bytes(document.stdout)
    return [
        str(command),
        "mock",
        "--port",
        str(port),
        "--verboseLevel",
        "silent",
        str(folder / "openapi.json"),
    ]


def kinds(peers: Path | None) -> list[Kind]:
    """What can be measured here."""
    full = json.dumps(BODY)
    first = ("/charge/card", JSON, full)
    create = ("create", "{first}")
    found = [
        Kind(
            OURS,
            lambda port, _: [sys.executable, "-m", "mockserver", "serve", "--port", str(port)],
            first,
            create,
            charges,
            fills=True,
        ),
        Kind(
            REFERENCE,
            lambda port, _: [sys.executable, str(HERE / "reference.py"), str(port)],
            first,
            create,
            charges,
            fills=True,
        ),
        Kind(
            BARE,
            lambda port, _: [sys.executable, str(HERE / "constant.py"), str(port)],
            first,
            ("post", *first),
            lambda _: {"get": ["/charge/1"], "search": ["/charge"]},
        ),
        Kind(
            SKETCH,
            lambda port, _: [sys.executable, str(HERE / "sketch.py"), str(port)],
            first,
            create,
            charges,
        ),
    ]
    if peers is None:
        return found
    card = {
        "card[number]": "4242424242424242",
        "card[exp_month]": "12",
        "card[exp_year]": "2040",
        "card[cvc]": "123",
    }
    stripe = urlencode({"amount": 1250, "currency": "aud", "source": "tok_visa"})
    mock, rowserver = (
        peers / "node_modules" / ".bin" / name for name in ("stripe-stateful-mock", "json-server")
    )
    localstripe = peers / "venv" / "bin" / "localstripe"
    if mock.exists():
        command = lambda port, _: ["env", f"PORT={port}", "LOG_LEVEL=silent", str(mock)]  # noqa: E731
        call = ("/v1/charges", FORM, stripe)
        found.append(Kind("stripe-stateful-mock", command, call, ("post", *call), stripe_charges))
    if rowserver.exists():
        command = lambda port, folder: [  # noqa: E731
            str(rowserver),
            "--quiet",
            "--port",
            str(port),
            str(folder / "db.json"),
        ]
        call = ("/charges", JSON, full)
        found.append(Kind("json-server", command, call, ("post", *call), rows))
    if localstripe.exists():
        command = lambda port, _: [str(localstripe), "--port", str(port), "--from-scratch"]  # noqa: E731
        token = ("/v1/tokens", FORM, urlencode({**card, "key": "pk_test_bench"}))
        found.append(Kind("localstripe", command, token, (), local_charges))
    jar = next(peers.glob("node_modules/wiremock/build/*.jar"), None)
    if jar is not None and shutil.which("java"):
        found.append(
            Kind(
                "WireMock, one stub", partial(wiremock, jar), first, ("post", *first), lambda _: {}
            )
        )
    if (command := peers / "node_modules" / ".bin" / "prism").exists():
        spelt = ("/charge/card", JSON, json.dumps(as_documented(BODY)))
        found.append(
            Kind(
                "Prism, our document",
                partial(prism, command),
                spelt,
                ("post", *spelt),
                lambda _: {},
            )
        )
    if any(peers.glob("venv/lib/*/site-packages/pytest_httpserver")):
        python, code = str(peers / "venv" / "bin" / "python"), HTTPSERVER.format(answer=ANSWER)
        command = lambda port, _: [python, "-c", code, str(port)]  # noqa: E731
        found.append(
            Kind("pytest-httpserver, one answer", command, first, ("post", *first), lambda _: {})
        )
    return found


@contextlib.contextmanager
def running(kind: Kind, folder: Path) -> Iterator[Running]:
    """Start a server, and wait for its first answer."""
    left_out = ("MOCKSERVER_", "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    (folder / "db.json").write_text('{"charges": []}')
    port, log = free_port(), subprocess.DEVNULL
    begun = time.perf_counter()
    process = subprocess.Popen(
        pinned(0, *kind.command(port, folder)),
        cwd=folder,
        env={**environ, "PYTHONPATH": str(ROOT)},
        stdin=log,
        stdout=log,
        stderr=log,
    )
    server = Running(kind, port, process)
    path, content_type, body = kind.first
    try:
        while True:
            if process.poll() is not None:
                raise RuntimeError(f"{kind.name} ended with exit code {process.returncode}")
            try:
                server.call("POST", path, body, content_type)
                break
            except OSError:
                time.sleep(0.002)
        server.first, server.cpu = time.perf_counter() - begun, server.seconds()
        time.sleep(0.5)
        server.idle = server.resident()
        yield server
    finally:
        process.terminate()
        process.wait(20)


def loads(server: Running, seconds: int) -> dict[str, Load]:
    """One round of one server: what is seen of each operation."""
    seen = {name: server.load_with(name, seconds) for name in OPERATIONS}
    return {name: load for name, load in seen.items() if load is not None}


def fill(server: Running, stored: int) -> float:
    """Make charges until so many are stored; the bytes that each takes."""
    begun, seen = server.resident(), 0.0
    while seen < stored:
        seen += server.load(2, "create", str(server.made)).rate * 2
        server.made += 1_000_000
    return (server.resident() - begun) / seen


Rounds = dict[str, dict[str, list[Load]]]
"""What was seen of each operation in each round, by server."""


def measure(
    peers: Path | None, rounds: int, seconds: int, stored: int, starts: int
) -> tuple[list[Running], Rounds, dict[str, float]]:
    """The servers with how they started, what was seen of each, and the bytes of a charge."""
    with contextlib.ExitStack() as stack:
        servers: list[Running] = []
        for kind in kinds(peers):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            cold = []
            for _ in range(starts):
                with running(kind, folder) as server:
                    cold.append((server.first, server.cpu))
            server = stack.enter_context(running(kind, folder))
            cold.append((server.first, server.cpu))
            server.first, server.cpu = (median(column) for column in zip(*cold, strict=True))
            servers.append(server)
        grown: dict[str, float] = {}
        for server in servers:
            server.paths = server.kind.prepare(server)
            if server.kind.fills and stored:
                grown[server.kind.name] = fill(server, stored)
        seen: Rounds = {name: {} for name in OPERATIONS}
        for number in range(rounds):
            for name in OPERATIONS:
                for server in servers if number % 2 else servers[::-1]:
                    load = server.load_with(name, seconds)
                    if load is not None:
                        seen[name].setdefault(server.kind.name, []).append(load)
    return servers, seen, grown


def usual(loads: list[Load]) -> Load:
    """The median of each figure."""
    return Load(
        rate=median(load.rate for load in loads),
        p50=median(load.p50 for load in loads),
        p99=median(load.p99 for load in loads),
        cpu=median(load.cpu for load in loads),
    )


def show_rates(servers: list[Running], seen: Rounds) -> None:
    """Print what each server does, in Markdown."""
    for columns in (OPERATIONS[:3], OPERATIONS[3:]):
        print("| | " + " | ".join(f"{name} /s | p50, p99 ms | CPU us" for name in columns) + " |")
        print("|---" * (len(columns) * 3 + 1) + "|")
        for name in (server.kind.name for server in servers):
            cells = []
            for operation in columns:
                loads = seen[operation].get(name)
                of = usual(loads) if loads else None
                cells.append(
                    f"{of.rate:,.0f} | {of.p50:.1f}, {of.p99:.1f} | {of.cpu:,.0f}" if of else " | |"
                )
            if any(cell != " | |" for cell in cells):
                print(f"| {name} | {' | '.join(cells)} |")
        print()


def show_starts(servers: list[Running], grown: dict[str, float]) -> None:
    """Print how each server begins, and what it keeps a charge in."""
    print("| | first answer | its CPU | idle | a charge |\n|---|---|---|---|---|")
    for server in servers:
        size = grown.get(server.kind.name)
        charge = "" if size is None else f"{size:,.0f} bytes"
        print(
            f"| {server.kind.name} | {server.first * 1e3:,.0f} ms | {server.cpu * 1e3:,.0f} ms | "
            f"{server.idle / 2**20:.0f} MiB | {charge} |"
        )
    print()


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of ours by that of another server, and what it must reach at least."""

    name: str
    by_rate: float
    by_cpu: float
    reach: float

    @classmethod
    def of(cls, seen: Rounds, operation: str, other: str, reach: float) -> Ratio:
        """The median of the ratios of all rounds."""
        rounds = list(zip(seen[operation][OURS], seen[operation][other], strict=True))
        return cls(
            f"{operation}, of {other}",
            median(ours.rate / theirs.rate for ours, theirs in rounds),
            median(theirs.cpu / ours.cpu for ours, theirs in rounds),
            reach,
        )


def ratios(seen: Rounds) -> list[Ratio]:
    """What is wanted of the rates."""
    creates = seen["create"]
    peers = [name for name in STATEFUL if name in creates]
    found = [
        Ratio.of(seen, "create", REFERENCE, 0.6),
        Ratio.of(seen, "get", BARE, 0.65),
        Ratio.of(seen, "search", BARE, 0.4),
    ]
    if peers:
        quickest = max(peers, key=lambda name: usual(creates[name]).rate)
        found.insert(0, Ratio.of(seen, "create", quickest, 1.3))
    return found


def show_ratios(servers: list[Running], seen: Rounds) -> bool:
    """Print the ratios beside what they must reach; whether all do."""
    found = ratios(seen)
    print("| | by rate | by CPU | wanted |\n|---|---|---|---|")
    for ratio in found:
        print(f"| {ratio.name} | {ratio.by_rate:.2f} | {ratio.by_cpu:.2f} | {ratio.reach} |")
    ours, bare = (next(one for one in servers if one.kind.name == name) for name in (OURS, BARE))
    late = {
        name: median(load.p99 / load.p50 for load in seen["create"][name]) for name in (OURS, BARE)
    }
    first, cpu = ours.first / bare.first, ours.cpu / bare.cpu
    idle = ours.idle / 2**20
    print(
        f"| p99 of a create, of its median ({late[BARE]:.1f} of a constant answer's) "
        f"| {late[OURS]:.1f} | | at most 2.5 |"
    )
    print(f"| first answer, of a constant answer's | {first:.2f} | {cpu:.2f} | at most 2.5 |")
    print(f"| idle | {idle:.0f} MiB | | at most 55 |")
    return (
        all(ratio.by_rate >= ratio.reach for ratio in found)
        and late[OURS] <= 2.5
        and cpu <= 2.5
        and idle <= 55
    )


NPM = ("stripe-stateful-mock", "json-server@0.17", "wiremock")
PIP = ("localstripe", "pytest-httpserver")


def install(folder: Path) -> None:
    """Fetch the peers that are not in a folder yet; what cannot be had is said and left out."""
    folder.mkdir(parents=True, exist_ok=True)
    commands = []
    if not (folder / "node_modules").exists():
        commands.append(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *NPM]
        )
    if not (folder / "venv").exists():
        commands.append([sys.executable, "-m", "venv", str(folder / "venv")])
        commands.append([str(folder / "venv" / "bin" / "pip"), "install", "--quiet", *PIP])
    for command in commands:
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as fault:
            print(f"left out: {' '.join(command)}: {fault}", file=sys.stderr)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2, help="of each load")
    parser.add_argument(
        "--stored", type=int, default=100_000, help="charges made before, in sandbox and reference"
    )
    parser.add_argument(
        "--starts", type=int, default=4, help="further starts, for the first answer"
    )
    parser.add_argument("--peers", type=Path, help="where they are, or are installed")
    chosen = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed (Debian: apt-get install wrk)")
    if chosen.peers is not None:
        install(chosen.peers.resolve())
    servers, seen, grown = measure(
        chosen.peers and chosen.peers.resolve(),
        chosen.rounds,
        chosen.seconds,
        chosen.stored,
        chosen.starts,
    )
    show_rates(servers, seen)
    show_starts(servers, grown)
    return 0 if show_ratios(servers, seen) else 1


if __name__ == "__main__":
    sys.exit(main())
