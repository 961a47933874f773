"""Where the rows of a table stand by the value that an index reads."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from mockserver.domain.record import record
from mockserver.domain.slices import Slices
from mockserver.engine.spread import Spread

R = TypeVar("R")

LOT = 20_000
"""Places that are marked without a pause: a millisecond."""

_MARKED = 4
"""Values of an index whose marks are kept: a byte for each row of the table."""


@record
class Index(Generic[R]):
    """How rows are found by a value. With ``several`` a row has a tuple of different values, and ``Table.find`` finds
    it by each of them."""

    name: str
    read: Callable[[R], Any]
    several: bool = False


class Places(Generic[R]):
    """The places of the first ``known`` rows by value; a single place is not in a list.

    Marks are the same for one value as a byte for each row, 1 where the row has it: those of several filters are
    combined a hundred times as fast as lists.
    """

    __slots__ = ("_by_value", "_marks", "index", "known")

    def __init__(self, index: Index[R]) -> None:
        self.index = index
        self.known = 0
        self._by_value: Spread[Hashable, int | list[int]] = Spread()
        # Each is right as far as it goes.
        self._marks: dict[Hashable, bytearray] = {}

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        by_value, read = self._by_value, self.index.read
        for seq in range(self.known, until):
            value = read(rows[seq])
            if value is not None:
                here = by_value.get(value)
                if here is None:
                    by_value.put(value, seq)
                elif type(here) is list:
                    here.append(seq)
                elif type(here) is int:
                    by_value.put(value, [here, seq])
        self.known = until

    def values(self) -> list[Hashable]:
        """The values that rows have, in no order."""
        return list(self._by_value)

    def contents(self) -> Spread[Hashable, int | list[int]]:
        """The places by value."""
        return self._by_value

    def of(self, value: Hashable) -> list[int]:
        """The places of a value, in order; nobody changes them but this."""
        here = self._by_value.get(value)
        return here if isinstance(here, list) else [] if here is None else [here]

    def marks(self, value: Hashable, until: int) -> Slices[bytearray]:
        """The marks of a value for at least those rows before ``until``, which must be known, that stay."""
        marks = self._marks.get(value)
        if marks is None:
            if len(self._marks) >= _MARKED:
                del self._marks[next(iter(self._marks))]
            marks = self._marks[value] = bytearray()
        # Rows that are taken back meanwhile are known no more, and marked when they are learnt anew.
        while (start := len(marks)) < min(until, self.known):
            end, here = min(start + LOT, until, self.known), self.of(value)
            marks.extend(bytes(end - start))
            for seq in here[bisect_left(here, start) : bisect_left(here, end)]:
                marks[seq] = 1
            yield
        return marks

    def move(self, before: Any, after: Any, seq: int) -> None:
        """A row may have another value by now."""
        if seq < self.known and after != before:
            self.take(before, seq)
            self.put(after, seq)

    def put(self, value: Hashable | None, seq: int) -> None:
        """A row has got this value."""
        if value is None:
            return
        here = self._by_value.get(value)
        if here is None:
            self._by_value.put(value, seq)
        elif isinstance(here, int):
            self._by_value.put(value, sorted((here, seq)))
        else:
            insort(here, seq)
        self._mark(value, seq, 1)

    def take(self, value: Hashable | None, seq: int) -> None:
        """A row has lost this value."""
        if value is None:
            return
        here = self._by_value[value]
        if isinstance(here, int):
            del self._by_value[value]
        else:
            del here[bisect_left(here, seq)]
            if not here:
                del self._by_value[value]
        self._mark(value, seq, 0)

    def take_back(self, row: R, seq: int) -> None:
        """The newest row is no more."""
        self.take(self.index.read(row), seq)
        self.known = seq
        for marks in self._marks.values():
            del marks[seq:]

    def _mark(self, value: Hashable, seq: int, mark: int) -> None:
        marks = self._marks.get(value)
        if marks is not None and seq < len(marks):
            marks[seq] = mark


class ManyPlaces(Places[R]):
    """The same for an index by ``several`` values."""

    __slots__ = ()

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        for seq in range(self.known, until):
            self.put(self.index.read(rows[seq]), seq)
        self.known = until

    def put(self, value: Any, seq: int) -> None:
        """A row has got these values."""
        for one in value:
            super().put(one, seq)

    def take(self, value: Any, seq: int) -> None:
        """A row has lost these values."""
        for one in value:
            super().take(one, seq)
