"""Webhooks as a receiver and a tester see them (published facts, 6; scenario language, Outcomes,
webhook)."""

import asyncio
import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from mockserver.settings import DEFAULT_WEBHOOK_KEY
from mockserver.wire.jsonio import dumps, loads
from tests.driving import DUMMY, Api, batch_of, card, card_charge, problem_of

URL = "http://127.0.0.1:4111/__inbox/shop"
HOOK = {"url": URL, "authorization": "Bearer shop"}
ELSEWHERE = "http://127.0.0.1:9/hook"


def scripted(webhook: str, op: str = "charge.create") -> Api:
    return Api(
        scenario=f"version: 1\nname: s\nrules:\n  - "
        f"{{id: w, when: {{op: {op}}}, then: {{webhook: {webhook}}}}}"
    )


def arrived(api: Api, name: str = "shop") -> list[dict[str, Any]]:
    return api.get(f"/__admin/inbox/{name}")["messages"]


def logged(api: Api, **query: object) -> list[dict[str, Any]]:
    return api.get("/__admin/webhooks", **query)["webhooks"]


def tries(delivery: dict[str, Any]) -> list[tuple[str, int | None, str | None]]:
    return [(made["at"][11:19], made["status"], made["error"]) for made in delivery["tries"]]


def test_a_charge_is_reported_signed_and_in_its_envelope(api: Api) -> None:
    charge = api.charge(webhook=HOOK, reference="order-1")
    (message,) = arrived(api)
    assert message["method"] == "POST"
    assert message["signature"] == "valid"
    headers = message["headers"]
    assert headers["authorization"] == "Bearer shop"
    assert headers["x-payfurl-version"] == "1.17.1.0"
    assert headers["content-type"] == "application/json"
    meta, data = message["body"]["meta"], message["body"]["data"]
    assert list(message["body"]) == ["meta", "data"]
    assert (meta["type"], meta["eventType"]) == ("transaction", "transaction.status.changed")
    assert meta["timestamp"] == "2031-03-01T00:00:00.0000000Z"
    assert len(meta["messageId"]) == 32
    assert data["chargeId"] == charge["chargeId"]
    assert (data["status"], data["amount"], data["reference"]) == ("SUCCESS", 20, "order-1")
    assert data["paymentInformation"]["card"]["cardNumber"] == "4111********1111"
    assert data["refunds"] == []
    assert not {
        "voidDate",
        "refundedAmount",
        "customer",
        "provider",
        "metadata",
        "failedAttempts",
    } & set(data)


def test_the_signature_is_that_of_the_published_clients(api: Api) -> None:
    api.charge(webhook=HOOK)
    (delivery,) = logged(api)
    shown = loads(api.get("/__admin/webhooks").raw)["webhooks"][0]  # type: ignore[index]
    raw = dumps(shown["body"], zeros=True)
    wanted = base64.b64encode(
        hmac.digest(DEFAULT_WEBHOOK_KEY.encode(), raw, hashlib.sha256)
    ).decode()
    assert delivery["signature"] == wanted
    assert arrived(api)[0]["headers"]["x-payfurl-signature"] == wanted


def test_every_move_of_a_charge_is_reported(api: Api) -> None:
    charge_id = api.charge(webhook=HOOK, capture=False)["chargeId"]
    api.post(f"/charge/{charge_id}", {"amount": 15})
    api.delete(f"/refund/{charge_id}", amount=5)
    api.delete(f"/refund/{charge_id}")
    told = [
        (one["body"]["data"]["status"], one["body"]["data"].get("refundedAmount"))
        for one in arrived(api)
    ]
    assert told == [("Authorised", None), ("SUCCESS", None), ("PARTIAL_REFUND", 5), ("REFUND", 15)]
    assert len({one["body"]["meta"]["messageId"] for one in arrived(api)}) == 4


def test_what_time_does_is_reported_too(api: Api) -> None:
    api.charge(webhook=HOOK, capture=False)
    api.advance("7d")
    last = arrived(api)[-1]
    assert last["body"]["data"]["status"] == "AUTHORISE_CANCELLED"
    assert last["at"] == last["body"]["meta"]["timestamp"] == "2031-03-08T00:00:00.0000000Z"


def test_a_declined_charge_is_reported(api: Api) -> None:
    api.post("/charge/card", card_charge(webhook=HOOK, paymentInformation=card("4000000000000002")))
    assert arrived(api)[0]["body"]["data"]["status"] == "FAILED"


