"""Many sandboxes on one server: a bound that refuses the next key, and a list that comes in
pages."""

import asyncio
import gc
import tracemalloc
from weakref import ref

import pytest

from mockserver.domain.clock import SECOND
from mockserver.engine.sandbox import sandbox_id_of
from mockserver.web import upkeep
from tests.driving import NOW, Api


def open_key(api: Api, number: int) -> int:
    return api.call("GET", "/charge", key=f"sk_{number}").status


def requests(api: Api, **query: int) -> list[int]:
    rows = api.call("GET", "/__admin/sandboxes", query=query, key=None).body["sandboxes"]
    return [row["requests"] for row in rows]


def test_a_key_too_many_is_refused_and_nothing_changes() -> None:
    api = Api(most_sandboxes=2)
    assert [open_key(api, 1), open_key(api, 2)] == [200, 200]
    refused = api.call("GET", "/charge", key="sk_3")
    assert (refused.status, refused.headers["retry-after"]) == (503, "60")
    assert refused.body == {
        "message": "Retry Later",
        "code": 37,
        "isRetryable": True,
        "type": "https://docs.payfurl.com/errorcodes#37",
        "resource": "/charge",
        "details": {
            "XSecretkey": "this server has 2 sandboxes, its limit (--most-sandboxes); open ones "
            "keep "
            "working, and --sandbox-idle drops unused ones"
        },
        "gatewayCode": None,
        "gatewayMessage": None,
        "httpStatus": 503,
    }
    assert api.call("GET", "/__admin/sandboxes", key=None).body["count"] == 2
    assert open_key(api, 1) == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/__admin/sandbox", None),
        ("POST", "/__admin/sandboxes", {"key": "sk_new", "name": "New"}),
        ("POST", "/__inbox/orders", {}),
        ("POST", "/charge/card", {}),
    ],
)
def test_every_way_of_opening_a_sandbox_is_refused_alike(
    method: str, path: str, body: object
) -> None:
    api = Api(most_sandboxes=1)
    assert open_key(api, 1) == 200
    refused = api.call(method, path, body, key="sk_new")
    assert (refused.status, refused["code"], refused.headers["retry-after"]) == (503, 37, "60")


def test_a_copy_to_a_new_key_is_refused_and_to_an_open_one_is_not() -> None:
    api = Api(most_sandboxes=2)
    assert [open_key(api, 1), open_key(api, 2)] == [200, 200]
    assert api.call("POST", "/__admin/fork", {"to": "sk_3"}, key="sk_1").status == 503
    assert api.call("POST", "/__admin/fork", {"to": "sk_2"}, key="sk_1").status == 201


def test_a_key_that_opens_nothing_is_reported_so_even_then() -> None:
    api = Api(most_sandboxes=1)
    assert open_key(api, 1) == 200
    assert api.call("GET", "/charge", key="sk_live_1").status == 401


def test_the_list_comes_in_pages_the_last_used_first(api: Api) -> None:
    for number in range(1, 6):
        for _ in range(number):
            open_key(api, number)
    assert requests(api) == [5, 4, 3, 2, 1]
    assert requests(api, limit=2) == [5, 4]
    assert requests(api, limit=2, skip=2) == [3, 2]
    assert requests(api, skip=5) == []
    assert api.call("GET", "/__admin/sandboxes?limit=1", key=None).body["count"] == 5


def test_a_page_has_those_that_were_used_last_and_then_those_opened_last(api: Api) -> None:
    for number in range(1, 21):
        open_key(api, number)
    for number in (7, 3, 12):
        open_key(api, number)
    shown = [
        row["id"] for row in api.call("GET", "/__admin/sandboxes?limit=4", key=None)["sandboxes"]
    ]
    assert shown == [sandbox_id_of(f"sk_{number}") for number in (12, 3, 7, 20)]


def test_sandboxes_that_nobody_has_used_are_listed_the_last_opened_first(api: Api) -> None:
    for number in range(5):
        api.app.world.sandboxes.open(f"sk_{number}", NOW)
    rows = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    assert [row["id"] for row in rows] == [
        sandbox_id_of(f"sk_{number}") for number in (4, 3, 2, 1, 0)
    ]


