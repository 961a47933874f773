"""A limited number of places, shared so that an owner who holds them long does not block others."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import ExitStack, asynccontextmanager
from weakref import WeakValueDictionary

_SHARE = 8
"""The part of the places that one owner may hold is one in so many."""


class FairShare:
    """At most ``places`` in use at once, by owners that want things. An owner may hold an eighth of the places, and
    ``each`` of them for one thing."""

    def __init__(self, places: int, each: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._most = places // _SHARE
        self._each = each
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
        for_thing, for_owner = self._at_most(self._each, owner, thing), self._at_most(self._most, owner)
        with ExitStack() as turn:
            if apart:
                turns = self._at_most(1, owner, thing, "turn")
                await turns.acquire()
                turn.callback(turns.release)
                asyncio.get_running_loop().call_later(apart, turn.close)
            async with lane, for_thing, for_owner, self._places:
                yield

    def _at_most(self, most: int, *what: Hashable) -> asyncio.Semaphore:
        return self._limits.setdefault(what, asyncio.Semaphore(most))
