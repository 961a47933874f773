"""Lets time pass while nobody asks: brings sandboxes to the present when something comes due, and sends what is to be
sent. It sleeps until the earliest thing that any sandbox waits for.

Nothing depends on it but the moment: every request runs what is due before it anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import assert_never

from mockserver.adapters.webhook_dispatcher import Sender, WebhookDispatcher
from mockserver.domain.clock import MILLISECOND, SECOND, Clock, ClockMode, Micros
from mockserver.engine import due
from mockserver.engine.sandbox import Sandbox

SHORTEST_NAP = 5 * MILLISECOND
"""Work that comes due in quick succession is run together."""

CROWD = 100
"""Sandboxes that may wait before those that were reset are looked for."""


class Ticker:
    """``is_live`` tells a sandbox from one that was reset meanwhile; ``stir`` is called with a sandbox's key after each
    change."""

    def __init__(
        self,
        now: Callable[[], Micros],
        is_live: Callable[[Sandbox], bool],
        sender: Sender,
        stir: Callable[[str], None],
    ) -> None:
        self._now = now
        self._is_live = is_live
        self._stir = stir
        self._dispatcher = WebhookDispatcher(sender, is_live, self._tried)
        self._heap: list[tuple[Micros, int, Sandbox]] = []
        self._planned: dict[Sandbox, Micros] = {}
        self._count = 0
        self._crowded = CROWD
        self._wakes: Micros | None = None
        self._wake = asyncio.Event()

    def note(self, box: Sandbox) -> None:
        """Something may have changed in a sandbox: send what stands in its outbox, and wake when it has work due."""
        self._dispatcher.send_all(box)
        entries = box.schedule.entries
        if not entries:
            return
        at = real_due(box.clock, entries[0].at)
        if at is None:
            return
        known = self._planned.get(box)
        if known is None or at < known:
            self._planned[box] = at
            self._count += 1
            heappush(self._heap, (at, self._count, box))
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
                try:
                    async with asyncio.timeout(nap):
                        await self._wake.wait()
                except TimeoutError:
                    await self._tick()
                else:
                    # Woken for something earlier: whatever is due already need not wait for it.
                    await self._tick()

    async def flush(self, box: Sandbox, ids: Iterable[str], within: Micros) -> None:
        """Wait for tries that are being made, at most so long."""
        await self._dispatcher.flush(box, ids, within)

    def end_soon(self) -> None:
        """The server has been asked to stop."""
        self._dispatcher.end_soon()

    async def stop(self, boxes: Iterable[Sandbox]) -> None:
        """Let the tries under way end, within a short time, and log what was not sent."""
        await self._dispatcher.stop(boxes)

    def _tried(self, box: Sandbox) -> None:
        if self._is_live(box):
            self.note(box)
        self._stir(box.key)

    def _prune(self) -> None:
        """Forget sandboxes that were reset: what they wait for may be days away, and they are large."""
        self._planned = {box: at for box, at in self._planned.items() if self._is_live(box)}
        self._heap = sorted(entry for entry in self._heap if self._planned.get(entry[2]) == entry[0])
        self._crowded = 2 * len(self._heap) + CROWD

    async def _tick(self) -> None:
        """Run what is due by now, sandbox after sandbox, a slice at a time."""
        now = self._now()
        while self._heap and self._heap[0][0] <= now:
            at, _, box = heappop(self._heap)
            if self._planned.get(box) != at:
                continue
            del self._planned[box]
            if not self._is_live(box):
                continue
            due.run_slice(box, self._now())
            self._stir(box.key)
            self.note(box)
            await asyncio.sleep(0)


def real_due(clock: Clock, at: Micros) -> Micros | None:
    """When the machine's clock will say that an instant of sandbox time has come; None when it never will by itself."""
    wait = at - clock.virtual
    if wait <= 0:
        return clock.real
    match clock.mode:
        case ClockMode.MANUAL:
            return None
        case ClockMode.REAL:
            return clock.real + wait
        case ClockMode.FAST:
            return clock.real - (-wait // clock.rate)
        case _:
            assert_never(clock.mode)
