"""The table of ``benchmarks/README.md``: the sandbox beside the bare references and its peers, in
one run.

    python -m benchmarks.table [--rounds N] [--seconds N] [--stored N] [--peers FOLDER]

Needs ``wrk``. All servers run at once and are loaded in turn, round by round, on one core, the load
on another. Each figure is that of the best round: others may use the machine. ``CPU us`` is what a
request costs the server in CPU time, which suffers less from them than the rate. ``--peers`` is a
folder with ``node_modules`` (stripe-stateful-mock, json-server, wiremock, @stoplight/prism-cli) and
a virtual environment ``venv`` (localstripe, pytest-httpserver); peers that are not there are left
out.
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

    def load(self, seconds: int, *args: str) -> tuple[float, float, float]:
        """Requests a second, 99th percentile in ms, CPU time of a request in us."""
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
        rate = seen["requests"] / seen["seconds"]
        return rate, seen["p99"] / 1e3, (self.seconds() - before) / seen["requests"] * 1e6


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
            "this sandbox",
            lambda port, _: [sys.executable, "-m", "mockserver", "serve", "--port", str(port)],
            first,
            create,
            charges,
            fills=True,
        ),
        Kind(
            "Starlette, pydantic, orjson, dict",
            lambda port, _: [sys.executable, str(HERE / "reference.py"), str(port)],
            first,
            create,
            charges,
            fills=True,
        ),
        Kind(
            "Starlette, constant answer",
            lambda port, _: [sys.executable, str(HERE / "constant.py"), str(port)],
            first,
            ("post", *first),
            lambda _: {},
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


def loads(server: Running, seconds: int) -> dict[str, tuple[float, float, float]]:
    """One round: what is seen of each operation."""
    create = [
        word.replace("{first}", str(server.made)) for word in server.create or server.kind.create
    ]
    seen = {"create": server.load(seconds, *create)}
    server.made += 1_000_000
    for name, paths in server.paths.items():
        seen[name] = server.load(seconds, "read", *paths)
    return seen


def fill(server: Running, stored: int) -> float:
    """Make charges until so many are stored; the bytes that each takes."""
    begun, seen = server.resident(), 0.0
    while seen < stored:
        rate, _, _ = server.load(2, "create", str(server.made))
        server.made, seen = server.made + 1_000_000, seen + rate * 2
    return (server.resident() - begun) / seen


def best(seen: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The best of each figure."""
    return max(one[0] for one in seen), min(one[1] for one in seen), min(one[2] for one in seen)


def measure(
    peers: Path | None, rounds: int, seconds: int, stored: int, starts: int
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """All rows of the table, in one run, and the bytes of a charge."""
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
            server.first, server.cpu = min(one[0] for one in cold), min(one[1] for one in cold)
            servers.append(server)
        grown: dict[str, float] = {}
        for server in servers:
            server.paths = server.kind.prepare(server)
            if server.kind.fills and stored:
                grown[server.kind.name] = fill(server, stored)
        found: dict[str, dict[str, list[tuple[float, float, float]]]] = {
            one.kind.name: {} for one in servers
        }
        for number in range(rounds):
            for server in servers if number % 2 else servers[::-1]:
                for name, seen in loads(server, seconds).items():
                    found[server.kind.name].setdefault(name, []).append(seen)
    table = [
        {
            "name": server.kind.name,
            "first": server.first,
            "first_cpu": server.cpu,
            "idle": server.idle / 2**20,
            **{name: best(seen) for name, seen in found[server.kind.name].items()},
        }
        for server in servers
    ]
    return table, grown


def cell(seen: tuple[float, float, float]) -> str:
    """Three columns."""
    rate, p99, cpu = seen
    return f"{rate:,.0f} | {p99:.1f} | {cpu:,.0f}"


def show(table: list[dict[str, Any]], grown: dict[str, float]) -> None:
    """Print the table in Markdown, and the ratios."""
    for columns in (("create", "get", "search"), ("get, many", "search, many")):
        print("| | " + " | ".join(f"{name} /s | p99 ms | CPU us" for name in columns) + " |")
        print("|---" * (len(columns) * 3 + 1) + "|")
        for row in table:
            if not row.keys().isdisjoint(columns):
                cells = [cell(row[name]) if name in row else " | | " for name in columns]
                print(f"| {row['name']} | {' | '.join(cells)} |")
        print()
    print("| | first answer | its CPU | idle |\n|---|---|---|---|")
    for row in table:
        started = (
            f"{row['first'] * 1e3:,.0f} ms | {row['first_cpu'] * 1e3:,.0f} ms | "
            f"{row['idle']:.0f} MiB"
        )
        print(f"| {row['name']} | {started} |")
    columns = ("create", "get", "search", "get, many", "search, many")
    ours, plain, bare = table[:3]
    print()
    for name, other, words in (
        *((name, plain, "the reference") for name in columns),
        ("create", bare, "a constant answer"),
    ):
        by_cpu, by_rate = other[name][2] / ours[name][2], ours[name][0] / other[name][0]
        print(f"{name}: {by_cpu:.2f} of {words} by CPU, {by_rate:.2f} by rate")
    by_cpu, by_clock = ours["first_cpu"] / bare["first_cpu"], ours["first"] / bare["first"]
    print(
        f"first answer: {by_cpu:.2f} times that of the reference by CPU, {by_clock:.2f} by the "
        "clock"
    )
    for name, size in grown.items():
        print(f"a charge in {name}: {size:,.0f} bytes")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each load")
    parser.add_argument(
        "--stored", type=int, default=100_000, help="charges made before, in sandbox and reference"
    )
    parser.add_argument(
        "--starts", type=int, default=4, help="further starts, for the first answer"
    )
    parser.add_argument("--peers", type=Path, help="where they are installed")
    chosen = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed (Debian: apt-get install wrk)")
    show(*measure(chosen.peers, chosen.rounds, chosen.seconds, chosen.stored, chosen.starts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
