"""Drives long work that pauses, as a server does that has others to serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mockserver.domain.slices import Slices

T = TypeVar("T")


def drive(work: Slices[T], between: Callable[[], object] = lambda: None) -> tuple[T, int]:
    """What the work makes, with something else in each of its pauses, and how many there were."""
    pauses = 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made, pauses
        pauses += 1
        between()
