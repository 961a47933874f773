"""Accepts TLS connections: one that has still to agree on TLS is open too, and must not be waited for without end."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from mockserver.server.guards import GuardedProtocol

OUT_OF_FILES_SECONDS = 0.1
"""How long nothing is accepted once the system has refused to."""


async def accept(listener: socket.socket, context: ssl.SSLContext, connection: Callable[[], GuardedProtocol]) -> None:
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


async def _shake_hands(raw: socket.socket, context: ssl.SSLContext, protocol: GuardedProtocol) -> None:
    if protocol.turns_away(raw):
        raw.close()
        return
    protocol.handshake_begun(raw)
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, raw, ssl=context)
    except OSError as fault:
        protocol.connection_lost(fault)
