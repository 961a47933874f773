"""When a connection ends: clients that send nothing, half a request or nothing more, and more of
them than files; and that a slow one does not lose its own."""

import asyncio
import socket
import ssl
from functools import partial
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from mockserver.server.guards import LINGER_SECONDS, GuardedProtocol
from mockserver.server.serving import accept, shake_hands
from mockserver.web.request import HungUp, read_parts, send_bytes
from tests.server.connecting import PROTOCOL, Clock, connected, echo, request


def test_a_connection_on_which_nothing_comes_for_long_is_closed_and_one_that_is_used_is_not(
    clock: Clock,
) -> None:
    protocol, wire = connected(clock)
    for _ in range(5):
        clock.step(protocol.data_received, request("/a"))
        clock.pass_time(clock.now + 74)
        assert not wire.closed
    assert len(clock.alarms) == 1
    clock.pass_time(clock.now + 1)
    assert wire.closed
    assert wire.said.count(b"200 OK") == 5


@pytest.mark.parametrize("before", [b"", request("/a", b"1")])
def test_a_request_may_trickle(clock: Clock, before: bytes) -> None:
    protocol, wire = connected(clock)
    whole = request("/b", b"hello", *(f"x-{number}: y" for number in range(20)))
    clock.step(protocol.data_received, before)
    for place in range(0, len(whole), 10):
        clock.pass_time(clock.now + 70)
        clock.step(protocol.data_received, whole[place : place + 10])
    assert wire.said.endswith(b"/b hello")
    assert not wire.closed


def test_a_client_that_was_refused_has_time_to_read_why(clock: Clock) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, b"GET /a HTTP/1.1\r\nx: " + b"y" * 70_000)
    assert wire.said.startswith(b"HTTP/1.1 431 ")
    assert wire.ended
    assert not wire.closed
    clock.step(protocol.data_received, b"more")
    clock.pass_time(LINGER_SECONDS)
    assert wire.closed


async def slow(scope: Any, receive: Any, send: Any) -> None:
    """Answers after 1,000 seconds; ``/hears`` answers nothing, and ends when its client has
    gone."""
    await read_parts(receive, {}, 1_000_000)
    if scope["path"] == "/hears":
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await asyncio.sleep(1_000)
    await send_bytes(send, 200, scope["path"].encode(), ())


def test_a_request_under_way_keeps_its_connection(clock: Clock) -> None:
    protocol, wire = connected(clock, app=slow)
    clock.step(protocol.data_received, request("/a"))
    clock.pass_time(999)
    assert not wire.closed
    clock.pass_time(1_000)
    assert wire.said.endswith(b"/a")
    clock.pass_time(1_074)
    assert not wire.closed
    clock.pass_time(1_075)
    assert wire.closed


def test_a_body_that_comes_after_its_answer_leaves_a_connection_that_is_idle(clock: Clock) -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        await send_bytes(send, 413, b"too much", ())

    protocol, wire = connected(clock, app=early)
    whole = request("/a", b"hello")
    clock.step(protocol.data_received, whole[:-1])
    clock.pass_time(74)
    clock.step(protocol.data_received, whole[-1:])
    clock.pass_time(74 + 74)
    assert not wire.closed
    clock.pass_time(74 + 75)
    assert wire.closed
    assert wire.said.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("count", [1, 3])
def test_a_client_that_sends_nothing_more_gets_its_answers(clock: Clock, count: int) -> None:
    protocol, wire = connected(clock, app=slow)
    clock.step(protocol.data_received, request("/a") * count)
    assert protocol.eof_received()
    clock.pass_time(count * 1_000)
    assert wire.said.count(b"/a") == count
    assert wire.closed


@pytest.mark.parametrize(
    "asked", [b"", request("/hears"), request("/a"), request("/a", b"hello")[:-1], b"GET "]
)
def test_a_client_that_sends_nothing_more_and_is_owed_nothing_is_left(
    clock: Clock, asked: bytes
) -> None:
    state = ServerState()
    protocol, _ = connected(clock, state=state, app=slow if b"hears" in asked else read_all)
    clock.step(protocol.data_received, asked)
    assert not protocol.eof_received()
    clock.step()
    assert not state.tasks


async def read_all(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once what has come whole."""
    try:
        await send_bytes(send, 200, b"".join(await read_parts(receive, {}, 1_000)), ())
    except HungUp:
        return


def test_an_application_that_wants_more_than_will_come_hears_that_its_client_has_gone(
    clock: Clock,
) -> None:
    async def hears_later(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(10)
        await slow({"path": "/hears", **scope}, receive, send)

    state = ServerState()
    protocol, wire = connected(clock, state=state, app=hears_later)
    clock.step(protocol.data_received, request("/hears", b"hello"))
    assert protocol.eof_received()
    clock.pass_time(10)
    assert not state.tasks
    assert wire.closed


@pytest.mark.parametrize("path", ["/hears", "/a"])
def test_of_many_requests_none_is_answered_once_the_connection_is_lost(
    clock: Clock, path: str
) -> None:
    state = ServerState()
    protocol, wire = connected(clock, state=state, app=slow)
    clock.step(protocol.data_received, request(path) * 3)
    wire.closed = True
    clock.step(protocol.connection_lost, ConnectionResetError())
    clock.pass_time(10_000)
    assert not state.tasks
    assert wire.said == b""


def test_work_that_the_stop_cuts_short_is_not_answered_and_not_complained_of(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    state = ServerState()
    protocol, wire = connected(clock, state=state, app=slow)
    clock.step(protocol.data_received, request("/a"))
    for task in tuple(state.tasks):
        clock.step(task.cancel)
    assert wire.closed
    assert wire.said == b""
    assert not caplog.records


def test_a_lost_connection_leaves_no_alarm(clock: Clock) -> None:
    protocol, _ = connected(clock)
    clock.step(protocol.data_received, request("/a"))
    protocol.connection_lost(None)
    assert not clock.alarms


@pytest.mark.parametrize("asked", [b"", b"\x16\x03\x01"])
def test_a_client_that_does_not_agree_on_tls_does_not_keep_the_server_from_its_end(
    asked: bytes,
) -> None:
    async def run() -> bytes:
        loop, state = asyncio.get_running_loop(), ServerState()
        config = uvicorn.Config(echo, lifespan="off", log_config=None)
        config.load()
        context, begun = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), asyncio.Event()

        def connection() -> GuardedProtocol:
            begun.set()
            return PROTOCOL(config, state, {}, loop)

        welcome = partial(shake_hands, connection, context, alerts=False)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            accepting = asyncio.create_task(accept(listener, welcome))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(asked)
            await asyncio.wait_for(begun.wait(), 60)
            accepting.cancel()
            said = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        assert not state.connections
        return said

    assert asyncio.run(run()) == b""


def test_when_all_are_being_answered_only_the_health_of_the_server_can_be_asked(
    clock: Clock,
) -> None:
    state = ServerState()
    for _ in range(2):
        protocol, _ = connected(clock, state=state, app=slow, most=2)
        clock.step(protocol.data_received, request("/a"))
    silent = connected(clock, state=state, app=read_all, most=2)[1]
    protocol, wire = connected(clock, state=state, app=read_all, most=2)
    clock.step(protocol.data_received, request("/healthz", b"alive"))
    assert wire.said.endswith(b"alive")
    clock.step(protocol.data_received, request("/a"))
    assert wire.said.count(b"HTTP/1.1 503 Service Unavailable\r\n") == 1
    assert wire.said.endswith(b'"httpStatus":503}')
    assert wire.closed
    clock.pass_time(LINGER_SECONDS)
    assert silent.closed
