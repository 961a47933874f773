"""What a client hands over to the service to charge, over HTTP: subscriptions and batches that are
sent twice, and declined cards in them."""

from typing import Any

import pytest

from tests.driving import HEADER, Api, card, card_charge
from tests.findings.test_client_mistakes import (
    CHALLENGED,
    DEAD,
    SOFT,
    charge,
    finished,
    found,
    lossy,
    scripted,
    send,
)

TWICE = ["double-charge", "blind-retry"]


def subscribe(api: Api, payer: str, **fields: object) -> Any:
    plan = {
        "paymentMethodId": payer,
        "amount": 10,
        "currency": "AUD",
        "interval": "Month",
        **fields,
    }
    return send(api, "POST", "/subscription/payment_method", plan)


def hand_in(api: Api, *rows: str, description: str = "payroll", text: str | None = None) -> Any:
    """A batch that has been carried out, unless its request was lost."""
    batch = "\n".join((HEADER, *rows)) if text is None else text
    body = {"count": len(rows) or 2, "description": description, "batch": batch}
    reply = send(api, "POST", "/batch/transaction/payment_method", body)
    api.advance("1m")
    return reply


def test_a_subscription_sent_again_blindly_charges_twice() -> None:
    api = lossy("subscription.create")
    payer = api.method()
    assert subscribe(api, payer) is None
    second = subscribe(api, payer)
    assert second.status == 201
    rows = found(api)
    assert sorted(rows) == sorted(TWICE)
    first_id = api.get("/subscription")["subscriptions"][1]["subscriptionId"]
    assert rows["double-charge"]["about"] == {"subscription": first_id}
    assert rows["blind-retry"]["about"] == {
        "operation": "subscription.create",
        "subscription": first_id,
    }
    lines = [line["line"] for line in rows["double-charge"]["evidence"]]
    assert lines[0] == f"subscription.create 10 AUD {first_id}: the connection was reset"
    assert lines[1] == f"subscription.create 10 AUD {second['subscriptionId']}: answered"
    assert lines[2].endswith(": the charge is SUCCESS")


@pytest.mark.parametrize(
    "other",
    [
        {"amount": 11},
        {"currency": "USD"},
        {"interval": "Week"},
        {"frequency": 2},
        {"startDate": "2031-03-15T00:00:00Z"},
        {"metadata": {"member": "Ben"}},
        {"endAfter": {"count": 3}},
    ],
)
def test_another_subscription_of_the_same_customer_is_meant(other: dict[str, object]) -> None:
    api = lossy("subscription.create")
    payer = api.method()
    first = {"frequency": 1, "startDate": "2031-03-01T00:00:00Z", "metadata": {"member": "Ann"}}
    subscribe(api, payer, **first)
    subscribe(api, payer, **{**first, **other})
    api.advance("3d")
    assert found(api) == {}


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"startDate": "2031-03-02T00:00:01Z"}, {"startDate": "2031-03-02T00:00:09Z"}),
        ({"startDate": 1_930_003_200_000}, {"startDate": 1_930_003_207_000}),
        ({"startDate": 1_930_003_200_000}, {"startDate": "2031-02-28T01:00:00Z"}),
        ({"metadata": {"a": "1", "b": "2"}}, {"metadata": {"b": "2", "a": "1"}}),
        ({"currency": "aud", "frequency": 1}, {"interval": "month"}),
        ({}, {"metadata": {"member": "Ann"}}),
    ],
)
def test_the_same_subscription_in_other_words(
    first: dict[str, object], again: dict[str, object]
) -> None:
    api = lossy("subscription.create")
    payer = api.method()
    subscribe(api, payer, **first)
    assert subscribe(api, payer, **again).status == 201
    api.advance("3d" if "startDate" not in first else "60d")
    assert set(TWICE) <= set(found(api))


