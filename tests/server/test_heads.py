"""The short way from a packet to the scope of its request leads where the plain way of uvicorn
leads, or nowhere."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mockserver.server.lane import parse_single_packet

TARGETS = [
    b"/",
    b"/charge/card",
    b"/charge/abc-1_2~3.4",
    b"/charge?Reference=r-1&limit=10",
    b"/charge?",
    b"/charge?a=b?c=/d",
    b"/charge?a=%20b+c",
    b"/a//b/",
    b"/a:b@c,d;e=f!g$h&i'(j)*k+l",
]
UNUSUAL = [
    b"//charge",
    b"/a%20b/c%2Fd",
    b"/charge?a=b#part",
    b"/brackets[1]",
    b"http://127.0.0.1/x?x=1",
    b"*",
    b"/\xc3\xa9",
]
FIELDS = [
    b"Host: a.test",
    b"host:a.test",
    b"X-Thing: \t a b c",
    b"X-Thing: a, b",
    b"Connection: Keep-Alive",
    b"Content-Type: application/json",
    b"Keep-Alive: timeout=5",
    b"!#$%&'*+.^_`|~0: x",
]
PLAIN = b"Host: a.test\r\nX-Thing: 1"
CLOSING = [
    b"Connection: close",
    b"Expect: 100-continue",
    b"Upgrade: h2c",
    b"Proxy-Connection: close",
]
ODD = [
    b"X: ",
    b"X : a",
    b" folded",
    b"X: a ",
    b"X: a\tb",
    b"X: \xff",
    b"no colon",
    b"X: a\x00b",
    b"Content-Length: +1",
]


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nothing."""


class Transport:
    """Nothing is sent."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass


def plainly(packet: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Scope and body of the one whole request that uvicorn reads in a packet, and whose connection
    goes on."""

    class Reader(HttpToolsProtocol):
        begun = 0

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            Reader.begun += 1

    async def fed() -> Any:
        reader = Reader(Config(nothing, log_config=None), ServerState(), {})
        reader.connection_made(Transport())
        reader.parser.feed_data(packet)
        return reader.cycle

    cycle = asyncio.run(fed())
    goes_on = cycle.keep_alive and not cycle.waiting_for_100_continue and not cycle.more_body
    return (cycle.scope, bytes(cycle.body)) if goes_on and Reader.begun == 1 else None


def shortly(packet: bytes) -> tuple[dict[str, Any], bytes] | None:
    read = parse_single_packet(packet, {})
    return read and ({**read[0], "headers": list(read[0]["headers"])}, read[1])


def is_same(packet: bytes) -> bool:
    """Whether both ways lead to the same."""
    short, plain = shortly(packet), plainly(packet)
    return (
        short is not None
        and plain is not None
        and {**plain[0], **short[0]} == plain[0]
        and short[1] == plain[1]
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_read_as_uvicorn_reads_it(target: bytes) -> None:
    for method in (b"GET", b"POST", b"DELETE", b"PUT", b"PATCH") * 2:
        assert is_same(b"%b %b HTTP/1.1\r\n%b\r\n\r\n" % (method, target, PLAIN))


@pytest.mark.parametrize("target", UNUSUAL)
def test_an_unusual_target_goes_the_plain_way(target: bytes) -> None:
    for method in (b"GET", b"POST", b"POST"):
        assert (
            parse_single_packet(b"%b %b HTTP/1.1\r\n%b\r\n\r\n" % (method, target, PLAIN), {})
            is None
        )


@given(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=5), st.binary(max_size=40))
def test_fields_and_body_are_read_as_uvicorn_reads_them(fields: list[bytes], body: bytes) -> None:
    head = b"\r\n".join([b"POST /a HTTP/1.1", *fields, b"Content-Length: %d" % len(body)])
    assert is_same(head + b"\r\n\r\n" + body)


@given(
    st.lists(
        st.sampled_from([*FIELDS, *CLOSING, b"Content-Length: 3", b"Content-Length: 0", b""]),
        max_size=5,
    ),
    st.sampled_from(
        [b"", b"abc", b"abcGET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]
    ),
)
def test_what_is_not_one_whole_request_goes_the_plain_way(fields: list[bytes], rest: bytes) -> None:
    packet = b"\r\n".join([b"GET /a HTTP/1.1", *fields]) + b"\r\n\r\n" + rest
    assert shortly(packet) is None or is_same(packet)


@pytest.mark.parametrize(
    "field",
    [*CLOSING, *ODD, b"Transfer-Encoding: chunked", b"Content-Length: 0\r\nContent-Length: 0"],
)
def test_a_field_that_says_more_goes_the_plain_way(field: bytes) -> None:
    assert parse_single_packet(b"GET /a HTTP/1.1\r\nHost: a.test\r\n%b\r\n\r\n" % field, {}) is None


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_a_part_of_a_head_goes_the_plain_way(packet: bytes) -> None:
    assert parse_single_packet(packet, {}) is None


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.0",
        b"HEAD / HTTP/1.1",
        b"get / HTTP/1.1",
        b"GET / HTTP/1.1 ",
        b"GET  / HTTP/1.1",
        b"POST / HTTP/1.0",
        b"PUT x",
    ],
)
def test_an_unusual_first_line_goes_the_plain_way(first: bytes) -> None:
    assert parse_single_packet(first + b"\r\nHost: a.test\r\n\r\n", {}) is None


@pytest.mark.parametrize(
    ("count", "are_kept"), [(1, True), (64, True), (65, False), (1_000, False)]
)
def test_equal_fields_are_one_object_but_where_many_would_fill_the_memory(
    count: int, are_kept: bool
) -> None:
    packets = [b"GET /%d HTTP/1.1\r\n%b\r\n" % (number, b"a: b\r\n" * count) for number in range(2)]
    first, second = (parse_single_packet(packet, {}) for packet in packets)
    assert first is not None
    assert second is not None
    assert list(first[0]["headers"]) == list(second[0]["headers"]) == [(b"a", b"b")] * count
    assert (first[0]["headers"] is second[0]["headers"]) is are_kept
