"""Indexes of a table: where its rows stand by a value that is read of them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from mockserver.domain.record import record

R = TypeVar("R")


@record
class Index(Generic[R]):
    """How rows are found by a value. With ``several`` a row has a tuple of different values, and ``Table.find`` finds
    it by each of them."""

    name: str
    read: Callable[[R], Any]
    several: bool = False

    def values_of(self, row: R) -> Sequence[Hashable]:
        """The values that a row is found by."""
        value = self.read(row)
        return value if self.several else () if value is None else (value,)


class PostingLists(Generic[R]):
    """The places of the first ``known`` rows of a table by value, each list in order. A single place is not in a list:
    most references are had by one row."""

    __slots__ = ("_by_value", "index", "known")

    def __init__(self, index: Index[R]) -> None:
        self.index = index
        self._by_value: dict[Hashable, int | list[int]] = {}
        self.known = 0

    def learn(self, rows: Sequence[R], until: int) -> None:
        """Take in the rows before ``until`` that have been added since."""
        by_value, values_of = self._by_value, self.index.values_of
        for seq in range(self.known, until):
            for value in values_of(rows[seq]):
                here = by_value.get(value)
                if here is None:
                    by_value[value] = seq
                elif isinstance(here, list):
                    here.append(seq)
                else:
                    by_value[value] = [here, seq]
        self.known = until

    def values(self) -> list[Hashable]:
        """The values that rows have, in no order."""
        return list(self._by_value)

    def contents(self) -> dict[Hashable, int | list[int]]:
        """The places by value."""
        return self._by_value

    def of(self, value: Hashable) -> list[int]:
        """The places of a value, in order; nobody changes them but this."""
        here = self._by_value.get(value)
        return here if isinstance(here, list) else [] if here is None else [here]

    def move(self, before: Sequence[Hashable], after: Sequence[Hashable], seq: int) -> None:
        """A row may have other values by now."""
        if seq < self.known and after != before:
            for value in before:
                self._take(value, seq)
            for value in after:
                self._put(value, seq)

    def take_back(self, row: R, seq: int) -> None:
        """The newest row is no more."""
        if seq < self.known:
            self.move(self.index.values_of(row), (), seq)
            self.known = seq

    def _put(self, value: Hashable, seq: int) -> None:
        here = self._by_value.get(value)
        if here is None:
            self._by_value[value] = seq
        elif isinstance(here, list):
            insort(here, seq)
        else:
            self._by_value[value] = sorted((here, seq))

    def _take(self, value: Hashable, seq: int) -> None:
        here = self._by_value[value]
        if isinstance(here, list):
            del here[bisect_left(here, seq)]
        if not isinstance(here, list) or not here:
            del self._by_value[value]
