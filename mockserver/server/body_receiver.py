"""What an application receives of one request: its body, and whether its client is still there."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

HANG_SECONDS = 600.0
"""How long a client that is left to send its body may try to."""

LOOK_SECONDS = 1.0
"""How often it is looked whether it still does: a connection that is not read does not say that its end has come."""


class Connection(Protocol):
    """What a request uses of its connection: ``ended`` when the client sends nothing more, ``listening`` is the request
    whose application waits to hear more of its client."""

    ended: bool
    listening: RequestResponseCycle | None

    def give_up(self, cycle: RequestResponseCycle) -> None:
        """Answer a request no more."""


class BodyReceiver:
    """The ``receive`` of one request, with what the product asks of its client besides."""

    __slots__ = ("connection", "cycle")

    def __init__(self, cycle: RequestResponseCycle, connection: Connection) -> None:
        self.cycle = cycle
        self.connection = connection

    async def __call__(self) -> Any:
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

    def at_hand(self) -> bytes | None:
        """What is left of the body, when all of it has come; else None. Nothing more is read of the client meanwhile:
        a crowd of requests is not read faster than it is answered."""
        cycle = self.cycle
        if cycle.more_body or cycle.disconnected or cycle.response_complete:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        return body

    def is_gone(self) -> bool:
        """Whether the client has hung up. One that sends nothing more may still read: it has hung up when it has
        refused what was written to it."""
        return self.cycle.disconnected or (self.connection.ended and _is_refused(self.cycle.transport))

    @property
    def is_unanswered(self) -> bool:
        """Whether no answer has begun, be it that the client left before."""
        return not self.cycle.response_started

    def suppress_continue(self) -> None:
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


def _is_refused(transport: Any) -> bool:
    """Whether the other end has reset the connection, which is not read."""
    connection = transport.get_extra_info("socket")
    try:
        return connection is not None and connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
    except OSError:
        return True
