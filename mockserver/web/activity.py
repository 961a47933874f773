"""Waking those who wait for something to happen."""

from __future__ import annotations

import asyncio

from mockserver.domain.clock import SECOND, Micros


class Activity:
    """Whoever changes something calls ``stir``; whoever waits is woken then and looks for itself."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def stir(self) -> None:
        """Wake everybody."""
        if self._waiting:
            for waiting in tuple(self._waiting):
                if not waiting.done():
                    waiting.set_result(None)

    async def wait(self, within: Micros) -> None:
        """Wait until something happens, at most so long in real time."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait({waiting}, timeout=within / SECOND)
        finally:
            self._waiting.discard(waiting)
