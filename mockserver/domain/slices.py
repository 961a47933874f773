"""Long work during which others are served: a generator that pauses now and then, and returns what it has made."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

_FREED = 5_000
"""Values that are given back in one step."""

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
