"""Instructions of the processor that a request takes, from the bytes that came to the bytes that
go, without network.

    python -m benchmarks.instructions [--time] [--reference] [create create-totals get get-many
    search search-many]

Needs ``valgrind``. A count is the same in every run, whoever else uses the machine: it shows a
change of one per cent. The packets of ``requests`` requests are given to the connection as the
server has it; two runs, one with a thousand requests more, leave out start and preparation.
``--time`` counts CPU time instead, the best of many short stretches, without ``valgrind``.
Everything is on that is on by itself: journal, test values, findings, metrics, request log. The
collector of garbage, which works in lumps, is off in both. ``create-totals`` is a create in a
sandbox whose books were asked for, with its part of the running sums. ``--reference`` counts the
bare reference in the place of the sandbox, served by uvicorn's own protocol.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count, cycle, islice
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from benchmarks.table import BODY

KINDS = ("create", "create-totals", "get", "get-many", "search", "search-many")
FEW, MANY = 300, 1_300
STORED = 2_100
"""Charges that are there before reads: enough that a search is long."""
STRETCH = 50
"""Requests whose time is taken together."""
STRETCHES = 100


class Transport(asyncio.Transport):
    """Keeps the parts of the last answer."""

    written: bytes = b""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Connection:
    """One connection to a server that has no network."""

    def __init__(self, *, reference: bool = False) -> None:
        self._transport = Transport()
        self._protocol: Any = (self._reference if reference else self._sandbox)()
        self._protocol.connection_made(self._transport)

    def _reference(self) -> asyncio.Protocol:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        from benchmarks.reference import app

        return HttpToolsProtocol(_config(app, access_log=False), ServerState(), {})

    def _sandbox(self) -> asyncio.Protocol:
        from mockserver import create_app
        from mockserver.adapters.server_log import RequestLog
        from mockserver.server.lane import LaneProtocol
        from mockserver.settings import Settings

        settings = Settings.load({}, {})
        app: Any = create_app(settings)
        sink = open(os.devnull, "w")  # noqa: SIM115
        app.world.log = RequestLog(lambda text, err: print(text, file=sink), settings)
        return LaneProtocol(_config(app), ServerState(), {})

    async def ask(self, packet: bytes) -> bytes:
        """The answer to a request. Raises ``RuntimeError`` when it is a refusal."""
        self._transport.written = b""
        self._protocol.data_received(packet)
        while not (answer := self._transport.written):
            await asyncio.sleep(0)
        if not answer.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(answer[:300])
        return answer


def _config(app: Any, **further: Any) -> Config:
    config = Config(
        app,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        proxy_headers=False,
        **further,
    )
    config.load()
    return config


def packet(method: str, path: str, body: bytes = b"") -> bytes:
    """A request as wrk sends it."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nx-secretkey: "
        f"bench\r\ncontent-type: application/json\r\n"
    )
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{head}{length}\r\n".encode() + body


def creates(first: int, groups: int | None = None) -> Iterator[bytes]:
    """Charges whose references are different, or one of so many."""
    for number in count(first):
        reference = f"r-{number if groups is None else number % groups}"
        yield packet("POST", "/charge/card", json.dumps({**BODY, "Reference": reference}).encode())


async def packets(kind: str, connection: Connection) -> Iterator[bytes]:
    """The requests of a kind, once what they need is there."""
    if kind == "create-totals":
        await connection.ask(next(creates(0)))
        for path in ("/__admin/books", "/__admin/books?reference=r-0"):
            await connection.ask(packet("GET", path))
    if kind in ("create", "create-totals"):
        return creates(1)
    groups = STORED // 10
    answers = [await connection.ask(one) for one in islice(creates(0, groups), STORED)]
    names = [json.loads(answer.partition(b"\r\n\r\n")[2])["chargeId"] for answer in answers]
    found = {
        "get": [f"/charge/{name}" for name in names[:64]],
        "get-many": [f"/charge/{name}" for name in names[:300]],
        "search": ["/charge?Reference=r-7"],
        "search-many": [f"/charge?Reference=r-{number}" for number in range(groups)],
    }
    return cycle([packet("GET", path) for path in found[kind]])


async def run(kind: str, requests: int, *, reference: bool = False) -> float:
    """Serve so many; the CPU time of one in the best stretch, in microseconds."""
    gc.disable()
    connection = Connection(reference=reference)
    given = await packets(kind, connection)
    best = float("inf")
    for _ in range(requests // STRETCH):
        stretch = list(islice(given, STRETCH))
        begun = time.thread_time()
        for one in stretch:
            await connection.ask(one)
        best = min(best, time.thread_time() - begun)
    if kind == "create-totals":
        # Charges are counted when the sums are read.
        await connection.ask(packet("GET", "/__admin/books?limit=1"))
    return best / STRETCH * 1e6


def instructions(kind: str, requests: int, further: list[str]) -> int:
    """What a process takes that serves so many."""
    valgrind = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
    ]
    command = [
        *valgrind,
        sys.executable,
        "-m",
        "benchmarks.instructions",
        "--serve",
        str(requests),
        *further,
        kind,
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr)
    return int(found[1].replace(",", ""))


def main() -> None:
    """Print a row for each kind."""
    parser = argparse.ArgumentParser(description="What a request takes, without network.")
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all when none is given"
    )
    parser.add_argument("--time", action="store_true", help="CPU time instead of instructions")
    parser.add_argument(
        "--reference", action="store_true", help="of the bare reference instead of the sandbox"
    )
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.kinds) - set(KINDS):
        parser.error(
            f"no kind is called {', '.join(sorted(unknown))}: there are {', '.join(KINDS)}"
        )
    for kind in args.kinds or KINDS:
        if args.serve is not None:
            asyncio.run(run(kind, args.serve, reference=args.reference))
        elif args.time:
            best = asyncio.run(run(kind, STRETCH * STRETCHES, reference=args.reference))
            print(f"| {kind} | {best:.1f} us |", flush=True)
        else:
            further = ["--reference"] if args.reference else []
            taken = (instructions(kind, MANY, further) - instructions(kind, FEW, further)) / (
                MANY - FEW
            )
            print(f"| {kind} | {taken:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
