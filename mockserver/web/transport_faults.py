"""Transport faults, performed on the real connection: what the scenario says is what the client's
socket sees.

Some strike while a body is sent, when only the head of its request is known. Source:
docs/scenario-language.md, transport. Without a connection of ours (an in-process client) a cut is
an exception.
"""

import asyncio
import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from mockserver.domain.clock import SECOND
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
                    connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
                transport.abort()
            else:
                transport.close()
        await hung_up(self.receive)

    def connection(self) -> Any:
        """The transport of the real connection, or None in process."""
        return (self.scope.get("extensions") or {}).get(TRANSPORT)

    def raw(self) -> bytes:
        """The whole answer as it would stand on the wire."""
        phrase = (
            HTTPStatus(self.status).phrase if self.status in HTTPStatus._value2member_map_ else ""
        )
        lines = [b"HTTP/1.1 %d %b" % (self.status, phrase.encode())]
        headers = [*self.headers]
        if not {b"content-length", b"transfer-encoding"} & {name for name, _ in headers}:
            headers.append((b"content-length", b"%d" % len(self.body)))
        lines += [name + b": " + value for name, value in headers]
        body = self.body if self.scope["method"] != "HEAD" else b""
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    async def _answer(self, body: bytes) -> None:
        self.scope[STATUS] = self.status
        await send_bytes(self.send, self.status, body, self.headers)

    async def _status(self, fault: Transport) -> None:
        body, self.status, self.headers = (
            fault.body,
            fault.status or 500,
            _under(fault, (JSON_TYPE,)),
        )
        if isinstance(body, ErrorBody):
            may_retry = (
                fault.at is not At.ANSWER
                or self.status == UNAVAILABLE
                or self.scope["method"] == "GET"
            )
            path, op = self.scope["path"], self.scope[STEP].asked.op
            body = scripted(self.status, op, path, body.code, body.message, may_retry=may_retry)
        await self._answer(
            body.encode() if isinstance(body, str) else b"" if body is None else dumps(body)
        )

    async def _edited(self, fault: Transport) -> None:
        if fault.edit or fault.omit:
            self.body = dumps(edited(loads(self.body), fault.edit or {}, fault.omit))
        self.headers = _under(fault, self.headers)
        await (self.cut(self.raw()) if fault.breaks_framing else self._answer(self.body))

    async def _hang(self, fault: Transport) -> None:
        if self.connection() is None:
            raise Cut("scripted fault: no answer ever comes")
        left = getattr(self.receive, "left", None)
        await (hung_up(self.receive) if left is None or fault.at is not At.UPLOAD else left())

    async def _dribble(self, pieces: Dribble) -> None:
        headers = [*self.headers, (b"content-length", b"%d" % len(self.body))]
        self.scope[STATUS] = self.status
        await self.send({"type": "http.response.start", "status": self.status, "headers": headers})
        for start in range(0, len(self.body), pieces.chunk):
            await asyncio.sleep(pieces.every / SECOND)
            chunk, has_more = (
                self.body[start : start + pieces.chunk],
                start + pieces.chunk < len(self.body),
            )
            await self.send({"type": "http.response.body", "body": chunk, "more_body": has_more})


def _under(fault: Transport, headers: tuple[RawHeader, ...]) -> tuple[RawHeader, ...]:
    """Headers of an answer under those that a fault sets."""
    own = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in fault.lowered.items()
    ]
    names = {name for name, _ in own}
    return (*own, *(header for header in headers if header[0] not in names))


WINDOW = 65_536
"""Bytes of a body that are let in before it is cut: what is shorter is known whole to the journal
and the findings."""


def upload_decision(sandbox: Sandbox, op: str, headers: Mapping[str, str]) -> Decision | None:
    """What the rules say of a body that is being sent; None when none of them can say anything."""
    if (Stage.UPLOAD, op) not in sandbox.config.rules.asked_at:
        return None
    return sandbox.decide(Stage.UPLOAD, Attempt(op, sandbox.now, headers=headers))


def is_cut(decision: Decision) -> bool:
    """Whether the request gets no further."""
    fault = decision.outcome.transport
    return fault is not None and not fault.is_reading


async def first_of(receive: Receive) -> bytes:
    """The body, or what comes of it in ``WINDOW``; whether to send it is not answered (``Expect:
    100-continue``)."""
    suppress_continue = getattr(receive, "suppress_continue", None)
    if suppress_continue is not None:
        suppress_continue()
    raw, more = b"", True
    while more and len(raw) <= WINDOW:
        message = await receive()
        raw += message.get("body", b"")
        more = bool(message.get("more_body"))
    return raw


def slowly(receive: Receive, fault: Transport) -> Receive:
    """A ``receive`` that takes a body piece by piece: the connection is read no faster."""
    pieces = fault.slow or Dribble(chunk=1, every=0)

    async def take() -> Message:
        message = await receive()
        count = -(-len(message.get("body", b"")) // pieces.chunk)
        await asyncio.sleep(count * pieces.every / SECOND)
        return message

    return take
