"""Doing long work of the engine between the requests of others."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from mockserver.domain.slices import Slices

T = TypeVar("T")

MANY_RULES = 300
"""Rules from which on making a config of them takes so long that others must not wait for it."""


async def with_pauses(work: Slices[T]) -> T:
    """What long work makes, letting others have their turn at each of its pauses."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made
        await asyncio.sleep(0)
