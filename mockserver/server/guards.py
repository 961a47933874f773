"""The connection of a client, with the guards that hold for every request, in the fast lane and
beside it.

Over uvicorn's own protocol: a head has an end, in bytes and in time; a client that lets its time
pass is hung up on; with too many connections one makes room; what is not HTTP is refused in the
usual error shape; a connection may be reset as it is made; a client that sends many requests at
once gets its answers in turn with the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import httptools
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from mockserver.domain.codes import Code
from mockserver.domain.errors import problem
from mockserver.web.request import TRANSPORT

HANG_SECONDS = 600.0
"""How long a client that is left to send its body may try to."""

LOOK_SECONDS = 1.0
"""How often it is looked whether it still does: a connection that is not read does not say that its
end has come."""


class BodyReceiver:
    """The ``receive`` of one request, with what the product asks of its client besides."""

    __slots__ = ("connection", "cycle")

    def __init__(self, cycle: RequestResponseCycle, connection: GuardedProtocol) -> None:
        self.cycle = cycle
        self.connection = connection

    async def __call__(self) -> Any:
        """The next part of the body, or that the client has gone: so it has when it sends less than
        is waited for."""
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

    def at_hand(self) -> bytes | None:
        """What is left of the body, when all of it has come; else None. Nothing more is read of the
        client meanwhile: a crowd of requests is not read faster than it is answered."""
        cycle = self.cycle
        if cycle.more_body or cycle.disconnected or cycle.response_complete:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        return body

    def is_gone(self) -> bool:
        """Whether the client has hung up. One that sends nothing more may still read: it has hung
        up when it has refused what was written to it."""
        return self.cycle.disconnected or (
            self.connection.ended and _is_refused(self.cycle.transport)
        )

    @property
    def is_unanswered(self) -> bool:
        """Whether no answer has begun, be it that the client left before."""
        return not self.cycle.response_started

    def suppress_continue(self) -> None:
        """Do not answer a client's ``Expect: 100-continue``."""
        self.cycle.waiting_for_100_continue = False

    async def left(self) -> None:
        """Wait until the client has hung up, reading nothing more of what it sends; at most
        ``HANG_SECONDS``."""
        cycle, loop = self.cycle, asyncio.get_running_loop()
        end = loop.time() + HANG_SECONDS
        while not self.is_gone() and loop.time() < end:
            cycle.message_event.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(cycle.message_event.wait(), LOOK_SECONDS)
        cycle.transport.abort()


def _is_refused(transport: Any) -> bool:
    """Whether the other end has reset the connection, which is not read."""
    connection = transport.get_extra_info("socket")
    try:
        return (
            connection is not None
            and connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        )
    except OSError:
        return True


ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
"""Paths that are answered however many connections are open."""

MOST_HEAD = 65_536
"""Bytes that a request's line and headers may have, and its trailers: what never ends must not fill
the memory."""

HEAD_TOO_LARGE = (
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"wanted a request line and headers of at most {MOST_HEAD} bytes",
)
TIMED_OUT = HTTPStatus.REQUEST_TIMEOUT, "wanted the rest of the request sooner"
TLS_REFUSED = (
    HTTPStatus.BAD_REQUEST,
    "got a TLS handshake, and this port speaks plain HTTP: call it with http://, or the port of "
    "--tls-port with https://",
)
"""In the clear: most TLS clients then name what they got (a wrong version number, an HTTP
response)."""

_TLS_HANDSHAKE = b"\x16\x03"

CONNECT_REFUSED = HTTPStatus.NOT_IMPLEMENTED, "CONNECT is not served: this server is not a proxy"
"""Of this one, because what follows on its connection is not HTTP."""


def malformed(fault: httptools.HttpParserError) -> tuple[HTTPStatus, str]:
    """Status and reason of the answer to what the parser refuses. Its words quote nothing of what
    was sent."""
    match fault:
        case httptools.HttpParserInvalidMethodError():
            wanted = "wanted a method of HTTP, such as GET or POST"
        case httptools.HttpParserCallbackError():
            wanted = "wanted a target of ASCII characters, at most 65535 of them"
        case _:
            wanted = f"wanted a request of HTTP/1.1: {fault}"
    return HTTPStatus.BAD_REQUEST, wanted


