"""One request and its answer: what the application is given to read and to write with."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Coroutine, Generator
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from mockserver.adapters import bad_request
from mockserver.domain.remembered import Remembered

Headers = tuple[tuple[bytes, bytes], ...]

ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
"""Paths that are answered however many connections are open."""

HANG_SECONDS = 600.0
"""How long a client that is left to send its body may try to."""

LOOK_SECONDS = 1.0
"""How often it is looked whether it still does: a connection that is not read does not say that its end has come."""

LONG = 65_536
"""Bytes of an answer from which on copying it costs more than a second write."""

_MOST_HEADS = 256
_FRAMING = frozenset({b"connection", b"content-length", b"transfer-encoding"})


class Connection(Protocol):
    """What a request uses of its connection: ``ended`` when the client sends nothing more, ``listening`` is the request
    whose application waits to hear more of its client."""

    ended: bool
    listening: RequestResponseCycle | None

    def give_up(self, cycle: RequestResponseCycle) -> None:
        """Answer a request no more."""


async def in_reserve(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """The application on a connection too many: whether the server lives can be asked even then."""
    if scope["path"] in ALWAYS_ANSWERED:
        await app(scope, receive, send)
        return
    body, headers = bad_request.crowded()
    await send({"type": "http.response.start", "status": HTTPStatus.SERVICE_UNAVAILABLE, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def answer(app: Any, cycle: RequestResponseCycle, receive: Any, send: Any) -> None:
    """Let the application answer a request by ``send``; when it fails to, that is logged and answered for it."""
    try:
        await app(cycle.scope, receive, send)
        if not (cycle.response_complete or cycle.disconnected or cycle.transport.is_closing()):
            raise RuntimeError("The application gave no whole answer.")
    except asyncio.CancelledError:
        # The server stops and waits no longer.
        cycle.transport.close()
    except Exception as fault:
        cycle.logger.error("Exception in ASGI application\n", exc_info=fault)
        if cycle.response_started:
            cycle.transport.close()
        else:
            await cycle.send_500_response()
    finally:
        # It refers to the connection, which refers to the request.
        if isinstance(cycle, WholeCycle):
            cycle.connection = None
        else:
            cycle.on_response = _nothing


def _nothing() -> None:
    pass


class _Heads:
    """The heads of answers by status, headers and whether the connection goes on, kept until the server's own headers
    change: they are a new list with every second."""

    def __init__(self) -> None:
        self.server: Any = None
        self.kept: dict[tuple[int, Headers, bool], bytes | None] = {}

    def of(self, status: int, headers: Headers, cycle: RequestResponseCycle) -> bytes | None:
        """The lines above the length; None when a header says itself how the answer or the connection ends."""
        if cycle.default_headers is not self.server or len(self.kept) >= _MOST_HEADS:
            self.server, self.kept = cycle.default_headers, {}
        head = _head(status, headers, tuple(cycle.default_headers), cycle.keep_alive)
        self.kept[status, headers, cycle.keep_alive] = head
        return head


_HEADS = _Heads()
_length_of = Remembered[int, bytes](4_096, b"content-length: %d\r\n\r\n".__mod__).__getitem__


def _written(cycle: Any, status: int, headers: Headers, body: bytes) -> bool:
    """Write an answer in one go, its length given; False, and nothing is written, when that cannot be done now."""
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
        return False
    heads = _HEADS
    head = heads.kept.get((status, headers, cycle.keep_alive)) if heads.server is cycle.default_headers else None
    if head is None and (head := heads.of(status, headers, cycle)) is None:
        return False
    cycle.status = status
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    if len(body) <= LONG:
        cycle.transport.write(head + _length_of(len(body)) + body)
    else:
        cycle.transport.write(b"%bcontent-length: %d\r\n\r\n" % (head, len(body)))
        cycle.transport.write(body)
    is_whole = type(cycle) is WholeCycle
    event = cycle.event if is_whole else cycle.message_event
    if event is not None:
        event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    if is_whole:
        cycle.connection.on_response_complete()
    else:
        cycle.on_response()
    return True


def _head(status: int, headers: Headers, server_headers: Headers, keep_alive: bool) -> bytes | None:
    lines = [STATUS_LINE[status]]
    for name, value in (*server_headers, *headers):
        if name.lower() in _FRAMING:
            return None
        if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
            raise ValueError(f"no header of HTTP: {name!r}")
        lines += [name, b": ", value, b"\r\n"]
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return b"".join(lines)


class Heard:
    """What the application hears of one request: of its body, and of its client."""

    __slots__ = ()
    cycle: Any
    connection: Any

    async def part(self) -> Any:
        """The next part of the body, or that the client has gone: so it has when it sends less than is waited for."""
        cycle, connection = self.cycle, self.connection
        if cycle.scope["http_version"] == "1.0":
            # Such a client does not know the answer 100 (RFC 9110, 10.1.1).
            cycle.waiting_for_100_continue = False
        if not cycle.message_event.is_set():
            if connection.ended:
                connection.give_up(cycle)
                cycle.transport.close()
            connection.listening = cycle
        try:
            return await cycle.receive()
        finally:
            connection.listening = None

    def is_gone(self) -> bool:
        """Whether the client has hung up. One that sends nothing more may still read: it has hung up when it has
        refused what was written to it."""
        cycle = self.cycle
        return cycle.disconnected or (self.connection.ended and _is_refused(cycle.transport))

    def hush(self) -> None:
        """Do not answer a client's ``Expect: 100-continue``."""
        self.cycle.waiting_for_100_continue = False

    async def left(self) -> None:
        """Wait until the client has hung up, reading nothing more of what it sends; at most ``HANG_SECONDS``."""
        cycle, loop = self.cycle, asyncio.get_running_loop()
        end = loop.time() + HANG_SECONDS
        while not self.is_gone() and loop.time() < end:
            cycle.message_event.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(cycle.message_event.wait(), LOOK_SECONDS)
        cycle.transport.abort()


