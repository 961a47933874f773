"""Assumption ``request.idempotency``: a repeated ``Idempotency-Key`` is given the first answer, and
acts once."""

import asyncio
import json
from typing import Any

import pytest

from mockserver.engine.result import MOST_FIRSTS as MOST
from mockserver.web.transport_faults import Cut
from tests.driving import CARD, DUMMY, Api, Reply, card_charge

BY_HEADER = {"request.idempotency": "by_header"}
DECLINED = "4000000000000002"


def api_with(rules: str = "", **more: Any) -> Api:
    scenario = f"version: 1\nname: s\nrules:\n{rules}" if rules else None
    return Api(assumptions=BY_HEADER, scenario=scenario, **more)


def charge(api: Api, key: str = "k-1", **fields: object) -> Reply:
    return api.call("POST", "/charge/card", card_charge(**fields), headers={"Idempotency-Key": key})


def count(api: Api) -> int:
    return api.get("/charge")["count"]


def findings(api: Api) -> list[str]:
    return [row["finding"] for row in api.get("/__admin/findings")["findings"]]


def test_without_the_assumption_two_requests_make_two_charges(api: Api) -> None:
    assert charge(api)["chargeId"] != charge(api)["chargeId"]
    assert count(api) == 2
    assert "request.idempotency" not in api.get("/__admin/journal")["entries"][0]["assumptions"]


def test_a_repeat_is_given_the_first_answer_byte_for_byte_and_acts_once() -> None:
    api = api_with()
    first = charge(api)
    api.delete("/refund/" + first["chargeId"])
    again = charge(api)
    assert (again.status, again.raw) == (first.status, first.raw)
    assert count(api) == 1
    entry = api.get("/__admin/journal")["entries"][2]
    assert "request.idempotency" in entry["assumptions"]
    assert any("a repeat" in text for text in entry["warnings"])
    assert entry["events"] == []


def test_a_lost_answer_can_be_asked_for_again() -> None:
    lost = (
        "  - {id: lost, when: {op: charge.create}, limit: 1, then: {transport: {at: answer, "
        "reset: true}}}\n"
    )
    api = api_with(lost)
    with pytest.raises(Cut):
        charge(api, reference="order-5")
    again = charge(api, reference="order-5")
    assert again.status == 201
    assert count(api) == 1
    assert findings(api) == []
    without_a_key = api.post("/charge/card", card_charge(reference="order-5"))
    assert without_a_key.status == 201
    assert findings(api) == []


def test_a_retry_without_the_key_is_as_blind_as_ever() -> None:
    lost = (
        "  - {id: lost, when: {op: charge.create}, limit: 1, then: {transport: {at: answer, "
        "reset: true}}}\n"
    )
    api = api_with(lost)
    with pytest.raises(Cut):
        charge(api, reference="order-5")
    api.post("/charge/card", card_charge(reference="order-5"))
    assert findings(api) == ["double-charge", "blind-retry"]


def test_a_refused_key_is_no_blind_retry_and_answers_no_doubt() -> None:
    lost = (
        "  - {id: lost, when: {op: charge.create}, limit: 1, then: {transport: {at: answer, "
        "reset: true}}}\n"
    )
    api = api_with(lost)
    with pytest.raises(Cut):
        charge(api, reference="order-5")
    assert charge(api, reference="order-5", descriptor="again").status == 409
    assert findings(api) == []
    assert charge(api, "k-2", reference="order-5").status == 201
    assert findings(api) == ["double-charge", "blind-retry"]


def test_a_repeat_is_no_second_charge_to_the_findings() -> None:
    api = api_with()
    for _ in range(2):
        assert charge(api).status == 201
    (row,) = api.get("/__admin/findings")["findings"]
    assert (row["finding"], row["count"]) == ("no-reference", 1)


def test_a_decline_is_repeated_and_counts_as_one_try() -> None:
    api = api_with()
    body = {"paymentInformation": {**CARD, "cardNumber": DECLINED}, "reference": "order-5"}
    first = charge(api, **body)
    assert first.status == 400
    again = charge(api, **body)
    assert (again.status, again.raw) == (400, first.raw)
    assert count(api) == 1
    assert findings(api) == []


@pytest.mark.parametrize("operation", ["refund", "capture", "void"])
def test_other_operations_act_once_too(operation: str) -> None:
    api = api_with()
    charge_id = charge(api, capture=operation == "refund")["chargeId"]
    method, path = {
        "refund": ("DELETE", f"/refund/{charge_id}"),
        "capture": ("POST", f"/charge/{charge_id}"),
        "void": ("DELETE", f"/charge/{charge_id}"),
    }[operation]
    body = {} if method == "POST" else None
    first, again = (
        api.call(method, path, body, headers={"idempotency-key": "k-2"}) for _ in range(2)
    )
    assert first.status == 200, first.raw
    assert (again.status, again.raw) == (200, first.raw)


def test_another_request_under_the_key_is_refused_and_changes_nothing() -> None:
    api = api_with()
    first = charge(api, amount=20)
    other = charge(api, amount=21)
    assert other.status == 409
    assert other["code"] == 90
    assert "charge.create" in other["details"]["IdempotencyKey"]
    refund = api.call("DELETE", "/refund/" + first["chargeId"], headers={"Idempotency-Key": "k-1"})
    assert refund.status == 409
    assert count(api) == 1
    assert api.get("/charge/" + first["chargeId"])["status"] == "SUCCESS"


