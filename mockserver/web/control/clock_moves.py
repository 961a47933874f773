"""Moving the clock of a sandbox: from one instant at which something is due to the next, and no further before all that
is under way has ended.

Time stands while receivers of webhooks are called: what they ask meanwhile is answered at the instant of their webhook.
A try ends with the receiver's answer or with the time-out of webhooks; what follows from it is planned, and time goes
on. So the figures of a move, and the order in which a receiver is called, follow from the sandbox alone.
Source: control document, Control API (``/__admin/clock/advance``, ``/__admin/wait``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mockserver.domain.clock import Micros
from mockserver.engine import due
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import Caller
from mockserver.web.world import World

_UNWATCHED = 100
"""Steps of a move after which it looks whether its caller has hung up: most are over by then."""


class Mover:
    """Moves clocks for one call, until the machine's time is ``until``. ``ran`` counts what has come due."""

    def __init__(self, world: World, caller: Caller, until: Micros) -> None:
        self._world = world
        self._caller = caller
        self._until = until
        self.ran = 0

    @property
    def is_over(self) -> bool:
        """Whether there is no time left, or the server stops."""
        return self._world.runner.stopping or self._world.real_clock() >= self._until

    async def advance(self, sandbox: Sandbox, to: Micros) -> bool:
        """Go to an instant, within ``standing``; whether it was reached and all that came due has ended. Else the clock
        stands at the instant whose webhooks are still being sent. Raises ``HungUp``."""
        before, steps, arrived = sandbox.schedule.ran, 0, False
        while self._world.sandboxes.is_live(sandbox) and (steps < _UNWATCHED or self._caller.stays()):
            if self._world.runner.sending(sandbox):
                if not await self._try_ends(sandbox):
                    break
            elif not self._run(sandbox, to):
                arrived = True
                break
            elif self.is_over:
                break
            steps += 1
            await asyncio.sleep(0)
        self.ran += sandbox.schedule.ran - before
        return arrived

    async def step(self, sandbox: Sandbox, end: Micros) -> bool:
        """Let one of the tries end that are being made, or else go to the next instant up to ``end`` at which something
        is due; False when there is neither, or no time. Raises ``HungUp``."""
        async with standing(self._world, sandbox):
            before, entries = sandbox.schedule.ran, sandbox.schedule.entries
            if self._world.runner.sending(sandbox):
                moved = await self._try_ends(sandbox)
            elif moved := bool(entries) and entries[0].at <= end and not self.is_over:
                self._run(sandbox, max(entries[0].at, sandbox.now))
            self.ran += sandbox.schedule.ran - before
            await asyncio.sleep(0)
        return moved and self._caller.stays()

    async def _try_ends(self, sandbox: Sandbox) -> bool:
        ended = await self._world.runner.try_ends(sandbox, self._until, self._caller.leaving)
        return ended and self._caller.stays()

    def _run(self, sandbox: Sandbox, to: Micros) -> bool:
        """Run a slice of what is due up to an instant; whether anything was, or is still."""
        before = sandbox.schedule.ran
        due.run_slice(sandbox, to)
        sandbox.clock.move_to(sandbox.now, self._world.real_clock())
        self._world.runner.changed(sandbox)
        return sandbox.schedule.ran > before or due.is_behind(sandbox)


@asynccontextmanager
async def standing(world: World, sandbox: Sandbox) -> AsyncIterator[None]:
    """Let time stand still for all but the holder of this, who may move it. Moves of one sandbox follow one another."""
    while (other := world.runner.moving.get(sandbox)) is not None:
        await other.wait()
    ended = world.runner.moving[sandbox] = asyncio.Event()
    try:
        await world.runner.catch_up(sandbox)
        sandbox.clock.hold(sandbox.now)
        try:
            yield
        finally:
            sandbox.clock.let_go(world.real_clock())
    finally:
        del world.runner.moving[sandbox]
        ended.set()
        world.runner.changed(sandbox)
