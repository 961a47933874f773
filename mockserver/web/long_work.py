"""Doing long work of the engine between the requests of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from mockserver.domain.masking import EFFORT, MUCH
from mockserver.domain.slices import Slices

T = TypeVar("T")
U = TypeVar("U")

MANY_RULES = 300
"""Rules from which on making a config of them takes so long that others must not wait for it."""

_SLICE = 10


async def with_pauses(work: Slices[T]) -> T:
    """What long work makes, letting others have their turn at each of its pauses."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made
        await asyncio.sleep(0)


async def one_by_one(items: Iterable[T]) -> list[T]:
    """All that an iterator makes, letting others have their turn after each."""
    made = []
    for item in items:
        made.append(item)
        await asyncio.sleep(0)
    return made


async def in_slices(items: Iterable[T], make: Callable[[T], U]) -> list[U]:
    """What is made of each of many small items, letting others have their turn after some of them."""
    made, effort = [], EFFORT.signs
    for number, item in enumerate(items, 1):
        made.append(make(item))
        if not number % _SLICE or EFFORT.signs - effort > MUCH:
            effort = EFFORT.signs
            await asyncio.sleep(0)
    return made