def refusal_text(
    status: HTTPStatus, reason: str, server_headers: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """The whole answer as it stands on the wire, with the headers of the server besides its own."""
    answer = _response(status, reason, Code.VALIDATION_ERROR)
    lines = [f"HTTP/1.1 {status} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in (*server_headers, *answer.raw_headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(answer.body)


async def too_many_connections(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """The application on a connection too many: whether the server lives can be asked even then."""
    reason = "more connections are open than this server has files for"
    refused = _response(HTTPStatus.SERVICE_UNAVAILABLE, reason, Code.UNKNOWN_ERROR)
    await (app if scope["path"] in ALWAYS_ANSWERED else refused)(scope, receive, send)


def _response(status: HTTPStatus, reason: str, code: Code) -> Response:
    is_retryable = status is HTTPStatus.SERVICE_UNAVAILABLE
    body = problem(status, code, code.message, None, {"Request": reason}, is_retryable=is_retryable)
    headers = {
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
        "connection": "close",
    }
    return Response(json.dumps(body, separators=(",", ":")), status, headers)


HEAD_SECONDS = 20
"""How long a client may take to send a request's line and headers."""

TAKE_SECONDS = 600
"""How long a client may leave an answer where it is: somebody may be reading it page by page."""

LINGER_SECONDS = 2
"""How long a client that was refused may take to hang up. A connection that is closed while more of
it is still coming is reset, and a reset can overtake the refusal."""

_RESET = struct.pack("ii", 1, 0)


class GuardedProtocol(HttpToolsProtocol):
    """One connection.

    Its transport is in the scope: a scripted fault resets or cuts the real connection. ``ended``
    when the client sends nothing more, ``listening`` is the request whose application waits to hear
    more of its client.

    Above ``most`` connections the one that has let the server wait for longest makes room for the
    newest, which is refused what it asks when there is none. ``refuses`` is asked once for each
    connection, before anything is read.
    """

    listening: RequestResponseCycle | None = None
    _answering: RequestResponseCycle | None = None
    _raw: socket.socket | None = None

    # How many bytes that are no body the request has so far that is not whole, the last packet's
    # apart.
    _overhead = 0
    _packet = 0

    # Loop times: when the client's time is over (None: it is the server's turn), the same for the
    # head that is open, and when the alarm rings that looks after them.
    _due: float | None = None
    _head_due: float | None = None
    _rings = 0.0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        most: int = sys.maxsize,
        refuses: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._most = most
        self._refuses = refuses
        self.ended = False
        self._refusal: bytes | None = None
        self._open = False  # a request has begun and is not whole

    def handshake_begun(self, raw: socket.socket) -> None:
        """A client has come that has still to agree on TLS."""
        self._raw = raw
        self.connections.add(self)
        self._let_in(HEAD_SECONDS)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        is_new, self._raw = self._raw is None, None
        super().connection_made(transport)
        self._let_in(self.timeout_keep_alive)
        # One that has agreed on TLS was let in before.
        if is_new and self.turns_away(transport.get_extra_info("socket")):
            transport.abort()

    def turns_away(self, raw: socket.socket) -> bool:
        """Whether the connection is refused (scenario language, ``at: connect``): its close is then
        a reset."""
        if not self._refuses():
            return False
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return True

    def _let_in(self, patience: float) -> None:
        self._expect_by(self.loop.time() + patience)
        if len(self.connections) > self._most and not self._make_room():
            self.app = partial(too_many_connections, self.app)

    def data_received(self, data: bytes) -> None:
        """Read, and serve the requests that this completes."""
        if self._refusal is not None:
            return
        most = MOST_HEAD
        if (
            len(data) > most
            and not self._open
            and 0 < data.find(b"\r\n") < most < data.find(b"\r\n\r\n")
        ):
            self._refuse(*HEAD_TOO_LARGE)
            return
        self._packet = len(data)
        self._feed(data)
        if self._open and self._refusal is None:
            self._await_rest()

    @property
    def is_between_requests(self) -> bool:
        """Whether what comes next is the beginning of a request, and nothing is to be answered
        before it."""
        cycle = self._answering
        is_free = cycle is None or cycle.response_complete
        return is_free and not self._open and self._refusal is None and not self.root_path

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends nothing more: what it has asked is answered, unless the answer waits for
        more of it."""
        self.ended = True
        if not self.flow.write_paused:
            self._due = None
        cycle = self._answering
        if cycle is None or not _is_open(cycle):
            return False
        # TLS ends in both directions at once.
        if self.scheme == "https" or self.listening is cycle:
            self.give_up(cycle)
            return False
        return True

    def give_up(self, cycle: RequestResponseCycle) -> None:
        """Answer a request no more: its client has gone, or its rest never comes."""
        cycle.disconnected = True
        cycle.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answering is not None and _is_open(
            self._answering
        ):  # the base class knows only the newest
            self.give_up(self._answering)
        self.pipeline.clear()
        self._due = None
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def hang_up(self) -> None:
        """End the connection; what the client does not take by itself is lost."""
        self._due = None
        if self._raw is not None:
            # The TLS handshake notices.
            with contextlib.suppress(OSError):
                self._raw.shutdown(socket.SHUT_RDWR)
        elif self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """The server stops: end the connection once what was asked is answered."""
        if self._raw is not None:
            self.hang_up()
        else:
            super().shutdown()

    # Reading

    def _feed(self, data: bytes) -> None:
        unread: list[bytes | memoryview] = [data]
        while unread:
            piece = unread.pop()
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:
                if self.scope["method"] == "CONNECT":
                    self._refuse(*CONNECT_REFUSED)
                    return
                # No upgrade is offered, so each is ignored (RFC 9110, 7.8). The parser may be past
                # its last request.
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                unread += [memoryview(piece)[upgrade.args[0] :], self._head_without_upgrade()]
            except httptools.HttpParserError as fault:
                is_tls = self.scheme == "http" and bytes(piece[:2]) == _TLS_HANDSHAKE
                refusal = TLS_REFUSED if is_tls else malformed(fault)
                self.logger.warning(refusal[1] if is_tls else "Invalid HTTP request received.")
                self._refuse(*refusal)
                return

    def _should_upgrade(self) -> bool:
        """Asked when a request wants an upgrade, whose body the parser leaves unread: its head is
        read once more."""
        return True

    def _head_without_upgrade(self) -> bytes:
        scope, lines = (
            self.scope,
            [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"],
        )
        first = b"%b %b HTTP/%b\r\n" % (
            scope["method"].encode(),
            self.url,
            scope["http_version"].encode(),
        )
        return b"".join([first, *lines, b"\r\n"])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]
        self._open = True
        self._overhead = 0
        self._head_due = None

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field; the parser leaves the blanks behind its value (RFC 9110, 5.5)."""
        super().on_header(name, value.rstrip(b" \t"))

    def on_body(self, body: bytes) -> None:
        self._overhead = self._packet = 0
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """A chunk begins, or the trailers, which are dropped: nothing in them may pass for a
        header."""
        self.headers = []

    def on_message_complete(self) -> None:
        """A request is whole, unless its head is to be read once more."""
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._open = False
        self._packet = 0
        if self.cycle.response_complete:
            self._expect_by(self.loop.time() + self.timeout_keep_alive)
        elif not self.flow.write_paused:
            self._due = None

    def _await_rest(self) -> None:
        """Bound the rest of a request that is not whole, in time, and in bytes outside the body."""
        self._overhead += self._packet
        if self._overhead > MOST_HEAD:
            self._refuse(*HEAD_TOO_LARGE)
        elif self.flow.read_paused:
            return
        elif self._head_is_whole():
            self._expect_by(self.loop.time() + self.timeout_keep_alive)
        else:
            if self._head_due is None:
                self._head_due = self.loop.time() + HEAD_SECONDS
            self._expect_by(self._head_due)

    def _head_is_whole(self) -> bool:
        return "path" in self.scope

    # Answering

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        self.serve_in_task(cycle.run_asgi(partial(self.serve, app, cycle)))

    def begin(self, cycle: RequestResponseCycle) -> None:
        """A request that is whole is answered now: the client has all time until it is."""
        self.cycle = self._answering = cycle
        if not self.flow.write_paused:
            self._due = None

    def serve_in_task(self, serving: Any) -> None:
        """Let a request be answered beside others."""
        task = self.loop.create_task(serving)
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    async def serve(
        self, app: Any, cycle: RequestResponseCycle, scope: Any, receive: Any, send: Any
    ) -> None:
        """Let the application answer a request, which it may leave unanswered when the connection
        has been ended."""
        try:
            await app(scope, BodyReceiver(cycle, self), send)
        except asyncio.CancelledError:
            cycle.transport.close()  # the server stops and waits no longer
        if not cycle.response_complete and cycle.transport.is_closing():
            self.give_up(cycle)

    def on_response_complete(self) -> None:
        """An answer is complete: go on with the request that waits, or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            if self._open and not self.pipeline:
                self._expect_by(self.loop.time() + self.timeout_keep_alive)
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self._refusal is not None:
            self._send_refusal()
        elif self.ended:
            self.transport.close()
        elif not self.flow.write_paused:
            self._expect_by(self.loop.time() + self.timeout_keep_alive)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Read no further: where the next request begins is unknown. The refusal comes after the
        answers to all requests that are whole."""
        self._refusal, self._due = (
            refusal_text(status, reason, self.server_state.default_headers),
            None,
        )
        if self._open and self._head_is_whole():
            self._drop_newest()
        if self._answering is None or not _is_open(self._answering):
            self.flow.resume_reading()
            self._send_refusal()

    def _drop_newest(self) -> None:
        cycle = self.cycle
        if cycle.response_started:
            self._refusal = b""
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
        elif not cycle.response_complete:
            self.give_up(cycle)

    def _send_refusal(self) -> None:
        if self._refusal:
            self.transport.write(self._refusal)
        if self.ended or not self.transport.can_write_eof():
            self.transport.close()
        else:
            self.transport.write_eof()
            self._expect_by(self.loop.time() + LINGER_SECONDS)

    # Patience

    def _expect_by(self, due: float) -> None:
        """The client has until then. A timer that is set and cancelled with every request costs
        more than one that looks, when it rings, whether it has been waited for long enough."""
        self._due = due
        if self.timeout_keep_alive_task is None:
            self._ring_at(due)
        elif due < self._rings:
            self.timeout_keep_alive_task.cancel()
            self._ring_at(due)

    def _ring_at(self, when: float) -> None:
        self._rings = when
        self.timeout_keep_alive_task = self.loop.call_at(when, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Hang up when the client's time is over."""
        self.timeout_keep_alive_task = None
        if self._due is None:
            return
        if self._due > self.loop.time():
            self._ring_at(self._due)
        elif self._open and self._refusal is None and not self.flow.write_paused:
            self._refuse(*TIMED_OUT)
        else:
            self.hang_up()

    def pause_writing(self) -> None:
        """The client does not take its answer as fast as it is given."""
        super().pause_writing()
        self._expect_by(self.loop.time() + TAKE_SECONDS)

    def resume_writing(self) -> None:
        """The client takes its answer again."""
        super().resume_writing()
        if self._answering is not None and _is_open(self._answering):
            self._due = None
        else:
            self._expect_by(self.loop.time() + self.timeout_keep_alive)

    def _make_room(self) -> bool:
        """Hang up on the client that was waited for longest, first on those that never asked; False
        without one."""
        others = (
            one for one in self.connections if isinstance(one, GuardedProtocol) and one is not self
        )
        waited_for = [
            (one.cycle is not None, one._due, id(one), one)
            for one in others
            if one._due is not None
        ]
        if waited_for:
            min(waited_for)[-1].hang_up()
        return bool(waited_for)


def _is_open(cycle: RequestResponseCycle) -> bool:
    """Whether a request is still to be answered."""
    return not (cycle.response_complete or cycle.disconnected)
