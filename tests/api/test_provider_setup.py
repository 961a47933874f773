"""Providers over HTTP: configure, change, remove; cost, fallback and simulated latency (published
facts, 2.12)."""

from typing import Any

import pytest

from tests.driving import DUMMY, Api, card, card_charge, problem_of


def provider(api: Api, **fields: object) -> dict[str, Any]:
    reply = api.post("/provider", {"type": "dummy", "name": "Mine", **fields})
    assert reply.status == 201, reply.raw
    return reply.body


def test_an_update_changes_what_is_given_and_nothing_else(api: Api) -> None:
    api.waits = True
    made = provider(api, currency="NZD", authenticationParameters={"MinMilliseconds": "5"})
    changed = api.put(f"/provider/{made['providerId']}", {"Name": "Yours"})
    assert (changed.status, changed.body) == (200, {**made, "name": "Yours"})
    changed = api.put(
        f"/provider/{made['providerId']}", {"currency": "usd", "environment": "production"}
    )
    assert changed.body == {**made, "name": "Yours", "currency": "USD", "environment": "PRODUCTION"}
    assert api.charge(providerId=made["providerId"])["provider"]["name"] == "Yours"
    long = "Yours, " * 20
    assert api.put(f"/provider/{made['providerId']}", {"name": long})["name"] == long
    assert provider(api, name=long)["name"] == long


def test_a_removed_provider_takes_no_more_charges(api: Api) -> None:
    made = provider(api)
    charge_id = api.charge(providerId=made["providerId"])["chargeId"]
    gone = api.delete(f"/provider/{made['providerId']}")
    assert (gone.status, gone.body) == (200, made)
    assert problem_of(api.post("/charge/card", card_charge(providerId=made["providerId"]))) == (
        400,
        39,
    )
    assert problem_of(api.delete(f"/provider/{made['providerId']}")) == (404, 39)
    assert problem_of(api.put(f"/provider/{made['providerId']}", {"name": "x"})) == (404, 39)
    assert api.delete(f"/refund/{charge_id}").status == 200


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"type": "dumy"}, 90, "Type"),
        ({"type": None}, 90, "Type"),
        ({"name": ""}, 90, "Name"),
        ({"environment": "MOON"}, 90, "Environment"),
        ({"currency": "ZZZ"}, 29, "Currency"),
        ({"fallbackProviderId": "nobody"}, 117, "FallbackProviderId"),
        (
            {"authenticationParameters": {"MinMilliseconds": "soon"}},
            90,
            "AuthenticationParameters.MinMilliseconds",
        ),
        (
            {"authenticationParameters": {"maxmilliseconds": 10**7}},
            90,
            "AuthenticationParameters.MaxMilliseconds",
        ),
        (
            {"authenticationParameters": {"minMilliseconds": "9" * 5000}},
            90,
            "AuthenticationParameters.MinMilliseconds",
        ),
        ({"costData": [{"transactionCost": -1}]}, 90, "CostData.0.TransactionCost"),
        (
            {"costData": [{}, {"transactionPercentage": "1e99"}]},
            90,
            "CostData.1.TransactionPercentage",
        ),
        ({"costData": [{"cardScheme": "VISO"}]}, 90, "CostData.0.CardScheme"),
        ({"costData": {}}, 90, "CostData"),
    ],
)
def test_a_provider_with_a_bad_field_is_refused(
    shared: Api, fields: dict[str, object], code: int, field: str
) -> None:
    refused = shared.post("/provider", {"type": "dummy", "name": "Mine", **fields})
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == [field]


def test_a_provider_without_a_type_is_reported_that_it_needs_one(api: Api) -> None:
    refused = api.post("/provider", {})
    assert problem_of(refused) == (400, 90)
    told = {"Type": "required, wanted a provider type such as dummy", "Name": "required"}
    assert refused["details"] == told


def test_a_provider_cannot_take_over_from_itself(api: Api) -> None:
    made = provider(api)
    refused = api.put(
        f"/provider/{made['providerId']}", {"name": "New", "fallbackProviderId": made["providerId"]}
    )
    assert problem_of(refused) == (400, 117)
    assert refused["details"] == {"FallbackProviderId": "a provider cannot take over from itself"}
    assert api.put(f"/provider/{made['providerId']}", {}).body == made
    taken = api.put(f"/provider/{made['providerId']}", {"fallbackProviderId": DUMMY})
    assert taken["fallbackProviderId"] == DUMMY


