"""What keeps a server from growing for ever: its unused sandboxes are dropped, and the memory of
those that are gone is given back in a thread.

A server that many test runs share gets a new key, and so a new sandbox, with every run, and nobody
says when one is not needed any more: what has been idle for ``--sandbox-idle`` goes. Python frees
100,000 charges at one go when the last reference to them is dropped, and nobody is served
meanwhile: so a thread frees them in small steps. Source: the command line's ``--sandbox-idle``.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, MutableMapping, Sized
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
    """Drop now and then what is idle, until cancelled. It looks every minute, and for a shorter
    time four times within it, so that nothing stays much longer than was asked for.

    Without a store nothing is dropped unless ``--sandbox-idle`` asks for it, as it is lost for
    good; with one it comes back when it is next named."""
    idle = world.settings.sandbox_idle
    if idle is None and world.store is not None:
        idle = IDLE_IN_STORE
    if idle is None:
        return
    idle_time = parse_duration(idle)
    while True:
        await asyncio.sleep(min(idle_time // 4, MINUTE) / SECOND)
        await sweep(world, idle_time)


async def sweep(world: World, idle_time: Micros) -> int:
    """Drop the sandboxes unused for ``idle_time`` of the machine's time, or where a store has them
    put them away, while others are served; how many that were. A request that names a sandbox uses
    it, and so does a client that follows it; work that comes due in it does not, else one with a
    daily subscription would never go."""
    sandboxes, store, idle_since = world.sandboxes, world.store, world.real_clock() - idle_time

    def drop_if_idle(key: str) -> bool:
        sandbox = sandboxes.in_memory.get(key)
        # Others are served in between: a client may have reset it by now.
        if sandbox is None or not world.is_idle(sandbox, idle_since):
            return False
        if store is None:
            sandboxes.drop(sandbox)
        elif not store.put_away(sandbox):
            # Not all of it is in the file yet: the next sweep tries again.
            return False
        if world.rate_limit is not None:
            world.rate_limit.forget(key)
        return True

    dropped = await for_each(tuple(sandboxes.in_memory), drop_if_idle)
    count = sum(dropped)
    if count:
        # The control page lists the sandboxes.
        world.runner.activity.notify(SERVER)
        if world.log is not None:
            world.log(_sweep_line(world, count, duration_text(idle_time)))
    return count


def _sweep_line(world: World, count: int, idle: str) -> LogLine:
    """The line of the log about so many sandboxes that are gone from memory: who misses one learns
    here why, and by which option."""
    time = log_time(world.real_clock())
    what_happened, fact = "dropped", "droppedSandboxes"
    if world.store is not None:
        # Nothing is lost: it comes back from the file.
        what_happened, fact = "put away", "putAwaySandboxes"
    sandboxes = "sandbox" if count == 1 else "sandboxes"
    text = f"{time} {what_happened} {count} {sandboxes} unused for {idle} (--sandbox-idle)"
    return LogLine("info", text, {"time": time, fact: count, "idle": idle})


MANY = 2_000
"""Objects from which on a sandbox is not freed in one go: fewer take less than a millisecond."""


class Freeing:
    """Frees the contents of the sandboxes that it expects to go.

    A sandbox that has lost its key may still be in use: a call waits in it, a webhook is under way.
    So its contents are held here, and given to the thread when Python has dropped the sandbox
    itself, which ``finalize`` reports."""

    def __init__(self) -> None:
        self._freeable: asyncio.Queue[list[Sized]] = asyncio.Queue()

    def expect(self, sandbox: Sandbox) -> None:
        """A sandbox has lost its key: it is freed once it is out of use."""
        contents = sandbox.contents()
        if sum(map(len, contents)) >= MANY:
            finalizer = finalize(sandbox, self._freeable.put_nowait, contents)
            # The process gives back all its memory when it ends.
            finalizer.atexit = False

    async def run(self) -> None:
        """Free what is gone, in a thread, until cancelled."""
        while True:
            contents = await self._freeable.get()
            await asyncio.to_thread(_empty, contents)


def _empty(containers: Iterable[Sized]) -> None:
    """Take the items out one by one. To clear a whole container is one operation, in which no other
    thread gets its turn; between two of these the thread can be interrupted."""
    for container in containers:
        if isinstance(container, list | deque):
            while container:
                container.pop()
        elif isinstance(container, MutableMapping):
            while container:
                container.popitem()
