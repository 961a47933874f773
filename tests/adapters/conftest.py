from collections.abc import Iterator

import pytest

from tests.adapters.connecting import Clock


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    yield clock
    clock.close()
