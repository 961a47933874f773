"""The digits of numbers in webhooks (assumption ``webhook.number_form``; published facts, 6), and
that answers of the API have none to spare (published facts, 0 rule 4).

What a webhook is as bytes is known by its signature: what the log shows must give the same.
"""

import json
import re
from typing import Any

import pytest

from mockserver.domain.delivery import sign
from mockserver.settings import DEFAULT_WEBHOOK_KEY
from mockserver.wire.jsonio import dumps, loads
from tests.api.test_late_money import moved
from tests.driving import DUMMY, Api, batch_of, card, card_charge

HOOK = {"url": "http://127.0.0.1:4111/__inbox/shop"}
PUBLISHED = (
    '{"data":{"chargeId":"3f83ab8fdf624c649bc70bbba81d6c2b","providerChargeId":"ch_3MYd2tE9mXU4onpB0r5iTsiL","amount":20'
    ',"providerId":"a26c371f-94f6-40da-add2-28ec8e9da8ed","paymentInformation":{"paymentMethodId":"80da8c2d674b4d2e8c65a'
    '6520e89d070","card":{"cardNumber":"4111********1111","expiryDate":"12/25","type":"VISA","cardType":"CREDIT","cardIi'
    'n":"411"},"type":"CARD"},"customerId":"025c73d9cd0540e9a5a997f8ba97c732","status":"SUCCESS","dateAdded":"2023-02-06'
    'T22:20:19.0461561Z","successDate":"2023-02-06T22:20:20.8655832Z","estimatedCost":0.20,"estimatedCostCurrency":"AUD"'
    ',"currency":"Aud","refunds":[],"threeDsVerified":false},"meta":{"messageId":"bc4f056315d6e0205ab085dde45c4a46","tim'
    'estamp":"2023-01-19T20:37:12.8456589Z","type":"transaction","eventType":"transaction.status.changed"}}'
)
"""The vector that the published clients verify."""

COSTS = f"""\
version: 1
name: costs
providers:
  - {{id: {DUMMY}, name: Dummy, cost: {{percent: 1}}}}
"""
SHORTEST = {"webhook.number_form": "shortest"}
FORMS: list[dict[str, object]] = [{}, SHORTEST]


def sent(api: Api) -> list[str]:
    """The webhooks as they went out, oldest first."""
    rows: Any = loads(api.get("/__admin/webhooks").raw)
    texts = [dumps(row["body"], zeros=True) for row in rows["webhooks"]]
    for row, text in zip(rows["webhooks"], texts, strict=True):
        assert row["signature"] == sign(DEFAULT_WEBHOOK_KEY, text), text
    return [
        text.decode()
        for text in sorted(texts, key=lambda text: str(loads(text)["data"].get("status")))
    ]  # type: ignore[index]


def numbers(text: str) -> dict[str, str]:
    """The members that are numbers, as they are written."""
    return dict(re.findall(r'"(\w+)":(-?[0-9.]+)', text))


def taken(api: Api, **fields: object) -> dict[str, str]:
    """The numbers of the webhook of one charge."""
    api.charge(webhook=HOOK, **fields)
    (text,) = sent(api)
    return numbers(text)


def test_the_published_vector_has_its_published_signature() -> None:
    key = "dCM6l9ngZMJXVappk73yS607k1K7byfyzTTdToaKMa8="
    assert sign(key, PUBLISHED.encode()) == "rDYP2MxMKvvmoV2KrbOi4pnelHnVJoFYdBegvCK7IQk="
    assert (
        sign(key, dumps(loads(PUBLISHED.encode())))
        != "rDYP2MxMKvvmoV2KrbOi4pnelHnVJoFYdBegvCK7IQk="
    )


@pytest.mark.parametrize("profile", ["documented", "sdk"])
def test_a_charge_like_that_of_the_vector_has_its_numbers(profile: str) -> None:
    api = Api(scenario=COSTS, profile=profile, assumptions={"provider.latency": "0s"})
    assert taken(api, amount=20, currency="Aud").items() >= numbers(PUBLISHED).items()
    assert numbers(PUBLISHED) == {"amount": "20", "estimatedCost": "0.20"}


