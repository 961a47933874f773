"""HTTP on a real connection: answers at once and later, in order, in one piece or in many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from mockserver.adapters.http import Protocol
from mockserver.web.asgi import read_body, send_bytes

App = Callable[[Any, Any, Any], Awaitable[None]]
TEXT = ((b"content-type", b"text/plain"),)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the path and the body; ``/later`` waits first, ``/parts`` answers in two, ``/fails`` not at all."""
    path = scope["path"]
    if path == "/later":
        await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.sleep(0), 5)
    if path == "/fails":
        raise RuntimeError("no answer")
    if path == "/cancelled":
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            await send_bytes(send, 503, b"stopped", TEXT)
            return
    body = await read_body(receive, scope, 1_000_000)
    if path == "/parts":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})
        return
    if path == "/last":
        await send_bytes(send, 200, b"bye", (*TEXT, (b"connection", b"close")))
        return
    if path == "/bad-header":
        await send_bytes(send, 200, b"", ((b"x-bad", b"a\r\nb: c"),))
        return
    await send_bytes(send, 200, path.encode() + b" " + body, TEXT)


def converse(*chunks: bytes, until: bytes, go_on: bytes = b"", app: App = echo) -> tuple[bytes, ServerState]:
    """What the server says to chunks that are sent one after the other, up to a last word; with ``go_on`` the second
    is sent when that was said."""
    state = ServerState()

    async def run() -> bytes:
        config = uvicorn.Config(app, http=Protocol, lifespan="off", log_config=None)
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Protocol(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        first = b""
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
            if go_on and not first:
                first = await asyncio.wait_for(reader.readuntil(go_on), 10)
        if not until:
            while not state.tasks:
                await asyncio.sleep(0)
            for task in tuple(state.tasks):
                task.cancel()
        said = first + await asyncio.wait_for(reader.readuntil(until) if until else reader.readuntil(b"stopped"), 10)
        writer.close()
        server.close()
        return said

    return asyncio.run(run()), state


class Clock:
    """The part of an event loop that a connection needs, with a time that stands still."""

    def __init__(self) -> None:
        self.now = 0.0
        self.alarms: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, ring: Callable[[], None]) -> Any:
        alarm = (self.now + seconds, ring)
        self.alarms.append(alarm)
        return SimpleNamespace(cancel=lambda: self.alarms.remove(alarm))

    def pass_time(self, until: float) -> None:
        while due := [alarm for alarm in self.alarms if alarm[0] <= until]:
            self.alarms.remove(due[0])
            self.now = due[0][0]
            due[0][1]()
        self.now = until