def test_a_subscription_of_another_payer_is_another() -> None:
    api = lossy("subscription.create")
    subscribe(api, api.method())
    subscribe(api, api.method("5555555555554444"))
    assert found(api) == {}


@pytest.mark.parametrize("path", ["/subscription", "/charge"])
def test_a_client_that_looks_before_it_subscribes_again_means_it(path: str) -> None:
    api = lossy("subscription.create")
    payer = api.method()
    subscribe(api, payer)
    assert api.get(path)["count"] == 1
    subscribe(api, payer)
    assert found(api) == {}


def test_a_subscription_that_was_never_made_is_sent_again_blindly() -> None:
    for looks in (True, False):
        api = lossy("subscription.create", at="receive")
        payer = api.method()
        subscribe(api, payer)
        if looks:
            assert api.get("/subscription")["count"] == 0
        subscribe(api, payer)
        assert list(found(api)) == ([] if looks else ["blind-retry"])


@pytest.mark.parametrize("undone", [True, False])
def test_two_subscriptions_that_start_later_charge_twice_only_if_both_go_on(undone: bool) -> None:
    api = lossy("subscription.create")
    payer = api.method()
    later = {"startDate": "2031-03-10T00:00:00Z"}
    subscribe(api, payer, **later)
    second = subscribe(api, payer, **later)
    assert list(found(api)) == ["blind-retry"]
    if undone:
        api.delete(f"/subscription/{second['subscriptionId']}")
    api.advance("10d")
    assert sorted(found(api)) == (["blind-retry"] if undone else sorted(TWICE))


def test_a_first_payment_that_was_refunded_before_the_second_is_no_double_charge() -> None:
    api = lossy("subscription.create")
    payer = api.method()
    subscribe(api, payer)
    (paid,) = api.get("/charge", PaymentMethodId=payer)["charges"]
    first = api.get("/subscription")["subscriptions"][0]["subscriptionId"]
    api.delete(f"/refund/{paid['chargeId']}")
    api.delete(f"/subscription/{first}")
    subscribe(api, payer)
    api.advance("1d")
    assert found(api) == {}


def batch_texts(payer: str) -> dict[str, str]:
    one, two = f"{payer},1,AUD,a", f"{payer},2.5,AUD,b"
    return {
        "none": f"{HEADER}\n{one}\n{two}",
        "order": f"{HEADER}\n{two}\n{one}",
        "amounts": f"{HEADER}\n{payer},1.00,AUD,a\n{payer},2.50,AUD,b",
        "lines": f"{HEADER}\r\n{one}\r\n{two}\r\n",
        "quotes": f'"PaymentMethodId",Amount,Currency,Reference\n"{payer}","1","AUD","a"\n{two}\n',
        "letters": f"\ufeff{HEADER.lower()}\n{payer},1,aud,a\n{two}\n\n",
    }


@pytest.mark.parametrize("words", ["none", "order", "amounts", "lines", "quotes", "letters"])
def test_the_same_rows_in_other_words_are_the_same_batch(words: str) -> None:
    api = lossy("batch.create")
    payer = api.method()
    hand_in(api, f"{payer},1,AUD,a", f"{payer},2.5,AUD,b")
    hand_in(api, text=batch_texts(payer)[words], description="payroll, second try")
    assert list(found(api)) == ["batch-sent-twice", "blind-retry"]


@pytest.mark.parametrize(
    "rows",
    [
        ["{0},2.5,AUD,a", "{0},1,AUD,b"],
        ["{0},1,AUD,a", "{0},3,AUD,b"],
        ["{0},1,AUD,a", "{0},2.5,USD,b"],
        ["{0},1,AUD,a", "{0},2.5,AUD,B"],
        ["{0},1,AUD,a", "{0},2.5,AUD,b", "{0},2.5,AUD,b"],
        ["{1},1,AUD,a", "{0},2.5,AUD,b"],
    ],
)
def test_rows_that_mean_something_else_are_another_batch(rows: list[str]) -> None:
    api = lossy("batch.create")
    payer, other = api.method(), api.method("5555555555554444")
    hand_in(api, f"{payer},1,AUD,a", f"{payer},2.5,AUD,b")
    hand_in(api, *(row.format(payer, other) for row in rows))
    assert found(api).keys() <= {"batch-row-repeated"}


