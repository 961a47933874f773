"""Set-up calls (scenario language, File, ``setup``): who hears them, and that every answer says
which was refused and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.driving import DUMMY, Api, card, card_charge
from tests.store.twins import Kept

CARD = '{cardNumber: "4111111111111111", expiryDate: "12/40"}'


def api_with(provider: str) -> Api:
    body = f"{{providerId: {provider}, paymentInformation: {CARD}}}"
    return Api(
        scenario=f"version: 1\nname: s\nsetup:\n  - "
        f'{{id: ann, call: "POST /customer/card", body: {body}}}'
    )


@pytest.mark.parametrize("target", ["/charge", "/customer", "/__admin/rules"])
def test_a_set_up_that_is_refused_is_reported_by_every_answer(target: str) -> None:
    api = api_with("acq_nowhere")
    for _ in range(2):
        answer = api.get(target)
        assert (answer.status, answer["code"]) == (400, 90)
        told = answer["details"]["Setup.ann"]
        assert told.startswith("POST /customer/card answered 400: 39 ")
        assert "acq_nowhere" in told


def test_a_set_up_that_is_taken_is_there() -> None:
    assert api_with(DUMMY).get("/customer")["count"] == 1


def test_set_up_calls_have_no_number_among_the_calls_of_their_operation() -> None:
    body = f"{{providerId: {DUMMY}, paymentInformation: {CARD}}}"
    rule = "{id: first, when: {op: customer.create, call: 1}, then: {decline: expired_card}}"
    api = Api(
        scenario=f"version: 1\nname: s\nsetup:\n  - "
        f'{{call: "POST /customer/card", body: {body}}}\nrules: [{rule}]'
    )
    customer = {
        "providerId": DUMMY,
        "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40"},
    }
    assert [api.post("/customer/card", customer).status for _ in range(2)] == [400, 201]
    assert api.get("/customer")["count"] == 2
    entries = api.get("/__admin/journal")["entries"]
    assert [(entry["op"], entry["call"]) for entry in entries] == [
        ("customer.create", 1),
        ("customer.create", 2),
        ("customer.search", 1),
    ]


def made(api: Api, scenario: object) -> Any:
    """What the control API says of the set-up of a scenario, which it makes now."""
    reply = api.call("POST", "/__admin/scenarios/setup", scenario)
    assert reply.status == 200, reply.raw
    return reply["calls"]


def payment(**fields: object) -> dict[str, object]:
    """A set-up call that pays."""
    return {"call": "POST /charge/card", "body": card_charge(**fields)}


def counted(api: Api, rule: str) -> tuple[int, int]:
    """How often a rule was met and has fired."""
    rules = api.get("/__admin/rules")["rules"]
    return next((one["calls"], one["hits"]) for one in rules if one["id"] == rule)


DECLINED = {"decline": "insufficient_funds"}
DOWN = {"transport": {"at": "receive", "status": 503}}
RULES: dict[str, dict[str, object]] = {
    "limited": {"when": {"op": "charge.create"}, "limit": 1, "then": DECLINED},
    "by-reference": {
        "when": {"op": "charge.create"},
        "key": ["request.reference"],
        "sequence": [DECLINED],
    },
    "as-it-arrives": {"when": {"op": "charge.create"}, "limit": 1, "then": DOWN},
    "every-operation": {"when": {}, "limit": 1, "then": DOWN},
    "by-number": {"when": {"op": "charge.create", "call": 1}, "then": DECLINED},
    "by-count": {"when": {"op": "charge.create", "nth": 1}, "then": DECLINED},
    "drawn": {"when": {"op": "charge.create"}, "limit": 1, "chance": {"p": 1, "then": DECLINED}},
    "since-the-first": {
        "when": {"op": "charge.create", "clock": {"for": "1h"}},
        "limit": 1,
        "then": DECLINED,
    },
}


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_of_a_scenario_hears_or_counts_a_set_up(rule: str) -> None:
    shop = {"version": 1, "name": "shop", "setup": [payment(reference="order-1")]}
    api = Api(scenario=json.dumps({**shop, "rules": [{"id": rule, **RULES[rule]}]}))
    assert api.call("GET", "/__admin/rules").status == 200
    assert made(api, shop) == [{"call": "POST /charge/card", "status": 201}]
    assert counted(api, rule) == (0, 0)
    api.advance("2h")
    first, second = (api.try_charge(reference="order-1").status for _ in range(2))
    assert (first in (400, 503), second) == (True, 201)
    assert counted(api, rule)[1] == 1
    assert api.get("/charge", Status="SUCCESS")["count"] == 3


def test_shipped_scenarios_that_spoil_payments_go_with_the_sample_shop() -> None:
    api = Api(scenario=["sample-shop", "charged-but-unanswered"])
    assert api.get("/charge")["count"] == 6
    assert counted(api, "lost-answer") == (0, 0)
    with pytest.raises(ConnectionError):
        api.try_charge(reference="order-1")
    assert api.try_charge(reference="order-1").status == 201


def test_a_webhook_that_the_set_up_causes_is_not_heard_either() -> None:
    hook = {"url": "http://127.0.0.1:4111/__inbox/shop?publicKey=pk_tests"}
    rule = "{id: lost, when: {op: webhook.deliver}, limit: 1, then: {webhook: {drop: true}}}"
    api = Api(scenario=f"{{version: 1, name: s, rules: [{rule}]}}")
    made(api, {"version": 1, "setup": [payment(webhook=hook)]})
    assert counted(api, "lost") == (0, 0)
    for _ in range(2):
        api.charge(webhook=hook)
    assert api.get("/__admin/webhooks")["count"] == 2
    assert counted(api, "lost") == (1, 1)


MONTHLY = {
    "paymentMethodId": "{ann.defaultPaymentMethod.paymentMethodId}",
    "amount": 15,
    "currency": "AUD",
    "interval": "Month",
}
CLUB = {
    "version": 1,
    "name": "club",
    "setup": [
        {
            "id": "ann",
            "call": "POST /customer/card",
            "body": {"providerId": DUMMY, "paymentInformation": card()},
        },
        {"call": "POST /subscription/payment_method", "body": MONTHLY},
    ],
}
"""Its first payment is due at once."""


@pytest.mark.parametrize("is_later", [False, True])
def test_what_is_due_at_once_belongs_to_the_set_up_and_what_time_brings_does_not(
    is_later: bool,
) -> None:
    rules = [{"id": "poor", "when": {"op": "charge.create"}, "limit": 1, "then": DECLINED}]
    api = Api(
        scenario=json.dumps(
            {"version": 1, "rules": rules} if is_later else {**CLUB, "rules": rules}
        )
    )
    if is_later:
        made(api, CLUB)
    assert [one["status"] for one in api.get("/charge")["charges"]] == ["SUCCESS"]
    assert counted(api, "poor") == (0, 0)
    api.advance("31d")
    assert [one["status"] for one in api.get("/charge")["charges"]] == ["FAILED", "SUCCESS"]
    assert counted(api, "poor") == (1, 1)


def test_a_test_value_makes_a_set_up_fail_as_it_says() -> None:
    setup = {
        **payment(metadata={"mock": "expired_card"}),
        "expect": {"status": 400, "body": {"code": 14}},
    }
    rule = {"id": "taken", "when": {"op": "charge.create"}, "then": {"approve": {}}}
    api = Api()
    assert (
        api.call(
            "PUT", "/__admin/scenarios", {"version": 1, "setup": [setup], "rules": [rule]}
        ).status
        == 200
    )
    assert made(api, {"version": 1, "setup": [setup]}) == [
        {"call": "POST /charge/card", "status": 400}
    ]
    assert api.get("/charge", Status="FAILED")["count"] == 2


def test_a_set_up_that_only_a_rule_would_make_fail_is_refused_and_told_of_test_values() -> None:
    setup = {**payment(), "expect": {"status": 400}}
    rule = {
        "id": "poor",
        "when": {"op": "charge.create"},
        "then": {"decline": "insufficient_funds"},
    }
    api = Api()
    refused = api.call(
        "PUT", "/__admin/scenarios", {"version": 1, "name": "s", "setup": [setup], "rules": [rule]}
    )
    assert refused.status == 400
    told = refused["details"]["Setup.0"]
    assert told.startswith("POST /charge/card: wanted status 400, got 201")
    assert "no rule of a scenario hears a set-up call: a test value makes one fail" in told
    assert told.endswith("(set-up of s)")
    assert [one["name"] for one in api.get("/__admin/scenarios")["scenarios"]] == ["test-values"]
    assert api.get("/charge")["count"] == 0


def test_the_journal_says_who_made_a_set_up_and_why_a_rule_did_not_fire(api: Api) -> None:
    rule = {
        "id": "poor",
        "when": {"op": "charge.create"},
        "then": {"decline": "insufficient_funds"},
    }
    api.call("POST", "/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]})
    made(api, {"version": 1, "setup": [payment()]})
    entry = api.get("/__admin/journal/1")
    assert (entry["op"], entry["call"], entry["by"], entry["status"]) == (
        "charge.create",
        None,
        "control API",
        201,
    )
    lost = [one for decision in entry["decisions"] for one in decision["lost"]]
    assert {
        "rule": "poor",
        "why": "setup: wanted what is not part of a set-up, got a part of one",
    } in lost
    tried = api.call(
        "POST", "/__admin/scenarios/dry-run", {"version": 1, "name": "s", "rules": [rule]}
    )
    assert (tried["entries"], tried["rules"][0]["concerned"]) == (0, 0)
    assert api.try_charge().status == 400
    assert api.get("/__admin/journal/2")["call"] == 1


def test_a_set_up_that_was_made_later_is_repeated_as_one_in_a_fork(tmp_path: Path) -> None:
    cut = {"transport": {"at": "upload", "reset": {}}}
    rules = [
        {"id": name, "when": {"op": "charge.create"}, "limit": 1, "then": then}
        for name, then in (("cut", cut), ("poor", DECLINED))
    ]
    api = Kept(tmp_path / "kept.db")
    assert (
        api.call("POST", "/__admin/scenarios", {"version": 1, "name": "s", "rules": rules}).status
        == 201
    )
    made(api, CLUB)
    with pytest.raises(ConnectionError):
        api.try_charge()
    assert api.try_charge().status == 400
    api.restart()
    ops = [one["op"] for one in api.get("/__admin/journal")["entries"]]
    assert ops == [
        "customer.create",
        "subscription.create",
        "clock.subscription_renewal",
        *["charge.create"] * 2,
    ]
    for entry, states in ((3, ["SUCCESS"]), (5, ["FAILED", "SUCCESS"])):
        assert api.call("POST", "/__admin/fork", {"to": f"sk_{entry}", "at": entry}).status == 201
        charges = api.call("GET", "/charge", key=f"sk_{entry}")["charges"]
        assert [one["status"] for one in charges] == states
