"""Faults that strike while the body of a request is sent: only its head is known.

Source: docs/scenario-language.md, transport (``at``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mockserver.domain.clock import SECOND
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Decision
from mockserver.scenario.transport import Dribble, FaultKind, Transport
from mockserver.web.asgi import Message, Receive

WINDOW = 65_536
"""Bytes of a body that are let in before it is cut: what is shorter is known whole to the journal and the findings."""


def decided(sandbox: Sandbox, op: str, headers: Mapping[str, str]) -> Decision | None:
    """What the rules say of a body that is being sent; None when none of them can say anything."""
    if (Stage.UPLOAD, op) not in sandbox.config.rules.asked:
        return None
    return sandbox.decide(Stage.UPLOAD, Attempt(op, sandbox.now, headers=headers))


def is_cut(decision: Decision) -> bool:
    """Whether the request gets no further."""
    fault = decision.outcome.transport
    return fault is not None and not fault.is_reading


async def first_of(receive: Receive) -> bytes:
    """The body, or what comes of it in ``WINDOW``; whether to send it is not answered (``Expect: 100-continue``)."""
    suppress_continue = getattr(receive, "suppress_continue", None)
    if suppress_continue is not None:
        suppress_continue()
    raw, more = b"", True
    while more and len(raw) <= WINDOW:
        message = await receive()
        raw += message.get("body", b"")
        more = bool(message.get("more_body"))
    return raw


class Slowly:
    """A ``receive`` that takes a body piece by piece: the connection is read no faster."""

    def __init__(self, receive: Receive, fault: Transport) -> None:
        self._receive = receive
        self._pieces = fault.slow or Dribble(chunk=1, every=0)

    async def __call__(self) -> Message:
        """The next part, when its time has come."""
        message = await self._receive()
        pieces = -(-len(message.get("body", b"")) // self._pieces.chunk)
        await asyncio.sleep(pieces * self._pieces.every / SECOND)
        return message

    def is_gone(self) -> bool:
        """Whether the client has hung up."""
        is_gone: Any = getattr(self._receive, "is_gone", None)
        return is_gone is not None and bool(is_gone())


READ: Mapping[FaultKind, Callable[[Receive, Transport], Receive]] = {FaultKind.SLOW: Slowly}
"""How a body is read under each fault of reading."""
