"""Calls that a scenario holds, until another comes, until they are released, or until their client
has left (scenario language, transport: hold), on real sockets."""

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any

import httpx
import pytest

from tests.api.test_upload import HEAD
from tests.driving import Api, card_charge
from tests.served import Process, serve
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = serve()
    yield process
    process.stop()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


class Shop:
    """A client of one sandbox, whose first charge suffers a fault."""

    def __init__(self, server: Process, key: str, **transport: object) -> None:
        self.server, self.key = server, key
        rule = {
            "id": "r",
            "when": {"op": "charge.create", "call": 1},
            "then": {"transport": transport},
        }
        self.call("POST", "/__admin/scenarios", {"version": 1, "name": "held", "rules": [rule]})

    def call(self, method: str, path: str, body: object = None) -> Any:
        return self.server.call(method, path, body, self.key)[1]

    def pay(self, reference: str = "order-1") -> Any:
        return self.call("POST", "/charge/card", card_charge(reference=reference))

    def held(self, until: str = "held") -> Any:
        return self.call("GET", f"/__admin/hold?until={until}&timeout=10s")

    def look(self) -> Any:
        return self.call("GET", "/__admin/hold")

    @property
    def paid(self) -> int:
        found: int = self.call("GET", "/charge")["count"]
        return found

    def connected(self) -> socket.socket:
        """A connection on which a charge has been sent."""
        made = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        body = json.dumps(card_charge(reference="order-1")).encode()
        made.sendall(HEAD % (self.key.encode(), len(body), b"") + body)
        return made


def are_waiting(*futures: Future[Any]) -> bool:
    return not any(future.done() for future in futures)


@pytest.mark.parametrize("at", ["receive", "answer"])
def test_the_next_call_that_moves_money_lets_it_go_on(
    server: Process, pool: ThreadPoolExecutor, at: str
) -> None:
    shop = Shop(server, f"sk_next_{at}", at=at, hold="1m")
    first = pool.submit(shop.pay)
    until(lambda: shop.look()["calls"] == 1)
    # A look moves no money.
    assert shop.paid == (at == "answer")
    assert are_waiting(first)
    second = shop.pay("order-2")
    assert (first.result(10)["status"], second["status"], shop.paid) == ("SUCCESS", "SUCCESS", 2)


def test_it_goes_on_by_itself_after_its_time(server: Process) -> None:
    shop, began = Shop(server, "sk_time", at="answer", hold="50ms"), monotonic()
    assert shop.pay()["status"] == "SUCCESS"
    assert monotonic() - began >= 0.05


@pytest.mark.parametrize("at", ["receive", "answer"])
def test_it_is_released(server: Process, pool: ThreadPoolExecutor, at: str) -> None:
    shop = Shop(server, f"sk_released_{at}", at=at, hold="released")
    first = pool.submit(shop.pay)
    assert shop.held() == {"held": 1, "all": False, "underWay": 1, "calls": 1}
    assert shop.pay("order-2")["status"] == "SUCCESS"
    assert are_waiting(first)
    assert shop.call("DELETE", "/__admin/hold") == {"released": 1}
    assert (first.result(10)["status"], shop.paid) == ("SUCCESS", 2)


@pytest.mark.parametrize(("at", "paid"), [("receive", 0), ("answer", 1)])
def test_a_client_that_leaves_gets_no_further(server: Process, at: str, paid: int) -> None:
    shop = Shop(server, f"sk_leaves_{at}", at=at, hold="all")
    connection = shop.connected()
    assert shop.held()["all"] is True
    connection.close()
    assert shop.held("gone")["underWay"] == 0
    assert shop.call("DELETE", "/__admin/hold") == {"released": 1}
    # It never learnt how its call has ended.
    doubts = shop.call("GET", "/__admin/books")["in_doubt"]
    assert [one["line"].rpartition(": ")[2] for one in doubts] == [
        "the client hung up before the answer"
    ]
    assert shop.paid == paid
    # A restart sets its scenario again, and the call that was held stays the first.
    shop.call("POST", "/__admin/scenarios", {"version": 1, "name": "again"})
    assert shop.look()["calls"] == 2
    assert shop.pay()["status"] == "SUCCESS"


