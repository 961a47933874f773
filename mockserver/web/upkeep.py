"""What keeps a server from growing for ever: its unused sandboxes are dropped, and the memory of
those that are gone is given back by a thread, as 100,000 charges take a while to be freed. Source:
the command line's ``--sandbox-idle``.
"""

import asyncio
from collections import deque
from typing import Any
from weakref import finalize

from mockserver.domain.clock import MINUTE, SECOND, Micros, duration_text, parse_duration
from mockserver.engine.sandbox import Sandbox
from mockserver.web.access import LogLine, log_time
from mockserver.web.runner import SERVER, for_each
from mockserver.web.world import World

IDLE_IN_STORE = "24h"
"""How long unused sandboxes stay in memory where a store has them, unless ``--sandbox-idle``
says."""


async def drop_idle(world: World) -> None:
    """Drop now and then what is idle, until cancelled: every minute, or in a quarter of the time
    waited for. Nothing where no time is set."""
    idle = world.settings.sandbox_idle
    if idle is None and world.store is not None:
        idle = IDLE_IN_STORE
    if idle is None:
        return
    length = parse_duration(idle)
    while True:
        await asyncio.sleep(min(length // 4, MINUTE) / SECOND)
        await sweep(world, length)


async def sweep(world: World, length: Micros) -> int:
    """Drop the sandboxes unused for ``length`` of the machine's time, or where a store has them put
    them away, while others are served; how many that were. A request that names a sandbox uses it,
    and so does a client that follows it; work that comes due in it does not."""
    sandboxes, store, since = world.sandboxes, world.store, world.real_clock() - length

    def drop(key: str) -> bool:
        sandbox = sandboxes.in_memory.get(key)
        if sandbox is None or not world.is_idle(sandbox, since):
            return False
        if store is None:
            sandboxes.drop(sandbox)
        elif not store.put_away(sandbox):
            return False
        if world.rate_limit is not None:
            world.rate_limit.forget(key)
        return True

    count = sum(await for_each(tuple(sandboxes.in_memory), drop))
    if count:
        world.runner.activity.notify(SERVER)
        if world.log is not None:
            world.log(_sweep_line(world, count, duration_text(length)))
    return count


def _sweep_line(world: World, count: int, idle: str) -> LogLine:
    """The line of the log about so many sandboxes that are gone from memory."""
    time = log_time(world.real_clock())
    what_happened, fact = "dropped", "droppedSandboxes"
    if world.store is not None:
        what_happened, fact = "put away", "putAwaySandboxes"
    sandboxes = "sandbox" if count == 1 else "sandboxes"
    text = f"{time} {what_happened} {count} {sandboxes} unused for {idle} (--sandbox-idle)"
    return LogLine("info", text, {"time": time, fact: count, "idle": idle})


MANY = 2_000
"""Objects from which on a sandbox is not freed in one go."""


class Freeing:
    """Frees the sandboxes that it expects to go, when the last who uses one has let it go."""

    def __init__(self) -> None:
        self._gone: asyncio.Queue[list[Any]] = asyncio.Queue()

    def expect(self, sandbox: Sandbox) -> None:
        """A sandbox has lost its key: it is freed once it is out of use."""
        contents = sandbox.contents()
        if sum(map(len, contents)) >= MANY:
            finalize(sandbox, self._gone.put_nowait, contents).atexit = False

    async def run(self) -> None:
        """Free what is gone, in a thread, until cancelled."""
        while True:
            await asyncio.to_thread(_free, await self._gone.get())


def _free(contents: list[Any]) -> None:
    """Empty lists and dictionaries item by item, so that the thread can be interrupted."""
    for container in contents:
        take = container.pop if isinstance(container, list | deque) else container.popitem
        while container:
            take()
