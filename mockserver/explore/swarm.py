"""Runs with several faults at once, drawn by a seed, and the few of them that matter. Source: docs/explore.md, Swarm.

A seed draws the same faults for the same command each time: so it alone repeats its run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from mockserver.domain.ids import digest
from mockserver.explore.fault_table import Fault, Trial, weight
from mockserver.scenario.failures import OWN_AXES, InjectionPoint

MOST_FAULTS = 4
"""Faults of one run."""

BEYOND = 3
"""Calls of an operation that are struck beyond those of the run without a fault: what is tried again can fail too."""

_LONGEST_WAIT = 5.0
"""Seconds that a client may wait for an answer in a run; with slower faults a thousand runs take a day."""

_DRAW_BYTES = 8


def drawn(seed: int, points: Sequence[InjectionPoint], faults: Iterable[Fault]) -> Trial:
    """What a seed tries: one to four faults, at different calls, the more telling ones more often."""
    usual = [one for one in faults if one.at not in OWN_AXES]
    chosen = [one for one in usual if one.waits <= _LONGEST_WAIT] or usual
    # The first strikes a call that is made for sure.
    left = [(point, one) for point in points for one in chosen if one.fits(point)]
    more = [(point, one) for point in _reached(points) for one in chosen if one.fits(point)]
    found: list[tuple[InjectionPoint, Fault]] = []
    for turn in range(1 + _draw(seed, "count") % MOST_FAULTS):
        if not left:
            break
        ends = list(accumulate(one.weight * weight(point.op) for point, one in left))
        place = _draw(seed, turn) % ends[-1]
        point, one = next(pair for pair, end in zip(left, ends, strict=True) if place < end)
        found.append((point, one))
        left = more = [pair for pair in more if pair[0] != point]
    return Trial(tuple(sorted(found, key=lambda pair: pair[0])), seed)


def _reached(points: Sequence[InjectionPoint]) -> list[InjectionPoint]:
    """The calls, and some more of each operation."""
    notifies = {point.op for point in points if point.notifies}
    last: dict[str, int] = {}
    for point in points:
        last[point.op] = max(point.nth, last.get(point.op, 0))
    more = [InjectionPoint(op, end + one, op in notifies) for op, end in last.items() for one in range(1, BEYOND + 1)]
    return [*points, *more]


def _draw(*parts: object) -> int:
    return int.from_bytes(digest("swarm", *parts, size=_DRAW_BYTES))
