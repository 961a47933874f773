"""Waking those who wait for something to happen, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mockserver.domain.clock import SECOND, Micros

SERVER = ""
"""Stands for the list of sandboxes; no sandbox has this key."""

SPELL = 0.00025
"""How long waiting calls are examined before a rest, in seconds."""

REST = 12
"""How many times as long as the last looks took there are none: the rest of the machine is for others."""

LONGEST_REST = 1.0
"""The longest of these rests, in seconds."""

Look = Callable[[], bool]
"""Whether a caller has stopped waiting."""


class Activity:
    """Those who wait: ``watched`` by the secret key of the sandbox in which it is to happen."""

    __slots__ = ("watched",)

    def __init__(self) -> None:
        self.watched: dict[str, _Watched] = {}

    def notify(self, key: str | None = None) -> None:
        """Something has happened in the sandbox of a key; without a key, wake all."""
        if key is None:
            for watched in self.watched.values():
                watched.wake()
        elif key in self.watched:
            self.watched[key].notify()

    def is_followed(self, key: str) -> bool:
        """Whether a call waits for something to happen in the sandbox of a key."""
        return key in self.watched

    async def wait(
        self, key: str, within: Micros, look: Look | None = None, leaving: asyncio.Future[Any] | None = None
    ) -> None:
        """Wait until something happens in a sandbox, and ``look`` is true; at most so long in real time, and not once
        ``leaving`` is done."""
        watched = self.watched.setdefault(key, _Watched())
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watched.waiting[waiting] = look
        try:
            # What has happened during a look of the caller's own was not waited for yet.
            if look is not None and look():
                return
            ends = {waiting} if leaving is None else {waiting, leaving}
            await asyncio.wait(ends, timeout=within / SECOND, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del watched.waiting[waiting]
            if not watched.waiting and self.watched.get(key) is watched:
                del self.watched[key]


class _Watched:
    """Those who wait in one sandbox. One task looks after all of them: to wake each for a look of its own would cost
    the others more than the looks do."""

    __slots__ = ("_looking", "_stirred", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[asyncio.Future[None], Look | None] = {}
        self._stirred = False
        self._looking: asyncio.Task[None] | None = None

    def wake(self) -> None:
        for waiting in self.waiting:
            if not waiting.done():
                waiting.set_result(None)

    def notify(self) -> None:
        self._stirred = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look_after())

    async def _look_after(self) -> None:
        time = asyncio.get_running_loop().time
        while self._stirred and self.waiting:
            self._stirred = False
            began = time()
            for waiting, look in tuple(self.waiting.items()):
                if waiting.done():
                    continue
                if (look is None or look()) and not waiting.done():
                    waiting.set_result(None)
                if time() - began > SPELL:
                    await asyncio.sleep(min(REST * (time() - began), LONGEST_REST))
                    began = time()
            await asyncio.sleep(min(REST * (time() - began), LONGEST_REST))
