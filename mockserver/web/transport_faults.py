"""Transport faults, performed on the real connection: what the scenario says is what the client's socket sees.

Source: docs/scenario-language.md, transport. Without a connection of ours (an in-process client) a cut is an exception.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from mockserver.domain.clock import SECOND
from mockserver.scenario.edits import edited
from mockserver.scenario.transport import UNAVAILABLE, At, Dribble, ErrorBody, FaultKind, Transport
from mockserver.web.access import STEP
from mockserver.web.asgi import JSON_TYPE, TRANSPORT, RawHeader, Receive, Scope, Send, send_bytes
from mockserver.wire.jsonio import dumps, loads
from mockserver.wire.refusals import scripted

_GARBAGE = b"\x15\x03\x01\x00\x02\x02\x50 this is not HTTP \x00\xff\xfe\r\n\r\n"
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_RESET = struct.pack("ii", 1, 0)


class Cut(ConnectionError):
    """A scripted fault ended an in-process conversation: no connection could be cut."""


class Conversation:
    """One request and the answer it would get, with the means to spoil it."""

    __slots__ = ("body", "headers", "receive", "scope", "send", "status")

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, status: int, body: bytes, headers: tuple[RawHeader, ...]
    ) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.status = status
        self.body = body
        self.headers = headers

    async def strike(self, fault: Transport, *, has_waited: bool = False) -> None:
        """Let the fault happen instead of the answer, after its delay."""
        if fault.delay and not has_waited:
            await asyncio.sleep(fault.delay / SECOND)
        await _PERFORM[fault.kind](self, fault)

    async def cut(self, raw: bytes, *, reset: bool = False) -> None:
        """Write raw bytes to the connection and end it, by a reset or in order. Raises ``Cut`` where there is none."""
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
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                transport.abort()
            else:
                transport.close()
        await self.gone()

    async def gone(self) -> None:
        """Wait until the client or we have hung up: the server then asks for no answer any more."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    @property
    def op(self) -> str:
        """The operation that the request is for."""
        _, step = self.scope[STEP]
        op: str = step.asked.op
        return op

    def connection(self) -> Any:
        """The transport of the real connection, or None in process."""
        return (self.scope.get("extensions") or {}).get(TRANSPORT)

    def raw(self) -> bytes:
        """The whole answer as it would stand on the wire."""
        phrase = HTTPStatus(self.status).phrase if self.status in HTTPStatus._value2member_map_ else ""
        lines = [f"HTTP/1.1 {self.status} {phrase}".encode()]
        given = {name for name, _ in self.headers}
        length = [] if given & _FRAMING else [(b"content-length", b"%d" % len(self.body))]
        lines += [name + b": " + value for name, value in [*self.headers, *length]]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


async def _status(talk: Conversation, fault: Transport) -> None:
    body, status = fault.body, fault.status or 500
    if isinstance(body, ErrorBody):
        may_retry = fault.at is not At.ANSWER or status == UNAVAILABLE or talk.scope["method"] == "GET"
        body = scripted(status, talk.op, talk.scope["path"], body.code, body.message, may_retry=may_retry)
    raw = body.encode() if isinstance(body, str) else b"" if body is None else dumps(body)
    await send_bytes(talk.send, status, raw, _under(fault, (JSON_TYPE,)))


def _under(fault: Transport, headers: tuple[RawHeader, ...]) -> tuple[RawHeader, ...]:
    """Headers of an answer under those that a fault sets."""
    own = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fault.lowered.items()]
    names = {name for name, _ in own}
    return (*own, *(header for header in headers if header[0] not in names))


async def _edit(talk: Conversation, fault: Transport) -> None:
    if fault.edit or fault.omit:
        talk.body = dumps(edited(loads(talk.body), fault.edit or {}, fault.omit))
    talk.headers = _under(fault, talk.headers)
    if fault.breaks_framing:
        await talk.cut(talk.raw())
    else:
        await send_bytes(talk.send, talk.status, talk.body, talk.headers)


async def _delay(talk: Conversation, fault: Transport) -> None:
    await send_bytes(talk.send, talk.status, talk.body, talk.headers)


async def _reset(talk: Conversation, fault: Transport) -> None:
    await talk.cut(b"", reset=True)


async def _close_after(talk: Conversation, fault: Transport) -> None:
    await talk.cut(talk.raw()[: fault.close_after])


async def _truncate(talk: Conversation, fault: Transport) -> None:
    raw = talk.raw()
    await talk.cut(raw[: len(raw) - max(1, len(talk.body) // 2)])


async def _dribble(talk: Conversation, fault: Transport) -> None:
    headers = [*talk.headers, (b"content-length", b"%d" % len(talk.body))]
    await talk.send({"type": "http.response.start", "status": talk.status, "headers": headers})
    pieces = fault.dribble or Dribble(chunk=1, every=0)
    for start in range(0, len(talk.body), pieces.chunk):
        await asyncio.sleep(pieces.every / SECOND)
        stop = start + pieces.chunk
        chunk = talk.body[start:stop]
        await talk.send({"type": "http.response.body", "body": chunk, "more_body": stop < len(talk.body)})


async def _garbage(talk: Conversation, fault: Transport) -> None:
    await talk.cut(_GARBAGE)


async def _hang(talk: Conversation, fault: Transport) -> None:
    if talk.connection() is None:
        raise Cut("scripted fault: no answer ever comes")
    left = getattr(talk.receive, "left", None)
    await (talk.gone() if left is None or fault.at is not At.UPLOAD else left())


async def _malformed_json(talk: Conversation, fault: Transport) -> None:
    await send_bytes(talk.send, talk.status, talk.body[:-1] + b",,", talk.headers)


_PERFORM: Mapping[FaultKind, Callable[[Conversation, Transport], Awaitable[None]]] = {
    FaultKind.STATUS: _status,
    FaultKind.DELAY: _delay,
    FaultKind.RESET: _reset,
    FaultKind.CLOSE_AFTER: _close_after,
    FaultKind.TRUNCATE: _truncate,
    FaultKind.DRIBBLE: _dribble,
    FaultKind.GARBAGE: _garbage,
    FaultKind.HANG: _hang,
    FaultKind.MALFORMED_JSON: _malformed_json,
    FaultKind.EDIT: _edit,
}
"""How each fault is performed; those of reading are in ``mockserver.web.upload``."""
