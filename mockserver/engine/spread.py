"""A dictionary that grows, and is copied, without a pause."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MOST = 10_000
"""Keys from which on there are several parts: to make them takes 3 ms, once (of 40,000: 12)."""

_PARTS = 64
_NONE = frozenset[int]()


class Spread(Generic[K, V]):
    """A dictionary of many keys, in parts.

    A dictionary that is full moves all that it has: at a million keys everybody waits a tenth of a second for it, and
    half as long for a copy. A part of 64 takes a millisecond then. While there are few keys, there is one part. A copy
    has the same parts, each until one of the two writes there.
    """

    __slots__ = ("_last", "_shared", "parts")

    def __init__(self) -> None:
        self._last = 0
        self.parts: list[dict[K, V]] = [{}]
        # Which parts another may have too, by place.
        self._shared: frozenset[int] = _NONE

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __contains__(self, key: K) -> bool:
        return key in self.parts[hash(key) & self._last]

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self.parts)

    def __getitem__(self, key: K) -> V:
        return self.parts[hash(key) & self._last][key]

    def put(self, key: K, value: V) -> None:
        """Keep the value of a key. Not ``[key] =``, which takes 500 instructions more: every charge is kept here."""
        place = hash(key) & self._last
        part = self._own(place) if place in self._shared else self.parts[place]
        part[key] = value
        if len(part) > _MOST and len(self.parts) == 1:
            self._last = _PARTS - 1
            self.parts = [{} for _ in range(_PARTS)]
            for one, worth in part.items():
                self.parts[hash(one) & self._last][one] = worth

    def __delitem__(self, key: K) -> None:
        place = hash(key) & self._last
        part = self._own(place) if place in self._shared else self.parts[place]
        del part[key]

    def get(self, key: K) -> V | None:
        """The value of a key; None when there is none."""
        return self.parts[hash(key) & self._last].get(key)

    def copy(self) -> Spread[K, V]:
        """Another with the same keys and values."""
        copy: Spread[K, V] = Spread()
        copy._last, copy.parts = self._last, self.parts.copy()
        self._shared = copy._shared = frozenset(range(len(self.parts)))
        return copy

    def shorten(self, most: int) -> None:
        """Let go of so many keys, or of a part that another may have too. Nobody may want them any more."""
        place = len(self.parts) - 1
        part = self.parts[place]
        if place in self._shared or len(part) <= most:
            self.parts.pop()
            return
        for _ in range(most):
            part.popitem()

    def _own(self, place: int) -> dict[K, V]:
        self._shared -= {place}
        part = self.parts[place] = self.parts[place].copy()
        return part
