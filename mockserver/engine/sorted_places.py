"""The rows of a long table in the order that a list sorts by."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from math import inf
from typing import Any, Generic, TypeAlias, TypeVar

from mockserver.domain.record import record, replace
from mockserver.domain.slices import Slices
from mockserver.engine.query import Bound, TableRow

R = TypeVar("R", bound=TableRow)

SLICE = 2_000
"""Rows that a search looks at without a pause: some milliseconds. A search that has no more to look at makes none."""

BLOCKS = 20
"""Blocks that are gone through without a pause: a millisecond."""

_BLOCK = 1_000
_PUT = 200

Places: TypeAlias = "array[int]"


@record
class Block:
    """Places next to each other in an order, all of them from ``low`` to ``high``: none need be looked at when no row
    between the two is wanted."""

    places: Places
    low: int
    high: int


class ChangedPlaces(set[int]):
    """The places of rows that were added, replaced or taken back since something began to look at them."""


class SortedPlaces(Generic[R]):
    """The places of the first ``known`` rows by a value, those of one value in the order of their adding.

    They are in blocks, so that a place is found in a few comparisons and put in without moving the others. A block
    never changes, so a search may go through the blocks of one instant while rows change. The values are kept, so that
    a place is found also once its row has another.
    """

    __slots__ = ("_blocks", "_gone", "_read", "_rows", "_values")

    def __init__(self, rows: Sequence[R], read: Callable[[R], Any]) -> None:
        self._gone = 0
        self._rows = rows
        self._read = read
        self._values: list[Any] = []
        self._blocks: list[Block] = []

    @property
    def known(self) -> int:
        """How many rows it knows."""
        return len(self._values)

    def build(self, changed: ChangedPlaces) -> Slices[None]:
        """Take in all rows, as they are now; then what ``changed`` has heard of meanwhile, until there is no more."""
        rows, values, runs, total = self._rows, self._values, list[Places](), len(self._rows)
        while (start := len(values)) < min(total, len(rows)):
            values += map(self._read, rows[start : min(start + SLICE, total)])
            runs.append(array("Q", sorted(range(start, len(values)), key=self._key)))
            yield
        merged = merge(*runs, key=self._key)
        while block := array("Q", islice(merged, _BLOCK)):
            self._blocks.append(Block(block, min(block), max(block)))
            yield
        lot = 0
        while changed or len(values) > len(rows):
            while len(values) > len(rows):
                self._forget()
            # More at each turn, so that it ends however much changes meanwhile.
            lot += _PUT
            for _ in range(min(lot, len(changed))):
                self.look_again(changed.pop())
            if changed:
                yield

    def learn(self) -> Slices[None]:
        """Take in the rows that have been added since."""
        self._gone = 0
        while len(self._rows) - self.known > _PUT:
            self._learn(self.known + _PUT)
            yield
        self._learn(len(self._rows))

    def _learn(self, until: int) -> None:
        for seq in range(self.known, until):
            self._values.append(self._read(self._rows[seq]))
            self._put(seq)

    def blocks(self, bounds: Iterable[Bound[R]] = (), *, descending: bool) -> Iterator[Block]:
        """All blocks of this instant in which values may be within the ``bounds``, of those that bound what this sorts
        by; the last block first when ``descending``."""
        first, end = 0, len(self._blocks)
        for bound in bounds:
            if bound.read != self._read:
                continue
            if bound.above:
                first = max(first, self._block_of((bound.value, -1)))
            else:
                end = min(end, self._block_of((bound.value, inf)) + 1)
        blocks = self._blocks[first:end]
        return iter(blocks[::-1] if descending else blocks)

    def marks(self, bound: Bound[R]) -> Slices[bytearray]:
        """A byte for each row, 1 where its value is within the bound."""
        blocks, mark = self._within(bound), 1
        beyond = self._within(replace(bound, above=not bound.above, inclusive=not bound.inclusive))
        if len(beyond) < len(blocks):
            blocks, mark = beyond, 0
        marks = bytearray([1 - mark]) * len(self._rows)
        for number, block in enumerate(blocks):
            if number % BLOCKS == 0:
                yield
            for seq in block:
                marks[seq] = mark
        return marks

    def look_again(self, seq: int) -> None:
        """A row may have another value by now."""
        if seq < len(self._values):
            value = self._read(self._rows[seq])
            if value != self._values[seq]:
                self._take(seq)
                self._values[seq] = value
                self._put(seq)

    def _put(self, seq: int) -> None:
        key, blocks = self._key(seq), self._blocks
        number = min(self._block_of(key), len(blocks) - 1)
        if number < 0:
            blocks.append(Block(array("Q", [seq]), seq, seq))
            return
        block = blocks[number]
        at = bisect_left(block.places, key, key=self._key)
        longer = block.places[:at] + array("Q", [seq]) + block.places[at:]
        half = len(longer) // 2
        parts = [longer] if half < _BLOCK else [longer[:half], longer[half:]]
        low, high = min(block.low, seq), max(block.high, seq)
        blocks[number : number + 1] = [Block(part, low, high) for part in parts]

    def _take(self, seq: int) -> None:
        key, blocks = self._key(seq), self._blocks
        number = self._block_of(key)
        block = blocks[number]
        at = bisect_left(block.places, key, key=self._key)
        shorter = block.places[:at] + block.places[at + 1 :]
        blocks[number : number + 1] = [replace(block, places=shorter)] if shorter else []

    def take_back(self, seq: int) -> bool:
        """The newest row is no more. False when so many have gone since :meth:`learn` that the order is better made
        anew: a lagging read takes thousands back at once."""
        self._gone += 1
        if self._gone > _PUT:
            return False
        if seq < self.known:
            self._forget()
        return True

    def _forget(self) -> None:
        self._take(len(self._values) - 1)
        self._values.pop()

    def _within(self, bound: Bound[R]) -> list[Places]:
        # Between the rows that have the value itself and those beyond it.
        key = bound.value, inf if bound.above != bound.inclusive else -1
        number, blocks = self._block_of(key), [block.places for block in self._blocks]
        if number < len(blocks):
            at = bisect_left(blocks[number], key, key=self._key)
            parts = blocks[number][at:], blocks[number][:at]
        else:
            parts = array("Q"), array("Q")
        return [parts[0], *blocks[number + 1 :]] if bound.above else [*blocks[:number], parts[1]]

    def _block_of(self, key: tuple[Any, float]) -> int:
        return bisect_left(self._blocks, key, key=lambda block: self._key(block.places[-1]))

    def _key(self, seq: int) -> tuple[Any, float]:
        return self._values[seq], seq
