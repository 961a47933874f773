"""The clock of a sandbox: what sets it, a call or a scenario (control document,
``/__admin/clock``)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.driving import CARD, DUMMY, NOW, Api, Reply
from tests.store.twins import Kept

START, HOUR = "2031-03-01T00:00:00.0000000Z", 3_600_000_000
FAST = {"mode": "fast"}
NEW_YEAR = {"start": "2032-01-01T00:00:00Z", "mode": "manual"}
METHOD = {
    "call": "POST /payment_method/card",
    "body": {"providerId": DUMMY, "paymentInformation": CARD},
}


def put(api: Api, clock: object, name: str = "s", **more: object) -> Reply:
    return api.call(
        "PUT", "/__admin/scenarios", {"version": 1, "name": name, "clock": clock, **more}
    )


def clock_of(api: Api) -> dict[str, Any]:
    return api.call("GET", "/__admin/clock").body


def test_fast_is_equally_fast_by_call_and_by_scenario(api: Api) -> None:
    assert api.call("PUT", "/__admin/clock", FAST).body["rate"] == 60
    api.call("POST", "/__admin/reset")
    assert put(api, FAST).status == 200
    assert (clock_of(api)["mode"], clock_of(api)["rate"]) == ("fast", 60)


def test_a_rate_that_was_given_stays_until_another_mode_or_rate_is(api: Api) -> None:
    assert api.call("PUT", "/__admin/clock", {**FAST, "rate": 7}).body["rate"] == 7
    assert api.call("PUT", "/__admin/clock", FAST).body["rate"] == 7
    assert api.call("PUT", "/__admin/clock", {"rate": 9}).body["rate"] == 9
    assert api.call("PUT", "/__admin/clock", {"mode": "manual"}).body["rate"] == 1
    assert api.call("PUT", "/__admin/clock", FAST).body["rate"] == 60


def test_the_clock_of_a_scenario_counts_in_a_sandbox_that_was_not_used_since_it_opened(
    api: Api,
) -> None:
    assert put(api, {"mode": "manual"}, setup=[METHOD]).status == 200
    added = {"version": 1, "name": "clock", "clock": NEW_YEAR}
    assert api.call("POST", "/__admin/scenarios", added).status == 201
    assert clock_of(api)["now"] == "2032-01-01T00:00:00.0000000Z"
    assert api.call("GET", "/payment_method").body["count"] == 1


def test_the_clock_of_a_scenario_is_refused_in_a_used_sandbox_and_nothing_changes(api: Api) -> None:
    api.try_charge(capture=False)
    before = api.call("GET", "/__admin/state").raw
    reply = put(api, NEW_YEAR)
    assert (reply.status, reply.body["code"]) == (400, 90)
    told = reply.body["details"]["Clock"]
    assert "its clock stands at 2031-03-01T00:00:00.0000000Z" in told
    assert "POST /__admin/reset" in told
    assert api.call("GET", "/__admin/state").raw == before
    assert api.call("GET", "/__admin/scenarios").body["scenarios"][0]["builtIn"]


def test_what_else_counts_only_when_a_sandbox_opens_is_named(api: Api) -> None:
    first = put(api, None, setup=[METHOD], seed=7)
    assert "notApplied" not in first.body
    api.try_charge()
    assert "notApplied" not in put(api, None, "again", setup=[METHOD], seed=7).body
    assert put(api, None, "other", setup=[METHOD, METHOD], seed=8).body["notApplied"] == [
        "seed",
        "setup",
    ]
    assert api.call("GET", "/payment_method").body["count"] == 1


def test_a_used_sandbox_takes_a_scenario_again_with_the_clock_that_it_began_with(api: Api) -> None:
    assert put(api, NEW_YEAR).status == 200
    api.try_charge()
    api.call("POST", "/__admin/clock/advance", {"by": "1d"})
    assert put(api, NEW_YEAR, "the-same-again").status == 200
    assert clock_of(api)["now"] == "2032-01-02T00:00:00.0000000Z"
    assert put(api, FAST).status == 400
    api.call("POST", "/__admin/reset")
    assert put(api, FAST).status == 200


def renewing(api: Api) -> None:
    """A subscription that is charged every day."""
    method = api.method()
    plan = {"paymentMethodId": method, "amount": 1, "currency": "AUD", "interval": "Day"}
    assert api.call("POST", "/subscription/payment_method", {**plan, "frequency": 1}).status == 201


def test_a_move_that_arrives_while_the_server_stops_is_an_ordinary_one() -> None:
    api = Api()
    renewing(api)
    api.app.world.runner.stop()
    moved = api.call("POST", "/__admin/clock/advance", {"by": "3d"}).body
    assert (moved["now"][:10], moved["ran"], "hint" in moved) == ("2031-03-04", 3, False)


def test_a_move_that_a_stop_cuts_short_says_so_and_another_goes_on_from_there() -> None:
    api = Api()
    renewing(api)
    api.app.world.runner.stop()
    moved = api.call("POST", "/__admin/clock/advance", {"by": "180d"}, waits=True).body
    assert 0 < moved["ran"] < 180
    assert moved["hint"] == (
        "the server was asked to stop on the way to 2031-08-28T00:00:00.0000000Z, with work that "
        "is due left: "
        "another call continues from here"
    )
    waited = api.call(
        "POST", "/__admin/wait", {"for": {"charge": {"amount": 2}}, "advance": True}, waits=True
    ).body
    assert waited["hint"] == "the server was asked to stop, and the clock stays where it was then"
    rest = api.call(
        "POST", "/__admin/clock/advance", {"to": "2031-08-28T00:00:00Z"}, waits=True
    ).body
    assert (moved["ran"] + rest["ran"], rest["now"][:10], "hint" in rest) == (
        180,
        "2031-08-28",
        False,
    )


def test_a_move_says_that_its_sandbox_was_emptied_meanwhile(api: Api) -> None:
    renewing(api)

    async def both() -> Any:
        moving = asyncio.create_task(api.calling("POST", "/__admin/clock/advance", {"by": "2000d"}))
        await asyncio.sleep(0)
        assert (await api.calling("POST", "/__admin/reset", {})).status == 200
        return (await moving).body

    assert asyncio.run(both())["hint"] == (
        "a reset, an import or a fork put another sandbox here during the move to "
        "2036-08-21T00:00:00.0000000Z"
    )


MANUAL = json.dumps({"version": 1, "name": "still", "clock": {"mode": "manual"}})


@pytest.mark.parametrize("options", [{"clock": "manual"}, {"clock": "real", "scenario": MANUAL}])
def test_a_clock_that_stands_has_stood_since_the_server_started(options: dict[str, Any]) -> None:
    now = [NOW]
    api = Api(real_clock=lambda: now[0], **options)
    for _ in range(3):
        now[0] += HOUR
        assert clock_of(api)["now"] == START
    assert api.charge()["dateAdded"] == START
    now[0] += HOUR
    assert clock_of(api)["now"] == START
    assert api.call("GET", "/__admin/clock", key="sk_another")["now"] == START
    api.advance("1h")
    assert clock_of(api)["now"] == "2031-03-01T01:00:00.0000000Z"
    assert api.call("POST", "/__admin/reset").status == 200
    assert clock_of(api)["now"] == START


def test_a_clock_that_runs_begins_when_its_sandbox_opens() -> None:
    now = [NOW]
    api = Api(real_clock=lambda: now[0], clock="real")
    now[0] += HOUR
    assert api.charge()["dateAdded"] == "2031-03-01T01:00:00.0000000Z"


def test_a_scenario_that_lets_time_stand_leaves_it_where_it_is() -> None:
    now = [NOW]
    api = Api(real_clock=lambda: now[0], clock="real")
    now[0] += HOUR
    api.advance("1h")
    assert put(api, {"mode": "manual"}).status == 200
    now[0] += HOUR
    assert clock_of(api)["now"] == "2031-03-01T02:00:00.0000000Z"
    api.charge()
    assert api.call("POST", "/__admin/reset").status == 200
    assert clock_of(api)["now"] == "2031-03-01T02:00:00.0000000Z"


def test_a_sandbox_that_stands_since_an_earlier_server_is_forked_to_its_past(
    tmp_path: Path,
) -> None:
    now = [NOW]
    api = Kept(tmp_path / "kept.db", real_clock=lambda: now[0], clock="manual")
    api.charge()
    now[0] += HOUR
    api.restart()
    assert api.call("GET", "/__admin/clock")["now"] == START
    assert api.call("GET", "/__admin/clock", key="sk_new")["now"] == "2031-03-01T01:00:00.0000000Z"
    assert api.call("POST", "/__admin/fork", {"to": "sk_past", "at": 1}).status == 201
    assert api.call("GET", "/__admin/clock", key="sk_past")["now"] == START
