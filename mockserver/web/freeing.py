"""Gives back the memory of sandboxes that are gone: a slice at a time, as 100,000 charges take a while to be freed."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any
from weakref import finalize

from mockserver.engine.sandbox import Sandbox

MANY = 2_000
"""Objects from which on a sandbox is not freed in one go."""

_SLICE = 500


class Freeing:
    """Frees the sandboxes that it expects to go, when the last who uses one has let it go."""

    def __init__(self) -> None:
        self._gone: deque[list[Any]] = deque()
        self._wake = asyncio.Event()

    def expect(self, sandbox: Sandbox) -> None:
        """A sandbox has lost its key: it is freed once it is out of use."""
        contents = sandbox.contents()
        if sum(map(len, contents)) >= MANY:
            finalize(sandbox, self._bury, contents).atexit = False

    async def run(self) -> None:
        """Free what is gone, letting others have their turn meanwhile, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._gone:
                for held in self._gone.popleft():
                    while held:
                        _shorten(held)
                        await asyncio.sleep(0)

    def _bury(self, contents: list[Any]) -> None:
        self._gone.append(contents)
        self._wake.set()


def _shorten(held: Any) -> None:
    if isinstance(held, list):
        del held[-_SLICE:]
        return
    for _ in range(min(_SLICE, len(held))):
        held.popitem()
