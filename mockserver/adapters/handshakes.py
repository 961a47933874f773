"""Accepts TLS connections: one that has still to agree on TLS is open too, and must not be waited for without end; and
resets connections as soon as they are made (docs/scenario-language.md, transport)."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Any

from mockserver.adapters.http import Protocol

OUT_OF_FILES_SECONDS = 0.1
"""How long nothing is accepted once the system has refused to."""

_RESET = struct.pack("ii", 1, 0)


class RefusingProtocol(Protocol):
    """One connection of a server that may refuse it: ``refuses`` is asked once for each, before anything is read."""

    def __init__(self, *args: Any, refuses: Callable[[], bool], **more: Any) -> None:
        super().__init__(*args, **more)
        self._refuses = refuses

    def turns_away(self, raw: socket.socket) -> bool:
        """Whether the connection is refused: its close is then a reset."""
        if not self._refuses():
            return False
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come; one that has agreed on TLS was let in before."""
        is_new = self._raw is None
        super().connection_made(transport)
        if is_new and self.turns_away(transport.get_extra_info("socket")):
            transport.abort()


async def accept(listener: socket.socket, context: ssl.SSLContext, connection: Callable[[], Protocol]) -> None:
    """Accept until cancelled; ``connection`` makes the protocol of each."""
    loop = asyncio.get_running_loop()
    shaking: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                raw, _ = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(OUT_OF_FILES_SECONDS)
                continue
            task = loop.create_task(_shake_hands(raw, context, connection()))
            shaking.add(task)
            task.add_done_callback(shaking.discard)
    finally:
        for task in shaking:
            task.cancel()


async def _shake_hands(raw: socket.socket, context: ssl.SSLContext, protocol: Protocol) -> None:
    if isinstance(protocol, RefusingProtocol) and protocol.turns_away(raw):
        raw.close()
        return
    protocol.handshake_begun(raw)
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, raw, ssl=context)
    except OSError as fault:
        protocol.connection_lost(fault)
