"""What a client hands over to the service to charge, over HTTP: subscriptions and batches that are sent twice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driving import DUMMY, Api, card
from tests.findings.test_client_mistakes import found, lossy, send
from tests.rows import each

HEADER = "PaymentMethodId,Amount,Currency,Reference"
TWICE = ["double-charge", "blind-retry"]


def method(api: Api, number: str = "4111111111111111") -> str:
    made = api.post("/payment_method/card", {"providerId": DUMMY, "paymentInformation": card(number)})
    return str(made["paymentMethodId"])


def subscribe(api: Api, payer: str, **fields: object) -> Any:
    plan = {"paymentMethodId": payer, "amount": 10, "currency": "AUD", "interval": "Month", **fields}
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
    payer = method(api)
    assert subscribe(api, payer) is None
    second = subscribe(api, payer)
    assert second.status == 201
    rows = found(api)
    assert sorted(rows) == sorted(TWICE)
    first_id = api.get("/subscription")["subscriptions"][1]["subscriptionId"]
    assert rows["double-charge"]["about"] == {"subscription": first_id}
    assert rows["blind-retry"]["about"] == {"operation": "subscription.create", "subscription": first_id}
    lines = [line["line"] for line in rows["double-charge"]["evidence"]]
    assert lines[0] == f"subscription.create 10 AUD {first_id}: the connection was reset"
    assert lines[1] == f"subscription.create 10 AUD {second['subscriptionId']}: answered"
    assert lines[2].endswith(": the charge is SUCCESS")


@each(
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
    payer = method(api)
    first = {"frequency": 1, "startDate": "2031-03-01T00:00:00Z", "metadata": {"member": "Ann"}}
    subscribe(api, payer, **first)
    subscribe(api, payer, **{**first, **other})
    api.advance("3d")
    assert found(api) == {}


@each(
    ("first", "again"),
    [
        ({"startDate": "2031-03-02T00:00:01Z"}, {"startDate": "2031-03-02T00:00:09Z"}),
        ({"startDate": 1_930_003_200_000}, {"startDate": 1_930_003_207_000}),
        ({"metadata": {"a": "1", "b": "2"}}, {"metadata": {"b": "2", "a": "1"}}),
        ({"currency": "aud", "frequency": 1}, {"interval": "month"}),
        ({}, {"metadata": {"member": "Ann"}}),
    ],
)
def test_the_same_subscription_in_other_words(first: dict[str, object], again: dict[str, object]) -> None:
    api = lossy("subscription.create")
    payer = method(api)
    subscribe(api, payer, **first)
    assert subscribe(api, payer, **again).status == 201
    api.advance("3d" if "startDate" not in first else "60d")
    assert set(TWICE) <= set(found(api))


def test_a_subscription_of_another_payer_is_another() -> None:
    api = lossy("subscription.create")
    subscribe(api, method(api))
    subscribe(api, method(api, "5555555555554444"))
    assert found(api) == {}


@pytest.mark.parametrize("path", ["/subscription", "/charge"])
def test_a_client_that_looks_before_it_subscribes_again_means_it(path: str) -> None:
    api = lossy("subscription.create")
    payer = method(api)
    subscribe(api, payer)
    assert api.get(path)["count"] == 1
    subscribe(api, payer)
    assert found(api) == {}


def test_a_subscription_that_was_never_made_is_sent_again_blindly() -> None:
    for looks in (True, False):
        api = lossy("subscription.create", at="receive")
        payer = method(api)
        subscribe(api, payer)
        if looks:
            assert api.get("/subscription")["count"] == 0
        subscribe(api, payer)
        assert list(found(api)) == ([] if looks else ["blind-retry"])


@pytest.mark.parametrize("undone", [True, False])
def test_two_subscriptions_that_start_later_charge_twice_only_if_both_go_on(undone: bool) -> None:
    api = lossy("subscription.create")
    payer = method(api)
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
    payer = method(api)
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
        "order": f"{HEADER}\n{two}\n{one}",
        "amounts": f"{HEADER}\n{payer},1.00,AUD,a\n{payer},2.50,AUD,b",
        "lines": f"{HEADER}\r\n{one}\r\n{two}\r\n",
        "quotes": f'"PaymentMethodId",Amount,Currency,Reference\n"{payer}","1","AUD","a"\n{two}\n',
        "letters": f"\ufeff{HEADER.lower()}\n{payer},1,aud,a\n{two}\n\n",
    }


@pytest.mark.parametrize("words", ["order", "amounts", "lines", "quotes", "letters"])
def test_the_same_rows_in_other_words_are_the_same_batch(words: str) -> None:
    api = lossy("batch.create")
    payer = method(api)
    hand_in(api, f"{payer},1,AUD,a", f"{payer},2.5,AUD,b")
    hand_in(api, text=batch_texts(payer)[words], description="payroll, second try")
    assert list(found(api)) == ["batch-sent-twice", "blind-retry"]


@each(
    "rows",
    [
        ["{0},2.5,AUD,a", "{0},1,AUD,b"],
        ["{0},1,AUD,a", "{0},2.5,USD,b"],
        ["{0},1,AUD,a", "{0},2.5,AUD,B"],
        ["{0},1,AUD,a", "{0},2.5,AUD,b", "{0},2.5,AUD,b"],
        ["{1},1,AUD,a", "{0},2.5,AUD,b"],
    ],
)
def test_rows_that_mean_something_else_are_another_batch(rows: list[str]) -> None:
    api = lossy("batch.create")
    payer, other = method(api), method(api, "5555555555554444")
    hand_in(api, f"{payer},1,AUD,a", f"{payer},2.5,AUD,b")
    hand_in(api, *(row.format(payer, other) for row in rows))
    assert found(api) == {}


def test_a_batch_whose_request_was_lost_is_known_by_its_text() -> None:
    api = lossy("batch.create", at="receive")
    row = f"{method(api)},1,AUD,a"
    hand_in(api, row)
    hand_in(api, row)
    assert list(found(api)) == ["blind-retry"]
