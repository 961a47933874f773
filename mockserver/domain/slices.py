"""Long work during which others are served: a generator that pauses now and then, and returns what it has made."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Slices: TypeAlias = Generator[None, None, T]


def at_once(work: Slices[T]) -> T:
    """What the work makes, without a pause."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made
