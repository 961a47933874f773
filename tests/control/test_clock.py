"""The clock of a sandbox: what sets it, a call or a scenario (control document, ``/__admin/clock``)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.driving import CARD, DUMMY, Reply, Shop

FAST = {"mode": "fast"}
NEW_YEAR = {"start": "2032-01-01T00:00:00Z", "mode": "manual"}
METHOD = {
    "call": "POST /payment_method/card",
    "body": {"providerId": DUMMY, "paymentInformation": CARD},
}


@pytest.fixture
def shop() -> Shop:
    return Shop()


def put(shop: Shop, clock: object, name: str = "s", **more: object) -> Reply:
    return shop("PUT", "/__admin/scenarios", {"version": 1, "name": name, "clock": clock, **more})


def clock_of(shop: Shop) -> dict[str, Any]:
    found: dict[str, Any] = shop("GET", "/__admin/clock").body
    return found


def test_fast_is_equally_fast_by_call_and_by_scenario(shop: Shop) -> None:
    assert shop("PUT", "/__admin/clock", FAST).body["rate"] == 60
    shop("POST", "/__admin/reset")
    assert put(shop, FAST).status == 200
    assert (clock_of(shop)["mode"], clock_of(shop)["rate"]) == ("fast", 60)


def test_a_rate_that_was_given_stays_until_another_mode_or_rate_is(shop: Shop) -> None:
    assert shop("PUT", "/__admin/clock", {**FAST, "rate": 7}).body["rate"] == 7
    assert shop("PUT", "/__admin/clock", FAST).body["rate"] == 7
    assert shop("PUT", "/__admin/clock", {"rate": 9}).body["rate"] == 9
    assert shop("PUT", "/__admin/clock", {"mode": "manual"}).body["rate"] == 1
    assert shop("PUT", "/__admin/clock", FAST).body["rate"] == 60


def test_the_clock_of_a_scenario_counts_in_a_sandbox_that_was_not_used_since_it_opened(shop: Shop) -> None:
    assert put(shop, {"mode": "manual"}, setup=[METHOD]).status == 200
    added = {"version": 1, "name": "clock", "clock": NEW_YEAR}
    assert shop("POST", "/__admin/scenarios", added).status == 201
    assert clock_of(shop)["now"] == "2032-01-01T00:00:00.0000000Z"
    assert shop("GET", "/payment_method").body["count"] == 1


def test_the_clock_of_a_scenario_is_refused_in_a_used_sandbox_and_nothing_changes(shop: Shop) -> None:
    shop.charge(capture=False)
    before = shop("GET", "/__admin/state").raw
    reply = put(shop, NEW_YEAR)
    assert (reply.status, reply.body["code"]) == (400, 90)
    told = reply.body["details"]["Clock"]
    assert "its clock stands at 2031-03-01T10:00:00.0000000Z" in told
    assert "POST /__admin/reset" in told
    assert shop("GET", "/__admin/state").raw == before
    assert shop("GET", "/__admin/scenarios").body["scenarios"][0]["builtIn"]


def test_what_else_counts_only_when_a_sandbox_opens_is_named(shop: Shop) -> None:
    first = put(shop, None, setup=[METHOD], seed=7)
    assert "notApplied" not in first.body
    shop.charge()
    assert "notApplied" not in put(shop, None, "again", setup=[METHOD], seed=7).body
    assert put(shop, None, "other", setup=[METHOD, METHOD], seed=8).body["notApplied"] == ["seed", "setup"]
    assert shop("GET", "/payment_method").body["count"] == 1


def test_a_used_sandbox_takes_a_scenario_again_with_the_clock_that_it_began_with(shop: Shop) -> None:
    assert put(shop, NEW_YEAR).status == 200
    shop.charge()
    shop("POST", "/__admin/clock/advance", {"by": "1d"})
    assert put(shop, NEW_YEAR, "the-same-again").status == 200
    assert clock_of(shop)["now"] == "2032-01-02T00:00:00.0000000Z"
    assert put(shop, FAST).status == 400
    shop("POST", "/__admin/reset")
    assert put(shop, FAST).status == 200
