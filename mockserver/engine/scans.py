"""Long searches, in slices: others are answered meanwhile, and the page is still that of the instant of its answer.

A scan looks at the rows as they stand when it comes to them. The table notes for it which rows were added or replaced
since it began, and those alone are looked at again when the page is asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from mockserver.domain.slices import Slices
from mockserver.engine.query import Query, TableRow, cut

R = TypeVar("R", bound=TableRow)

SLICE = 2_000
"""Rows that are looked at without a pause: some milliseconds. A search that has no more to look at makes none."""


class Scan(Generic[R]):
    """One search that looks at many rows. ``changed`` are the places of rows that changed after it began."""

    __slots__ = ("__weakref__", "_first", "_kept", "_last", "_merged", "_rest", "_rows", "changed", "query")

    def __init__(self, rows: Sequence[R], query: Query[R]) -> None:
        self.query = query
        self.changed: set[int] = set()
        self._rows = rows
        self._kept: list[int] = []
        self._merged: list[tuple[Any, int]] = []
        self._rest: Iterator[tuple[Any, int]] = iter(())

    def run(self, places: Sequence[int], checks: Sequence[Callable[[R], bool]]) -> Slices[None]:
        """Look at all candidates."""
        rows, query, sort = self._rows, self.query, self.query.sort
        runs: list[list[tuple[Any, int]]] = []
        for start in range(0, len(places), SLICE):
            if start:
                yield
            part = places[start : start + SLICE]
            if checks:
                part = [seq for seq in part if all(check(rows[seq]) for check in checks)]
            self._kept.extend(part)
            if sort is not None:
                runs.append(sorted(((sort(rows[seq]), seq) for seq in part), reverse=query.descending))
        self._rest = merge(*runs, reverse=query.descending)
        for start in range(0, query.skip + query.limit, SLICE):
            if start:
                yield
            self._merged.extend(islice(self._rest, min(SLICE, query.skip + query.limit - start)))

    def page(self, fits: Callable[[int], bool]) -> tuple[list[int], int]:
        """The places on the page, and how many there are on all; ``fits`` says whether a row is one of them now."""
        query, changed = self.query, self.changed
        fresh = sorted(seq for seq in changed if fits(seq))
        kept, sort = self._kept, query.sort
        # Of a million places that were kept none is looked at again for the few that have changed.
        count = len(kept) + len(fresh) - sum(_is_in(kept, seq) for seq in changed)
        if sort is None:
            if not changed:
                return cut(kept, query), count
            ordered = reversed if query.descending else iter
            left = (seq for seq in ordered(kept) if seq not in changed)
            places = merge(left, ordered(fresh), reverse=query.descending)
            return list(islice(places, query.skip, query.skip + query.limit)), count
        found: Iterable[tuple[Any, int]] = self._merged
        if changed:
            unchanged = (pair for pair in chain(self._merged, self._rest) if pair[1] not in changed)
            again = sorted(((sort(self._rows[seq]), seq) for seq in fresh), reverse=query.descending)
            found = merge(unchanged, again, reverse=query.descending)
        return [seq for _, seq in islice(found, query.skip, query.skip + query.limit)], count


def _is_in(places: Sequence[int], seq: int) -> bool:
    at = bisect_left(places, seq)
    return at < len(places) and places[at] == seq
