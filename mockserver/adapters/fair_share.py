"""A limited number of places, shared so that an owner who holds them long does not block others.

A sandbox that sends ten thousand webhooks to a receiver which never answers would soon hold every
connection, and no other sandbox would get one. A fixed number for each would waste most of them
when one is alone. So an owner may take a part of what is still free: the first takes half, say, the
next half of the rest, and one that holds nothing finds a place nearly always.

A task that wants a place waits in several queues, one after the other: for its turn (where order
counts), for its key, for its thing (a receiver, a name), and last for a share of the places.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import ExitStack, asynccontextmanager
from weakref import WeakValueDictionary

_TURN = "turn"
"""Marks the limit that gives places for one thing in the order of asking."""


class _Limit:
    """At most ``most`` at once, in the order of asking: a semaphore whose number may change
    meanwhile."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def allow(self, most: int) -> None:
        """From now on so many; those who are too many then keep what they hold."""
        self._most = most
        self._serve()

    async def acquire(self) -> None:
        """Wait until one of them is free, and hold it."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._serve()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                # It was given in the same moment.
                self.release()
            raise

    def release(self) -> None:
        """Give one back."""
        self._held -= 1
        self._serve()

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def _serve(self) -> None:
        """Give places to those who have waited longest."""
        while self._waiting and self._held < self._most:
            place = self._waiting.popleft()
            if not place.cancelled():
                self._held += 1
                place.set_result(None)


class FairShare:
    """At most ``places`` in use at once, by owners that want things.

    An owner may hold one in ``share`` of the places that are free (with 1: as many as it leaves to
    the others), at least one, and ``each`` of them for one thing: an owner that holds none finds
    one free, unless there are as many owners as places. Owners are served in turn.
    """

    def __init__(self, places: int, each: int, share: int = 4) -> None:
        self._free = places
        self._each = each
        self._one_in = share
        self._held: Counter[Hashable] = Counter()
        # By owner, whose turn is next first.
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        # One that nobody holds or waits for is forgotten.
        self._limits: WeakValueDictionary[Hashable, _Limit] = WeakValueDictionary()

    @asynccontextmanager
    async def place(
        self, owner: Hashable, thing: Hashable, ordering_key: Hashable = None, apart: float = 0.0
    ) -> AsyncIterator[None]:
        """Wait for a place and hold it. For one ``ordering_key`` places are given one after the
        other.

        With ``apart`` they are given in the order of asking for one thing, the next one when this
        one has ended, or so many seconds after its turn has come.
        """
        # Without a key nobody else stands in the line.
        line = object() if ordering_key is None else (ordering_key,)
        lane = self._at_most(1, owner, thing, line)
        with ExitStack() as turn:
            if apart:
                turns = self._at_most(1, owner, thing, _TURN)
                await turns.acquire()
                turn.callback(turns.release)
                asyncio.get_running_loop().call_later(apart, turn.close)
            async with lane, self._at_most(self._each, owner, thing), self._share(owner):
                yield

    def widen(self, owner: Hashable, thing: Hashable, each: int) -> None:
        """Let an owner hold ``each`` places for a thing, begun at once, until ``narrow`` or until
        it wants the thing no more. Those of one ``ordering_key`` still go one after the other."""
        self._allow(owner, thing, each, each)

    def narrow(self, owner: Hashable, thing: Hashable) -> None:
        """Give places for a thing as before ``widen``."""
        self._allow(owner, thing, self._each, 1)

    def _allow(self, owner: Hashable, thing: Hashable, each: int, turns: int) -> None:
        """Change the limits of a thing, where somebody holds or wants one."""
        of_thing = self._limits.get((owner, thing))
        if of_thing is not None:
            of_thing.allow(each)
        of_turns = self._limits.get((owner, thing, _TURN))
        if of_turns is not None:
            of_turns.allow(turns)

    def _at_most(self, most: int, *what: Hashable) -> _Limit:
        """The limit of something: that of those who stand in its line already, or a new one."""
        return self._limits.setdefault(what, _Limit(most))

    @asynccontextmanager
    async def _share(self, owner: Hashable) -> AsyncIterator[None]:
        """Wait for one of the places that all owners share, and hold it."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(place)
        self._serve()
        try:
            await place
            yield
        finally:
            # Not cancelled: it was given, if only in the moment in which its owner gave up.
            if not place.cancelled():
                self._free += 1
                self._held[owner] -= 1
                if not self._held[owner]:
                    del self._held[owner]
            self._serve()

    def _serve(self) -> None:
        """Give places to those who can have one."""
        while self._free:
            owner = next(filter(self._may_hold_more, self._waiting), None)
            if owner is None:
                return
            # Taken out and put behind the others: owners are served in turn.
            waiting = self._waiting.pop(owner)
            place = waiting.popleft()
            if waiting:
                self._waiting[owner] = waiting
            if not place.cancelled():
                self._free -= 1
                self._held[owner] += 1
                place.set_result(None)

    def _may_hold_more(self, owner: Hashable) -> bool:
        """Whether an owner gets one of the free places: the first always, others only as long as it
        leaves enough of them to owners that come later."""
        held = self._held[owner]
        return not held or held < self._free // self._one_in
