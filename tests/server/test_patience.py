"""When a connection ends: clients that send nothing, half a request or nothing more, and more of
them than files."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from uvicorn.server import ServerState

from mockserver.server.guards import HEAD_SECONDS, LINGER_SECONDS, TAKE_SECONDS, GuardedProtocol
from mockserver.web.request import HungUp, read_parts, send_bytes
from tests.server.connecting import App, Clock, Wire, connected, request, unconnected


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


@pytest.mark.parametrize("empty", [b"", b"\r\n\r\n"])
def test_a_connection_on_which_nothing_ever_came_is_closed(clock: Clock, empty: bytes) -> None:
    protocol, wire = connected(clock)
    clock.pass_time(74)
    clock.step(protocol.data_received, empty)
    assert not wire.closed
    clock.pass_time(75)
    assert wire.closed
    assert wire.said == b""


@pytest.mark.parametrize("before", [b"", request("/a")])
def test_a_head_must_come_in_time_however_it_trickles(clock: Clock, before: bytes) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, before + b"GET /b HTTP/1.1\r\n")
    for second in range(1, HEAD_SECONDS):
        clock.pass_time(second)
        clock.step(protocol.data_received, b"x-%d: y\r\n" % second)
    assert not wire.ended
    clock.pass_time(HEAD_SECONDS)
    assert wire.said.count(b"HTTP/1.1 408 Request Timeout\r\n") == 1
    assert wire.ended
    clock.pass_time(HEAD_SECONDS + LINGER_SECONDS)
    assert wire.closed


def test_a_body_may_trickle_but_not_stand_still(clock: Clock) -> None:
    protocol, wire = connected(clock)
    whole = request("/a", b"hello")
    clock.step(protocol.data_received, whole[:-5])
    for place in range(-5, -1):
        clock.pass_time(clock.now + 70)
        clock.step(protocol.data_received, whole[place : place + 1])
    clock.pass_time(clock.now + 74)
    assert wire.said == b""
    clock.pass_time(clock.now + 1)
    assert wire.said.startswith(b"HTTP/1.1 408 ")
    assert wire.ended


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


def test_a_head_that_comes_too_late_is_refused_after_the_answers_before_it(clock: Clock) -> None:
    protocol, wire = connected(clock, app=slow)
    clock.step(protocol.data_received, request("/a") + b"GET /b HTTP/1.1\r\n")
    clock.pass_time(999)
    assert wire.said == b""
    clock.pass_time(1_000)
    assert wire.said.index(b"HTTP/1.1 200 OK") < wire.said.index(b"HTTP/1.1 408 ")


def test_a_body_that_waits_for_the_answer_before_it_has_time(clock: Clock) -> None:
    protocol, wire = connected(clock, app=slow)
    clock.step(protocol.data_received, request("/a") + request("/b", b"hello")[:-1])
    clock.pass_time(1_074)
    assert wire.said.endswith(b"/a")
    clock.pass_time(1_075)
    assert b"HTTP/1.1 408 " in wire.said


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


def test_an_answer_that_is_not_taken_ends_the_connection_in_the_end(clock: Clock) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, request("/a"))
    protocol.pause_writing()
    wire.kept = 1_000_000
    clock.step(protocol.data_received, request("/b"))
    clock.pass_time(TAKE_SECONDS - 1)
    assert not wire.closed
    clock.pass_time(TAKE_SECONDS)
    assert wire.closed


def test_an_answer_that_is_taken_slowly_keeps_its_connection(clock: Clock) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, request("/a"))
    protocol.pause_writing()
    clock.pass_time(TAKE_SECONDS - 1)
    protocol.resume_writing()
    clock.pass_time(clock.now + 74)
    assert not wire.closed
    clock.pass_time(clock.now + 1)
    assert wire.closed


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


def test_the_client_that_was_waited_for_longest_makes_room_first_one_that_never_asked(
    clock: Clock,
) -> None:
    state = ServerState()

    def come(asked: bytes, app: App = read_all) -> tuple[GuardedProtocol, Wire]:
        clock.pass_time(clock.now + 1)
        protocol, wire = connected(clock, state=state, app=app, most=4)
        clock.step(protocol.data_received, asked)
        return protocol, wire

    busy, idle, silent, half = (
        come(request("/a"), slow),
        come(request("/b")),
        come(b""),
        come(b"GET "),
    )
    for gone in (half, silent, idle):
        assert not gone[1].closed
        come(request("/c"))
        assert gone[1].closed
        gone[0].connection_lost(None)
    assert not busy[1].closed


@pytest.fixture
def shaking() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection on which nobody has agreed on TLS yet: the server's, the
    client's."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    with ours, theirs:
        yield ours, theirs


def test_a_client_must_agree_on_tls_in_time(
    clock: Clock, shaking: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = shaking
    protocol = unconnected(clock)
    protocol.handshake_begun(ours)
    clock.pass_time(HEAD_SECONDS - 1)
    assert protocol in protocol.connections
    clock.pass_time(HEAD_SECONDS)
    assert theirs.recv(1) == b""
    protocol.connection_lost(ConnectionAbortedError())
    assert not protocol.connections


def test_a_client_that_has_agreed_on_tls_is_as_any_other(
    clock: Clock, shaking: tuple[socket.socket, socket.socket]
) -> None:
    protocol, wire = unconnected(clock), Wire()
    protocol.handshake_begun(shaking[0])
    clock.pass_time(HEAD_SECONDS - 1)
    protocol.connection_made(wire)
    clock.pass_time(HEAD_SECONDS + 73)
    assert not wire.closed
    clock.pass_time(HEAD_SECONDS + 74)
    assert wire.closed


@pytest.mark.parametrize("cause", ["crowd", "stop"])
def test_a_client_that_does_not_agree_on_tls_is_in_nobodys_way(
    clock: Clock, shaking: tuple[socket.socket, socket.socket], cause: str
) -> None:
    state = ServerState()
    protocol = unconnected(clock, state=state, most=1)
    protocol.handshake_begun(shaking[0])
    if cause == "crowd":
        connected(clock, state=state, most=1)
    else:
        protocol.shutdown()
    assert shaking[1].recv(1) == b""


def test_when_all_are_being_answered_only_the_health_of_the_server_can_be_asked(
    clock: Clock,
) -> None:
    state = ServerState()
    for _ in range(2):
        protocol, _ = connected(clock, state=state, app=slow, most=2)
        clock.step(protocol.data_received, request("/a"))
    protocol, wire = connected(clock, state=state, app=read_all, most=2)
    clock.step(protocol.data_received, request("/healthz", b"alive"))
    assert wire.said.endswith(b"alive")
    clock.step(protocol.data_received, request("/a"))
    assert wire.said.count(b"HTTP/1.1 503 Service Unavailable\r\n") == 1
    assert wire.said.endswith(b'"httpStatus":503}')
    assert wire.closed
