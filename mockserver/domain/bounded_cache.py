"""Bounded memories: what was worked out before, and the newest keys with what is known of them.

Both are dictionaries with a bound. Clients choose the keys of many of them, so one without would
let a client fill the memory; and as dictionaries of Python's own they cost nothing where a key is
there, which is nearly always.
"""

from collections.abc import Callable, Hashable
from dataclasses import field
from functools import cache
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """What ``make`` makes of a key, for at most ``most`` keys: all are forgotten when there are
    more. What it makes of keys that do not ``fit`` is not kept: where clients choose how long one
    is, few may fill the memory.
    """

    __slots__ = ("_fit", "_make", "_most")

    def __init__(
        self, most: int, make: Callable[[K], V], fit: Callable[[K], bool] | None = None
    ) -> None:
        self._most = most
        self._make = make
        self._fit = fit

    def __missing__(self, key: K) -> V:
        """What a dictionary asks for a key that it does not have."""
        value = self._make(key)
        if self._fit is not None and not self._fit(key):
            return value
        # All at once: to forget the oldest alone would have to note each use.
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value


def by_type(make: F) -> F:
    """``functools.cache`` for functions of types, which the type checker takes for what has no
    hash."""
    return cast(F, cache(make))


class Recent(dict[K, V]):
    """A dictionary that forgets its oldest key beyond ``most``."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        self.most = most

    def put(self, key: K, value: V) -> None:
        """Remember a key as the newest."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self.most:
            del self[next(iter(self))]


def memory(most: int) -> Any:
    """A field of a dataclass that begins as an empty ``Recent``."""
    return field(init=False, repr=False, default_factory=lambda: Recent(most))
