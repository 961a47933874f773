"""A dictionary that grows without a pause."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MOST = 40_000
"""Keys from which on there are several parts: to make them takes some milliseconds, once."""

_PARTS = 64


class Spread(Generic[K, V]):
    """A dictionary of many keys, in parts.

    A dictionary that is full moves all that it has: at a million keys everybody waits a tenth of a second for it. A
    part of 64 takes a millisecond then. While there are few keys, there is one part.
    """

    __slots__ = ("_last", "parts")

    def __init__(self) -> None:
        self._last = 0
        self.parts: list[dict[K, V]] = [{}]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __contains__(self, key: K) -> bool:
        return key in self.parts[hash(key) & self._last]

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self.parts)

    def __getitem__(self, key: K) -> V:
        return self.parts[hash(key) & self._last][key]

    def __setitem__(self, key: K, value: V) -> None:
        part = self.parts[hash(key) & self._last]
        part[key] = value
        if len(part) > _MOST and len(self.parts) == 1:
            self._last = _PARTS - 1
            self.parts = [{} for _ in range(_PARTS)]
            for one, worth in part.items():
                self.parts[hash(one) & self._last][one] = worth

    def __delitem__(self, key: K) -> None:
        del self.parts[hash(key) & self._last][key]

    def get(self, key: K) -> V | None:
        """The value of a key; None when there is none."""
        return self.parts[hash(key) & self._last].get(key)

    def copy(self) -> Spread[K, V]:
        """Another with the same keys and values."""
        copy: Spread[K, V] = Spread()
        copy._last = self._last
        copy.parts = [part.copy() for part in self.parts]
        return copy