def test_a_refused_request_tells_nothing(api: Api) -> None:
    assert api.post("/charge/card", card_charge(webhook=HOOK, currency="XXZ")).status == 400
    assert logged(api) == []


def test_a_batch_is_reported_of_at_every_step(api: Api) -> None:
    body = batch_of(f"{api.method()},10,AUD,a", WebhookConfig=HOOK)
    batch = api.post("/batch/transaction/payment_method", body)
    api.advance("1s")
    assert [one["body"]["data"]["status"] for one in arrived(api)] == [
        "RECEIVED",
        "CREATED",
        "IN_PROGRESS",
        "SUCCESS",
    ]
    last = arrived(api)[-1]["body"]
    assert (last["meta"]["type"], last["meta"]["eventType"]) == ("batch", "batch.status.changed")
    assert last["data"] == api.get(f"/batch/{batch['batchId']}/status").body


@pytest.mark.parametrize(
    ("path", "kind", "event"),
    [
        ("/customer/card", "customer", "customer.created"),
        ("/payment_method/card", "paymentMethod", None),
    ],
)
def test_customers_and_methods_are_reported_as_they_are_answered(
    api: Api, path: str, kind: str, event: str | None
) -> None:
    answer = api.post(path, {"providerId": DUMMY, "paymentInformation": card(), "webhook": HOOK})
    assert answer.status == 201, answer.raw
    told = {one["body"]["meta"]["eventType"]: one["body"] for one in arrived(api)}
    body = told[event or f"{kind}.created"]
    assert body["meta"]["type"] == kind
    assert body["data"] == answer.body


def test_subscriptions_are_reported_of_their_types_alone(api: Api) -> None:
    api.post("/webhook/subscription", {"url": URL, "authorization": "a", "types": ["Customer"]})
    ended = api.post("/webhook/subscription", {"url": URL + "2", "types": ["Transaction"]})
    api.post("/webhook/subscription", {"url": URL + "3", "types": ["transaction", "batch"]})
    api.delete(f"/webhook/subscription/{ended['webhookSubscriptionId']}")
    api.charge(webhook=HOOK)
    assert [one["headers"]["authorization"] for one in arrived(api)] == ["Bearer shop"]
    assert arrived(api, "shop2") == []
    (other,) = arrived(api, "shop3")
    assert "authorization" not in other["headers"]
    assert other["body"]["data"] == arrived(api)[0]["body"]["data"]


def test_one_sandbox_hears_nothing_of_another(api: Api) -> None:
    api.charge(webhook=HOOK)
    api.key = "sk_other"
    assert arrived(api) == logged(api) == []


def test_a_receiver_is_tried_again_by_the_table_with_the_same_message() -> None:
    api = scripted("{receiver: [500, timeout, 302, 404, 503, 500]}")
    api.charge(webhook=HOOK)
    assert logged(api)[0]["next"] == "2031-03-01T00:00:10.0000000Z"
    api.advance("1d")
    (delivery,) = logged(api)
    assert delivery["state"] == "given_up"
    assert delivery["next"] is None
    assert tries(delivery) == [
        ("00:00:00", 500, None),
        ("00:00:10", None, "timeout"),
        ("00:01:10", 302, None),
        ("00:11:10", 404, None),
        ("01:11:10", 503, None),
        ("07:11:10", 500, None),
    ]
    assert arrived(api) == []


def test_after_the_script_the_receiver_itself_is_called() -> None:
    api = scripted("{receiver: [500, 500]}")
    api.charge(webhook=HOOK)
    api.advance("70s")
    (delivery,) = logged(api)
    assert (delivery["state"], [made["scripted"] for made in delivery["tries"]]) == (
        "delivered",
        [True, True, False],
    )
    assert [one["at"][11:19] for one in arrived(api)] == ["00:01:10"]
    assert arrived(api)[0]["body"]["meta"]["messageId"] == delivery["messageId"]


def test_a_rule_for_deliveries_scripts_each_of_them() -> None:
    api = scripted("{receiver: [503]}", op="webhook.deliver")
    api.charge(webhook=HOOK)
    api.charge(webhook=HOOK)
    assert [tries(one) for one in logged(api)] == [[("00:00:00", 503, None)]] * 2
    rules = api.get("/__admin/rules")["rules"]
    assert next(row["hits"] for row in rules if row["id"] == "w") == 2


