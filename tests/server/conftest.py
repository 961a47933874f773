import asyncio
from collections.abc import Iterator

import pytest

from tests.server.connecting import Clock


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    yield clock
    for task in asyncio.all_tasks(clock):
        task.cancel()
    clock.step()
    clock.close()
