"""Everything at once, for a while: no error, no loss, no growth.

    python -m benchmarks.soak [--seconds 600] [--connections 64] [--shards N] [--json FILE]

Each connection has a sandbox of its own and does, again and again, in an order drawn by its number:
create, get, search, capture, refund, void, decline, batch, webhook to a receiver on this machine,
payment link and its page, fork, export, import, reset, move of the clock, wait and event stream.
Every answer is checked, and what a sandbox holds is compared with what was done in it. ``--shards``
puts so many servers behind the nginx configuration that ships.

Prints how long calls of each kind took, and the memory of the servers: at the begin, at the end,
and its slope over the second half. Exit code 1 when an answer was wrong, a webhook was lost, or
memory grows by more than 2 MiB a minute (judged from 5 minutes on). The journals of the servers
keep 100 entries, so that they are full soon.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.findings import cpu_of
from benchmarks.proxy import Cluster, cluster
from benchmarks.run import CARD, CHARGE, PROVIDER, Served, sandbox

ROWS = 100
JOURNAL = ("--journal-limit", "100")
STEEPEST = 2.0
LONG_ENOUGH = 300
DECLINED = {**CARD, "CardNumber": "4000000000009995"}


class Wrong(Exception):
    """An answer that is not what it must be."""


@dataclass(slots=True)
class Seen:
    """What all connections have seen together."""

    begun: float
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: list[str] = field(default_factory=list)
    webhooks: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, int]] = field(default_factory=list)


class Connection:
    """One connection to a server, kept open, with one secret key."""

    def __init__(self, port: int, key: str, seen: Seen) -> None:
        self.port = port
        self.key = key
        self.seen = seen
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def raw(
        self, method: str, path: str, body: bytes = b"", key: str | None = ""
    ) -> tuple[int, bytes]:
        """Status and body of an answer."""
        reader, writer = await self._open()
        key = self.key if key == "" else key
        named = f"x-secretkey: {key}\r\n" if key else ""
        kind = "content-type: application/json\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n{named}{kind}"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if "content-length:" in told:
            content = await reader.readexactly(int(told.partition("content-length:")[2].split()[0]))
        else:
            content = await self._chunks(reader)
        if "\r\nconnection: close\r\n" in told:
            # As nginx says after 1,000 requests.
            self.close()
        return int(told.split()[1]), content

    async def call(
        self, kind: str, method: str, path: str, body: Any = None, key: str | None = ""
    ) -> Any:
        """The JSON of an answer that is not a refusal, its time noted under ``kind``. Raises
        ``Wrong``."""
        content = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        begun = time.perf_counter()
        status, text = await self.raw(method, path, content, key)
        self.seen.times[kind].append(time.perf_counter() - begun)
        wanted = (400, 402) if kind == "decline" else (200, 201, 303)
        if status not in wanted:
            raise Wrong(f"{kind}: {method} {path} answered {status}: {text[:300]!r}")
        return text if kind in ("export", "page") else json.loads(text) if text else None

    async def news(self) -> bytes:
        """The first piece of news of an event stream, on a connection of its own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = (
            f"GET /__admin/events-stream HTTP/1.1\r\nhost: "
            f"127.0.0.1:{self.port}\r\nx-secretkey: {self.key}\r\n\r\n"
        )
        writer.write(head.encode())
        try:
            told = await reader.readuntil(b"\r\n\r\n")
            if b" 503 " not in told.split(b"\r\n")[0]:
                told += await reader.readuntil(b"\n\n")
        finally:
            writer.close()
        return told

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=2**26)
        return self._streams

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        content = b""
        while size := int(await reader.readline(), 16):
            content += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return content

    def close(self) -> None:
        """Hang up; the next call connects again."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Client:
    """What one connection does in its sandbox. ``made`` are the charges that it knows of, ``count``
    how many there are with those of batches."""

    def __init__(
        self, number: int, port: int, receiver: str, seen: Seen, *, is_alone: bool = True
    ) -> None:
        self.is_alone = is_alone
        self.number = number
        self.random = Random(number)
        self.connection = Connection(port, f"sk_soak_{number}", seen)
        self.call = self.connection.call
        self.receiver = f"{receiver}/{number}"
        self.made: list[str] = []
        self.count = 0
        self.told = 0

    async def begin(self) -> None:
        await self.call("clock", "PUT", "/__admin/clock", {"mode": "manual"})

    async def create(self) -> None:
        made = await self.call(
            "create", "POST", "/charge/card", {**CHARGE, "Reference": f"r-{self.count}"}
        )
        self.made.append(made["chargeId"])
        self.count += 1

    async def decline(self) -> None:
        await self.call(
            "decline", "POST", "/charge/card", {**CHARGE, "PaymentInformation": DECLINED}
        )
        self.count += 1

    async def get(self) -> None:
        if self.made:
            wanted = self.random.choice(self.made)
            found = await self.call("get", "GET", f"/charge/{wanted}")
            expect("get", found["chargeId"], wanted)

    async def search(self) -> None:
        found = await self.call("search", "GET", "/charge?limit=5&SortBy=amount")
        expect("search", found["count"], self.count)

    async def capture(self) -> None:
        held = await self.call("create", "POST", "/charge/card", {**CHARGE, "Capture": False})
        self.count += 1
        taken = await self.call("capture", "POST", f"/charge/{held['chargeId']}", {"Amount": 5})
        expect("capture", (taken["status"], taken["amount"]), ("SUCCESS", 5))

    async def void(self) -> None:
        held = await self.call("create", "POST", "/charge/card", {**CHARGE, "Capture": False})
        self.count += 1
        gone = await self.call("void", "DELETE", f"/charge/{held['chargeId']}/void")
        expect("void", gone["status"], "AUTHORISE_CANCELLED")

    async def refund(self) -> None:
        made = await self.call("create", "POST", "/charge/card", CHARGE)
        self.count += 1
        back = await self.call("refund", "DELETE", f"/charge/{made['chargeId']}?Amount=2.5")
        expect("refund", back["refundedAmount"], 2.5)

    async def batch(self) -> None:
        card = {"ProviderId": PROVIDER, "PaymentInformation": CARD}
        method = (await self.call("method", "POST", "/payment_method/card", card))[
            "paymentMethodId"
        ]
        text = "PaymentMethodId,Amount,Currency,Reference\n" + "\n".join(
            [f"{method},1,AUD,b"] * ROWS
        )
        body = {"count": ROWS, "description": "soak", "batch": text}
        handed = await self.call("batch", "POST", "/batch/transaction/payment_method", body)
        waiting = {
            "for": {"batch": {"id": handed["batchId"], "status": "SUCCESS"}},
            "advance": True,
            "timeout": "60s",
        }
        held = await self.call("wait", "POST", "/__admin/wait", waiting)
        expect("wait", held["held"], True)
        done = await self.call("results", "GET", f"/batch/{handed['batchId']}")
        expect("batch", (done["success"], done["results"].count("\n")), (ROWS, ROWS))
        self.count += ROWS

    async def webhook(self) -> None:
        hook = {"Url": self.receiver}
        made = await self.call("create", "POST", "/charge/card", {**CHARGE, "Webhook": hook})
        self.count += 1
        delivered = {"webhook": {"subject": made["chargeId"], "state": "delivered"}}
        waiting = {"for": delivered, "advance": True, "timeout": "60s"}
        held = await self.call("wait", "POST", "/__admin/wait", waiting)
        expect("webhook", held["held"], True)
        self.told += 1

    async def link(self) -> None:
        made = await self.call(
            "link", "POST", "/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD"}
        )
        path = "/" + made["url"].split("/", 3)[3]
        await self.call("page", "GET", path, key=None)

    async def advance(self) -> None:
        await self.call(
            "clock",
            "POST",
            "/__admin/clock/advance",
            {"by": self.random.choice(["1ms", "1h", "9d"])},
        )

    async def fork(self) -> None:
        copy = f"{self.connection.key}_copy"
        if self.is_alone:
            await self.call("fork", "POST", "/__admin/fork", {"to": copy})
        else:
            # The key of a fork may belong to another server than the fork is on.
            document = await self.call("export", "GET", "/__admin/state?secrets=true")
            await self.call("import", "PUT", "/__admin/state", document, key=copy)
        made = await self.call("create", "POST", "/charge/card", CHARGE, key=copy)
        found = await self.call("search", "GET", "/charge?limit=1", key=copy)
        expect("fork", found["count"], self.count + 1)
        expect("fork", found["charges"][0]["chargeId"], made["chargeId"])

    async def move_house(self) -> None:
        document = await self.call("export", "GET", "/__admin/state?secrets=true")
        await self.call("import", "PUT", "/__admin/state", document)
        again = await self.call("export", "GET", "/__admin/state?secrets=true")
        expect("import", again == document, True)

    async def stream(self) -> None:
        begun = time.perf_counter()
        told = await self.connection.news()
        self.connection.seen.times["stream"].append(time.perf_counter() - begun)
        expect("stream", b"event: news" in told or b" 503 " in told, True)

    async def reset(self) -> None:
        await self.call("reset", "POST", "/__admin/reset")
        self.made.clear()
        self.count = 0
        await self.begin()
        await self.search()

    async def run(self, end: float) -> None:
        """Do one thing after the other until the time is over."""
        jobs: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (30, self.create), (5, self.decline), (30, self.get), (15, self.search), (8, self.capture),
            (4, self.void), (8, self.refund), (2, self.batch), (6, self.webhook), (4, self.link), (4, self.advance),
            (2, self.fork), (1, self.move_house), (2, self.stream), (1, self.reset),
        ]  # fmt: skip
        weights, actions = zip(*jobs, strict=True)
        await self.begin()
        # Each connection begins with another thing, so that a short run does everything, too.
        action = actions[self.number % len(actions)]
        while time.monotonic() < end:
            await action()
            [action] = self.random.choices(actions, weights)
        await self.search()


def expect(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise Wrong(f"{what}: got {got!r}, wanted {wanted!r}")


@contextlib.asynccontextmanager
async def receiving(seen: Seen) -> Any:
    """A receiver of webhooks on this machine; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError
        ):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                await reader.readexactly(
                    int(head.lower().partition("content-length:")[2].split()[0])
                )
                seen.webhooks[head.split()[1]] += 1
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def soak(target: Cluster, seconds: float, connections: int) -> Seen:
    """Let all connections do everything for so long."""
    seen = Seen(time.monotonic())
    end = seen.begun + seconds
    async with receiving(seen) as receiver:
        is_alone = len(target.shards) < 2
        clients = [
            Client(number, target.front.port, receiver, seen, is_alone=is_alone)
            for number in range(connections)
        ]

        async def run(client: Client) -> None:
            try:
                await client.run(end)
            except (Wrong, OSError, asyncio.IncompleteReadError, ValueError) as fault:
                seen.faults.append(
                    f"{client.connection.key}: {type(fault).__name__}: {fault}"[:500]
                )
            finally:
                client.connection.close()

        async def watch() -> None:
            while True:
                seen.memory.append(
                    (time.monotonic() - seen.begun, sum(one.resident() for one in target.shards))
                )
                await asyncio.sleep(max(seconds / 200, 0.1))

        watching = asyncio.create_task(watch())
        await asyncio.gather(*(run(client) for client in clients))
        watching.cancel()
        for client in clients:
            came = sum(
                count
                for path, count in seen.webhooks.items()
                if path == client.receiver[len(receiver) :]
            )
            if came < client.told:
                seen.faults.append(
                    f"{client.connection.key}: {came} of {client.told} webhooks came"
                )
    return seen


