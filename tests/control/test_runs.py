"""What a run of a command came to, in one answer (``/__admin/run``)."""

from typing import Any

import pytest

from tests.driving import DUMMY, Api, card


def run(api: Api, **asked: object) -> Any:
    return api.post("/__admin/run", asked).body


def test_a_run_is_told_in_one_answer(api: Api) -> None:
    charge = api.charge(reference="order-1", capture=False)
    api.call("POST", f"/charge/{charge['chargeId']}", {"amount": 20})
    told = run(api)
    kept = ("op", "call", "path", "status", "webhooks", "token", "card", "rows", "charges")
    ids = [charge["chargeId"]]
    assert [[call[name] for name in kept] for call in told["calls"]] == [
        ["charge.create", 1, "/charge/card", 201, 0, False, "4111111111", 0, ids],
        ["charge.capture", 1, f"/charge/{ids[0]}", 200, 0, False, "4111111111", 0, ids],
    ]
    assert told["money"]["orders"][0]["captured"] == 20
    assert told["timeline"] == api.get("/__admin/report", parts="timeline").raw.decode()
    assert told["clock"] == "manual"


def test_a_call_that_was_refused_names_its_charge_and_a_read_names_none(api: Api) -> None:
    charge = api.charge(reference="order-1")
    api.call("DELETE", f"/refund/{charge['chargeId']}", {"amount": 900})
    api.call("DELETE", f"/refund/{'f' * 32}", {"amount": 900})
    api.get("/charge", Reference="order-1")
    named = [(call["op"], len(call["charges"])) for call in run(api)["calls"][1:]]
    assert named == [("charge.refund", 1), ("charge.refund", 0), ("charge.search", 0)]


def test_a_call_says_what_it_needed_and_shows_no_card_number(api: Api) -> None:
    api.batch(*["none,5,AUD,a"] * 2)
    token = api.post("/token/card/least_cost", {"paymentInformation": card()})["tokenId"]
    api.post("/charge/token", {"amount": 5, "token": token, "providerId": DUMMY})
    told = run(api)
    needed = [(call["op"], call["token"], call["rows"]) for call in told["calls"]]
    assert ("charge.create", True, 0) in needed
    assert [rows for op, _, rows in needed if op == "batch.create"] == [2]
    assert "4111111111111111" not in str(told)


def test_only_a_story_that_ends_has_what_was_left_open(api: Api) -> None:
    api.charge(reference="order-1", capture=False)
    assert run(api)["findings"] == []
    assert [row["finding"] for row in run(api, finish=True)["findings"]] == [
        "authorisation-forgotten"
    ]


def test_rules_that_have_fired_are_named_and_what_is_due() -> None:
    rules = "[{id: r, when: {request.amount: 7}, then: {pending: {settle: SUCCESS}}}, {id: s, then: {decline: lost_card}}]"
    api = Api(scenario=f"version: 1\nrules: {rules}")
    api.charge(amount=7)
    told = run(api)
    assert (told["fired"], told["due"]) == (["r"], ["settlement"])


def test_since_a_mark_only_what_came_then_is_told(api: Api) -> None:
    api.charge(reference="order-1")
    api.post("/__admin/marks", {"name": "here"})
    api.charge(reference="order-2")
    told = api.call("POST", "/__admin/run", {}, {"since": "here"}).body
    assert [row["reference"] for row in told["money"]["orders"]] == ["order-2"]
    assert len(told["calls"]) == 1


@pytest.mark.parametrize("asked", [{"timeout": "5"}, {"timeout": "soon"}, {"finish": 3}])
def test_a_wait_without_a_unit_and_an_unclear_switch_are_refused(
    api: Api, asked: dict[str, object]
) -> None:
    assert api.post("/__admin/run", asked).status == 400