def test_a_request_that_was_refused_before_it_acted_may_be_put_right() -> None:
    api = api_with()
    assert charge(api, amount=-1).status == 400
    assert charge(api, amount=20).status == 201


def test_what_never_reached_the_operation_may_be_sent_again() -> None:
    api = api_with("  - {id: r, limit: 1, then: {transport: {at: receive, status: 503}}}\n")
    assert charge(api).status == 503
    assert charge(api).status == 201
    assert count(api) == 1


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    refused = charge(api_with(), key)
    assert refused.status == 400
    assert refused["details"] == {"IdempotencyKey": "wanted 1 to 255 characters"}


def test_a_key_is_kept_for_24_hours() -> None:
    api = api_with()
    first = charge(api)
    api.advance("24h")
    assert charge(api).raw == first.raw
    api.advance("1s")
    assert charge(api)["chargeId"] != first["chargeId"]
    assert count(api) == 2


def test_keys_of_searches_mean_nothing() -> None:
    api = api_with()
    for expected in (0, 1):
        found = api.call("GET", "/charge", headers={"Idempotency-Key": "look"})
        assert found["count"] == expected
        charge(api)


def test_the_oldest_keys_are_forgotten_beyond_a_bound() -> None:
    api = api_with()
    first = charge(api, "k-0")
    for number in range(1, MOST + 1):
        assert charge(api, f"k-{number}").status == 201
    assert charge(api, "k-0")["chargeId"] != first["chargeId"]
    warnings = [
        text for entry in api.get("/__admin/journal")["entries"] for text in entry["warnings"]
    ]
    assert any("idempotency keys" in text for text in warnings)


def test_a_request_that_is_still_being_answered_is_refused_meanwhile() -> None:
    slow = "version: 1\nname: slow\nassumptions: {request.idempotency: by_header}\n"
    slow += (
        "rules: [{id: slow, when: {op: charge.create}, then: {transport: {at: answer, delay: "
        "50ms}}}]\n"
    )
    api = Api()
    assert api.call("PUT", "/__admin/scenarios", raw=slow.encode()).status == 200
    body = {"amount": 5, "providerId": DUMMY, "paymentInformation": CARD}
    headers = {"Idempotency-Key": "k-1"}

    async def both() -> tuple[Any, Any]:
        first = asyncio.create_task(api.calling("POST", "/charge/card", body, headers=headers))
        await asyncio.sleep(0)
        second = await api.calling("POST", "/charge/card", body, headers=headers)
        return await first, second

    first, second = asyncio.run(both())
    assert (first.status, second.status) == (201, 409)
    assert second.body["code"] == 31
    assert second.body["isRetryable"] is True
    assert api.call("POST", "/charge/card", body, headers=headers).raw == first.raw
    entry = api.call("GET", "/__admin/journal").body["last"]
    assert api.call("POST", "/__admin/fork", {"to": "sk_past", "at": entry}).status == 201
    assert api.call("POST", "/charge/card", body, headers=headers, key="sk_past").raw == first.raw


@pytest.mark.parametrize("secrets", ["true", "false"])
def test_keys_are_kept_in_exports_without_a_digest_that_gives_a_card_away(secrets: str) -> None:
    api = api_with()
    first = charge(api)
    document = api.get("/__admin/state", secrets=secrets).body
    (kept,) = document["records"]["idempotency"].values()
    assert ("asked" in kept) == (secrets == "true")
    assert "k-1" not in json.dumps(document["records"])
    api.key = "sk_other"
    assert api.put("/__admin/state", document).status == 200
    assert charge(api).raw == first.raw
    assert count(api) == 1


@pytest.mark.parametrize(
    ("field", "value"), [("status", 700), ("answer", 5), ("at", "now"), ("more", 1)]
)
def test_a_document_with_a_key_that_makes_no_sense_is_refused(field: str, value: object) -> None:
    api = api_with()
    charge(api)
    document = api.get("/__admin/state").body
    ((name, kept),) = document["records"]["idempotency"].items()
    kept[field] = value
    refused = api.put("/__admin/state", document)
    assert refused.status == 400
    assert list(refused["details"]) == [f"Records.idempotency.{name}.{field}"]


def test_a_fork_knows_the_keys() -> None:
    api = api_with()
    first = charge(api)
    api.post("/__admin/fork", {"to": "sk_copy"})
    api.key = "sk_copy"
    assert charge(api).raw == first.raw
    assert charge(api, amount=99).status == 409


def test_a_fork_at_an_entry_has_counted_what_was_refused_for_its_key() -> None:
    api = api_with(
        "  - {id: r, when: {op: charge.create, nth: 9}, key: [request.amount], then: {approve: "
        "{}}}\n"
    )
    statuses = [
        charge(api, key, amount=amount).status for key, amount in (("a", 1), ("a", 2), ("", 3))
    ]
    assert statuses == [201, 409, 400]
    assert api.post("/__admin/fork", {"to": "sk_copy", "at": 3}).status == 201
    state, copy = (
        api.call("GET", "/__admin/state?secrets=true", key=key).body for key in (api.key, "sk_copy")
    )
    assert state["rules"] == copy["rules"]


def test_a_reset_forgets_the_keys() -> None:
    api = api_with()
    charge(api)
    api.post("/__admin/reset")
    charge(api)
    assert count(api) == 1
