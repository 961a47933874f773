"""The connection of a client, with what holds for every request in the fast lane and beside it.

uvicorn reads HTTP, answers in the order of the requests, and closes a connection on which nothing
has come for a while after an answer (``timeout_keep_alive``). This class adds what it lacks and
this product needs:

**A head has an end.** uvicorn takes lines and headers without bound, and they would fill the
memory. All bytes that are no body are counted, those of chunk headers and trailers too: beyond
``MOST_HEAD`` the request is refused.

**What is refused before there is a request has the usual error shape** (``refusal_text``), and
comes after the answers to all requests that were whole: clients show what stands in it. uvicorn
closes such a connection at once. If more of the request is still on its way, the system then
resets it, and the reset may overtake the refusal. So our end says that it has nothing more to say,
and the connection is closed ``LINGER_SECONDS`` later.

**An offer to upgrade is ignored.** Java's own client offers HTTP/2 with its first request, and
sends the body behind it. The parser stops at the end of such a head, and uvicorn passes an empty
body on. So that head is read once more, without the offer.

**Connections break as scenarios say.** The transport is in the scope, for whatever resets or cuts
it; ``refuses`` is asked once as a connection is made; a request can be left unread while its client
waits (``BodyReceiver``).

**A client that sends nothing more may still read.** It gets the answers to what it has asked,
unless an answer waits for more of the request.

**Many requests at once are read no faster than they are answered**, however fast they come.

What is not here: bounds of time for a slow head, a slow body and an answer that nobody takes.
They were, with an alarm for each connection and the eviction of the slowest; that was a third of
this module. A client that is slow holds its connection and nothing else: other requests are
answered meanwhile. Above ``most`` connections a new one is told so, and only the health of the
server can be asked on it. It lasts ``LINGER_SECONDS``, or until ``MOST_BEYOND`` newer ones have
come: without a file left for the next connection the system would reset it, whatever it asks.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from collections import deque
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
        # A client that only goes on sending shows nothing, so it is looked after now and then.
        while not self.is_gone() and loop.time() < end:
            cycle.message_event.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(cycle.message_event.wait(), LOOK_SECONDS)
        cycle.transport.abort()


def _is_refused(transport: Any) -> bool:
    """Whether the other end has reset the connection. Who reads learns that from a read; as nothing
    is read here, the socket is asked for its pending error."""
    connection = transport.get_extra_info("socket")
    if connection is None:
        return False
    try:
        pending_error: int = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    except OSError:
        # It is closed.
        return True
    return pending_error != 0


ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
"""Paths that are answered however many connections are open."""

MOST_HEAD = 65_536
"""Bytes that a request's line and headers may have, and its trailers: what never ends must not fill
the memory."""

HEAD_TOO_LARGE = (
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"wanted a request line and headers of at most {MOST_HEAD} bytes",
)
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
    """A refusal in the error shape of the service, as the last answer on its connection."""
    is_retryable = status is HTTPStatus.SERVICE_UNAVAILABLE
    body = problem(status, code, code.message, None, {"Request": reason}, is_retryable=is_retryable)
    headers = {
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
        "connection": "close",
    }
    return Response(json.dumps(body, separators=(",", ":")), status, headers)


LINGER_SECONDS = 2
"""How long a client that was refused may take to hang up, and a connection too many may last."""

MOST_BEYOND = 32
"""Connections too many that are open at a time: the files that are kept for them are few."""

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on, for 0 seconds: a close is then a reset."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection.

    ``ended``: the client sends nothing more. ``listening`` is the request whose application waits
    to hear more of its client. ``refuses`` is asked once, before anything is read. All connections
    of a server share ``beyond``: those too many, the oldest first.
    """

    listening: RequestResponseCycle | None = None

    # The request that is answered now, or was answered last; those behind it wait in the pipeline.
    _answering: RequestResponseCycle | None = None

    # Bytes that are no body, of a request that is not whole yet: those of earlier packets, and of
    # the last one.
    _overhead = 0
    _packet = 0

    # Since when nothing is to be answered and nothing has come, by the clock of the loop; None
    # while something is.
    _idle_since: float | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        most: int = sys.maxsize,
        beyond: deque[asyncio.Transport] | None = None,
        refuses: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._most = most
        self._beyond = deque() if beyond is None else beyond
        self._refuses = refuses
        self.ended = False
        self._refusal: bytes | None = None
        self._open = False  # a request has begun and is not whole

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come: one too many gets the small application, and not for long; one that a
        scenario turns away gets a reset."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            self.app = partial(too_many_connections, self.app)
            self.loop.call_later(LINGER_SECONDS, transport.abort)
            self._beyond.append(transport)
            if len(self._beyond) > MOST_BEYOND:
                self._beyond.popleft().abort()
        # A client that speaks TLS was let in before its handshake.
        if self.scheme == "http" and self.turns_away(transport.get_extra_info("socket")):
            transport.abort()

    def turns_away(self, raw: socket.socket) -> bool:
        """Whether the connection is refused (scenario language, ``at: connect``): its close is then
        a reset."""
        if not self._refuses():
            return False
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return True

    def data_received(self, data: bytes) -> None:
        """Read, and serve the requests that this completes."""
        if self._refusal is not None:
            return
        self._idle_since = None
        if not self._open and _begins_too_large(data):
            # Counted below it would be whole already, and served.
            self._refuse(*HEAD_TOO_LARGE)
            return
        # Whatever of it is a body, ``on_body`` takes off again.
        self._packet = len(data)
        self._feed(data)
        if self._open and self._refusal is None:
            self._overhead += self._packet
            if self._overhead > MOST_HEAD:
                self._refuse(*HEAD_TOO_LARGE)

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
        """The connection has ended: whoever still answers is told, and what waits is dropped."""
        # The base class knows only the newest request.
        if self._answering is not None and _is_open(self._answering):
            self.give_up(self._answering)
        self.pipeline.clear()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    # Reading

    def _feed(self, data: bytes) -> None:
        """Give bytes to the parser. It stops behind a head that offers an upgrade: then that head
        is read by a new parser, without the offer, and what is behind it after that. ``unread`` is
        a stack, whose end comes first."""
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
                if self.scheme == "http" and bytes(piece[:2]) == _TLS_HANDSHAKE:
                    # A frequent mistake: the log says it too, as not every client shows the answer.
                    status, reason = TLS_REFUSED
                    self.logger.warning(reason)
                else:
                    status, reason = malformed(fault)
                    self.logger.warning("Invalid HTTP request received.")
                self._refuse(status, reason)
                return

    def _should_upgrade(self) -> bool:
        """Asked when a request wants an upgrade, whose body the parser leaves unread: its head is
        read once more."""
        return True

    def _head_without_upgrade(self) -> bytes:
        """The head that was just read, as it would have come without the offer to upgrade."""
        method, version = self.scope["method"].encode(), self.scope["http_version"].encode()
        head = b"%b %b HTTP/%b\r\n" % (method, self.url, version)
        for name, value in self.headers:
            if name != b"upgrade":
                head += b"%b: %b\r\n" % (name, value)
        return head + b"\r\n"

    def on_message_begin(self) -> None:
        """A request begins: its application gets the transport, to cut it as scenarios say."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]
        self._open = True
        self._overhead = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field; the parser leaves the blanks behind its value (RFC 9110, 5.5)."""
        super().on_header(name, value.rstrip(b" \t"))

    def on_body(self, body: bytes) -> None:
        """A part of a body, which may be as long as it likes: what is counted begins anew."""
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
            self._await_next()

    def _head_is_whole(self) -> bool:
        return "path" in self.scope

    # Answering

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        self.serve_in_task(cycle.run_asgi(partial(self.serve, app, cycle)))

    def begin(self, cycle: RequestResponseCycle) -> None:
        """A request that is whole is answered now."""
        self._idle_since = None
        self.cycle = self._answering = cycle

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
            return
        self.flow.resume_reading()
        if self._refusal is not None:
            self._send_refusal()
        elif self.ended:
            self.transport.close()
        else:
            self._await_next()

    def _await_next(self) -> None:
        """Nothing is to be answered: close the connection when nothing comes for long.

        Its one timer looks, when it rings, since when that is so. To set a timer after each answer
        and to cancel it with the next request takes a tenth of a get.
        """
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._ring_in(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """The timer rings: close the connection when nothing has come for long."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._ring_in(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def _ring_in(self, seconds: float, act: Callable[[], None]) -> None:
        """Set the timer of the connection anew."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(seconds, act)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Read no further: where the next request begins is unknown. The refusal comes after the
        answers to all requests that are whole."""
        self._refusal = refusal_text(status, reason, self.server_state.default_headers)
        if self._open and self._head_is_whole():
            self._drop_newest()
        if self._answering is None or not _is_open(self._answering):
            self.flow.resume_reading()
            self._send_refusal()

    def _drop_newest(self) -> None:
        """Forget the request whose rest cannot be read: nobody waits for its answer. One that has
        begun cannot be followed by a refusal, which would pass for a part of it."""
        cycle = self.cycle
        if cycle.response_started:
            self._refusal = b""
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
        elif not cycle.response_complete:
            self.give_up(cycle)

    def _send_refusal(self) -> None:
        """Send the refusal, and say that nothing more comes; hang up when the client has had time
        to read it."""
        # Empty where an answer has begun: a refusal behind it would pass for a part of it
        # (``_drop_newest``).
        if self._refusal:
            self.transport.write(self._refusal)
        if self.ended or not self.transport.can_write_eof():
            self.transport.close()
        else:
            self.transport.write_eof()
            self._ring_in(LINGER_SECONDS, self.transport.abort)


def _begins_too_large(data: bytes) -> bool:
    """Whether the head at the beginning of a packet is whole and too large."""
    if len(data) <= MOST_HEAD:
        return False
    return 0 < data.find(b"\r\n") < MOST_HEAD < data.find(b"\r\n\r\n")


def _is_open(cycle: RequestResponseCycle) -> bool:
    """Whether a request is still to be answered."""
    return not (cycle.response_complete or cycle.disconnected)
