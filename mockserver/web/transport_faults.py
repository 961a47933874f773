"""Transport faults, performed on the real connection: what the scenario says is what the client's
socket sees.

A client decides by what its socket saw whether to pay again: a reset, half an answer, an answer of
another shape. Nothing of that can be said through ASGI, which only sends sound answers. So our own
server hands over the connection's transport, and a fault writes to it or cuts it; the operation has
happened all the same. Without a connection of ours (an in-process client) a cut is an exception,
``Cut``, which nothing in between may take for an error.

Some faults strike while a body is sent, when only the head of its request is known. Source:
docs/scenario-language.md, transport.
"""

import asyncio
import math
import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus

from mockserver.domain.clock import SECOND
from mockserver.domain.errors import Problem
from mockserver.domain.record import mutable
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Decision
from mockserver.scenario.transport import (
    UNAVAILABLE,
    At,
    Dribble,
    ErrorBody,
    FaultKind,
    Transport,
    edited,
)
from mockserver.web.access import STATUS, STEP
from mockserver.web.request import (
    JSON_TYPE,
    TRANSPORT,
    Message,
    RawHeader,
    Receive,
    Scope,
    Send,
    hung_up,
    send_bytes,
)
from mockserver.wire.jsonio import dumps, loads
from mockserver.wire.refusals import scripted

_LINGER_NO_TIME = struct.pack("ii", 1, 0)
"""SO_LINGER on, for 0 seconds: the kernel then ends a connection by a reset (RST) in the place of
an orderly end (FIN)."""

_GARBAGE = b"\x15\x03\x01\x00\x02\x02\x50 this is not HTTP \x00\xff\xfe\r\n\r\n"


class Cut(ConnectionError):
    """A scripted fault ended an in-process conversation: no connection could be cut."""


