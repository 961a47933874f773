"""Long searches, in slices: others are answered meanwhile, and the page is still that of the instant of its answer.

A scan looks at the rows as they stand when it comes to them. The table notes for it which rows were added or replaced
since it began, and those alone are looked at again when the page is asked for.
"""

from __future__ import annotations

from array import array
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
        # Arrays: a million pairs of key and place would take as long to free as others may wait.
        self._kept = array("Q")
        self._merged = array("Q")
        self._rest: Iterator[int] = iter(())

    def run(self, places: Sequence[int], checks: Sequence[Callable[[R], bool]]) -> Slices[None]:
        """Look at all candidates."""
        rows, query = self._rows, self.query
        runs: list[array[int]] = []
        for start in range(0, len(places), SLICE):
            if start:
                yield
            part = places[start : start + SLICE]
            if checks:
                part = [seq for seq in part if all(check(rows[seq]) for check in checks)]
            self._kept.extend(part)
            if query.sort is not None:
                runs.append(array("Q", sorted(part, key=self._key, reverse=query.descending)))
        # What has changed since its run was sorted stands in no order.
        unchanged = [(seq for seq in run if seq not in self.changed) for run in runs]
        self._rest = merge(*unchanged, key=self._key, reverse=query.descending)
        for start in range(0, query.skip + query.limit, SLICE):
            if start:
                yield
            self._merged.extend(islice(self._rest, min(SLICE, query.skip + query.limit - start)))

    def _key(self, seq: int) -> tuple[Any, int]:
        """What a place sorts by; rows that sort alike keep the order of the plain list."""
        sort = self.query.sort
        return (sort(self._rows[seq]) if sort is not None else 0), seq

    def page(self, fits: Callable[[int], bool]) -> tuple[list[int], int]:
        """The places on the page, and how many there are on all; ``fits`` says whether a row is one of them now."""
        query, changed = self.query, self.changed
        fresh = sorted(seq for seq in changed if fits(seq))
        kept = self._kept
        # Of a million places that were kept none is looked at again for the few that have changed.
        count = len(kept) + len(fresh) - sum(_is_in(kept, seq) for seq in changed)
        if query.sort is None:
            if not changed:
                return cut(kept, query), count
            ordered = reversed if query.descending else iter
            left = (seq for seq in ordered(kept) if seq not in changed)
            places = merge(left, ordered(fresh), reverse=query.descending)
            return list(islice(places, query.skip, query.skip + query.limit)), count
        found: Iterable[int] = self._merged
        if changed:
            unchanged = (seq for seq in chain(self._merged, self._rest) if seq not in changed)
            again = sorted(fresh, key=self._key, reverse=query.descending)
            found = merge(unchanged, again, key=self._key, reverse=query.descending)
        return list(islice(found, query.skip, query.skip + query.limit)), count


def _is_in(places: Sequence[int], seq: int) -> bool:
    at = bisect_left(places, seq)
    return at < len(places) and places[at] == seq
