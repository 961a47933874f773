"""Doing long work of the engine between the requests of others."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TypeVar

from mockserver.domain.slices import Slices

T = TypeVar("T")

MANY_RULES = 300
"""Rules from which on making a config of them takes so long that others must not wait for it."""


TURN = 0.005
"""Seconds of work after which others are served."""


async def with_pauses(work: Slices[T]) -> T:
    """What long work makes; others are served after every ``TURN`` of it, at its next pause."""
    began = perf_counter()
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made
        if perf_counter() - began >= TURN:
            await asyncio.sleep(0)
            began = perf_counter()
