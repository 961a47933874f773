"""The fast lane: every speed trick of serving HTTP, in one class over the guarded protocol.
``--no-fast-lane`` serves without it: requests then go through uvicorn's parser, and a task each.

Nearly every request comes whole, in one packet, with an ordinary head, and is answered without
waiting for anything. Such a request is read by two regular expressions instead of a parser that
calls back for each line, served at once without a task of its own, and its answer is written in one
go. Whatever is not ordinary goes the other way from the first byte that is not.

What must always hold: a request gets the same answer in the lane and beside it
(tests/server/test_like_uvicorn.py). So the expressions take only what cannot be read in two ways:
one request line, complete fields, one length. A doubtful head is none of theirs, and a client that
could make two servers read one request differently (request smuggling) gains nothing here.
"""

import asyncio
import re
from collections.abc import Awaitable, Coroutine, Generator
from functools import partial
from typing import Any, TypeAlias

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from mockserver.domain.bounded_cache import BoundedCache
from mockserver.domain.record import entity
from mockserver.server.guards import GuardedProtocol
from mockserver.web.request import TRANSPORT, Send

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
Head: TypeAlias = tuple[dict[str, Any], int]
"""What a request says of itself, as its scope has it, and the length of its body."""

_LINE = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/(?!/)[A-Za-z0-9._~@:,;=!$&'()*+/-]*+)(?:\?([!-\"$-~]*+))? "
    rb"HTTP/1\.1\r\n"
)
"""A first line whose target has no escapes in its path: what its parts are needs no parser of
URLs."""

_FIELD = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)\r\n")
_FIELDS = re.compile(rb"(?:[A-Za-z0-9!#$%&'*+.^_`|~-]+:[ \t]*[!-~](?:[ -~]*+(?<=[!-~]))?+\r\n)+")
"""Header fields that have a value, without blanks at its end. Names and values are never empty."""

