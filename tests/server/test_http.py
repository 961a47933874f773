"""HTTP on a real connection: answers at once and later, in order, in one piece or in many."""

import ssl
from contextlib import suppress
from typing import Any

import pytest

from mockserver.server.guards import MOST_HEAD
from mockserver.web.request import read_parts, send_bytes
from tests.driving import FAST_LANE
from tests.server.connecting import Clock, connected, converse, echo, request


def test_a_request_in_one_piece_is_answered_without_a_task() -> None:
    said, state = converse(request("/a", b"hello"), until=b"/a hello")
    assert (
        said == b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 8\r\n\r\n/a hello"
    )
    assert state.total_requests == 1
    assert not state.tasks


def test_a_request_in_pieces_is_answered_when_it_is_whole() -> None:
    whole = request("/a", b"hello")
    said, _ = converse(whole[:-3], whole[-3:], until=b"/a hello")
    assert said.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("path", ["/later", "/a"])
def test_requests_sent_without_waiting_are_answered_in_order(path: str) -> None:
    said, state = converse(
        b"".join(request(path, b"%d." % number) for number in range(50)), until=b" 49."
    )
    assert [b"%s %d." % (path.encode(), number) in said for number in range(50)] == [True] * 50
    places = [said.index(b" %d." % number) for number in range(50)]
    assert places == sorted(places)
    assert state.total_requests == 50


def test_blanks_behind_a_value_do_not_belong_to_it(clock: Clock) -> None:
    heard: list[tuple[bytes, bytes]] = []

    async def listen(scope: Any, receive: Any, send: Any) -> None:
        heard.extend(scope["headers"])
        await send_bytes(send, 200, b"")

    protocol, _ = connected(clock, app=listen)
    clock.step(
        protocol.data_received, b"GET / HTTP/1.1\r\nHost: a.test  \r\nX: \t b \t\r\nY: \r\n\r\n"
    )
    clock.step()
    assert heard == [(b"host", b"a.test"), (b"x", b"b"), (b"y", b"")]


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_a_head_is_as_long_as_it_may_be_however_it_is_sent(clock: Clock, ahead: int) -> None:
    protocol, wire = connected(clock)
    head = b"GET / HTTP/1.1\r\nX: %b\r\n\r\n" % (b"a" * MOST_HEAD)
    clock.step(protocol.data_received, head[: len(head) - ahead])
    if not wire.said:
        clock.step(protocol.data_received, head[len(head) - ahead :])
    assert wire.said.startswith(b"HTTP/1.1 431")


def test_an_answer_that_waits_for_something_comes_later() -> None:
    said, _ = converse(request("/later", b"x"), until=b"/later x")
    assert said.startswith(b"HTTP/1.1 200 OK")


def test_an_answer_in_parts() -> None:
    said, _ = converse(request("/parts"), until=b"onetwo")
    assert said == b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nonetwo"


def test_a_client_that_asks_first_is_reported_to_go_on() -> None:
    head = request("/a", b"hello", "expect: 100-continue")[: -len(b"hello")]
    said, _ = converse(head, b"hello", until=b"/a hello", go_on=b"Continue\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("path", "line", "version"),
    [("/a", "connection: close", "1.1"), ("/a", "x: y", "1.0"), ("/last", "x: y", "1.1")],
)
def test_a_connection_that_shall_end_is_closed(
    clock: Clock, path: str, line: str, version: str
) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, request(path, b"", line, version=version))
    assert wire.said.count(b"connection: close\r\n") == 1
    assert wire.closed
    other, still = connected(clock)
    clock.step(other.data_received, request("/a"))
    assert b"connection:" not in still.said
    assert not still.closed


def test_the_answer_to_head_has_no_body() -> None:
    said, _ = converse(request("/a", method="HEAD"), request("/b"), until=b"/b ")
    assert said.count(b"/a") == 0
    assert b"content-length: 3\r\n\r\nHTTP/1.1 200 OK" in said