def test_a_batch_whose_request_was_lost_is_known_by_its_text() -> None:
    api = lossy("batch.create", at="receive")
    row = f"{api.method()},1,AUD,a"
    hand_in(api, row)
    hand_in(api, row)
    assert list(found(api)) == ["blind-retry"]


def test_a_card_declined_for_good_in_a_batch_is_sent_again(api: Api) -> None:
    good, dead = api.method(), api.method(DEAD)
    rows = f"{good},1,AUD,a", f"{dead},2,AUD,b"
    hand_in(api, *rows)
    assert found(api) == {}
    hand_in(api, *rows, description="again")
    row = found(api)["hard-decline-retried"]
    assert (row["about"], row["count"]) == ({"paymentMethod": dead}, 1)
    lines = [line["line"] for line in row["evidence"]]
    assert lines[0].startswith("batch.row 2 AUD b ")
    assert lines[0].endswith(": declined, not retryable")
    entries = [line["entry"] for line in row["evidence"]]
    assert len(set(entries)) == 2


@pytest.mark.parametrize(
    ("then", "names"),
    [
        ("charge", ["hard-decline-retried"]),
        ("subscribe", ["hard-decline-retried"]),
        ("batch", ["hard-decline-retried"]),
        ("update", []),
        ("other", []),
    ],
)
def test_a_card_declined_for_good_in_a_batch_is_charged_by_another_way(
    api: Api, then: str, names: list[str]
) -> None:
    dead = api.method(DEAD)
    hand_in(api, f"{dead},2,AUD,b")
    match then:
        case "charge":
            send(
                api,
                "POST",
                "/charge/payment_method",
                {"amount": 20, "paymentMethodId": dead, "reference": "x"},
            )
        case "subscribe":
            subscribe(api, dead)
        case "batch":
            hand_in(api, f"{dead},7,AUD,c")
        case "update":
            assert (
                api.put(f"/payment_method/{dead}", {"card": {"expiryDate": "11/41"}}).status == 200
            )
            hand_in(api, f"{dead},2,AUD,b")
        case _:
            hand_in(api, f"{api.method()},2,AUD,b")
    assert list(found(api)) == names


def test_a_card_that_a_batch_has_twice_was_decided_on_once(api: Api) -> None:
    dead = api.method(DEAD)
    hand_in(api, f"{dead},1,AUD,a", f"{dead},2,AUD,b")
    assert found(api) == {}


def test_a_batch_that_was_sent_before_the_decline_was_known_is_no_retry(api: Api) -> None:
    dead = api.method(DEAD)
    for _ in range(2):
        api.batch(f"{dead},1,AUD,a")
    charge(api, paymentInformation=card(DEAD))
    api.advance("1m")
    assert found(api).keys() <= {"batch-row-repeated"}


def test_a_batch_whose_answer_was_lost_tells_of_no_decline() -> None:
    api = lossy("batch.create")
    dead = api.method(DEAD)
    hand_in(api, f"{dead},1,AUD,a")
    hand_in(api, f"{dead},2,AUD,b")
    assert found(api) == {}


