"""Calls that a scenario holds, until another comes, until they are released, or until their client has left (scenario
language, transport: hold), on real sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from tests.api.test_upload import HEAD
from tests.driving import card_charge
from tests.served import Process, serve

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
        rule = {"id": "r", "when": {"op": "charge.create", "call": 1}, "then": {"transport": transport}}
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
        made = socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
        body = json.dumps(card_charge(reference="order-1")).encode()
        made.sendall(HEAD % (self.key.encode(), len(body), b"") + body)
        return made


def until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 10
    while not holds():
        assert monotonic() < end, "it never came to hold"


def are_waiting(*futures: Future[Any]) -> bool:
    return not any(future.done() for future in futures)


@pytest.mark.parametrize("at", ["receive", "answer"])
def test_the_next_call_that_moves_money_lets_it_go_on(server: Process, pool: ThreadPoolExecutor, at: str) -> None:
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
    assert [one["line"].rpartition(": ")[2] for one in doubts] == ["the client hung up before the answer"]
    assert shop.paid == paid
    # A restart sets its scenario again, and the call that was held stays the first.
    shop.call("POST", "/__admin/scenarios", {"version": 1, "name": "again"})
    assert shop.look()["calls"] == 2
    assert shop.pay()["status"] == "SUCCESS"


def test_everything_of_the_sandbox_waits_and_nothing_of_another(server: Process, pool: ThreadPoolExecutor) -> None:
    shop = Shop(server, "sk_all", at="answer", hold="all")
    first = pool.submit(shop.pay)
    assert shop.held()["held"] == 1
    others = [pool.submit(shop.pay, "order-2"), pool.submit(lambda: shop.paid)]
    assert server.call("GET", "/charge", key="sk_other")[0] == 200
    until(lambda: bool(shop.look()["underWay"] == 3))
    assert are_waiting(first, *others)
    assert shop.look()["calls"] == 1
    assert shop.call("DELETE", "/__admin/hold") == {"released": 1}
    assert (first.result(10)["status"], others[0].result(10)["status"], shop.paid) == ("SUCCESS", "SUCCESS", 2)


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
    rule = {"id": "w", "when": {"op": "charge.create", "call": 1}, "then": {"webhook": {"hold": True}}}
    shop.call("PUT", "/__admin/scenarios", {"version": 1, "name": "held", "rules": [rule]})
    hook = {"url": f"{server.url}/__inbox/shop?publicKey={public}"}
    shop.call("POST", "/charge/card", {**card_charge(reference="order-1"), "webhook": hook})
    assert shop.held()["all"] is True
    [webhook] = shop.call("GET", "/__admin/webhooks")["webhooks"]
    assert (webhook["state"], webhook["tries"][0]["error"]) == ("waiting", "taken, which does not count: hold")
    shop.call("DELETE", "/__admin/hold")
    shop.call("POST", "/__admin/clock/advance", {"by": "1d"})
    assert shop.call("GET", "/__admin/webhooks")["webhooks"][0]["state"] == "delivered"
