"""The smallest set of things that still fails, found by trying subsets (delta debugging). Source: explore document,
shrink; published fact: the algorithm ddmin of Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
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
        cut = _parts(kept, parts)
        rests = [list(chain(*cut[:place], *cut[place + 1 :])) for place in range(len(cut))]
        smaller = next(filter(fail, cut), None)
        rest = next(filter(fail, rests), None) if smaller is None else None
        if smaller is not None:
            kept, parts = smaller, 2
        elif rest is not None:
            kept, parts = rest, max(parts - 1, 2)
        elif parts < len(kept):
            parts = min(2 * parts, len(kept))
        else:
            break
    return [things[place] for place in kept]


def _parts(chosen: list[int], count: int) -> list[list[int]]:
    """Contiguous parts of nearly equal length, none of them empty."""
    size, more = divmod(len(chosen), count)
    ends = accumulate((size + (place < more) for place in range(count)), initial=0)
    return [chosen[start:end] for start, end in pairwise(ends)]