def test_a_rule_for_deliveries_can_choose_by_what_is_reported() -> None:
    api = Api(
        scenario="""
version: 1
name: s
rules:
  - {id: w, when: {op: webhook.deliver, "request.type": customer}, then: {webhook: {drop: true}}}
"""
    )
    api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": card(), "webhook": HOOK})
    api.charge(webhook=HOOK)
    assert "customer" not in [one["type"] for one in logged(api)]
    assert [one["type"] for one in logged(api)][-1] == "transaction"


@pytest.mark.parametrize(
    ("test", "dropped"),
    [
        ("request.data.status: Authorised", ["Authorised"]),
        ("request.data.status: SUCCESS", ["SUCCESS"]),
        ("request.data.amount: {gt: 20}", []),
        ("request.data.amount: 20", ["Authorised", "SUCCESS"]),
        ("request.data.paymentInformation.card.type: VISA", ["Authorised", "SUCCESS"]),
        ("request.meta.type: customer", []),
    ],
)
def test_a_rule_for_deliveries_sees_what_the_webhook_says(test: str, dropped: list[str]) -> None:
    rule = f"{{id: w, when: {{op: webhook.deliver, {test}}}, then: {{webhook: {{drop: true}}}}}}"
    api = Api(scenario=f"version: 1\nname: s\nrules:\n  - {rule}\n")
    charge = api.charge(webhook=HOOK, capture=False)
    api.post(f"/charge/{charge['chargeId']}", {})
    told = {one["body"]["data"]["status"] for one in logged(api)}
    assert told == {"Authorised", "SUCCESS"} - set(dropped)


def test_a_rule_for_deliveries_that_looks_for_what_no_webhook_says_is_refused() -> None:
    rule = {
        "id": "w",
        "when": {"op": "webhook.deliver", "request.data.statuss": "x"},
        "then": {"webhook": {"drop": True}},
    }
    reply = Api().put("/__admin/scenarios", {"version": 1, "name": "s", "rules": [rule]})
    assert problem_of(reply) == (400, 90)
    assert "did you mean 'status'?" in str(reply.body["details"])


def test_dropped() -> None:
    api = scripted("{drop: true}")
    api.charge(webhook=HOOK)
    assert logged(api) == []


def test_delayed() -> None:
    api = scripted("{delay: 1h}")
    api.charge(webhook=HOOK)
    api.advance("59m")
    assert arrived(api) == []
    api.advance("1m")
    (message,) = arrived(api)
    assert (message["at"][11:16], message["body"]["meta"]["timestamp"][11:16]) == ("01:00", "00:00")


def test_duplicated_with_the_same_message() -> None:
    api = scripted("{copies: 3, gap: 5s}")
    api.charge(webhook=HOOK)
    api.advance("10s")
    assert [one["at"][17:19] for one in arrived(api)] == ["00", "05", "10"]
    assert len({one["body"]["meta"]["messageId"] for one in arrived(api)}) == 1
    assert len({one["id"] for one in logged(api)}) == 3


def test_overtaken_by_the_next() -> None:
    api = scripted("{swap_with_next: true}")
    charge_id = api.charge(webhook=HOOK)["chargeId"]
    assert [one["state"] for one in logged(api)] == ["held"]
    api.delete(f"/refund/{charge_id}")
    assert [one["body"]["data"]["status"] for one in arrived(api)] == ["REFUND", "SUCCESS"]


def test_one_that_is_withdrawn_holds_the_place_of_no_other() -> None:
    api = scripted("{swap_with_next: true}", op="webhook.deliver")
    for _ in range(2):
        address = {"types": ["Transaction"], "url": HOOK["url"]}
        subscription = api.post("/webhook/subscription", address)["webhookSubscriptionId"]
        api.charge()
        assert logged(api)[-1]["state"] == "held"
        api.delete(f"/webhook/subscription/{subscription}")


def test_overtaken_by_nobody_it_goes_after_a_minute() -> None:
    api = scripted("{swap_with_next: true}")
    api.charge(webhook=HOOK)
    api.advance("59s")
    assert arrived(api) == []
    api.advance("1s")
    assert len(arrived(api)) == 1


def test_where_each_swaps_with_the_next_they_go_in_pairs_and_the_last_after_a_minute() -> None:
    api = scripted("{swap_with_next: true}", op="charge.create")
    for amount in (1, 2, 3, 4, 5):
        api.charge(amount=amount, webhook=HOOK)
    assert [one["body"]["data"]["amount"] for one in arrived(api)] == [2, 1, 4, 3]
    assert [one["state"] for one in logged(api)].count("held") == 1
    api.advance("1m")
    assert [one["body"]["data"]["amount"] for one in arrived(api)] == [2, 1, 4, 3, 5]


