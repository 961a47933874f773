"""The fewest of some things that still fail together.

The algorithm is ddmin of Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input:
halves are tried first, then what is left without each of them, then smaller parts. It knows nothing
of faults; to it a run of the command is a question with two answers.

Source: docs/explore.md, Shrinking a chaotic run.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def minimise(things: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Things that still fail together, in their order, of which none can be left out alone.

    ``things`` fail together, and nothing fails alone: neither is tried. ``fails`` is asked about
    each subset once at most, halves before smaller parts: with one culprit among n about 2 log2 n
    times, n squared times at the worst.
    """
    # Places in ``things``, by which a subset is known even where two things are equal.
    kept = list(range(len(things)))
    known = {(): False, tuple(kept): True}

    def fail(chosen: Sequence[int]) -> bool:
        """Whether the things at these places fail; each question costs a run of the command."""
        key = tuple(chosen)
        if key not in known:
            known[key] = fails([things[place] for place in key])
        return known[key]

    parts = 2
    while len(kept) > 1:
        cut = _contiguous(kept, parts)
        rests = [[place for place in kept if place not in part] for part in cut]
        smaller = next(filter(fail, [*cut, *rests]), None)
        if smaller is not None:
            # Where a part alone fails, begin again with its halves; where all but a part fail, the
            # other parts have been cut already.
            parts = 2 if smaller in cut else max(parts - 1, 2)
            kept = smaller
        elif parts < len(kept):
            parts = min(2 * parts, len(kept))
        else:
            # No single thing can be left out.
            break
    return [things[place] for place in kept]


def _contiguous(chosen: list[int], count: int) -> list[list[int]]:
    """Contiguous parts of nearly equal length, none of them empty."""
    ends = [-(-len(chosen) * place // count) for place in range(count + 1)]
    return [chosen[start:end] for start, end in pairwise(ends)]
