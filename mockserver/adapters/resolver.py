"""From the name of a host to its addresses, in threads of its own.

The system's resolver cannot be cancelled, and may think for minutes about a name whose servers are silent. Threads of
the standard pools are joined when a process ends; these are not. No call waits longer than ``DEADLINE``, and numeric
addresses and ``localhost`` need no look-up.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Hashable
from contextlib import suppress
from threading import Thread

from mockserver.adapters.fair_share import FairShare
from mockserver.domain.clock import SECOND, duration_text

DEADLINE = 5 * SECOND
"""How long a name may take to be resolved."""

THREADS = 64
"""Names that are being resolved at once."""

LOOPBACK = ["127.0.0.1", "::1"]

LookUp = Callable[[str], list[str]]


def look_up(host: str, flags: int = 0) -> list[str]:
    """The addresses of a host, by the system; this blocks. Raises ``OSError`` when it has none."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return [str(address[4][0]) for address in found]


class Resolver:
    """Resolves names for owners that share its threads; ``look_up`` may block."""

    def __init__(self, look_up: LookUp = look_up, deadline: int = DEADLINE) -> None:
        self._look_up = look_up
        self._deadline = deadline
        self._threads = FairShare(THREADS, each=1)
        self._asked: dict[tuple[Hashable, str], asyncio.Task[list[str]]] = {}

    async def __call__(self, host: str, owner: Hashable) -> list[str]:
        """The addresses of a host. Raises ``OSError`` when it has none, or when finding out takes too long."""
        if host.rstrip(".").lower().rpartition(".")[2] == "localhost":
            return LOOPBACK  # RFC 6761, 6.3
        with suppress(socket.gaierror):
            return look_up(host, socket.AI_NUMERICHOST)
        key = owner, host
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.create_task(self._ask(host, owner))
            asked.add_done_callback(lambda task: self._forget(key, task))
        done, _ = await asyncio.wait({asked}, timeout=self._deadline / SECOND)
        if not done:
            raise OSError(f"the name {host[:100]} was not resolved within {duration_text(self._deadline)}")
        return asked.result()

    def _forget(self, key: tuple[Hashable, str], asked: asyncio.Task[list[str]]) -> None:
        del self._asked[key]
        if not asked.cancelled():
            asked.exception()  # those who asked may have left, and then nobody learns it

    async def _ask(self, host: str, owner: Hashable) -> list[str]:
        """Ask in a thread, whose place is taken until it ends."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def settle(found: list[str] | None, problem: Exception | None) -> None:
            if answer.cancelled():
                return
            if problem is not None:
                answer.set_exception(problem)
            else:
                answer.set_result(found or [])

        def ask() -> None:
            try:
                found, problem = self._look_up(host), None
            except (OSError, ValueError) as failure:
                found, problem = None, failure
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(settle, found, problem)

        async with self._threads.place(owner, host):
            Thread(target=ask, name="resolver", daemon=True).start()
            return await answer