def test_a_rule_for_every_delivery_that_swaps_sends_them_all() -> None:
    api = scripted("{swap_with_next: true}", op="webhook.deliver")
    charge_id = api.charge(webhook=HOOK)["chargeId"]
    api.delete(f"/refund/{charge_id}")
    assert [one["body"]["data"]["status"] for one in arrived(api)] == ["REFUND", "SUCCESS"]
    api.charge(webhook=HOOK)
    api.advance("1m")
    assert len(arrived(api)) == 3


@pytest.mark.parametrize("op", ["charge.create", "webhook.deliver, request.data.status: SUCCESS"])
@pytest.mark.parametrize("swap", ["true", "5s"])
def test_the_next_one_overtakes_all_copies(op: str, swap: str) -> None:
    api = scripted(f"{{copies: 2, swap_with_next: {swap}}}", op=op)
    charge_id = api.charge(webhook=HOOK)["chargeId"]
    assert arrived(api) == []
    api.delete(f"/refund/{charge_id}")
    assert [one["body"]["data"]["status"] for one in arrived(api)] == [
        "REFUND",
        "SUCCESS",
        "SUCCESS",
    ]


def test_copies_that_are_overtaken_keep_their_gap() -> None:
    api = scripted("{copies: 2, gap: 30s, swap_with_next: true}")
    charge_id = api.charge(webhook=HOOK)["chargeId"]
    api.advance("10s")
    api.delete(f"/refund/{charge_id}")
    assert [one["body"]["data"]["status"] for one in arrived(api)] == ["REFUND", "SUCCESS"]
    api.advance("29s")
    assert len(arrived(api)) == 2
    api.advance("1s")
    assert len(arrived(api)) == 3


def test_copies_that_nobody_overtakes_go_after_a_minute_with_their_gap() -> None:
    api = scripted("{copies: 2, gap: 30s, swap_with_next: true}")
    api.charge(webhook=HOOK)
    api.advance("60s")
    assert len(arrived(api)) == 1
    api.advance("30s")
    assert len(arrived(api)) == 2


def test_where_each_has_copies_and_swaps_they_all_go_out() -> None:
    api = scripted("{copies: 2, swap_with_next: true}")
    for amount in (1, 2, 3, 4):
        api.charge(amount=amount, webhook=HOOK)
    assert [one["body"]["data"]["amount"] for one in arrived(api)] == [2, 1, 1, 2, 4, 3, 3, 4]


def test_for_so_long_it_is_overtaken_by_the_next_about_the_same_object_only() -> None:
    api = scripted("{swap_with_next: 2s}")
    charge_id = api.charge(webhook=HOOK, amount=1)["chargeId"]
    api.charge(webhook=HOOK, amount=2)
    api.delete(f"/refund/{charge_id}")
    assert [
        (one["body"]["data"]["amount"], one["body"]["data"]["status"]) for one in arrived(api)
    ] == [
        (1, "REFUND"),
        (1, "SUCCESS"),
    ]
    assert [one["state"] for one in logged(api)].count("held") == 1


def test_after_that_it_goes_out() -> None:
    api = scripted("{swap_with_next: 2s}")
    api.charge(webhook=HOOK)
    api.advance("1s")
    assert arrived(api) == []
    api.advance("1s")
    assert len(arrived(api)) == 1


@pytest.mark.parametrize(
    ("wrong", "signature", "is_real"),
    [
        ("signature: none", "missing", True),
        ("bad_signature: true", "invalid", True),
        ("edit: {data.chargeId: ghost}", "valid", False),
    ],
)
def test_one_more_that_is_wrong_comes_before_the_real_one(
    wrong: str, signature: str, is_real: bool
) -> None:
    api = scripted(f"{{extra: true, {wrong}}}")
    charge_id = api.charge(webhook=HOOK)["chargeId"]
    first, second = arrived(api)
    assert (first["signature"], first["body"]["data"]["chargeId"]) == (
        signature,
        charge_id if is_real else "ghost",
    )
    assert (second["signature"], second["body"]["data"]["chargeId"]) == ("valid", charge_id)
    assert first["body"]["meta"]["messageId"] != second["body"]["meta"]["messageId"]


