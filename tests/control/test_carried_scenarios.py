"""An exported state carries the scenarios in force: an import elsewhere needs no file (control
document, Control API)."""

import json
from typing import Any

import pytest

from tests.driving import Api

SCENARIO = """
version: 1
name: posted
seed: 7
assumptions: {vault.ccv_delay: 10s}
providers: [{id: acq_main, name: Main, cost: {fixed: 0.30, percent: 1.50}}]
setup:
  - {id: ann, call: POST /customer/card, body: {providerId: acq_main, firstName: Ann,
     paymentInformation: {cardNumber: "4111111111111111", expiryDate: 12/40, ccv: "987"}}}
rules:
  - id: twice-declined
    when: {op: charge.create, request.amount: {gt: 5.50}}
    key: [request.reference]
    sequence: [{decline: expired_card, times: 2}]
  - {id: signed, when: {op: charge.refund}, then: {webhook: {authorization: hush-hush}}}
examples:
  - {name: e, calls: [{call: GET /charge}]}
"""


def put(api: Api, text: str = SCENARIO) -> None:
    assert api.call("PUT", "/__admin/scenarios", raw=text.encode()).status == 200


def state(api: Api, *, secrets: bool = True) -> bytes:
    reply = api.call("GET", f"/__admin/state?secrets={str(secrets).lower()}")
    assert reply.status == 200
    return reply.raw


def load(api: Api, document: bytes) -> dict[str, Any]:
    reply = api.call("PUT", "/__admin/state", raw=document)
    assert reply.status == 200, reply.raw
    return reply.body


def names(api: Api) -> list[str]:
    return [one["name"] for one in api.call("GET", "/__admin/scenarios").body["scenarios"]]


@pytest.mark.parametrize("secrets", [True, False])
def test_a_posted_scenario_goes_on_elsewhere(secrets: bool) -> None:
    api, other = Api(), Api(key="sk_other", test_values=False)
    put(api)
    assert [api.try_charge(reference="a").status, api.try_charge(reference="b").status] == [
        400,
        400,
    ]
    document = state(api, secrets=secrets)
    told = load(other, document)
    assert told["rulesNotInForce"] == []
    assert state(other, secrets=secrets) == document
    assert names(other) == ["posted", "test-values"]
    assert [other.try_charge(reference="a").status for _ in range(2)] == [400, 201]
    reports = {
        rule["id"]: rule["hits"] for rule in other.call("GET", "/__admin/rules").body["rules"]
    }
    assert reports["twice-declined"] == 3


def test_a_reset_opens_it_with_its_set_up_again() -> None:
    api, other = Api(), Api(key="sk_other")
    put(api)
    load(other, state(api))
    other.call("POST", "/__admin/reset")
    assert other.call("GET", "/customer").body["count"] == 1
    assert other.try_charge(reference="a").status == 400


def test_secrets_stay_at_home_unless_they_are_asked_for(api: Api) -> None:
    put(api)
    text = state(api, secrets=False).decode()
    assert not [secret for secret in ("4111111111111111", '"987"', "hush-hush") if secret in text]
    for secret in ("4111111111111111", '"987"', "hush-hush"):
        assert secret in state(api).decode()
    assert "examples" not in text


def test_the_scenarios_in_force_go_on_being_those_of_the_server() -> None:
    api = Api(scenario=["soft-decline-then-success"])
    api.try_charge(reference="a")
    before = api.call("GET", "/__admin/rules").raw
    load(api, state(api))
    assert api.call("GET", "/__admin/rules").raw == before


def test_a_document_without_scenarios_leaves_those_in_force(api: Api) -> None:
    put(api)
    api.try_charge(reference="a")
    document = json.loads(state(api))
    del document["scenarios"]
    load(api, json.dumps(document).encode())
    assert names(api) == ["posted", "test-values"]
    assert [api.try_charge(reference="a").status for _ in range(2)] == [400, 201]


@pytest.mark.parametrize(
    ("scenarios", "field", "words"),
    [
        (5, "Scenarios", "wanted a list"),
        ([5], "Scenarios.0", "wanted an object"),
        ([{"name": "a", "file": "a", "built_in": False}], "Scenarios.0.data", "missing"),
        (
            [{"name": "a", "file": "a", "built_in": False, "data": {}}],
            "Scenarios.0.data",
            "'version' is missing",
        ),
        (
            [
                {
                    "name": "a",
                    "file": "a",
                    "built_in": False,
                    "data": {"version": 1, "rules": [{"id": "a"}]},
                }
            ],
            "Scenarios.0.data",
            "rules[0]: got none, wanted exactly one of then, sequence, chance",
        ),
        (
            [
                {
                    "name": "a",
                    "file": "a",
                    "built_in": False,
                    "data": {"version": 1},
                    "setup": [{"call": "x"}],
                }
            ],
            "Scenarios.0.data",
            "setup[0].call: got 'x', wanted a method and a path",
        ),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(
    api: Api, scenarios: object, field: str, words: str
) -> None:
    api.try_charge()
    before = state(api)
    refused = api.call("PUT", "/__admin/state", {**json.loads(before), "scenarios": scenarios})
    assert refused.status == 400
    assert words in refused.body["details"][field]
    assert state(api) == before


def test_a_body_of_any_names_is_carried() -> None:
    api = Api()
    body = '{tables: {a: 1}, "$kind": Decimal, list: [1.50, null, true]}'
    put(
        api,
        f"version: 1\nrules: "
        f"[{{id: r, then: {{transport: {{at: answer, status: 500, body: {body}}}}}}}]",
    )
    document = state(api)
    other = Api(key="sk_other")
    load(other, document)
    assert state(other) == document
    assert other.try_charge().body == {
        "tables": {"a": 1},
        "$kind": "Decimal",
        "list": [1.5, None, True],
    }


def test_a_rule_that_an_earlier_version_took_still_opens() -> None:
    api = Api()
    put(
        api,
        "version: 1\nname: posted\nrules: [{id: r, when: {op: charge.refund}, then: {decline: "
        "error}}]",
    )
    document = json.loads(state(api))
    (carried,) = (one for one in document["scenarios"] if one["name"] == "posted")
    (rule,) = carried["data"]["rules"]
    rule["when"]["state.customer.reference"] = "X"
    again = Api()
    load(again, json.dumps(document).encode())
    assert "posted" in names(again)
    refused = again.call("PUT", "/__admin/scenarios", carried["data"])
    assert refused.status == 400
    assert "in charge.refund there is no customer" in str(refused["details"])


def test_a_comment_that_an_earlier_version_took_still_opens() -> None:
    api = Api()
    later = [{"after": "1h", "refund": {"comment": "c"}}]
    rule = {"id": "r", "when": {"op": "charge.create"}, "then": {"later": later}}
    put(api, json.dumps({"version": 1, "name": "posted", "rules": [rule]}))
    document = json.loads(state(api))
    (carried,) = (one for one in document["scenarios"] if one["name"] == "posted")
    carried["data"]["rules"][0]["then"]["later"][0]["refund"]["comment"] = "c" * 10_001
    # A long text is read in a thread.
    again = Api(waits=True)
    load(again, json.dumps(document).encode())
    assert "posted" in names(again)
    refused = again.call("PUT", "/__admin/scenarios", carried["data"])
    assert refused.status == 400
    assert "got a text of 10,001 characters, wanted at most 10,000" in str(refused["details"])
