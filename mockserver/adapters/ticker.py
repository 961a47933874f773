"""Lets time pass while nobody asks: brings sandboxes to the present when something comes due, and sends what is to be
sent. It sleeps until the earliest thing that any sandbox waits for.

Nothing depends on it but the moment: every request runs what is due before it anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Protocol, assert_never

from mockserver.adapters.webhook_sender import CONNECTIONS, Sent
from mockserver.assumptions import WEBHOOK_TIMEOUT
from mockserver.domain.clock import MILLISECOND, SECOND, Clock, ClockMode, Micros
from mockserver.domain.delivery import Delivery, DeliveryState, Try
from mockserver.engine import deliveries, due
from mockserver.engine.sandbox import Sandbox, masked_key

SHORTEST_NAP = 5 * MILLISECOND
"""Work that comes due in quick succession is run together."""

CROWD = 100
"""Sandboxes that may wait before those that were reset are looked for."""

GRACE = 3 * SECOND
"""How long webhooks that are under way may take when the server stops."""

_LOG = logging.getLogger("mockserver.webhooks")


class Sender(Protocol):
    """Makes one try."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, within: Micros) -> Sent: ...

    async def close(self) -> None: ...


class Ticker:
    """``is_live`` tells a sandbox from one that was reset meanwhile; ``stir`` is called after each change."""

    def __init__(
        self,
        now: Callable[[], Micros],
        is_live: Callable[[Sandbox], bool],
        sender: Sender,
        stir: Callable[[], None],
    ) -> None:
        self._now = now
        self._is_live = is_live
        self._sender = sender
        self._stir = stir
        self._heap: list[tuple[Micros, int, Sandbox]] = []
        self._planned: dict[Sandbox, Micros] = {}
        self._count = 0
        self._crowded = CROWD
        self._wakes: Micros | None = None
        self._wake = asyncio.Event()
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._tasks: dict[tuple[Sandbox, str], asyncio.Task[None]] = {}
        self._lanes: dict[tuple[Sandbox, str, str], asyncio.Task[None]] = {}

    def note(self, box: Sandbox) -> None:
        """Something may have changed in a sandbox: send what stands in its outbox, and wake when it has work due."""
        if box.deliveries.outbox:
            self._send_all(box)
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
        tasks = [task for one in ids if (task := self._tasks.get((box, one))) is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=within / SECOND)

    async def stop(self, boxes: Iterable[Sandbox]) -> None:
        """Let the tries under way end, within a short time, and log what was not sent."""
        tasks = set(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=GRACE / SECOND)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._sender.close()
        for box in boxes:
            report_unsent(box)

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
            self._stir()
            self.note(box)
            await asyncio.sleep(0)

    def _send_all(self, box: Sandbox) -> None:
        outbox = box.deliveries.outbox
        while outbox:
            delivery = box.deliveries.get(outbox.popleft())
            if delivery is None or delivery.state is not DeliveryState.SENDING:
                continue
            lane = (box, delivery.url, delivery.lane)
            task = asyncio.create_task(self._send(box, delivery, self._lanes.get(lane)))
            self._lanes[lane] = self._tasks[box, delivery.delivery_id] = task

    async def _send(self, box: Sandbox, delivery: Delivery, before: asyncio.Task[None] | None) -> None:
        """Make one try, after the one before it in the same lane."""
        lane = (box, delivery.url, delivery.lane)
        try:
            if before is not None:
                await asyncio.wait({before})
            async with self._room:
                sent = await self._sender.send(
                    delivery.url, delivery.headers(), delivery.body, box.assumed[WEBHOOK_TIMEOUT]
                )
        finally:
            me = asyncio.current_task()
            if self._lanes.get(lane) is me:
                del self._lanes[lane]
            if self._tasks.get((box, delivery.delivery_id)) is me:
                del self._tasks[box, delivery.delivery_id]
        made = Try(delivery.due, sent.status, sent.error, sent.latency)
        deliveries.report(box, delivery, made, final=sent.final)
        if self._is_live(box):
            self.note(box)
        self._stir()


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


def report_unsent(box: Sandbox) -> None:
    """Log how many webhooks of a sandbox were still under way."""
    left = [one for one in box.deliveries if one.state not in (DeliveryState.DELIVERED, DeliveryState.GIVEN_UP)]
    if left:
        untried = sum(not one.tries for one in left)
        words = "sandbox %s: %d webhooks were not delivered before the stop, %d of them never tried"
        _LOG.warning(words, masked_key(box.key), len(left), untried)