def test_without_zeros_at_the_end() -> None:
    shown = taken(Api(scenario=COSTS, assumptions=SHORTEST), amount="20.00")
    assert (shown["amount"], shown["estimatedCost"], shown["authorisationAmount"]) == (
        "20",
        "0.2",
        "20",
    )


def test_a_receiver_that_hashes_json_which_it_has_written_again_is_caught() -> None:
    for assumptions, is_right in ((FORMS[0], False), (FORMS[1], True)):
        api = Api(scenario=COSTS, assumptions=assumptions)
        api.charge(webhook=HOOK)
        (arrived,) = api.get("/__admin/inbox/shop")["messages"]
        again = json.dumps(arrived["body"], separators=(",", ":")).encode()
        assert (
            sign(DEFAULT_WEBHOOK_KEY, again) == arrived["headers"]["x-payfurl-signature"]
        ) == is_right
        assert arrived["signature"] == "valid"


@pytest.mark.parametrize(
    ("raw", "currency", "amount", "cost"),
    [
        ("20", "AUD", "20", "0.20"),
        ('"20"', "AUD", "20", "0.20"),
        ("20.0", "AUD", "20.0", "0.20"),
        ('"20.00"', "AUD", "20.00", "0.20"),
        ('"20.0000"', "AUD", "20.00", "0.20"),
        ("2e1", "AUD", "20", "0.20"),
        ("12.5", "AUD", "12.5", "0.13"),
        ("12.34", "AUD", "12.34", "0.12"),
        ("100", "AUD", "100", "1.00"),
        ("0.01", "AUD", "0.01", "0.00"),
        ("500", "JPY", "500", "5"),
        ("500.0", "JPY", "500", "5"),
        ('"1.250"', "KWD", "1.250", "0.013"),
        ("10", "KWD", "10", "0.100"),
    ],
)
def test_an_amount_as_it_came_and_a_cost_with_the_digits_of_its_currency(
    raw: str, currency: str, amount: str, cost: str
) -> None:
    api = Api(scenario=COSTS)
    body = json.dumps(card_charge(amount="#", currency=currency, webhook=HOOK)).replace('"#"', raw)
    reply = api.call("POST", "/charge/card", raw=body.encode())
    assert reply.status == 201, reply.raw
    (text,) = sent(api)
    shown = numbers(text)
    assert (shown["amount"], shown["authorisationAmount"], shown["estimatedCost"]) == (
        amount,
        amount,
        cost,
    )


@pytest.mark.parametrize("assumptions", FORMS)
def test_answers_of_the_api_have_no_zeros_at_the_end(assumptions: dict[str, object]) -> None:
    api = Api(scenario=COSTS, assumptions=assumptions)
    charge_id = api.charge(amount="20.00")["chargeId"]
    refunded = api.delete(f"/refund/{charge_id}", amount="5.50")
    for reply in (refunded, api.get(f"/charge/{charge_id}"), api.get("/charge")):
        shown = numbers(reply.raw.decode())
        assert (shown["authorisationAmount"], shown["estimatedCost"], shown["refundedAmount"]) == (
            "20",
            "0.2",
            "5.5",
        )


def test_captures_and_refunds_have_the_digits_that_they_came_with() -> None:
    api = Api(scenario=COSTS)
    charge_id = api.charge(amount="20.00", capture=False, webhook=HOOK)["chargeId"]
    api.post(f"/charge/{charge_id}", {"amount": "15.0"})
    api.delete(f"/refund/{charge_id}", amount="5.50")
    api.delete(f"/refund/{charge_id}")
    by_status = {loads(text.encode())["data"]["status"]: text for text in sent(api)}  # type: ignore[index]
    shown = {status: numbers(text) for status, text in by_status.items()}
    assert (shown["Authorised"]["amount"], shown["Authorised"]["authorisationAmount"]) == (
        "20.00",
        "20.00",
    )
    assert (shown["SUCCESS"]["amount"], shown["SUCCESS"]["authorisationAmount"]) == (
        "15.0",
        "20.00",
    )
    assert shown["PARTIAL_REFUND"]["refundedAmount"] == "5.50"
    assert re.findall(r'"amount":([0-9.]+)', by_status["REFUND"]) == ["15.0", "5.50", "9.50"]
    assert shown["REFUND"]["refundedAmount"] == "15.00"