def test_a_refused_provider_leaves_no_trace_in_the_ids(api: Api) -> None:
    other = Api()
    api.post("/provider", {"type": "dummy", "name": "x", "currency": "ZZZ"})
    assert provider(api)["providerId"] == provider(other)["providerId"]


RULES = """
version: 1
name: broken
rules:
  - {id: down, when: {op: charge.create, provider: PROVIDER}, then: {OUTCOME}}
"""


def _failing(outcome: str) -> Api:
    return Api(scenario=RULES.replace("PROVIDER", DUMMY).replace("OUTCOME", outcome))


def test_a_retryable_failure_moves_on_to_the_fallback() -> None:
    api = _failing("provider_down: {}")
    backup = provider(api, name="Backup")["providerId"]
    api.put(f"/provider/{DUMMY}", {"fallbackProviderId": backup})
    charge = api.charge()
    assert (charge["status"], charge["providerId"]) == ("SUCCESS", backup)
    [attempt] = charge["failedAttempts"]
    assert (attempt["providerId"], attempt["isRetryable"]) == (DUMMY, True)
    assert attempt["dateAttempted"] == "2031-03-01T00:00:00.0000000Z"


def test_a_final_decline_does_not_move_on() -> None:
    api = _failing("decline: do_not_honour")
    api.put(f"/provider/{DUMMY}", {"fallbackProviderId": provider(api)["providerId"]})
    assert problem_of(api.post("/charge/card", card_charge())) == (400, 905)


def test_least_cost_moves_on_to_the_next_cheapest() -> None:
    api = _failing("provider_down: {}")
    dear = provider(api, name="Dear", costData=[{"transactionCost": 9}])["providerId"]
    reply = api.post(
        "/charge/card/least_cost", {"amount": 5, "currency": "AUD", "paymentInformation": card()}
    )
    assert (reply.status, reply["providerId"], len(reply["failedAttempts"])) == (201, dear, 1)


def test_fallbacks_in_a_ring_end() -> None:
    api = Api(
        scenario="version: 1\nname: d\nrules:\n  - {id: d, when: {op: charge.create}, then: "
        "{provider_down: {}}}\n"
    )
    backup = provider(api, fallbackProviderId=DUMMY)["providerId"]
    api.put(f"/provider/{DUMMY}", {"fallbackProviderId": backup})
    refused = api.post("/charge/card", card_charge())
    assert refused.status == 400
    stored = api.get(f"/charge/{refused['details']['ChargeId']}")
    assert [attempt["providerId"] for attempt in stored["failedAttempts"]] == [DUMMY, backup]


def test_a_fallback_that_cannot_do_it_is_passed_over() -> None:
    api = _failing("provider_down: {}")
    later = provider(api, type="afterpay")["providerId"]
    api.put(f"/provider/{DUMMY}", {"fallbackProviderId": later})
    assert api.post("/charge/card", card_charge()).status == 400


def test_a_providers_latency_is_served(api: Api) -> None:
    api.waits = True
    slow = provider(
        api, authenticationParameters={"MinMilliseconds": "30", "MaxMilliseconds": "40"}
    )["providerId"]
    from time import perf_counter

    start = perf_counter()
    api.charge(providerId=slow)
    assert perf_counter() - start >= 0.029


def test_new_parameters_without_a_latency_end_the_latency(api: Api) -> None:
    slow = provider(api, authenticationParameters={"MinMilliseconds": "600000"})["providerId"]
    api.put(f"/provider/{slow}", {"authenticationParameters": {"Key": "x"}})
    assert api.charge(providerId=slow)["status"] == "SUCCESS"


def test_least_cost_stays_with_the_cheapest_where_an_assumption_says_so() -> None:
    for value, status in (("next_cheapest", 201), ("none", 400)):
        api = _failing("provider_down: {}")
        provider(api, name="Dear", costData=[{"transactionCost": 9}])
        assert api.put("/__admin/assumptions", {"least_cost.next": value}).status == 200
        reply = api.post(
            "/charge/card/least_cost",
            {"amount": 5, "currency": "AUD", "paymentInformation": card()},
        )
        assert reply.status == status
