"""Long work during which others are served: a generator that pauses now and then, and returns what it has made."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import TypeAlias, TypeVar

K = TypeVar("K")
T = TypeVar("T")

_FREED = 5_000
"""Values that are given back in one step."""

MANY = 5_000
"""Members of a map beyond which they are taken so many at a time."""

Slices: TypeAlias = Generator[None, None, T]


def at_once(work: Slices[T]) -> T:
    """What the work makes, without a pause."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made


def let_go(values: list[object]) -> Slices[None]:
    """Forget values, and all that is in their lists and objects, bit by bit: millions of them that went at once would
    keep everybody waiting. What somebody else has too stays as it is."""
    while values:
        some = values[-_FREED:]
        del values[-_FREED:]
        for one in some:
            if isinstance(one, list | dict) and one:
                values.extend(one.values() if isinstance(one, dict) else one)
        del some
        yield


def parts_of(members: Mapping[K, T]) -> Iterator[dict[K, T]]:
    """A long map, ``MANY`` members at a time."""
    rest = iter(members.items())
    while some := dict(islice(rest, MANY)):
        yield some


def in_order(members: Mapping[str, T]) -> Slices[dict[str, T]]:
    """The members of a long map by name."""
    lots = []
    for some in parts_of(members):
        lots.append(sorted(some))
        yield
    names, found = merge(*lots), dict[str, T]()
    while some := {name: members[name] for name in islice(names, MANY)}:
        found |= some
        yield
    return found
