"""The smallest part of what fails that still fails. Source: docs/explore.md, Shrinking a chaotic run; the published
algorithm ddmin of Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def minimise(things: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Things that still fail together, in their order, of which none can be left out alone.

    ``things`` fail together, and nothing fails alone: neither is tried. ``fails`` is asked about each subset once at
    most, halves before smaller parts: with one culprit among n about 2 log2 n times, n squared times at the worst.
    """
    kept = list(range(len(things)))
    known = {(): False, tuple(kept): True}

    def fail(chosen: Sequence[int]) -> bool:
        key = tuple(chosen)
        if key not in known:
            known[key] = fails([things[place] for place in key])
        return known[key]

    parts = 2
    while len(kept) > 1:
        cut = _contiguous(kept, parts)
        rests = [[one for one in kept if one not in part] for part in cut]
        smaller = next(filter(fail, [*cut, *rests]), None)
        if smaller is not None:
            kept, parts = smaller, 2 if smaller in cut else max(parts - 1, 2)
        elif parts < len(kept):
            parts = min(2 * parts, len(kept))
        else:
            break
    return [things[place] for place in kept]


def _contiguous(chosen: list[int], count: int) -> list[list[int]]:
    """Contiguous parts of nearly equal length, none of them empty."""
    ends = [-(-len(chosen) * place // count) for place in range(count + 1)]
    return [chosen[start:end] for start, end in pairwise(ends)]