# Uvicorn's own answer has begun when a header turns out to be none: it hangs up.
@pytest.mark.parametrize("path", ["/fails", "/bad-header"] if FAST_LANE else ["/fails"])
def test_an_application_that_fails_is_answered_for(path: str) -> None:
    said, _ = converse(request(path), until=b"Internal Server Error")
    assert said.startswith(b"HTTP/1.1 500 ")


@pytest.mark.skipif(not FAST_LANE, reason="without the lane nothing begins outside of a task")
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
    assert (
        b'"details":{"Request":"wanted a request line and headers of at most 65536 bytes"}' in said
    )


JAVA = (
    # The head that java.net.http.HttpClient of JDK 17 sends by default; its body comes in a packet
    # of its own.
    b"POST /a HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: 12\r\nHost: "
    b"127.0.0.1:46163\r\n"
    b"HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\nUpgrade: h2c\r\n"
    b"User-Agent: Java-http-client/17.0.15\r\ncontent-type: application/json\r\nx-secretkey: "
    b"sk_java\r\n\r\n"
)
UPGRADE = ("Connection: Upgrade", "Upgrade: h2c")
CHUNKS = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"


def chunked(path: str, *lines: str) -> bytes:
    """The head of a request whose body comes in chunks."""
    return (
        "\r\n".join(
            [f"POST {path} HTTP/1.1", "host: x", "transfer-encoding: chunked", *lines]
        ).encode()
        + b"\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("chunks", "said"),
    {
        "Java": ([JAVA, b'{"amount":1}'], b'/a {"amount":1}'),
        "Java in one piece": ([JAVA + b'{"amount":1}'], b'/a {"amount":1}'),
        "in chunks": ([chunked("/a", *UPGRADE) + CHUNKS], b"/a hello world"),
        "in chunks and pieces": (
            [chunked("/a", *UPGRADE), CHUNKS[:7], CHUNKS[7:-2], CHUNKS[-2:]],
            b"/a hello world",
        ),
        "websocket": (
            [request("/a", b"hello", "Connection: upgrade", "Upgrade: WebSocket")],
            b"/a hello",
        ),
        "without body": ([request("/a", b"", *UPGRADE, method="GET")], b"/a "),
        "two upgrades": ([request("/a", b"hello", *UPGRADE, "Upgrade: websocket")], b"/a hello"),
        "a head in pieces": (
            [JAVA[:100], JAVA[100:300], JAVA[300:] + b"{}        }}"],
            b"/a {}        }}",
        ),
    }.values(),
)
def test_an_upgrade_is_ignored_and_the_body_read(chunks: list[bytes], said: bytes) -> None:
    got, state = converse(*chunks, request("/b", b"next"), until=b"/b next")
    assert said + b"HTTP/1.1 200 OK" in got
    assert state.total_requests == 2


def test_a_body_behind_an_upgrade_is_no_second_request() -> None:
    smuggled = request("/other")
    for chunks in (
        [request("/a", smuggled, *UPGRADE)],
        [request("/a", smuggled, *UPGRADE)[: -len(smuggled)], smuggled],
    ):
        got, state = converse(*chunks, request("/b", b"next"), until=b"/b next")
        assert b"/a POST /other HTTP/1.1" in got
        assert state.total_requests == 2


def test_upgrades_among_requests_that_are_sent_without_waiting() -> None:
    asked = b"".join(request("/a", b"%d." % number, *UPGRADE[: number % 3]) for number in range(50))
    said, state = converse(asked, until=b" 49.")
    assert [said.count(b"/a %d." % number) for number in range(50)] == [1] * 50
    assert state.total_requests == 50


def test_an_upgrade_on_a_connection_that_shall_end(clock: Clock) -> None:
    for line, version in (("Connection: close, Upgrade", "1.1"), ("Connection: Upgrade", "1.0")):
        protocol, wire = connected(clock)
        clock.step(
            protocol.data_received, request("/a", b"hello", line, "Upgrade: h2c", version=version)
        )
        assert wire.said.endswith(b"/a hello")
        assert wire.closed


