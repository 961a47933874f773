"""Resolves the names of receivers, without letting one that answers late hold up the others.

The system's own resolver blocks, and may take a minute for a name whose servers are silent. So each
name is asked in a thread of its own, a limited number of threads is shared fairly by the sandboxes,
and a caller is told after ``DEADLINE`` that there is no answer; the thread goes on, and its
place is taken until it ends.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread

from mockserver.adapters.fair_share import FairShare
from mockserver.domain.clock import SECOND, Micros, duration_text

DEADLINE = 5 * SECOND
"""How long a name may take to be resolved."""

THREADS = 64
"""Names that are being resolved at once."""


def look_up(host: str, flags: int = 0) -> list[str]:
    """The addresses of a host, by the system; this blocks. Raises ``OSError`` when it has none."""
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return [str(socket_address[0]) for _, _, _, _, socket_address in infos]


class Resolver:
    """Resolves names for owners that share its threads; ``look_up`` may block."""

    def __init__(
        self, look_up: Callable[[str], list[str]] = look_up, deadline: Micros = DEADLINE
    ) -> None:
        self._look_up = look_up
        self._deadline = deadline
        # For one name, an owner has one thread at a time.
        self._threads = FairShare(THREADS, each=1)
        self._lookups: dict[tuple[Hashable, str], asyncio.Task[list[str]]] = {}

    async def __call__(self, host: str, owner: Hashable) -> list[str]:
        """The addresses of a host. Raises ``OSError`` when it has none, or when finding out takes
        too long."""
        if host.rstrip(".").lower().rpartition(".")[2] == "localhost":
            return ["127.0.0.1", "::1"]  # RFC 6761, 6.3
        with suppress(socket.gaierror):
            # An address is no name: nobody is asked, so nothing blocks.
            return look_up(host, socket.AI_NUMERICHOST)
        # A caller that wants the same name meanwhile waits for the same answer.
        key = owner, host
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = asyncio.create_task(self._ask(host, owner))
            lookup.add_done_callback(partial(self._forget, key))
        # Not ended by the deadline: its thread cannot be.
        done, _ = await asyncio.wait({lookup}, timeout=self._deadline / SECOND)
        if not done:
            raise OSError(
                f"the name {host[:100]} was not resolved within {duration_text(self._deadline)}"
            )
        return lookup.result()

    def _forget(self, key: tuple[Hashable, str], lookup: asyncio.Task[list[str]]) -> None:
        """Ask anew for the next webhook: a receiver may move."""
        del self._lookups[key]
        if not lookup.cancelled():
            # Fetched, as every caller may have left: asyncio would log it as never looked at.
            lookup.exception()

    async def _ask(self, host: str, owner: Hashable) -> list[str]:
        """Ask in a thread, whose place is taken until it ends. It is a daemon: a server that stops
        does not wait for name servers."""
        answer: Future[list[str]] = Future()
        # From now on nobody can cancel it, so that the thread can always set what it has found.
        answer.set_running_or_notify_cancel()

        def ask() -> None:
            try:
                answer.set_result(self._look_up(host))
            except (OSError, ValueError) as failure:
                answer.set_exception(failure)

        async with self._threads.place(owner, host):
            Thread(target=ask, name="resolver", daemon=True).start()
            return await asyncio.wrap_future(answer)