def test_stale_tells_the_state_before() -> None:
    api = scripted("{stale: true}", op="charge.refund")
    charge_id = api.charge(webhook=HOOK)["chargeId"]
    api.advance("1h")
    api.delete(f"/refund/{charge_id}", amount=5)
    first, second = arrived(api)
    assert second["body"]["data"] == first["body"]["data"]
    assert second["body"]["meta"]["timestamp"] == first["body"]["meta"]["timestamp"]
    assert api.get(f"/charge/{charge_id}")["status"] == "PARTIAL_REFUND"


def test_forged() -> None:
    api = scripted("{bad_signature: true, authorization: Bearer stranger}")
    api.charge(webhook=HOOK)
    (message,) = arrived(api)
    assert (message["signature"], message["headers"]["authorization"]) == (
        "invalid",
        "Bearer stranger",
    )


def test_without_a_server_a_delivery_elsewhere_is_planned_and_seen(api: Api) -> None:
    charge = api.charge(webhook={"url": ELSEWHERE, "authorization": "secret"})
    (delivery,) = logged(api)
    assert (delivery["subject"], delivery["url"], delivery["tries"]) == (
        charge["chargeId"],
        ELSEWHERE,
        [],
    )
    assert delivery["authorization"] is True
    assert b"secret" not in api.get("/__admin/webhooks").raw
    entries = api.get("/__admin/journal", op="charge.create")["entries"]
    assert entries[0]["webhooks"] == [delivery["id"]]


def test_an_unreachable_address_never_fails_the_call(api: Api) -> None:
    for url in ("https://example", "not a url", "http://[", "ftp://host/x"):
        assert api.post("/charge/card", card_charge(webhook={"url": url})).status == 201


def test_a_webhook_is_sent_again_on_demand(api: Api) -> None:
    api.charge(webhook=HOOK)
    (delivery,) = logged(api)
    again = api.post(f"/__admin/webhooks/{delivery['id']}/resend")
    assert (again.status, again["state"], len(again["tries"])) == (200, "delivered", 2)
    assert [one["body"] for one in arrived(api)] == [delivery["body"]] * 2
    assert problem_of(api.post("/__admin/webhooks/nope/resend"))[0] == 404


def test_what_is_being_sent_or_held_is_not_sent_again() -> None:
    api = scripted("{swap_with_next: true}")
    api.charge(webhook=HOOK)
    assert problem_of(api.post(f"/__admin/webhooks/{logged(api)[0]['id']}/resend"))[0] == 409


def test_a_given_up_delivery_gets_a_new_series_of_tries() -> None:
    api = scripted("{receiver: [500, 500, 500, 500, 500, 500, 500]}")
    api.charge(webhook=HOOK)
    api.advance("1d")
    delivery_id = logged(api)[0]["id"]
    api.post(f"/__admin/webhooks/{delivery_id}/resend")
    assert logged(api)[0]["state"] == "waiting"
    api.advance("10s")
    assert (logged(api)[0]["state"], len(logged(api)[0]["tries"])) == ("delivered", 8)


def test_a_queue_that_goes_on_sends_nothing_of_a_call_that_is_not_answered_yet() -> None:
    first = {"op": "webhook.deliver", "request.data.reference": "first"}
    rules = [
        {
            "id": "queue",
            "when": first,
            "then": {"webhook": {"blocks": True, "receiver": [500, 200]}},
        },
        {
            "id": "held",
            "when": {"op": "charge.create", "request.reference": "held"},
            "then": {"transport": {"at": "answer", "hold": "released"}},
        },
    ]
    api = Api(scenario=json.dumps({"version": 1, "rules": rules}))

    async def tell() -> list[list[int]]:
        async def states() -> list[int]:
            return [
                len(one["tries"])
                for one in (await api.calling("GET", "/__admin/webhooks"))["webhooks"]
            ]

        await api.calling("POST", "/charge/card", card_charge(reference="first", webhook=HOOK))
        held = asyncio.create_task(
            api.calling("POST", "/charge/card", card_charge(reference="held", webhook=HOOK))
        )
        while not (await api.calling("GET", "/__admin/hold"))["held"]:
            await asyncio.sleep(0)
        await api.calling("POST", "/__admin/clock/advance", {"by": "1m"})
        seen = [await states()]
        await api.calling("DELETE", "/__admin/hold")
        await held
        return [*seen, await states()]

    assert asyncio.run(tell()) == [[2, 0], [2, 1]]