def test_a_sandbox_that_was_emptied_is_listed_before_those_that_nobody_has_used_for_longer(
    api: Api,
) -> None:
    for number in range(3):
        api.app.world.sandboxes.open(f"sk_{number}", NOW)
    api.call("POST", "/__admin/reset", {}, key="sk_1")
    rows = api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]
    assert [row["id"] for row in rows] == [sandbox_id_of(f"sk_{number}") for number in (1, 2, 0)]


@pytest.mark.parametrize(
    ("query", "field"), [("limit=0", "Limit"), ("limit=10001", "Limit"), ("skip=-1", "Skip")]
)
def test_a_page_out_of_bounds_is_refused(query: str, field: str) -> None:
    refused = Api().call("GET", f"/__admin/sandboxes?{query}", key=None)
    assert (refused.status, list(refused["details"])) == (400, [field])


def test_an_empty_sandbox_takes_less_than_20_kib() -> None:
    sandboxes = Api().app.world.sandboxes
    sandboxes.open("sk_first", 0)
    gc.freeze()
    tracemalloc.start()
    try:
        for number in range(300):
            sandboxes.open(f"sk_{number}", 0)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / 300 < 20 * 1024


class Machine:
    """A machine's clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


def sweep(api: Api, length: int = 10 * SECOND) -> int:
    return asyncio.run(upkeep.sweep(api.app.world, length))


def test_a_sandbox_that_nobody_uses_is_dropped_and_its_key_opens_another() -> None:
    machine = Machine()
    api = Api(real_clock=machine)
    api.call("POST", "/__admin/sandboxes", {"key": "sk_tests", "name": "Ours"}, key=None)
    api.charge()
    gone = ref(api.app.world.sandboxes.open("sk_tests", NOW))
    machine.now += 10 * SECOND - 1
    assert sweep(api) == 0
    machine.now += 1
    log: list[str] = []
    api.app.world.log = lambda told: log.extend(told.lines(as_json=False))
    assert sweep(api) == 1
    assert log == ["2031-03-01T00:00:10.000Z dropped 1 sandbox unused for 10s (--sandbox-idle)"]
    assert api.call("GET", "/__admin/sandboxes", key=None).body == {"count": 0, "sandboxes": []}
    assert api.call("GET", "/charge").body["count"] == 0
    assert api.call("GET", "/__admin/sandbox").body["name"] is None
    assert gone() is None
    assert b"mockserver_sandboxes_dropped_total 1.0" in api.call("GET", "/metrics", key=None).raw


@pytest.mark.parametrize("path", ["/charge", "/__admin/clock", "/no/such/path"])
def test_any_request_that_names_a_sandbox_uses_it_and_no_list_does(path: str) -> None:
    machine = Machine()
    api = Api(real_clock=machine)
    open_key(api, 1)
    open_key(api, 2)
    machine.now += 6 * SECOND
    api.call("GET", path, key="sk_1")
    api.call("GET", "/__admin/sandboxes", key=None)
    machine.now += 6 * SECOND
    assert sweep(api) == 1
    assert api.app.world.sandboxes.get("sk_1") is not None


def test_room_for_another_key_is_there_again() -> None:
    machine = Machine()
    api = Api(real_clock=machine, most_sandboxes=1)
    assert [open_key(api, 1), open_key(api, 2)] == [200, 503]
    machine.now += 10 * SECOND
    assert sweep(api) == 1
    assert open_key(api, 2) == 200


def test_a_sandbox_in_which_somebody_waits_is_kept() -> None:
    machine = Machine()
    api = Api(real_clock=machine)
    open_key(api, 1)
    machine.now += 10 * SECOND

    async def wait_meanwhile() -> int:
        world = api.app.world
        waiting = asyncio.create_task(world.runner.activity.wait("sk_1", 60 * SECOND))
        await asyncio.sleep(0)
        dropped = await upkeep.sweep(world, 10 * SECOND)
        world.runner.activity.wake_all()
        await waiting
        return dropped

    assert asyncio.run(wait_meanwhile()) == 0
    assert sweep(api) == 1
