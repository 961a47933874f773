"""The same seed, clock, scenario and requests give the same bytes, whoever else is served at the
same time."""

import asyncio
import json
from typing import Any

import pytest

from tests.depth import tries
from tests.driving import CARD, DUMMY, Api
from tests.store.stories import WEATHER

SANDBOXES = tries(300, 1_000)
KEYS = [f"sk_client_{number}" for number in range(16)]
TURNS, FLAKY = WEATHER["rules"]
SLOW = {"weight": 1, "then": {"latency": {"min": "1ms", "max": "3ms"}}}
SCENARIO = {**WEATHER, "rules": [TURNS, {**FLAKY, "chance": [*FLAKY["chance"], SLOW]}]}


def steps(key: str) -> list[tuple[str, str, Any]]:
    """What one client does; each does something of its own."""
    number = KEYS.index(key)
    calls: list[tuple[str, str, Any]] = [("PUT", "/__admin/scenarios", SCENARIO)]
    for place in range(8):
        body = {
            "amount": 10 + number + place,
            "providerId": DUMMY,
            "reference": f"{key}-{place}",
            "capture": place % 3 != 0,
            "paymentInformation": CARD,
        }
        calls.append(("POST", "/charge/card", body))
        calls.append(("GET", f"/charge?reference={key}-{place}", None))
        if place % 4 == number % 4:
            calls.append(("POST", "/__admin/clock/advance", {"by": f"{number + 1}h"}))
        calls.append(
            (
                "POST",
                "/vault",
                {"cardNumber": CARD["cardNumber"], "ccv": "123", "expireSeconds": 3600},
            )
        )
    calls.append(("POST", "/__admin/clock/advance", {"by": "8d"}))
    return calls


def left_behind(api: Api, key: str) -> tuple[bytes, bytes]:
    """Journal and state of a sandbox, byte for byte."""
    journal = api.call("GET", "/__admin/journal?limit=1000", key=key).raw
    return journal, api.call("GET", "/__admin/state?secrets=true", key=key).raw


def alone(key: str, **settings: Any) -> tuple[bytes, bytes]:
    api = Api(**settings)
    for method, target, body in steps(key):
        api.call(method, target, body, key=key, waits=True)
    return left_behind(api, key)


def test_a_second_run_is_the_same_to_the_byte() -> None:
    first, second = alone(KEYS[3]), alone(KEYS[3])
    assert first == second
    assert len(json.loads(first[0])["entries"]) > 20


def test_another_seed_is_another_run() -> None:
    assert alone(KEYS[3]) != alone(KEYS[3], seed=2)


@pytest.mark.slow
def test_sixteen_clients_at_once_leave_what_each_would_have_left_alone() -> None:
    api = Api()
    order: list[str] = []

    async def client(key: str) -> None:
        for method, target, body in steps(key):
            await api.calling(method, target, body, key=key)
            order.append(key)
            await asyncio.sleep(0)

    async def all_at_once() -> None:
        await asyncio.gather(*map(client, KEYS))

    asyncio.run(all_at_once())
    assert len({tuple(order[place : place + 16]) for place in range(0, len(order), 16)}) > 1, (
        "they took turns"
    )
    for key in KEYS:
        assert left_behind(api, key) == alone(key), key


@pytest.mark.slow
def test_hundreds_of_sandboxes_see_nothing_of_each_other(api: Api) -> None:
    made = {}
    for number in range(SANDBOXES):
        key = f"sk_{number}"
        made[key] = api.try_charge(5, key=key, reference=key).body["chargeId"]
        api.call("POST", "/vault", {"cardNumber": CARD["cardNumber"]}, key=key)
    assert len(set(made.values())) == SANDBOXES
    for number, (key, charge_id) in enumerate(made.items()):
        found = api.call("GET", "/charge", key=key).body
        assert (found["count"], found["charges"][0]["reference"]) == (1, key)
        stranger = f"sk_{(number + 1) % SANDBOXES}"
        assert api.call("GET", f"/charge/{charge_id}", key=stranger).status == 404
        assert api.call("GET", "/__admin/journal", key=key).body["last"] == 3 + (number > 0)
    assert len(api.call("GET", "/__admin/sandboxes", key=None).body["sandboxes"]) == SANDBOXES