def test_an_upgrade_of_a_client_that_asks_first() -> None:
    head = request("/a", b"hello", "expect: 100-continue", *UPGRADE)[: -len(b"hello")]
    said, _ = converse(head, b"hello", until=b"/a hello", go_on=b"Continue\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_an_old_client_that_asks_first_is_not_told_to_go_on() -> None:
    head = request("/a", b"hello", "expect: 100-continue", version="1.0")
    said, _ = converse(head[:-5], head[-5:], until=b"/a hello")
    assert said.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("target", ["example.com:443", "/a"])
def test_this_server_is_no_proxy(clock: Clock, target: str) -> None:
    protocol, wire = connected(clock)
    tunnel = f"CONNECT {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    clock.step(protocol.data_received, request("/a") + tunnel + request("/b"))
    clock.step(protocol.data_received, request("/c"))
    assert wire.said.count(b"HTTP/1.1 ") == 2
    assert wire.said.startswith(b"HTTP/1.1 200 OK")
    assert b"HTTP/1.1 501 Not Implemented" in wire.said
    assert wire.ended


async def names(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the names of the headers as they are once the body has come."""
    await read_parts(receive, {}, 1_000_000)
    await send_bytes(send, 200, b"<" + b",".join(name for name, _ in scope["headers"]) + b">", ())


@pytest.mark.parametrize("pieces", [1, 7])
def test_trailers_are_dropped(pieces: int) -> None:
    whole = (
        chunked("/a")
        + CHUNKS[:-2]
        + b"x-secretkey: sk_a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    )
    size = len(whole) // pieces + 1
    asked = [whole[start : start + size] for start in range(0, len(whole), size)]
    said, state = converse(*asked, request("/b"), until=b"<host,content-length>", app=names)
    assert b"<host,transfer-encoding>" in said
    assert state.total_requests == 2


ENDLESS = {
    "a line of a head": (b"GET /a HTTP/1.1\r\nx-more: ", b"y" * 1_000),
    "lines of a head": (b"GET /a HTTP/1.1\r\n", b"x-more: y\r\n" * 100),
    "a line of trailers": (chunked("/a") + CHUNKS[:-2] + b"x-more: ", b"y" * 1_000),
    "lines of trailers": (chunked("/a") + CHUNKS[:-2], b"x-more: y\r\n" * 100),
    "the extension of a chunk": (chunked("/a") + b"5;", b"y" * 1_000),
    "noughts before the size of a chunk": (chunked("/a") + b"5\r\nhello\r\n", b"0" * 1_000),
    "trailers after an early answer": (chunked("/early") + CHUNKS[:-2], b"x-more: y\r\n" * 100),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_is_no_body_and_never_ends_is_refused(clock: Clock, name: str) -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/early":
            await send_bytes(send, 413, b"too much")
        else:
            await echo(scope, receive, send)

    protocol, wire = connected(clock, app=early)
    begin, more = ENDLESS[name]
    clock.step(protocol.data_received, begin)
    sent = 0
    while not wire.ended:
        clock.step(protocol.data_received, more)
        sent += len(more)
    assert sent <= MOST_HEAD + len(more)
    assert wire.said.startswith(b"HTTP/1.1 413 " if "early" in name else b"HTTP/1.1 431 ")
    assert wire.said.count(b"HTTP/1.1 ") == 1


def test_only_the_head_that_is_open_is_counted(clock: Clock) -> None:
    protocol, wire = connected(clock)
    following = request("/b", b"", *(f"x-{number}: {'y' * 1_000}" for number in range(60)))
    for data in (
        request("/a", b"z" * 100_000) + following[:20],
        following[20:] + request("/c")[:20],
    ):
        clock.step(protocol.data_received, data)
    clock.step(protocol.data_received, request("/c")[20:])
    assert wire.said.count(b"HTTP/1.1 200 OK") == 3
    clock.step(
        protocol.data_received,
        b"".join(request("/later") for _ in range(1_000)) + request("/c")[:20],
    )
    clock.step(protocol.data_received, request("/c")[20:])
    for _ in range(400):
        clock.step()
    assert wire.said.count(b"HTTP/1.1 200 OK") == 1_004


def test_many_small_chunks_are_no_endless_head(clock: Clock) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, chunked("/a"))
    for _ in range(200):
        clock.step(protocol.data_received, b"1;extension=of-a-chunk\r\nz\r\n" * 50)
    clock.step(protocol.data_received, b"0\r\n\r\n")
    assert wire.said.endswith(b"/a " + b"z" * 10_000)


@pytest.mark.parametrize("path", ["/a", "/later"])
def test_requests_before_garbage_are_answered_before_the_refusal(path: str) -> None:
    said, state = converse(
        request(path, b"1.") + request(path, b"2.") + b"\x00garbage\r\n\r\n", until=b"400}"
    )
    assert said.startswith(b"HTTP/1.1 200 OK")
    places = [said.index(words) for words in (b"1.", b"2.", b"HTTP/1.1 400 ")]
    assert places == sorted(places)
    assert said.count(b"HTTP/1.1 ") == 3
    assert state.total_requests == 2


def hello() -> bytes:
    """What a TLS client says first."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(
            ssl.MemoryBIO(), sent, server_hostname="localhost"
        ).do_handshake()
    return sent.read()


def test_a_client_that_speaks_tls_is_told_of_the_plain_port(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said, _ = converse(hello(), until=b"400}")
    assert said.startswith(b"HTTP/1.1 400 ")
    words = "got a TLS handshake, and this port speaks plain HTTP"
    assert words.encode() in said
    assert [one.message for one in caplog.records if words in one.message] == [
        one.message for one in caplog.records
    ]
    assert len(caplog.records) == 1


def test_what_is_neither_http_nor_tls_is_refused_as_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said, _ = converse(b"\x16garbage\r\n\r\n", until=b"400}")
    assert b"TLS" not in said
    assert [one.message for one in caplog.records] == ["Invalid HTTP request received."]


@pytest.mark.parametrize("before", [b"", request("/a", b"1."), request("/later", b"1.")])
def test_a_body_that_turns_to_garbage_is_refused_once(clock: Clock, before: bytes) -> None:
    for chunks in (
        [chunked("/a") + b"5\r\nhello\r\nzz\r\n"],
        [chunked("/a") + b"5\r\nhello\r\n", b"zz\r\n"],
    ):
        protocol, wire = connected(clock)
        for chunk in (before + chunks[0], *chunks[1:]):
            clock.step(protocol.data_received, chunk)
        clock.pass_time(clock.now + 1)
        assert wire.said.count(b"HTTP/1.1 200 OK") == bool(before)
        assert wire.said.count(b"HTTP/1.1 400 ") == 1
        assert wire.said.count(b"HTTP/1.1 ") == 1 + bool(before)
        assert wire.ended


def test_one_connection_lets_others_have_their_turn(clock: Clock) -> None:
    protocol, wire = connected(clock)
    other, heard = connected(clock)

    def ask() -> None:
        protocol.data_received(b"".join(request("/a") for _ in range(500)))
        other.data_received(request("/b"))

    clock.step(ask)
    assert heard.said.endswith(b"/b ")
    assert wire.said.count(b"200 OK") < 500
    while wire.said.count(b"200 OK") < 500:
        clock.step()


def test_a_crowd_of_requests_is_not_read_faster_than_it_is_answered(clock: Clock) -> None:
    protocol, wire = connected(clock)
    clock.step(protocol.data_received, b"".join(request("/later") for _ in range(200)))
    paused = 0
    while wire.said.count(b"200 OK") < 200:
        clock.pass_time(clock.now + 1)
        paused += wire.paused
    assert paused
    assert not wire.paused