def test_everything_of_the_sandbox_waits_and_nothing_of_another(
    server: Process, pool: ThreadPoolExecutor
) -> None:
    shop = Shop(server, "sk_all", at="answer", hold="all")
    first = pool.submit(shop.pay)
    assert shop.held()["held"] == 1
    others = [pool.submit(shop.pay, "order-2"), pool.submit(lambda: shop.paid)]
    assert server.call("GET", "/charge", key="sk_other")[0] == 200
    until(lambda: bool(shop.look()["underWay"] == 3))
    assert are_waiting(first, *others)
    assert shop.look()["calls"] == 1
    assert shop.call("DELETE", "/__admin/hold") == {"released": 1}
    assert (first.result(10)["status"], others[0].result(10)["status"], shop.paid) == (
        "SUCCESS",
        "SUCCESS",
        2,
    )


CHANGES = [
    ("POST", "/__admin/clock/advance", {"by": "1h"}),
    ("PUT", "/__admin/clock", {"now": "2040-01-01T00:00:00Z"}),
    ("POST", "/__admin/reset", {}),
    ("PUT", "/__admin/scenarios", {"version": 1, "name": "other"}),
    ("PUT", "/__admin/assumptions", {"vault.ccv_delay": "10s"}),
    ("POST", "/__admin/journal/1/repeat", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES, ids=lambda value: str(value)[:24])
def test_control_calls_that_change_a_sandbox_wait_with_it(
    server: Process, pool: ThreadPoolExecutor, method: str, path: str, body: object
) -> None:
    shop = Shop(server, f"sk_change_{CHANGES.index((method, path, body))}", at="answer", hold="all")
    before = shop.call("GET", "/__admin/clock")["now"]
    first = pool.submit(shop.pay)
    assert shop.held()["all"] is True
    change = pool.submit(server.call, method, path, body, shop.key)
    until(lambda: bool(shop.look()["underWay"] == 2))
    assert are_waiting(first, change)
    # What is read, and what judges, is answered meanwhile.
    assert shop.call("GET", "/__admin/journal")["entries"][-1]["op"] == "charge.create"
    assert (
        shop.call("POST", "/__admin/verify", {"requests": [{"op": "charge.create"}]})["verified"]
        is True
    )
    assert (
        shop.call("POST", "/__admin/wait", {"for": {"inbox": "shop"}, "timeout": "1ms"})["held"]
        is False
    )
    assert shop.call("GET", "/__admin/clock")["now"][:16] == before[:16]
    assert shop.call("DELETE", "/__admin/hold") == {"released": 1}
    assert (first.result(10)["status"], change.result(10)[0]) == ("SUCCESS", 200)


def test_what_a_payer_does_on_a_page_waits_too(server: Process, pool: ThreadPoolExecutor) -> None:
    shop = Shop(server, "sk_payer", at="answer", hold="all")
    rules = [
        {
            "id": "held",
            "when": {"op": "charge.create", "call": 2},
            "then": {"transport": {"at": "answer", "hold": "all"}},
        },
        {"id": "asked", "when": {"op": "charge.create"}, "then": {"challenge": {}}},
    ]
    shop.call("PUT", "/__admin/scenarios", {"version": 1, "name": "asked", "rules": rules})
    charge = shop.pay()["chargeId"]
    first = pool.submit(shop.pay, "order-2")
    assert shop.held()["all"] is True
    passed = pool.submit(httpx.post, f"{server.url}/3ds/{charge}", data={"result": "pass"})
    until(lambda: bool(shop.look()["underWay"] == 2))
    assert are_waiting(first, passed)
    assert [entry["op"] for entry in shop.call("GET", "/__admin/journal")["entries"]] == [
        "charge.create"
    ] * 2
    shop.call("DELETE", "/__admin/hold")
    assert passed.result(10).status_code in (200, 303)
    assert shop.call("GET", f"/charge/{charge}")["status"] == "SUCCESS"


def test_a_change_whose_client_leaves_is_not_made(server: Process) -> None:
    shop = Shop(server, "sk_no_change", at="answer", hold="all")
    connections = [shop.connected()]
    assert shop.held()["all"] is True
    body = b'{"by": "9d"}'
    connections.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
    head = HEAD.replace(b"POST /charge/card", b"POST /__admin/clock/advance")
    connections[1].sendall(
        head % (shop.key.encode(), len(body), b"content-type: application/json\r\n") + body
    )
    until(lambda: bool(shop.look()["underWay"] == 2))
    before = shop.call("GET", "/__admin/clock")["now"]
    for connection in connections:
        connection.close()
    assert shop.held("gone")["underWay"] == 0
    shop.call("DELETE", "/__admin/hold")
    assert shop.call("GET", "/__admin/clock")["now"][:10] == before[:10]


@pytest.mark.parametrize("asked", ["advance", "wait"])
def test_a_move_of_the_clock_stops_where_everything_is_held(
    server: Process, pool: ThreadPoolExecutor, asked: str
) -> None:
    shop = Shop(server, f"sk_stops_{asked}", at="receive", delay="0s")
    public = shop.call("GET", "/__admin/sandbox")["publicKey"]
    held = {
        "id": "w",
        "when": {"op": "charge.create", "call": 1},
        "then": {"webhook": {"delay": "1h", "hold": True}},
    }
    late = {
        "id": "v",
        "when": {"op": "charge.create", "call": 2},
        "then": {"webhook": {"delay": "2h"}},
    }
    rules = [held, late]
    clock = {"mode": "manual"}
    shop.call(
        "PUT", "/__admin/scenarios", {"version": 1, "name": "held", "clock": clock, "rules": rules}
    )
    hook = {"url": f"{server.url}/__inbox/shop?publicKey={public}"}
    for order in ("order-1", "order-2"):
        shop.call("POST", "/charge/card", {**card_charge(reference=order), "webhook": hook})
    move = (
        ("/clock/advance", {"by": "3h"})
        if asked == "advance"
        else ("/wait", {"for": INBOX_OF_2, "advance": True})
    )
    moving = pool.submit(shop.call, "POST", f"/__admin{move[0]}", move[1])
    assert shop.held()["all"] is True
    assert are_waiting(moving)
    states = [one["state"] for one in shop.call("GET", "/__admin/webhooks")["webhooks"]]
    assert states == ["waiting", "waiting"]
    shop.call("DELETE", "/__admin/hold")
    assert (
        moving.result(10)["now"]
        > shop.call("GET", "/__admin/webhooks")["webhooks"][0]["tries"][0]["at"]
    )
    assert len(shop.call("GET", "/__admin/inbox/shop")["messages"]) >= 2


MOVE = ("/__admin/clock/advance", {"by": "1h"})
INBOX_OF_2 = {"inbox": {"name": "shop", "count": 2}}


def all_waiting(shop: Shop, pool: ThreadPoolExecutor) -> list[Future[Any]]:
    """A charge whose answer holds everything, another and a move of the clock, once all three
    wait."""
    waiting: list[Future[Any]] = [pool.submit(shop.pay)]
    assert shop.held()["all"] is True
    waiting += [
        pool.submit(shop.pay, "order-2"),
        pool.submit(shop.call, "POST", "/__admin/clock/advance", {"by": "1h"}),
    ]
    until(lambda: bool(shop.look()["underWay"] == 3))
    return waiting


@pytest.mark.parametrize("ends", ["/__admin/sandbox", "/__admin/hold"])
def test_everything_is_let_go_with_the_sandbox(
    server: Process, pool: ThreadPoolExecutor, ends: str
) -> None:
    shop = Shop(server, f"sk_ends_{ends[9:]}", at="answer", hold="all")
    waiting = all_waiting(shop, pool)
    shop.call("DELETE", ends)
    assert [one.result(10).get("status", "moved") for one in waiting] == [
        "SUCCESS",
        "SUCCESS",
        "moved",
    ]


def test_everything_is_let_go_when_the_server_stops(pool: ThreadPoolExecutor) -> None:
    server = serve()
    shop = Shop(server, "sk_stop", at="answer", hold="all")
    waiting = all_waiting(shop, pool)
    server.stop()
    assert [one.result(10).get("status", "moved") for one in waiting] == [
        "SUCCESS",
        "SUCCESS",
        "moved",
    ]


def test_a_sandbox_that_nobody_has_used_holds_nothing(
    server: Process, pool: ThreadPoolExecutor
) -> None:
    look = pool.submit(
        server.call, "GET", "/__admin/hold?until=held&timeout=10s", None, "sk_fresh_look"
    )
    gone = server.call("GET", "/__admin/hold?until=gone&timeout=10s", None, "sk_fresh_look")
    assert gone == (200, {"held": 0, "all": False, "underWay": 0, "calls": 0})
    shop = Shop(server, "sk_fresh_look", at="answer", hold="released")
    first = pool.submit(shop.pay)
    assert look.result(10)[1]["held"] == 1
    shop.call("DELETE", "/__admin/hold")
    assert first.result(10)["status"] == "SUCCESS"


@pytest.mark.parametrize("what", ["held", "gone"])
def test_a_look_ends_in_real_time_though_the_clock_of_the_machine_stands(what: str) -> None:
    shop = Api(waits=True)
    rule = {
        "id": "r",
        "when": {"op": "charge.create"},
        "then": {"transport": {"at": "answer", "hold": "released"}},
    }
    shop.post("/__admin/scenarios", {"version": 1, "name": "held", "rules": [rule]})

    async def look() -> Any:
        held = asyncio.ensure_future(shop.calling("POST", "/charge/card", card_charge()))
        await shop.calling("GET", "/__admin/hold?until=held&timeout=10s")
        found = (await shop.calling("GET", f"/__admin/hold?until={what}&timeout=20ms")).body
        await shop.calling("DELETE", "/__admin/hold")
        assert (await held).status == 201
        return found

    assert asyncio.run(look()) == {"held": 1, "all": False, "underWay": 1, "calls": 1}


def test_a_reset_lets_it_go(server: Process, pool: ThreadPoolExecutor) -> None:
    shop = Shop(server, "sk_reset", at="answer", hold="released")
    first = pool.submit(shop.pay)
    assert shop.held()["held"] == 1
    shop.call("POST", "/__admin/reset")
    assert first.result(10)["status"] == "SUCCESS"


def test_a_late_answer_ends_when_the_client_leaves(server: Process) -> None:
    shop = Shop(server, "sk_late", at="answer", delay="60s")
    connection = shop.connected()
    until(lambda: shop.paid == 1)
    connection.close()
    assert shop.held("gone")["underWay"] == 0


def test_the_answer_of_a_receiver_does_not_count(server: Process) -> None:
    shop = Shop(server, "sk_webhook", at="receive", delay="0s", status=418)
    public = shop.call("GET", "/__admin/sandbox")["publicKey"]
    rule = {
        "id": "w",
        "when": {"op": "charge.create", "call": 1},
        "then": {"webhook": {"hold": True}},
    }
    shop.call("PUT", "/__admin/scenarios", {"version": 1, "name": "held", "rules": [rule]})
    hook = {"url": f"{server.url}/__inbox/shop?publicKey={public}"}
    shop.call("POST", "/charge/card", {**card_charge(reference="order-1"), "webhook": hook})
    assert shop.held()["all"] is True
    [webhook] = shop.call("GET", "/__admin/webhooks")["webhooks"]
    assert (webhook["state"], webhook["tries"][0]["error"]) == (
        "waiting",
        "taken, which does not count: hold",
    )
    shop.call("DELETE", "/__admin/hold")
    shop.call("POST", "/__admin/clock/advance", {"by": "1d"})
    assert shop.call("GET", "/__admin/webhooks")["webhooks"][0]["state"] == "delivered"