def test_a_card_that_was_declined_by_a_charge_is_put_into_a_batch(api: Api) -> None:
    charge(api, paymentInformation=card(DEAD))
    hand_in(api, f"{api.method(DEAD)},1,AUD,a")
    row = found(api)["hard-decline-retried"]
    assert [line["line"].partition(" ")[0] for line in row["evidence"]] == [
        "charge.create",
        "batch.row",
    ]


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        ("decline: provider_down", "failed"),
        ("decline: stolen_card", "declined, not retryable"),
        ("approve: {}", "charged"),
    ],
)
def test_evidence_says_how_the_retry_in_a_batch_ended(outcome: str, ending: str) -> None:
    api = scripted(f"when: {{request.amount: 7}}, then: {{{outcome}}}")
    charge(api, paymentInformation=card(DEAD))
    hand_in(api, f"{api.method(DEAD)},7,AUD,a")
    row = found(api)["hard-decline-retried"]
    assert [line["line"].rpartition(": ")[2] for line in row["evidence"]] == [
        "declined, not retryable",
        ending,
    ]


def test_a_batch_cannot_pass_a_challenge_and_its_payer_can(api: Api) -> None:
    payer = api.method(CHALLENGED)
    hand_in(api, f"{payer},1,AUD,a")
    assert (
        api.get("/charge", Status="FAILED")["charges"][0]["failedAttempts"][0]["errorCode"] == "113"
    )
    asked = api.post(
        "/charge/payment_method", {"amount": 20, "paymentMethodId": payer, "reference": "x"}
    )
    assert asked["status"] == "PENDING_CHECKOUT"
    assert found(api) == {}


def test_a_row_that_is_left_out_of_the_results_is_not_known_to_be_declined() -> None:
    api = scripted("when: {op: batch.create}, then: {batch: {results: {omit_rows: [1]}}}")
    dead = api.method(DEAD)
    for _ in range(2):
        hand_in(api, f"{dead},1,AUD,a")
    assert found(api).keys() <= {"batch-row-repeated"}


def test_a_batch_that_has_not_ended_tells_of_a_decline_when_it_is_read() -> None:
    for reads in (True, False):
        api = scripted("when: {op: batch.create}, limit: 1, then: {batch: {stall_at: 0.5}}")
        good, dead = api.method(), api.method(DEAD)
        first = hand_in(api, f"{dead},1,AUD,a", f"{good},1,AUD,b")["batchId"]
        api.get(f"/batch/{first}/status")
        if reads:
            api.get(f"/batch/{first}")
        hand_in(api, f"{dead},2,AUD,a")
        assert list(found(api)) == (["hard-decline-retried"] if reads else [])


def test_a_subscription_that_still_goes_on_tells_of_nothing_final(api: Api) -> None:
    dead = api.method(DEAD)
    made = subscribe(api, dead, **RETRIES)["subscriptionId"]
    api.advance("90m")
    assert api.get(f"/subscription/{made}")["status"] == "Active"
    assert api.get("/subscription")["count"] == 1
    send(
        api,
        "POST",
        "/charge/payment_method",
        {"amount": 20, "paymentMethodId": dead, "reference": "x"},
    )
    assert found(api) == {}


RETRIES = {"retry": {"maximum": 30, "interval": "Hour", "frequency": 1}}


def test_tries_that_the_service_makes_by_itself_are_not_the_clients(api: Api) -> None:
    subscribe(api, api.method(DEAD), **RETRIES)
    subscribe(api, api.method(SOFT), **RETRIES)
    api.advance("40h")
    assert finished(api) == {}


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ("subscription", ["hard-decline-retried"]),
        ("search", ["hard-decline-retried"]),
        ("charge", ["hard-decline-retried"]),
        ("charges", ["hard-decline-retried"]),
        ("other", []),
        ("nothing", []),
    ],
)
@pytest.mark.parametrize("then", ["resume", "charge"])
def test_a_subscription_declined_for_good_goes_on_with_the_same_card(
    api: Api, told: str, names: list[str], then: str
) -> None:
    dead = api.method(DEAD)
    other = subscribe(api, api.method())["subscriptionId"]
    made = subscribe(api, dead)["subscriptionId"]
    api.advance("1h")
    match told:
        case "subscription":
            assert api.get(f"/subscription/{made}")["status"] == "Suspended"
        case "search":
            api.get("/subscription", Status="Suspended")
        case "charges":
            assert api.get("/charge", Status="FAILED")["count"] == 1
        case "charge":
            entries = api.get("/__admin/journal")["entries"]
            moved = next(
                event
                for entry in entries
                for event in entry["events"]
                if event["after"] == "FAILED"
            )
            api.get(f"/charge/{moved['id']}")
        case "other":
            api.get(f"/subscription/{other}")
        case _:
            pass
    if then == "resume":
        api.put(f"/subscription/{made}/status", {"status": "Active"})
        api.advance("70d")
    else:
        send(
            api,
            "POST",
            "/charge/payment_method",
            {"amount": 20, "paymentMethodId": dead, "reference": "x"},
        )
    rows = found(api)
    assert list(rows) == names
    assert all(row["count"] == 1 for row in rows.values())