def test_rows_of_a_batch_and_subscriptions_have_the_digits_that_they_came_with() -> None:
    api = Api(scenario=COSTS)
    api.post("/webhook/subscription", {"types": ["Transaction", "Subscription"], **HOOK})
    method = api.method()
    api.post("/batch/transaction/payment_method", batch_of(f"{method},7.50,AUD,row"))
    api.advance("1h")
    made = {
        "paymentMethodId": method,
        "amount": "9.0",
        "currency": "AUD",
        "interval": "Month",
        "frequency": 1,
    }
    assert api.post("/subscription/payment_method", made).status == 201
    api.advance("1m")
    assert {numbers(text)["amount"] for text in sent(api)} == {"7.50", "9.0"}


def test_a_form_has_the_same_digits() -> None:
    rule = "rules: [{id: f, when: {op: charge.create}, then: {webhook: {form: true}}}]\n"
    for assumptions, amount, cost in ((FORMS[0], "20.00", "0.20"), (FORMS[1], "20", "0.2")):
        api = Api(scenario=COSTS + rule, assumptions=assumptions)
        api.charge(amount="20.00", webhook=HOOK)
        (arrived,) = api.get("/__admin/inbox/shop")["messages"]
        assert f"data[amount]={amount}&" in arrived["body"]
        assert f"data[estimatedCost]={cost}&" in arrived["body"]


def test_the_log_and_the_inbox_show_the_digits_that_went_out() -> None:
    api = Api(scenario=COSTS)
    api.charge(amount="20.00", webhook=HOOK)
    for path in ("/__admin/webhooks", "/__admin/inbox/shop"):
        shown = numbers(api.get(path).raw.decode())
        assert (shown["amount"], shown["estimatedCost"]) == ("20.00", "0.20")


def test_the_digits_outlive_a_state_document() -> None:
    api = Api(scenario=COSTS)
    charge_id = api.charge(amount="20.00", capture=False, webhook=HOOK)["chargeId"]
    other = moved(api)
    other.post(f"/charge/{charge_id}")
    (text,) = sent(other)
    assert (numbers(text)["amount"], numbers(text)["estimatedCost"]) == ("20.00", "0.20")


def test_amounts_are_compared_by_their_worth() -> None:
    rule = (
        "rules: [{id: r, when: {op: charge.refund, state.charge.amount: 20}, then: {decline: "
        "do_not_honour}}]\n"
    )
    api = Api(scenario=COSTS + rule)
    charge_id = api.charge(amount="20.00")["chargeId"]
    assert api.delete(f"/refund/{charge_id}").status == 400
    found = api.get("/charge", AmountGreaterThan="19.99", AmountLessThan="20.01")
    assert found["count"] == 1
    assert (
        api.delete(f"/refund/{api.charge(amount=21)['chargeId']}", amount="21.00")["status"]
        == "REFUND"
    )


@pytest.mark.parametrize("given", ["longest", "", 1])
def test_another_form_is_refused(given: object) -> None:
    reply = Api().put(
        "/__admin/scenarios", {"version": 1, "assumptions": {"webhook.number_form": given}}
    )
    assert reply.status == 400
    assert "allowed: published, shortest" in str(reply["details"])


def test_a_sandbox_can_ask_for_the_shortest_form_of_its_own() -> None:
    api = Api(scenario=COSTS)
    assert (
        api.put("/__admin/scenarios", {"version": 1, "name": "s", "assumptions": SHORTEST}).status
        == 200
    )
    shown = taken(api, amount="20.00", paymentInformation=card())
    assert shown["amount"] == "20"
