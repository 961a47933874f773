"""A large dropped sandbox is freed by a thread; one in use is left alone."""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import ref

import pytest

from mockserver.web.upkeep import MANY, Freeing
from tests.driving import Api

ROWS = MANY // 2 + 1


def fill(api: Api, rows: int = ROWS) -> list[Any]:
    """A batch of failing rows; the lists that the sandbox consists of."""
    api.batch(*["none,1,AUD,a"] * rows)
    api.call("GET", "/__admin/journal?q=x")
    for number in range(MANY - rows):
        api.app.world.sandboxes.open("sk_tests", 0).schedule.entries.append(number)  # type: ignore[arg-type]
    return api.app.world.sandboxes.open("sk_tests", 0).contents()


@asynccontextmanager
async def freeing(api: Api) -> Any:
    """As the application does while it is served."""
    work = Freeing()
    api.app.world.sandboxes.on_leave = work.expect
    running = asyncio.create_task(work.run())
    yield
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def until(holds: Callable[[], bool], most: int = 1_000) -> bool:
    """Whether something comes to hold within so many turns."""
    for _ in range(most):
        if holds():
            return True
        await asyncio.sleep(0.0001)
    return False


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/__admin/reset"), ("POST", "/__admin/reset?all=true"), ("PUT", "/__admin/state")],
)
def test_what_lost_its_key_is_freed(method: str, path: str) -> None:
    api = Api()
    empty = api.call("GET", "/__admin/state", key="sk_empty").raw
    contents = fill(api)
    gone = ref(api.app.world.sandboxes.open("sk_tests", 0))

    async def replace() -> bool:
        async with freeing(api):
            reply = await api.calling(method, path, raw=empty if method == "PUT" else b"")
            assert reply.status == 200
            assert gone() is None
            return await until(lambda: not any(contents))

    assert asyncio.run(replace())


def test_one_that_somebody_uses_or_that_is_kept_aside_is_left_alone() -> None:
    api = Api()
    contents = fill(api)

    async def replace() -> None:
        async with freeing(api):
            used = [api.app.world.sandboxes.open("sk_tests", 0)]
            await api.calling("POST", "/__admin/reset?undo=true")
            assert not await until(lambda: not any(contents), 100)
            await api.calling("POST", "/__admin/undo")
            assert (await api.calling("GET", "/batch")).body["count"] == 1
            await api.calling("POST", "/__admin/reset")
            assert not await until(lambda: not any(contents), 100)
            used.clear()
            assert await until(lambda: not any(contents))

    asyncio.run(replace())


def test_a_small_one_is_freed_at_once() -> None:
    api = Api()
    contents = fill(api, 10)[:-2]
    contents = [held for held in contents if isinstance(held, dict)]

    async def replace() -> None:
        async with freeing(api):
            await api.calling("POST", "/__admin/reset")
            assert not await until(lambda: not any(contents), 100)

    api.app.world.sandboxes.open("sk_tests", 0).schedule.entries.clear()
    asyncio.run(replace())