_FRAMING = frozenset(
    {b"connection", b"expect", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
"""Fields by which a client may say more of its connection, or of the length of its request, than is
read here."""

_KEEP_ALIVE = (b"connection", b"keep-alive")
_LENGTH = re.compile(rb"[0-9]{1,9}")
_LONGEST_HEAD = 8_192
"""Bytes of a head that is read here."""

_MOST_FIELDS = 64
"""Fields of a head that is remembered: once they are read, 1,600 of them take 25 times as many
bytes."""


def parse_single_packet(
    data: bytes, connection: dict[str, Any]
) -> tuple[dict[str, Any], bytes] | None:
    """The scope and the body of the request that a packet is; None of anything but one ordinary
    request. ``connection`` is what the scopes of all requests of a connection have in common."""
    end = data.find(b"\r\n\r\n") + 4
    # The heads of POST, PUT and PATCH are mostly the same ones again and again, so they are worth
    # remembering; others mostly name an object in their first line.
    read_head = _remembered_head if data[:1] == b"P" else _read_head
    head = read_head(data[:end])
    if head is None:
        return None
    facts, length = head
    if len(data) - end != length:
        # More is to come, or another request is behind it.
        return None
    return connection | facts, data[end:]


def _read_head(head: bytes) -> Head | None:
    """What a head says; None of an unusual one."""
    if len(head) > _LONGEST_HEAD:
        return None
    line = _LINE.match(head)
    if line is None:
        return None
    fields = _fields_of(head[line.end() : -2])
    if fields is None:
        return None
    method, path, query = line.groups(b"")
    headers, length = fields
    facts = {
        "method": method.decode(),
        "path": path.decode(),
        "raw_path": path,
        "query_string": query,
        "headers": headers,
    }
    return facts, length


def _is_short(head: bytes) -> bool:
    """Whether a head may be remembered: a client could send long ones without end."""
    return len(head) <= 1_000 and head.count(b"\n") <= _MOST_FIELDS


_remembered_head = BoundedCache(512, _read_head, _is_short).__getitem__


def _fields(lines: bytes) -> tuple[Headers, int] | None:
    """The fields of a head, names in lower case, and the length of the body; None when they say
    more than that."""
    if not _FIELDS.fullmatch(lines):
        return None
    headers = tuple((name.lower(), value) for name, value in _FIELD.findall(lines))
    length: int | None = None
    for name, value in headers:
        if name in _FRAMING and (name, value.lower()) != _KEEP_ALIVE:
            return None
        if name == b"content-length":
            if length is not None or not _LENGTH.fullmatch(value):
                return None
            length = int(value)
    return headers, length or 0


def _are_few(lines: bytes) -> bool:
    return lines.count(b"\n") <= _MOST_FIELDS


_fields_of = BoundedCache(512, _fields, _are_few).__getitem__
"""Most clients send the same ones with every request."""


class FastCycle(RequestResponseCycle):
    """A request that has come whole, as uvicorn sees it, and the ``send`` of its answer. An answer
    in one piece goes out by ``whole``, any other by uvicorn's own way."""

    keep_alive = True
    access_log = waiting_for_100_continue = False
    chunked_encoding = None
    expected_content_length = 0

    def __init__(self, connection: GuardedProtocol, scope: Any, body: bytes) -> None:
        # In the place of uvicorn's own __init__ and its many keywords: all attributes that it sets.
        self.scope, self.body = scope, body  # type: ignore[assignment]
        self.transport, self.flow, self.logger = (
            connection.transport,
            connection.flow,
            connection.logger,
        )
        self.default_headers = connection.server_state.default_headers
        self.on_response = connection.on_response_complete
        self.disconnected = self.more_body = self.response_started = self.response_complete = False
        self.message_event = asyncio.Event()
        self.message_event.set()

    @property
    def send(self) -> Send:  # type: ignore[override]
        """What the application sends by: the request itself, for its ``whole``."""
        return self

    def __call__(self, message: Any) -> Awaitable[None]:
        """Send one message of the answer."""
        return super().send(message)

    def whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write an answer in one go; False, and nothing is written, when that cannot be done
        now."""
        if self.response_started or self.disconnected or not self.keep_alive:
            return False
        if self.flow.write_paused:
            # The client takes nothing more: uvicorn waits until it does.
            return False
        head = _head_of((status, (*self.default_headers, *headers)))
        if head is None:
            return False
        self.response_started = self.response_complete = True
        self.transport.write(b"".join((head, b"content-length: %d\r\n\r\n" % len(body), body)))
        self.message_event.set()
        self.on_response()
        return True


def _head(answer: tuple[int, Headers]) -> bytes | None:
    """The lines of an answer above its length; None when a header says itself how the answer or the
    connection ends, which uvicorn heeds. Raises ``ValueError`` for an invalid header: a line end in
    it would begin another."""
    status, headers = answer
    for name, value in headers:
        if name.lower() in _ENDING:
            return None
        if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
            raise ValueError(f"not a header of HTTP: {name!r}")
    return STATUS_LINE[status] + b"".join([b"%b: %b\r\n" % header for header in headers])


_ENDING = frozenset({b"connection", b"content-length", b"transfer-encoding"})
_head_of = BoundedCache(256, _head).__getitem__
"""Most answers have the same head but for their length."""


@entity
class StartedCoroutine(Coroutine[Any, Any, None]):
    """A coroutine that was begun outside of any task and waits for ``awaited``: what a task is made
    of to go on. A task begins a coroutine itself, and this one is begun already: so the first
    ``send`` of the task gets what was waited for, and the rest goes to the coroutine."""

    rest: Coroutine[Any, Any, None]
    awaited: Any
    is_begun: bool = False

    def send(self, value: Any) -> Any:
        """Go on; at first, say what is waited for."""
        if self.is_begun:
            return self.rest.send(value)
        self.is_begun = True
        return self.awaited

    def throw(self, *problem: Any) -> Any:
        """Go on with an exception."""
        self.is_begun = True
        return self.rest.throw(*problem)

    def close(self) -> None:
        """Give up."""
        self.rest.close()

    def __await__(self) -> Generator[Any, Any, None]:
        yield self.send(None)
        yield from self.rest.__await__()


class LaneProtocol(GuardedProtocol):
    """One connection whose ordinary requests take the lane."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._common = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": self.root_path,
            "state": self.app_state,
            "extensions": {TRANSPORT: transport},
        }

    def data_received(self, data: bytes) -> None:
        """Read, and serve the requests that this completes."""
        request = parse_single_packet(data, self._common) if self.is_between_requests else None
        if request is None:
            super().data_received(data)
            return
        scope, body = request
        self.cycle = cycle = FastCycle(self, scope, body)
        self.begin(cycle)
        serving = cycle.run_asgi(partial(self.serve, self.app, cycle))
        try:
            awaited = serving.send(None)
        except StopIteration:
            # It waited for nothing, as nearly every request: it is answered.
            return
        self.serve_in_task(StartedCoroutine(serving, awaited))
