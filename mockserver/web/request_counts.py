"""Counting of requests, and of the time that the event loop comes late: what ``GET /metrics`` shows is counted here in
whole numbers, and worded only when it is asked for.

Labels are bounded: operations are those of the tables, statuses three digits.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter, defaultdict, deque

from mockserver.domain.clock import MILLISECOND, Micros
from mockserver.web.access import OPERATION, REFUSED, Access

BOUNDS: tuple[Micros, ...] = tuple(
    int(bound * MILLISECOND) for bound in (0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
)
"""Upper bounds of the buckets of the histogram."""

BEAT = 0.25
"""Seconds between two looks at how late the event loop comes."""

WINDOW = 60
"""Seconds over which the longest lag counts."""


class OperationCounts:
    """The requests of one operation: the number by status (0: no answer), in each bucket of ``BOUNDS`` and beyond the
    last, and their total time."""

    __slots__ = ("buckets", "statuses", "took")

    def __init__(self) -> None:
        self.statuses = Counter[int]()
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.took: Micros = 0


class Requests:
    """The requests that were answered, by operation. An answer includes the time that a scenario lets it take."""

    __slots__ = ("by_op",)

    def __init__(self) -> None:
        self.by_op: defaultdict[str, OperationCounts] = defaultdict(OperationCounts)

    def note(self, access: Access) -> None:
        """Count one."""
        found = self.by_op[access.scope.get(OPERATION, REFUSED)]
        took = access.ended - access.began
        found.statuses[access.status] += 1
        found.buckets[bisect_left(BOUNDS, took)] += 1
        found.took += took


class Lag:
    """How late the event loop is, in seconds: every request waits that long."""

    __slots__ = ("_lately",)

    def __init__(self) -> None:
        self._lately: deque[float] = deque(maxlen=round(WINDOW / BEAT))

    @property
    def longest(self) -> float:
        """The longest lag within ``WINDOW``."""
        return max(self._lately, default=0.0)

    async def run(self) -> None:
        """Measure until cancelled."""
        time = asyncio.get_running_loop().time
        while True:
            due = time() + BEAT
            await asyncio.sleep(BEAT)
            self._lately.append(max(time() - due, 0.0))
