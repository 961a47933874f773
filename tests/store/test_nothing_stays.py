"""A sandbox that leaves the memory is freed at once: what is cyclic may be frozen, and would stay
for good."""

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from weakref import ref

import pytest

from mockserver.engine.sandbox import Sandbox
from tests.control.test_state import fill, fill_everything
from tests.store.twins import Kept

LAG = {
    "version": 1,
    "name": "lag",
    "rules": [{"id": "lag", "when": {"op": "charge.get"}, "then": {"lag": "1h"}}],
}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Kept]:
    api = Kept(tmp_path / "s.db")
    fill(api)
    fill_everything(api)
    assert api.call("PUT", "/__admin/scenarios", LAG).status == 200
    api.charge()
    # What there is by now is not looked at.
    gc.freeze()
    gc.disable()
    yield api
    gc.enable()
    api.kill()


def sandbox(api: Kept) -> ref[Sandbox]:
    return ref(api.app.world.sandboxes.open("sk_tests", 0))


def left() -> set[str]:
    """The types of this product of which something is cyclic garbage."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    rooms = ("mockserver.engine", "mockserver.store")
    found = {type(one).__name__ for one in gc.garbage if type(one).__module__.startswith(rooms)}
    gc.garbage.clear()
    return found


def test_one_that_is_put_away_is_gone(api: Kept) -> None:
    gone = sandbox(api)
    store = api.app.world.store
    assert store is not None
    # A commit later, nothing of it is still to be written.
    api.call("GET", "/charge", key="sk_other")
    assert store.put_away(api.app.world.sandboxes.open("sk_tests", 0))
    assert gone() is None
    assert left() == set()
    assert api.call("GET", "/charge").body["count"] > 0


def test_one_that_is_reset_is_gone_with_the_next_commit(api: Kept) -> None:
    gone = sandbox(api)
    assert api.call("POST", "/__admin/reset").status == 200
    api.charge()
    assert gone() is None
    assert left() == set()


def test_a_sandbox_that_was_hardly_used_takes_less_than_39_kib(tmp_path: Path) -> None:
    api = Kept(tmp_path / "small.db")
    for number in range(50):
        api.call("GET", "/charge", key=f"sk_first_{number}")
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(200):
            api.call("GET", "/charge", key=f"sk_{number}")
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    api.kill()
    # 37.9 now. A new memory may raise it by what it takes, some 0.3 each.
    assert held / 200 < 39 * 1024