class RequestBody(Heard):
    """The ``receive`` of a request that uvicorn has read."""

    __slots__ = ("connection", "cycle")

    def __init__(self, cycle: RequestResponseCycle, connection: Connection) -> None:
        self.cycle = cycle
        self.connection = connection

    __call__ = Heard.part

    def at_hand(self) -> bytes | None:
        """What is left of the body, when all of it has come; else None."""
        cycle = self.cycle
        if cycle.more_body or cycle.disconnected or cycle.response_complete:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        return body


class WholeCycle(Heard, RequestResponseCycle):
    """A request that has come whole, as uvicorn sees it, and both the ``receive`` of it and the ``send`` of its answer:
    every request makes one object less. What one in a thousand uses is made when it is asked for.

    ``connection`` is None once it has been answered.
    """

    access_log = waiting_for_100_continue = False
    chunked_encoding = None
    expected_content_length = 0

    def __init__(self, connection: HttpToolsProtocol, scope: Any, body: bytes) -> None:
        # Not left to the class: every request asks, and Python 3.11 finds in a class ten times as slowly.
        self.disconnected = self.more_body = self.response_started = self.response_complete = self.is_read = False
        self.keep_alive = True
        self.status = 0
        self.event: asyncio.Event | None = None
        self.scope = scope
        self.body = body  # type: ignore[assignment]
        self.connection = connection
        self.transport = connection.transport
        self.flow = connection.flow
        self.default_headers = connection.server_state.default_headers

    def __call__(self, message: Any = None) -> Awaitable[Any]:
        """Send one message of the answer; without one, the next part of the body."""
        return self.part() if message is None else _sent(self, message)

    whole = _written

    @property
    def cycle(self) -> Any:
        """This one."""
        return self

    @property
    def logger(self) -> logging.Logger:  # type: ignore[override]
        """Where failures of the application are logged."""
        return logging.getLogger("uvicorn.error")

    def on_response(self) -> None:
        """The answer is complete."""
        if self.connection is not None:
            self.connection.on_response_complete()

    def at_hand(self) -> bytes | None:
        """As that of :class:`RequestBody`."""
        if self.disconnected or self.response_complete:
            return None
        body, self.body, self.is_read = self.body, b"", True  # type: ignore[assignment]
        if self.event is not None:
            self.event.clear()
        return body  # type: ignore[return-value]

    @property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        """Set while there is something to receive."""
        event = self.event
        if event is None:
            event = self.event = asyncio.Event()
            if self.response_complete or not self.is_read:
                event.set()
        return event


class Begun(Coroutine[Any, Any, None]):
    """A coroutine that was begun outside of any task and waits for ``awaited``: what a task is made of to go on."""

    __slots__ = ("_awaited", "_is_begun", "_rest")

    def __init__(self, rest: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._rest = rest
        self._awaited = awaited
        self._is_begun = False

    def send(self, value: Any) -> Any:
        """Go on; at first, say what is waited for."""
        if self._is_begun:
            return self._rest.send(value)
        self._is_begun = True
        return self._awaited

    def throw(self, *problem: Any) -> Any:
        """Go on with an exception."""
        self._is_begun = True
        return self._rest.throw(*problem)

    def close(self) -> None:
        """Give up."""
        self._rest.close()

    def __await__(self) -> Generator[Any, Any, None]:
        yield self.send(None)
        yield from self._rest.__await__()


def _is_refused(transport: Any) -> bool:
    """Whether the other end has reset the connection, though nobody has read from it since."""
    connection = transport.get_extra_info("socket")
    try:
        return connection is not None and connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
    except OSError:
        return True


class Answer:
    """The same ``send`` of a request that uvicorn has read."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    @property
    def status(self) -> int:
        """What was answered, 0 before."""
        return getattr(self._cycle, "status", 0)

    def __call__(self, message: Any) -> Awaitable[None]:
        """Send one message of the answer."""
        return _sent(self._cycle, message)

    def whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """As that of :class:`WholeCycle`."""
        return _written(self._cycle, status, headers, body)


def _sent(cycle: Any, message: Any) -> Awaitable[None]:
    if message["type"] == "http.response.start":
        cycle.status = message["status"]
    sending: Awaitable[None] = cycle.send(message)
    return sending
