"""Unused sandboxes are dropped, so that a shared server does not grow for ever; and the memory of those that are gone
is given back by a thread, as 100,000 charges take a while to be freed. Source: the command line's ``--sandbox-idle``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any
from weakref import finalize

from mockserver.domain.clock import SECOND, Micros, duration_text
from mockserver.engine.sandbox import Sandbox
from mockserver.web.access import LogLine, log_time
from mockserver.web.runner import SERVER, for_each
from mockserver.web.world import World

LONGEST_PAUSE = 60 * SECOND
"""Time between two looks, at most; a quarter of what is waited for when that is less."""

IDLE_IN_STORE = "24h"
"""How long unused sandboxes stay in memory where a store has them, unless ``--sandbox-idle`` says."""


class Idle:
    """Drops the sandboxes of a world unused for ``length`` of the machine's time. A request that names a
    sandbox uses it, and so does a client that follows it; work that comes due in it does not."""

    def __init__(self, world: World, length: Micros) -> None:
        self._world = world
        self._length = length

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            await asyncio.sleep(min(self._length // 4, LONGEST_PAUSE) / SECOND)
            await self.sweep()

    async def sweep(self) -> int:
        """Drop what is idle by now, while others are served; how many that were."""
        world, since = self._world, self._world.real_clock() - self._length
        dropped = sum(await for_each(tuple(world.sandboxes.in_memory), lambda key: self._drop(key, since)))
        if dropped:
            world.runner.activity.notify(SERVER)
            if world.log is not None:
                world.log(_dropped_line(dropped, self._length, world.real_clock(), kept=world.store is not None))
        return dropped

    def _drop(self, key: str, since: Micros) -> bool:
        sandboxes = self._world.sandboxes
        sandbox = None if sandboxes.is_away(key) else sandboxes.get(key)
        if sandbox is None or not self._world.is_idle(sandbox, since):
            return False
        store = self._world.store
        if store is None:
            self._world.sandboxes.drop(sandbox)
        elif not store.put_away(sandbox):
            return False
        if self._world.rate_limit is not None:
            self._world.rate_limit.forget(key)
        return True


def _dropped_line(count: int, length: Micros, real: Micros, *, kept: bool) -> LogLine:
    """What the log says of a look that dropped some sandboxes, or where a store has them put them away."""
    did, counted = ("put away", "putAwaySandboxes") if kept else ("dropped", "droppedSandboxes")
    time, idle, what = log_time(real), duration_text(length), "sandbox" if count == 1 else "sandboxes"
    text = f"{time} {did} {count} {what} unused for {idle} (--sandbox-idle)"
    return LogLine("info", text, {"time": time, counted: count, "idle": idle})


MANY = 2_000
"""Objects from which on a sandbox is not freed in one go."""


class Freeing:
    """Frees the sandboxes that it expects to go, when the last who uses one has let it go."""

    def __init__(self) -> None:
        self._gone: deque[list[Any]] = deque()
        self._wake = asyncio.Event()

    def expect(self, sandbox: Sandbox) -> None:
        """A sandbox has lost its key: it is freed once it is out of use."""
        contents = sandbox.contents()
        if sum(map(len, contents)) >= MANY:
            finalize(sandbox, self._queue_release, contents).atexit = False

    async def run(self) -> None:
        """Free what is gone, in a thread, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._gone:
                await asyncio.to_thread(_free, self._gone.popleft())

    def _queue_release(self, contents: list[Any]) -> None:
        self._gone.append(contents)
        self._wake.set()


def _free(contents: list[Any]) -> None:
    """Empty lists and dictionaries item by item, so that the thread can be interrupted."""
    for held in contents:
        take = held.pop if isinstance(held, list | deque) else held.popitem
        while held:
            take()