def slope(memory: list[tuple[float, int]]) -> float:
    """MiB a minute by which memory grew over the second half."""
    half = [pair for pair in memory if pair[0] >= memory[-1][0] / 2]
    mean_at, mean = sum(at for at, _ in half) / len(half), sum(held for _, held in half) / len(half)
    spread = sum((at - mean_at) ** 2 for at, _ in half) or 1
    return sum((at - mean_at) * (held - mean) for at, held in half) / spread * 60 / 2**20


def main() -> int:
    """Run, print, and say by the exit code whether all went well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument(
        "--shards", type=int, default=0, help="servers behind nginx; 0: one server, no nginx"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--port", type=int, default=0, help="a server that runs already, whose memory is not read"
    )
    chosen = parser.parse_args()
    with running(chosen) as target:
        used = sum(map(cpu_of, target.shards))
        seen = asyncio.run(soak(target, chosen.seconds, chosen.connections))
        used = sum(map(cpu_of, target.shards)) - used
        ends = [one.process.poll() for one in target.shards]
    return report(chosen, seen, used, ends)


@contextlib.contextmanager
def running(chosen: argparse.Namespace) -> Iterator[Cluster]:
    """The server or servers that are asked for."""
    if chosen.port:
        yield Cluster(Served(chosen.port, None, 0), ())
    elif chosen.shards:
        with cluster(chosen.shards, *JOURNAL) as started:
            yield started
    else:
        with sandbox(*JOURNAL) as server:
            yield Cluster(server, (server,))


def report(chosen: argparse.Namespace, seen: Seen, used: float, ends: list[int | None]) -> int:
    """Print what was seen; the exit code."""
    faults = [*seen.faults, *(f"a server ended with {code}" for code in ends if code is not None)]
    every = [taken for times in seen.times.values() for taken in times]
    print(f"{'call':<10}{'count':>9}{'p50 ms':>10}{'p99 ms':>10}{'worst ms':>10}")
    table = {**dict(sorted(seen.times.items())), "all": every}
    figures: dict[str, Any] = {}
    for kind, times in table.items():
        times.sort()
        shown = (
            [times[len(times) // 2], times[int(len(times) * 0.99)], times[-1]]
            if times
            else [0.0, 0.0, 0.0]
        )
        print(f"{kind:<10}{len(times):>9,}" + "".join(f"{taken * 1e3:>10.1f}" for taken in shown))
        figures[kind] = {
            "count": len(times),
            **dict(zip(("p50", "p99", "worst"), shown, strict=True)),
        }
    grows, (_, first), (_, last) = slope(seen.memory), seen.memory[0], seen.memory[-1]
    most = max(held for _, held in seen.memory)
    print(
        f"\n{len(every) / chosen.seconds:,.0f} requests/s, {used / max(len(every), 1) * 1e6:,.0f} "
        "us of CPU each"
    )
    print(f"{sum(seen.webhooks.values()):,} webhooks came, {len(faults)} faults")
    held = ", ".join(
        f"{name} {size / 2**20:,.0f}"
        for name, size in (("first", first), ("last", last), ("most", most))
    )
    print(f"memory in MiB: {held}; slope over the second half {grows:+.2f} a minute")
    for fault in faults[:10]:
        print(fault)
    if chosen.json:
        chosen.json.write_text(
            json.dumps({"calls": figures, "slope": grows, "faults": faults}, indent=2) + "\n"
        )
    is_flat = chosen.seconds < LONG_ENOUGH or grows <= STEEPEST
    return 0 if is_flat and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
