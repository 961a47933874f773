"""Lets time pass without requests: a timer for each sandbox in which something comes due.

Nothing depends on it but the moment: every request runs what is due before it anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mockserver.domain.clock import MILLISECOND, SECOND, Micros, real_due
from mockserver.engine.sandbox import Sandbox

SHORTEST_WAIT = 5 * MILLISECOND
"""Work that comes due in quick succession is run together."""


class Ticker:
    """``now`` is the machine's time, ``is_live`` says whether a sandbox was not reset meanwhile, and ``run`` runs a
    slice of what is due in one, after which ``turn`` serves others."""

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
        self._timers: dict[Sandbox, tuple[Micros, asyncio.TimerHandle]] = {}
        self._due: asyncio.Queue[Sandbox] = asyncio.Queue()

    def note(self, sandbox: Sandbox) -> None:
        """Something may have changed in a sandbox: wake when it has work due."""
        entries = sandbox.schedule.entries
        at = real_due(sandbox.clock, entries[0].at) if entries else None
        if at is None or ((known := self._timers.get(sandbox)) is not None and known[0] <= at):
            return
        self.forget(sandbox)
        nap = max(at - self._now(), SHORTEST_WAIT) / SECOND
        timer = asyncio.get_running_loop().call_later(nap, self._due.put_nowait, sandbox)
        self._timers[sandbox] = at, timer

    def forget(self, sandbox: Sandbox) -> None:
        """Wake for a sandbox no more: what it waits for may be days away, and it may be large."""
        if sandbox in self._timers:
            self._timers.pop(sandbox)[1].cancel()

    async def run(self) -> None:
        """Run what comes due, sandbox after sandbox, a slice at a time, until cancelled."""
        try:
            while True:
                sandbox = await self._due.get()
                self.forget(sandbox)
                if self._is_live(sandbox):
                    self._run(sandbox)
                    self.note(sandbox)
                    await self._turn(sandbox)
        finally:
            for sandbox in tuple(self._timers):
                self.forget(sandbox)