def test_anything_can_be_told(api: Api) -> None:
    told = api.post(
        "/__admin/events",
        {
            "type": "Batch",
            "eventType": "batch.lost",
            "data": {"batchId": "b", "card": "4111111111111111"},
            **HOOK,
        },
    )
    assert told.status == 201
    (message,) = arrived(api)
    assert (message["body"]["meta"]["type"], message["body"]["meta"]["eventType"]) == (
        "batch",
        "batch.lost",
    )
    assert message["body"]["data"]["batchId"] == "b"
    assert message["signature"] == "valid"
    assert (
        b"4111111111111111"
        not in api.get("/__admin/inbox/shop").raw + api.get("/__admin/webhooks").raw
    )


def test_anything_can_be_told_to_all_subscriptions_of_its_type(api: Api) -> None:
    assert problem_of(api.post("/__admin/events", {"type": "batch"})) == (400, 90)
    api.post("/webhook/subscription", {"url": URL, "types": ["Batch"]})
    api.post("/webhook/subscription", {"url": URL + "2", "types": ["Customer"]})
    assert len(api.post("/__admin/events", {"type": "batch"})["webhooks"]) == 1
    assert arrived(api)[0]["body"] == {"meta": arrived(api)[0]["body"]["meta"], "data": {}}
    assert arrived(api)[0]["body"]["meta"]["eventType"] == "batch.status.changed"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "batsch", "url": URL}, "Type"),
        ({"url": URL}, "Type"),
        ({"type": "batch", "url": "nowhere"}, "Url"),
        ({"type": "batch", "url": URL, "data": [1]}, "Data"),
        ({"type": "batch", "url": URL, "eventType": 5}, "EventType"),
        ({"type": "batch", "url": URL, "when": "now"}, "When"),
    ],
)
def test_a_senseless_event_is_refused(shared: Api, body: object, field: str) -> None:
    reply = shared.post("/__admin/events", body)
    assert problem_of(reply) == (400, 90)
    assert field in reply["details"]
    assert logged(shared) == []


def test_the_log_is_filtered(api: Api) -> None:
    charge = api.charge(webhook=HOOK)
    api.charge(webhook={"url": ELSEWHERE})
    assert len(logged(api, state="delivered")) == len(logged(api, subject=charge["chargeId"])) == 1
    assert len(logged(api, type="transaction")) == 2
    assert logged(api, eventType="batch.status.changed") == []
    assert [one["url"] for one in logged(api, limit=1)] == [ELSEWHERE]
    assert api.get("/__admin/webhooks", limit=1)["count"] == 2
    for query in ({"limit": 0}, {"limit": "x"}, {"stat": "x"}):
        assert problem_of(api.get("/__admin/webhooks", **query)) == (400, 90)


def test_the_log_keeps_the_newest_and_counts_the_rest() -> None:
    api = Api(journal_limit=2)
    for amount in (1, 2, 3):
        api.charge(amount=amount, webhook=HOOK)
    log = api.get("/__admin/webhooks").body
    assert [one["body"]["data"]["amount"] for one in log["webhooks"]] == [2, 3]
    assert (log["count"], log["dropped"]) == (2, 1)
    assert [one["body"]["data"]["amount"] for one in arrived(api)] == [2, 3]
    assert api.get("/__admin/inbox/shop")["dropped"] == 1


def test_pauses_are_an_assumption() -> None:
    api = Api(
        assumptions={"webhook.retry": "1s"},
        scenario="version: 1\nname: s\nrules:\n  - {id: w, then: {webhook: {receiver: [500, "
        "500]}}}",
    )
    api.charge(webhook=HOOK)
    api.advance("1s")
    assert [one["state"] for one in logged(api)] == ["given_up"]
    for bad in ("soon", "", " ".join(["1s"] * 21)):
        assert api.put("/__admin/assumptions", {"webhook.retry": bad}).status == 400
    assert api.put("/__admin/assumptions", {"webhook.retry": "never"}).status == 200


def test_a_copy_of_a_sandbox_tells_nobody_anything_twice(api: Api) -> None:
    api.charge(webhook=HOOK, capture=False)
    api.post("/__admin/fork", {"to": "sk_copy"})
    api.key = "sk_copy"
    assert arrived(api) == logged(api) == []
    api.advance("7d")
    assert [one["body"]["data"]["status"] for one in arrived(api)] == ["AUTHORISE_CANCELLED"]
