"""A limited number of places, shared so that an owner who holds them long does not block others."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import ExitStack, asynccontextmanager
from weakref import WeakValueDictionary

_SHARE = 4
"""The part of the free places that one owner may hold is one in so many."""


class FairShare:
    """At most ``places`` in use at once, by owners that want things.

    An owner may hold a quarter of the places that are free, at least one, and ``each`` of them for one thing: an owner
    that holds none finds one free, unless there are as many owners as places. Owners are served in turn.
    """

    def __init__(self, places: int, each: int) -> None:
        self._free = places
        self._each = each
        self._held: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        # One that nobody holds or waits for is forgotten.
        self._limits: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def place(
        self, owner: Hashable, thing: Hashable, ordering_key: Hashable = None, apart: float = 0.0
    ) -> AsyncIterator[None]:
        """Wait for a place and hold it. For one ``ordering_key`` places are given one after the other.

        With ``apart`` they are given in the order of asking for one thing, the next one when this one has ended, or so
        many seconds after its turn has come.
        """
        lane = self._at_most(1, owner, thing, object() if ordering_key is None else (ordering_key,))
        with ExitStack() as turn:
            if apart:
                turns = self._at_most(1, owner, thing, "turn")
                await turns.acquire()
                turn.callback(turns.release)
                asyncio.get_running_loop().call_later(apart, turn.close)
            async with lane, self._at_most(self._each, owner, thing), self._share(owner):
                yield

    def _at_most(self, most: int, *what: Hashable) -> asyncio.Semaphore:
        return self._limits.setdefault(what, asyncio.Semaphore(most))

    @asynccontextmanager
    async def _share(self, owner: Hashable) -> AsyncIterator[None]:
        asked = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(asked)
        self._serve()
        try:
            await asked
            yield
        finally:
            if not asked.cancelled():
                self._free += 1
                self._held[owner] -= 1
                if not self._held[owner]:
                    del self._held[owner]
            self._serve()

    def _serve(self) -> None:
        """Give places to those who can have one."""
        while self._free and (owner := next(filter(self._may_hold_more, self._waiting), None)) is not None:
            waiting = self._waiting.pop(owner)
            asked = waiting.popleft()
            if waiting:
                self._waiting[owner] = waiting
            if not asked.cancelled():
                self._free -= 1
                self._held[owner] += 1
                asked.set_result(None)

    def _may_hold_more(self, owner: Hashable) -> bool:
        held = self._held[owner]
        return not held or held < self._free // _SHARE
