"""Connections that are reset as soon as they are made (scenario language, ``at: connect``)."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

from mockserver.adapters.http import Protocol

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
