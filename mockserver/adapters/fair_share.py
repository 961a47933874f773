"""A limited number of places, shared so that an owner who holds them long does not block others."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import field
from heapq import heappop, heappush

from mockserver.domain.record import mutable

_SHARE = 4
"""The part of the free places that one owner may hold is one in so many."""


@mutable
class _Ticket:
    """One who waits, in the order of ``number``, or ``holds`` a place."""

    number: int
    ordering_key: Hashable
    given: asyncio.Future[None]
    holds: bool = False

    def __lt__(self, other: _Ticket) -> bool:
        return self.number < other.number


@mutable
class _Line:
    """Those of one owner who want the same thing.

    ``ready`` are those who can go; ``behind`` those whose lane is taken, by lane. ``held`` counts the places given, the
    last one ``begun`` at that time of the loop's clock; ``apart`` are the seconds that the next one waits for it.
    """

    ready: list[_Ticket] = field(default_factory=list)
    behind: dict[Hashable, deque[_Ticket]] = field(default_factory=dict)
    held: int = 0
    begun: float = 0.0
    apart: float = 0.0


class FairShare:
    """At most ``places`` in use at once, by owners that want things.

    An owner may hold a quarter of the places that are free, at least one, and ``each`` of them for one thing: an owner
    that holds none finds one free, unless there are as many owners as places. Owners are served in turn, and so are the
    things that one owner wants.
    """

    def __init__(self, places: int, each: int) -> None:
        self._free = places
        self._each = each
        self._count = 0
        self._held: Counter[Hashable] = Counter()
        self._lines: dict[Hashable, dict[Hashable, _Line]] = {}

    @asynccontextmanager
    async def place(
        self, owner: Hashable, thing: Hashable, ordering_key: Hashable = None, apart: float = 0.0
    ) -> AsyncIterator[None]:
        """Wait for a place and hold it.

        For one thing places are given in the order of asking, and for one ``ordering_key`` one after the other. The
        next one for the same thing is given when this one has ended, or ``apart`` seconds after it has begun.
        """
        self._count += 1
        ticket = _Ticket(
            self._count, object() if ordering_key is None else ordering_key, asyncio.get_running_loop().create_future()
        )
        line = self._lines.setdefault(owner, {}).setdefault(thing, _Line())
        line.apart = apart
        if ticket.ordering_key in line.behind:
            line.behind[ticket.ordering_key].append(ticket)
        else:
            line.behind[ticket.ordering_key] = deque()
            heappush(line.ready, ticket)
            self._serve()
        try:
            await ticket.given
            yield
        finally:
            self._leave(owner, thing, line, ticket)

    def _serve(self) -> None:
        """Give places to those who can have one."""
        now = asyncio.get_running_loop().time()
        while (found := self._next(now)) is not None:
            owner, thing, line = found
            self._free -= 1
            self._held[owner] += 1
            line.held += 1
            line.begun = now
            ticket = heappop(line.ready)
            ticket.holds = True
            if not ticket.given.done():  # else it was cancelled, and gives its place back at once
                ticket.given.set_result(None)
            if line.apart:
                asyncio.get_running_loop().call_later(line.apart, self._serve)
            self._put_last(owner, thing)

    def _next(self, now: float) -> tuple[Hashable, Hashable, _Line] | None:
        for owner, things in self._lines.items() if self._free else ():
            held = self._held[owner]
            if held and held >= self._free // _SHARE:
                continue
            for thing, line in things.items():
                if line.ready and line.held < self._each and (not line.held or now >= line.begun + line.apart):
                    return owner, thing, line
        return None

    def _leave(self, owner: Hashable, thing: Hashable, line: _Line, ticket: _Ticket) -> None:
        if ticket.holds:
            self._free += 1
            self._held[owner] -= 1
            line.held -= 1
        elif ticket in line.ready:
            line.ready = sorted(other for other in line.ready if other is not ticket)
        else:
            line.behind[ticket.ordering_key].remove(ticket)
            return
        behind = line.behind[ticket.ordering_key]
        if behind:
            heappush(line.ready, behind.popleft())
        else:
            del line.behind[ticket.ordering_key]
        self._put_last(owner, thing)
        if not line.behind:
            del self._lines[owner][thing]
        if not self._lines[owner]:
            del self._lines[owner], self._held[owner]
        self._serve()

    def _put_last(self, owner: Hashable, thing: Hashable) -> None:
        things = self._lines[owner] = self._lines.pop(owner)
        things[thing] = things.pop(thing)