@mutable
class Conversation:
    """One request and the answer it would get, with the means to perform a fault on it."""

    scope: Scope
    receive: Receive
    send: Send
    status: int
    body: bytes
    headers: tuple[RawHeader, ...]

    async def perform(self, fault: Transport) -> None:
        """Let the fault happen instead of the answer."""
        match fault.kind:
            case FaultKind.STATUS:
                await self._status(fault)
            case FaultKind.EDIT:
                await self._edited(fault)
            case FaultKind.DELAY | FaultKind.HOLD:
                await self._answer(self.body)
            case FaultKind.MALFORMED_JSON:
                await self._answer(self.body[:-1] + b",,")
            case FaultKind.DRIBBLE:
                await self._dribble(fault.dribble or Dribble(chunk=1, every=0))
            case FaultKind.RESET:
                await self.cut(b"", reset=True)
            case FaultKind.CLOSE_AFTER:
                await self.cut(self.raw()[: fault.close_after])
            case FaultKind.TRUNCATE:
                raw = self.raw()
                await self.cut(raw[: len(raw) - max(1, len(self.body) // 2)])
            case FaultKind.GARBAGE:
                await self.cut(_GARBAGE)
            case FaultKind.HANG:
                await self._hang(fault)
            case FaultKind.SLOW | FaultKind.COPIES:
                # ``slowly`` and the operation have performed these before there was an answer.
                raise ValueError("it is performed before there is an answer")

    async def cut(self, raw: bytes, *, reset: bool = False) -> None:
        """Write raw bytes to the connection and end it, by a reset or in order. Raises ``Cut``
        where there is none."""
        transport = self.connection()
        if transport is None:
            raise Cut(f"scripted fault after {len(raw)} bytes")
        # The client may have left while the scenario let it wait.
        if not transport.is_closing():
            if raw:
                transport.write(raw)
            if reset:
                connection = transport.get_extra_info("socket")
                if connection is not None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NO_TIME)
                transport.abort()
            else:
                transport.close()
        # Else the server would see a request without an answer, and send one of its own.
        await hung_up(self.receive)

    def connection(self) -> asyncio.Transport | None:
        """The transport of the real connection, or None in process."""
        extensions = self.scope.get("extensions") or {}
        transport: asyncio.Transport | None = extensions.get(TRANSPORT)
        return transport

    def raw(self) -> bytes:
        """The whole answer as it would stand on the wire: to be cut after so many bytes, or with
        headers that no server would send."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            # Scenarios may answer with any number, such as 599.
            phrase = ""
        lines = [b"HTTP/1.1 %d %b" % (self.status, phrase.encode())]
        headers = [*self.headers]
        # A fault may say a wrong length on purpose.
        if not {b"content-length", b"transfer-encoding"} & {name for name, _ in headers}:
            headers.append((b"content-length", b"%d" % len(self.body)))
        lines += [name + b": " + value for name, value in headers]
        body = self.body
        if self.scope["method"] == "HEAD":
            body = b""
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    async def _answer(self, body: bytes) -> None:
        self.scope[STATUS] = self.status
        await send_bytes(self.send, self.status, body, self.headers)

    async def _status(self, fault: Transport) -> None:
        """Answer with another status, such as a gateway's 502: with the body that the scenario
        writes, or with an error as the service words it."""
        self.status = fault.status or 500
        self.headers = _with_headers_of(fault, (JSON_TYPE,))
        match fault.body:
            case None:
                body = b""
            case str() as text:
                body = text.encode()
            case ErrorBody() as error:
                body = dumps(self._error_object(error, fault))
            case value:
                body = dumps(value)
        await self._answer(body)

    def _error_object(self, error: ErrorBody, fault: Transport) -> Problem:
        """The error object of a scripted status. It says that another try may help unless the
        operation has happened by now: then it must not tell a client to pay twice. A read may be
        asked again at any time, and a 503 says that the request was not taken, true or not."""
        has_happened = fault.at is At.ANSWER
        is_read = self.scope["method"] == "GET"
        may_retry = not has_happened or is_read or self.status == UNAVAILABLE
        op, path = self.scope[STEP].asked.op, self.scope["path"]
        return scripted(self.status, op, path, error.code, error.message, may_retry=may_retry)

    async def _edited(self, fault: Transport) -> None:
        """Answer with members or headers that the scenario changes. Headers that say another length
        would be put right by the server: such an answer is written as bytes."""
        if fault.edit or fault.omit:
            self.body = dumps(edited(loads(self.body), fault.edit or {}, fault.omit))
        self.headers = _with_headers_of(fault, self.headers)
        if fault.breaks_framing:
            await self.cut(self.raw())
        else:
            await self._answer(self.body)

    async def _hang(self, fault: Transport) -> None:
        """Answer nothing until the client has left. During an upload its body is left unread, so
        that its own writing stops as the buffers between us fill; ``receive.left``, which our
        server has, sees it leave without reading."""
        if self.connection() is None:
            raise Cut("scripted fault: no answer ever comes")
        left = getattr(self.receive, "left", None)
        if left is not None and fault.at is At.UPLOAD:
            await left()
        else:
            await hung_up(self.receive)

    async def _dribble(self, pieces: Dribble) -> None:
        """Send the body a few bytes at a time: a client that waits so long for each read, and not
        for the whole, never runs into its timeout."""
        headers = [*self.headers, (b"content-length", b"%d" % len(self.body))]
        self.scope[STATUS] = self.status
        await self.send({"type": "http.response.start", "status": self.status, "headers": headers})
        for start in range(0, len(self.body), pieces.chunk):
            await asyncio.sleep(pieces.every / SECOND)
            end = start + pieces.chunk
            chunk, has_more = self.body[start:end], end < len(self.body)
            await self.send({"type": "http.response.body", "body": chunk, "more_body": has_more})


def _with_headers_of(fault: Transport, headers: tuple[RawHeader, ...]) -> tuple[RawHeader, ...]:
    """Headers of an answer, with those that a fault sets before them; one that it sets is not sent
    twice."""
    own = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in fault.lowered.items()
    ]
    names = {name for name, _ in own}
    others = [(name, value) for name, value in headers if name not in names]
    return (*own, *others)


READ_BEFORE_CUT = 65_536
"""Bytes of a body that are read before its upload is cut: what is shorter is known whole to the
journal and the findings."""


def upload_decision(sandbox: Sandbox, op: str, headers: Mapping[str, str]) -> Decision | None:
    """What the rules say of a body that is being sent; None when none of them can say anything.
    They know the head alone: fields of the body can be asked only once it has arrived."""
    if (Stage.UPLOAD, op) not in sandbox.config.rules.asked_at:
        return None
    return sandbox.decide(Stage.UPLOAD, Attempt(op, sandbox.now, headers=headers))


def is_cut(decision: Decision) -> bool:
    """Whether the request gets no further: its upload is cut or hangs. One that is merely read
    slowly arrives."""
    fault = decision.outcome.transport
    return fault is not None and not fault.is_reading


async def body_before_cut(receive: Receive) -> bytes:
    """What is read of a body whose upload a fault stops. A client that asks first whether to send
    it (``Expect: 100-continue``) gets no answer to that: it would know that the server is well."""
    suppress_continue = getattr(receive, "suppress_continue", None)
    if suppress_continue is not None:
        suppress_continue()
    raw, more = b"", True
    while more and len(raw) <= READ_BEFORE_CUT:
        message = await receive()
        raw += message.get("body", b"")
        more = bool(message.get("more_body"))
    return raw


def slowly(receive: Receive, fault: Transport) -> Receive:
    """A ``receive`` that takes a body at the pace of a fault: while it waits the connection is not
    read, and the client's own writing stops. Whatever came at once, it waits as long as that many
    pieces would have taken."""
    pieces = fault.slow or Dribble(chunk=1, every=0)

    async def receive_slowly() -> Message:
        message = await receive()
        size = len(message.get("body", b""))
        piece_count = math.ceil(size / pieces.chunk)
        await asyncio.sleep(piece_count * pieces.every / SECOND)
        return message

    return receive_slowly
