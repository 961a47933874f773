"""Long work during which others are served: a generator that pauses now and then, and returns what it has made."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Generic, TypeAlias, TypeVar

K = TypeVar("K")
T = TypeVar("T")

MANY = 5_000
"""Members of a long map that are taken at a time."""

Cooperative: TypeAlias = Generator[None, None, T]


class Pauses(Generic[T]):
    """The pauses of some work, one after the other; ``made`` is what the work has made when they are over."""

    made: T

    def __init__(self, work: Cooperative[T]) -> None:
        self._work = work

    def __iter__(self) -> Iterator[None]:
        self.made = yield from self._work


def run_to_end(work: Cooperative[T]) -> T:
    """What the work makes, without a pause."""
    pauses = Pauses(work)
    for _ in pauses:
        pass
    return pauses.made


def parts_of(members: Mapping[K, T]) -> Iterator[dict[K, T]]:
    """A long map, ``MANY`` members at a time."""
    rest = iter(members.items())
    while some := dict(islice(rest, MANY)):
        yield some


def in_order(members: Mapping[str, T]) -> Cooperative[dict[str, T]]:
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
