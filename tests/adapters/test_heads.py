"""The short way from the head of a request to its scope leads where the plain way of uvicorn leads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mockserver.adapters.heads import Heads

TARGETS = [
    b"/",
    b"/charge/card",
    b"/charge/abc-1_2~3.4",
    b"/charge?Reference=r-1&limit=10",
    b"/charge?",
    b"/charge?a=b?c=/d",
    b"/charge?a=%20b+c",
    b"/a//b/",
    b"//charge",
    b"/a%20b/c%2Fd",
    b"/charge?a=b#part",
    b"/charge#part",
    b"/a:b@c,d;e=f!g$h&i'(j)*k+l",
    b"/brackets[1]",
    b"http://127.0.0.1/charge?x=1",
    b"*",
    b"/" + b"a" * 65_534,
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


def read(kind: type[HttpToolsProtocol], *heads: bytes) -> list[tuple[dict[str, Any], bool, bool]]:
    """Scope, keep-alive and 100-continue of each request that a protocol reads; the rest of the scope is its own."""

    class Reader(kind):  # type: ignore[misc, valid-type]
        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            pass

    async def fed() -> list[tuple[dict[str, Any], bool, bool]]:
        reader = Reader(Config(nothing, log_config=None), ServerState(), {"of": "lifespan"})
        reader.connection_made(Transport())
        found = []
        for head in heads:
            reader.parser.feed_data(head)
            cycle = reader.cycle
            scope = {name: value for name, value in cycle.scope.items() if name != "extensions"}
            found.append((scope, cycle.keep_alive, cycle.waiting_for_100_continue))
            cycle.response_complete = True
        return found

    return asyncio.run(fed())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("method", [b"GET", b"POST", b"DELETE"])
def test_a_target_is_read_as_uvicorn_reads_it(method: bytes, target: bytes) -> None:
    head = b"%b %b HTTP/1.1\r\nHost: a.test\r\nX-Thing: 1\r\n\r\n" % (method, target)
    assert read(Heads, head) == read(HttpToolsProtocol, head)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /a HTTP/1.0\r\n\r\n",
        b"GET /a HTTP/1.1\r\nconnection: close\r\n\r\n",
        b"POST /a HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 0\r\n\r\n",
        b"GET /a HTTP/1.1\r\nconnection: keep-alive\r\n\r\n",
    ],
)
def test_what_a_head_says_of_its_connection_is_kept(head: bytes) -> None:
    assert read(Heads, head) == read(HttpToolsProtocol, head)


def test_each_request_of_a_connection_has_a_scope_of_its_own() -> None:
    heads = [b"GET /%d HTTP/1.1\r\nn: %d\r\n\r\n" % (number, number) for number in range(3)]
    assert read(Heads, *heads) == read(HttpToolsProtocol, *heads)