class Wire(asyncio.Transport):
    """A transport that only notes what is written and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.said += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def connected(keep_alive: int) -> tuple[Protocol, Wire, Clock]:
    clock, wire = Clock(), Wire()
    config = uvicorn.Config(echo, lifespan="off", log_config=None, timeout_keep_alive=keep_alive)
    config.load()
    protocol = Protocol(config, ServerState(), {}, clock)  # type: ignore[arg-type]
    protocol.connection_made(wire)
    return protocol, wire, clock


def request(path: str, body: bytes = b"", *lines: str, method: str = "POST", version: str = "1.1") -> bytes:
    head = [f"{method} {path} HTTP/{version}", "host: x", f"content-length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def test_a_request_in_one_piece_is_answered_without_a_task() -> None:
    said, state = converse(request("/a", b"hello"), until=b"/a hello")
    assert said == b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 8\r\n\r\n/a hello"
    assert state.total_requests == 1
    assert not state.tasks


def test_a_request_in_pieces_is_answered_when_it_is_whole() -> None:
    whole = request("/a", b"hello")
    said, _ = converse(whole[:-3], whole[-3:], until=b"/a hello")
    assert said.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("path", ["/later", "/a"])
def test_requests_sent_without_waiting_are_answered_in_order(path: str) -> None:
    said, state = converse(b"".join(request(path, b"%d." % number) for number in range(50)), until=b" 49.")
    assert [b"%s %d." % (path.encode(), number) in said for number in range(50)] == [True] * 50
    places = [said.index(b" %d." % number) for number in range(50)]
    assert places == sorted(places)
    assert state.total_requests == 50


def test_an_answer_that_waits_for_something_comes_later() -> None:
    said, _ = converse(request("/later", b"x"), until=b"/later x")
    assert said.startswith(b"HTTP/1.1 200 OK")


def test_an_answer_in_parts() -> None:
    said, _ = converse(request("/parts"), until=b"onetwo")
    assert said == b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nonetwo"


def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    head = request("/a", b"hello", "expect: 100-continue")[: -len(b"hello")]
    said, _ = converse(head, b"hello", until=b"/a hello", go_on=b"Continue\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("path", "line", "version"),
    [("/a", "connection: close", "1.1"), ("/a", "x: y", "1.0"), ("/last", "x: y", "1.1")],
)
def test_a_connection_that_shall_end_is_closed(path: str, line: str, version: str) -> None:
    protocol, wire, _ = connected(75)
    protocol.data_received(request(path, b"", line, version=version))
    assert wire.said.count(b"connection: close\r\n") == 1
    assert wire.closed
    other, still, _ = connected(75)
    other.data_received(request("/a"))
    assert b"connection:" not in still.said
    assert not still.closed


def test_the_answer_to_head_has_no_body() -> None:
    said, _ = converse(request("/a", method="HEAD"), request("/b"), until=b"/b ")
    assert said.count(b"/a") == 0
    assert b"content-length: 3\r\n\r\nHTTP/1.1 200 OK" in said


@pytest.mark.parametrize("path", ["/fails", "/bad-header"])
def test_an_application_that_fails_is_answered_for(path: str) -> None:
    said, _ = converse(request(path), until=b"Internal Server Error")
    assert said.startswith(b"HTTP/1.1 500 ")


def test_work_that_was_begun_at_once_can_be_cancelled_later() -> None:
    said, _ = converse(request("/cancelled"), until=b"")
    assert said.startswith(b"HTTP/1.1 503 ")


def test_a_head_without_end_is_refused_and_one_within_the_bound_is_not() -> None:
    long = request("/a", b"", *(f"x-{number}: {'y' * 1_000}" for number in range(50)))
    said, _ = converse(long[:40_000], long[40_000:], until=b"/a ")
    assert said.startswith(b"HTTP/1.1 200 OK")
    endless = b"GET / HTTP/1.1\r\nhost: x\r\nx-more: "
    said, _ = converse(endless, b"y" * 30_000, b"y" * 35_600, until=b"431}")
    assert said.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b'"details":{"Request":"wanted a request line and headers of at most 65536 bytes"}' in said


def test_a_connection_on_which_nothing_comes_for_long_is_closed_and_one_that_is_used_is_not() -> None:
    protocol, wire, clock = connected(75)
    for _ in range(5):
        protocol.data_received(request("/a"))
        clock.pass_time(clock.now + 74)
        assert not wire.closed
    assert len(clock.alarms) == 1
    clock.pass_time(clock.now + 1)
    assert wire.closed
    assert wire.said.count(b"200 OK") == 5


def test_a_request_under_way_keeps_its_connection() -> None:
    protocol, wire, clock = connected(75)
    protocol.data_received(request("/a"))
    whole = request("/a", b"hello")
    clock.pass_time(70)
    protocol.data_received(whole[:20])
    clock.pass_time(1_000)
    assert not wire.closed
    protocol.data_received(whole[20:])
    clock.pass_time(1_074)
    assert not wire.closed
    clock.pass_time(1_075)
    assert wire.closed


def test_a_lost_connection_leaves_no_alarm() -> None:
    protocol, _, clock = connected(75)
    protocol.data_received(request("/a"))
    protocol.connection_lost(None)
    assert not clock.alarms
