"""Reading the scenario files again: at SIGHUP, and with ``--watch`` when one of them has changed.

Bad files leave the old rules in force; the log and ``/readyz`` report their faults.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mockserver.adapters.scenario_files import stamps
from mockserver.adapters.server_log import ServerLog

EVERY_SECONDS = 0.5
"""How often the files are looked at. A look asks the system for the times of the files and reads none."""


def reloading(app: Any, log: ServerLog) -> Callable[[], None]:
    """A call that lets ``app`` read its files again, once at a time, and logs how it went."""
    alone = asyncio.Lock()
    running: set[asyncio.Task[None]] = set()

    async def read() -> None:
        async with alone:
            try:
                await app.reload()
                problems = list(getattr(app, "ready_problems", []))
            except Exception as problem:
                problems = [str(problem)]
        for problem_line in problems:
            log.error(f"reload failed, the old rules stay in force: {problem_line}")
        if not problems:
            log.info("scenarios reloaded")

    def reload() -> None:
        task = asyncio.get_running_loop().create_task(read())
        running.add(task)
        task.add_done_callback(running.discard)

    return reload


@asynccontextmanager
async def watching(names: tuple[str, ...], reload: Callable[[], None]) -> AsyncIterator[None]:
    """Call ``reload`` whenever one of the files changes, as long as the block lasts."""
    task = asyncio.create_task(_watch(names, stamps(names), reload))
    try:
        yield
    finally:
        task.cancel()


async def _watch(names: tuple[str, ...], seen: Mapping[str, object], reload: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        before, seen = seen, stamps(names)
        if seen != before:
            reload()