def test_a_subscription_of_a_card_that_was_declined_before_is_the_clients_decision(
    api: Api,
) -> None:
    charge(api, paymentInformation=card(DEAD))
    subscribe(api, api.method(DEAD), **RETRIES)
    api.advance("40h")
    row = found(api)["hard-decline-retried"]
    assert row["count"] == 1
    ops = [line["line"].partition(" ")[0] for line in row["evidence"]]
    assert ops == ["charge.create", "subscription.create", "subscription.renew"]


@pytest.mark.parametrize(
    ("by_service", "then", "names"),
    [
        (15, "charge", ["too-many-retries"]),
        (14, "charge", []),
        (15, "batch", ["too-many-retries"]),
        (15, "subscribe", ["too-many-retries"]),
        (15, "nothing", []),
    ],
)
def test_tries_of_the_service_count_and_the_clients_own_is_one_too_many(
    api: Api, by_service: int, then: str, names: list[str]
) -> None:
    soft = api.method(SOFT)
    subscribe(api, soft, retry={"maximum": by_service - 1, "interval": "Hour", "frequency": 1})
    api.advance("20h")
    assert api.get("/charge", Status="FAILED")["count"] == by_service
    match then:
        case "charge":
            api.post("/charge/card", card_charge(paymentInformation=card(SOFT), reference="x"))
        case "batch":
            hand_in(api, f"{soft},1,AUD,a")
        case "subscribe":
            subscribe(api, soft)
            api.advance("1h")
        case _:
            pass
    assert list(found(api)) == names


def test_a_batch_may_be_sent_fifteen_times_with_a_card_that_is_declined_for_now(api: Api) -> None:
    soft = api.method(SOFT)
    for number in range(15):
        hand_in(api, f"{soft},{number + 1},AUD,a")
    assert found(api) == {}
    hand_in(api, f"{soft},1,AUD,a")
    assert list(found(api)) == ["too-many-retries"]


def test_sixteen_rows_of_one_batch_are_one_decision(api: Api) -> None:
    soft = api.method(SOFT)
    hand_in(api, *(f"{soft},{number + 1},AUD,a" for number in range(20)))
    assert found(api) == {}
    hand_in(api, f"{soft},1,AUD,a")
    assert list(found(api)) == ["too-many-retries"]


def test_a_card_that_pays_in_a_batch_is_no_longer_declined() -> None:
    rule = "when: {{op: {op}}}, limit: 1, then: {{decline: stolen_card}}"
    api = scripted(rule.format(op="batch.row"))
    payer = api.method()
    hand_in(api, f"{payer},1,AUD,a", f"{payer},2,AUD,b")
    hand_in(api, f"{payer},3,AUD,a")
    assert found(api) == {}


def test_a_story_that_has_ended_says_nothing_of_what_the_next_hands_over(api: Api) -> None:
    dead = api.method(DEAD)
    hand_in(api, f"{dead},1,AUD,a")
    assert finished(api) == {}
    hand_in(api, f"{dead},1,AUD,a")
    assert found(api) == {}
