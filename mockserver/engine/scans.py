"""Long searches, in slices: others are answered meanwhile, and the page is still that of the instant of its answer.

A scan looks at the rows as they stand when it comes to them. The table notes for it which rows were added or replaced
since it began, and those alone are looked at again when the page is asked for.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress, filterfalse, islice
from typing import Any, Generic, TypeVar

from mockserver.domain.slices import Slices
from mockserver.engine.query import Query, TableRow, window
from mockserver.engine.sorted_places import BLOCKS, SLICE, Block, ChangedPlaces, SortedPlaces

R = TypeVar("R", bound=TableRow)

_LOT = 500
"""Places that are gone through when one of them was found."""


class Scan(Generic[R]):
    """One search that looks at many rows. ``changed`` are the places of rows that changed after it began."""

    __slots__ = ("_count", "_first", "_found", "_rest", "_rows", "changed", "query")

    def __init__(self, rows: Sequence[R], query: Query[R]) -> None:
        self.query = query
        self.changed = ChangedPlaces()
        self._rows = rows
        self._found = bytearray()
        self._count = 0
        # The first places of the order, and those behind them.
        self._first = array("Q")
        self._rest: Iterator[int] = iter(())

    def look(self, marks: Sequence[bytearray], checks: Sequence[Callable[[R], bool]]) -> Slices[None]:
        """Find the rows that are marked in all ``marks``, pass the ``checks`` and were added in the time of the
        query."""
        (first, last), total = window(self._rows, self.query), len(self._rows)
        common = None
        for one in marks:
            # Arithmetic on one number of a byte for each row takes a nanosecond for each.
            number = int.from_bytes(memoryview(one)[:total], "little")
            common = number if common is None else common & number
            yield
        self._found = found = bytearray(b"\1" * total if common is None else common.to_bytes(total, "little"))
        found[:first] = bytes(first)
        found[last:] = bytes(total - last)
        rows = self._rows
        for start in range(first, last, SLICE) if checks else ():
            for seq in compress(range(start, len(rows)), found[start : min(start + SLICE, last)]):
                if not all(check(rows[seq]) for check in checks):
                    found[seq] = 0
            yield
        self._count = found.count(1)

    @property
    def is_short(self) -> bool:
        """Whether so few rows were found that to sort them needs no order of the table."""
        return self._count <= SLICE

    def sort(self) -> None:
        """Sort the few rows that were found."""
        # Rows that were taken back meanwhile are no more.
        places, at, end = array("Q"), -1, len(self._rows)
        while (at := self._found.find(1, at + 1, end)) >= 0:
            places.append(at)
        self._first = array("Q", sorted(places, key=self._key, reverse=self.query.descending))

    def follow(self, order: SortedPlaces[R]) -> Slices[None]:
        """Take the rows that were found in an order of all."""
        query, found = self.query, self._found
        # What was added since is in the order too, and is looked at when the page is asked for.
        found.extend(bytes(max(len(self._rows) - len(found), 0)))
        blocks = order.blocks(query.bounds, descending=query.descending)
        for number, block in enumerate(blocks, 1):
            self._first.extend(self._found_in(block))
            if len(self._first) >= query.skip + query.limit:
                break
            if number % BLOCKS == 0:
                yield
        self._rest = chain.from_iterable(map(self._found_in, blocks))

    def page(self, fits: Callable[[int], bool]) -> tuple[list[int], int]:
        """The places on the page, and how many there are on all; ``fits`` says whether a row is one of them now."""
        query, changed, found = self.query, self.changed, self._found
        fresh = [seq for seq in changed if fits(seq)]
        count = self._count + len(fresh) - sum(found[seq] for seq in changed if seq < len(found))
        end = query.skip + query.limit
        in_order = query.sort is not None
        places: Iterable[int] = chain(self._first, self._further()) if in_order else self._by_place()
        if changed:
            unchanged = list(islice(filterfalse(changed.__contains__, places), end))
            places = self._put_in(unchanged, fresh)
        return list(islice(places, query.skip, end)), count

    def _put_in(self, unchanged: list[int], fresh: Iterable[int]) -> list[int]:
        """All in order: a few places put in between many takes a tenth of the time of a merge, which reads them all."""
        if self.query.descending:
            unchanged.reverse()
        all_places, start = list[int](), 0
        for seq in sorted(fresh, key=self._key):
            at = bisect_left(unchanged, self._key(seq), start, key=self._key)
            all_places += unchanged[start:at]
            all_places.append(seq)
            start = at
        all_places += unchanged[start:]
        if self.query.descending:
            all_places.reverse()
        return all_places

    def _found_in(self, block: Block) -> Iterator[int]:
        if self._found.find(1, block.low, block.high + 1) < 0:
            return iter(())
        places = block.places[::-1] if self.query.descending else block.places
        return compress(places, map(self._found.__getitem__, places))

    def _by_place(self) -> Iterator[int]:
        found, lots = self._found, range(0, len(self._found), _LOT)
        for start in reversed(lots) if self.query.descending else lots:
            lot = found[start : start + _LOT]
            # To see that a lot has none takes a hundredth of the time of going through it.
            if 1 not in lot:
                continue
            if self.query.descending:
                yield from compress(range(start + len(lot) - 1, start - 1, -1), reversed(lot))
            else:
                yield from compress(range(start, start + len(lot)), lot)

    def _further(self) -> Iterator[int]:
        for seq in self._rest:
            self._first.append(seq)
            yield seq

    def _key(self, seq: int) -> tuple[Any, int]:
        """What a place sorts by; rows that sort alike keep the order of the plain list."""
        sort = self.query.sort
        return (sort(self._rows[seq]) if sort is not None else 0), seq
