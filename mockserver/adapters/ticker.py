"""Lets time pass without requests: wakes the sandboxes in which something comes due. It sleeps until the earliest of
them.

Nothing depends on it but the moment: every request runs what is due before it anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from heapq import heappop, heappush

from mockserver.domain.clock import MILLISECOND, SECOND, Micros, real_due
from mockserver.engine.sandbox import Sandbox

SHORTEST_NAP = 5 * MILLISECOND
"""Work that comes due in quick succession is run together."""

CROWD = 100
"""Sandboxes that may wait before those that were reset are looked for."""


class Ticker:
    """``now`` is the machine's time, ``is_live`` says whether a sandbox was not reset meanwhile, and ``run`` runs a
    slice of what is due in one, after which ``turn`` lets others have theirs."""

    def __init__(
        self,
        now: Callable[[], Micros],
        is_live: Callable[[Sandbox], bool],
        run: Callable[[Sandbox], None],
        turn: Callable[[Sandbox], Awaitable[None]],
    ) -> None:
        self._now = now
        self._is_live = is_live
        self._run = run
        self._turn = turn
        self._heap: list[tuple[Micros, int, Sandbox]] = []
        self._planned: dict[Sandbox, Micros] = {}
        self._count = 0
        self._crowded = CROWD
        self._wakes: Micros | None = None
        self._wake = asyncio.Event()

    def note(self, sandbox: Sandbox) -> None:
        """Something may have changed in a sandbox: wake when it has work due."""
        entries = sandbox.schedule.entries
        if not entries:
            return
        at = real_due(sandbox.clock, entries[0].at)
        if at is None:
            return
        known = self._planned.get(sandbox)
        if known is None or at < known:
            self._planned[sandbox] = at
            self._count += 1
            heappush(self._heap, (at, self._count, sandbox))
            if len(self._heap) > self._crowded:
                self._prune()
            if self._wakes is None or at < self._wakes:
                self._wake.set()

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            self._wake.clear()
            self._wakes = self._heap[0][0] if self._heap else None
            if self._wakes is None:
                await self._wake.wait()
            else:
                nap = max(self._wakes - self._now(), SHORTEST_NAP) / SECOND
                with suppress(TimeoutError):
                    async with asyncio.timeout(nap):
                        await self._wake.wait()
                # Also when woken for something earlier: what is due already need not wait for that.
                await self._tick()

    def _prune(self) -> None:
        """Forget sandboxes that were reset: what they wait for may be days away, and they are large."""
        self._planned = {sandbox: at for sandbox, at in self._planned.items() if self._is_live(sandbox)}
        self._heap = sorted(entry for entry in self._heap if self._planned.get(entry[2]) == entry[0])
        self._crowded = 2 * len(self._heap) + CROWD

    async def _tick(self) -> None:
        """Run what is due by now, sandbox after sandbox, a slice at a time."""
        now = self._now()
        while self._heap and self._heap[0][0] <= now:
            at, _, sandbox = heappop(self._heap)
            if self._planned.get(sandbox) != at:
                continue
            del self._planned[sandbox]
            if not self._is_live(sandbox):
                continue
            self._run(sandbox)
            self.note(sandbox)
            await self._turn(sandbox)
