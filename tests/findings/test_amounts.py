"""Amounts that are not exact, wherever a client sends one; and those that are only too long or of a
finer currency."""

from time import process_time
from typing import Any

import pytest

from mockserver.domain.facts import Call
from mockserver.findings.ledger import Ledger
from mockserver.findings.policy import Policy
from mockserver.findings.request_checks import RequestChecks
from tests.driving import DUMMY, Api, Reply, batch_of, card, card_charge

FLOAT = 30.299999999999997


def told(api: Api) -> list[tuple[str, str]]:
    """The operations that were told of an amount that is not exact, and where it is."""
    rows = api.get("/__admin/findings", finding="amount-not-exact")["findings"]
    return [
        (row["about"]["operation"], row["evidence"][-1]["line"].partition(": ")[2]) for row in rows
    ]


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({"amount": FLOAT}, True),
        ({"amount": "10.005"}, True),
        ({"amount": "0.001"}, True),
        ({"amount": 0.001}, True),
        ({"amount": "1e-3"}, True),
        ({"amount": -5.001}, True),
        ({"amount": 5.5, "currency": "jpy"}, True),
        ({"amount": "5.5555", "currency": "KWD"}, True),
        ({"amount": FLOAT, "currency": "ZZZ"}, True),
        ({"amount": FLOAT, "providerId": "none"}, True),
        ({"amount": "5.555", "currency": "KWD"}, False),
        ({"amount": "30.300"}, False),
        ({"amount": 5.0, "currency": "JPY"}, False),
        ({"amount": "1234567890123456"}, False),
        ({"amount": "1234567890123456.5"}, False),
        ({"amount": "10.005", "currency": "ZZZ"}, False),
        ({"amount": "abc"}, False),
        ({"amount": {"a": 1}}, False),
        ({"amount": -5, "order": {"items": [{"amount": 3.3333}]}}, False),
    ],
)
def test_a_charge(api: Api, fields: dict[str, Any], is_told: bool) -> None:
    api.post("/charge/card", card_charge(**fields))
    assert told(api) == ([("charge.create", "the amount is not exact")] if is_told else [])


def test_of_a_currency_that_only_the_provider_knows() -> None:
    api = Api(assumptions={"currency.default": "provider"})
    method = api.method()
    for amount in ("1234567890123456", "10.50"):
        api.post("/charge/payment_method", {"paymentMethodId": method, "amount": amount})
    assert told(api) == []
    api.post("/charge/payment_method", {"paymentMethodId": method, "amount": "10.005"})
    assert told(api) == [("charge.create", "the amount is not exact")]


def capture(api: Api, amount: object) -> Reply:
    return api.post(f"/charge/{api.charge(capture=False)['chargeId']}", {"amount": amount})


def refund(api: Api, amount: object) -> Reply:
    return api.delete(f"/refund/{api.charge()['chargeId']}", amount=amount)


def refund_of_dinars(api: Api, amount: object) -> Reply:
    return api.delete(f"/refund/{api.charge(currency='KWD')['chargeId']}", amount=f"{amount}5")


def link(api: Api, amount: object) -> Reply:
    return api.post("/payment_link", {"title": "a", "amount": amount})


def token(api: Api, amount: object) -> Reply:
    return api.post(
        "/token/card/least_cost",
        {"amount": amount, "currency": "AUD", "paymentInformation": card()},
    )


def subscription(api: Api, amount: object, **more: object) -> Reply:
    method = api.method()
    terms = {
        "paymentMethodId": method,
        "amount": amount,
        "currency": "AUD",
        "interval": "Day",
        "frequency": 1,
        **more,
    }
    return api.post("/subscription/payment_method", terms)


def end_of_subscription(api: Api, amount: object) -> Reply:
    return subscription(api, 5, endAfter={"amount": amount})


def update(api: Api, amount: object) -> Reply:
    made = subscription(api, 5)["subscriptionId"]
    return api.put(f"/subscription/{made}", {"amount": amount, "interval": "Day", "frequency": 1})


def transfer(api: Api, amount: object, **more: object) -> Reply:
    rows = [{"account": "a", "amount": one, "reference": f"r{one}", **more} for one in (5, amount)]
    return api.post("/transfer", {"providerId": DUMMY, "groupReference": "g", "transfers": rows})


def passed_on(api: Api, amount: object) -> Reply:
    return api.post(
        "/charge/token",
        {"token": "none", "amount": 5, "transfer": {"account": "a", "amount": amount}},
    )


@pytest.mark.parametrize(
    ("send", "op", "words"),
    [
        (capture, "charge.capture", "the amount is not exact"),
        (refund, "charge.refund", "the amount is not exact"),
        (refund_of_dinars, "charge.refund", "the amount is not exact"),
        (link, "payment_link.create", "the amount is not exact"),
        (token, "token.create", "the amount is not exact"),
        (subscription, "subscription.create", "the amount is not exact"),
        (end_of_subscription, "subscription.create", "endAfter.amount is not exact"),
        (update, "subscription.update", "the amount is not exact"),
        (transfer, "transfer.create", "transfers.amount is not exact"),
        (passed_on, "charge.create", "transfer.amount is not exact"),
    ],
)
def test_wherever_an_amount_is_sent(api: Api, send: Any, op: str, words: str) -> None:
    send(api, "5.00")
    send(api, "1.10")
    assert told(api) == []
    send(api, "1.005")
    assert told(api) == [(op, words)]


def batch(api: Api, *rows: str) -> Reply:
    method = api.method()
    body = batch_of(*(f"{method},{row},r-{number}" for number, row in enumerate(rows)))
    return api.post("/batch/transaction/payment_method", body)


@pytest.mark.parametrize(
    ("row", "status", "is_told"),
    [
        ("5.005,AUD", 201, True),
        ("0.001,", 201, True),
        ('"5.5","JPY"', 201, True),
        (f"{FLOAT},AUD", 400, True),
        ("-5.005,AUD", 201, True),
        ("5.005,KWD", 201, False),
        ("5.500,AUD", 201, False),
        ("5.0,JPY", 201, False),
        ("1234567890123456,AUD", 400, False),
        ("x,AUD", 400, False),
    ],
)
def test_a_row_of_a_batch(api: Api, row: str, status: int, is_told: bool) -> None:
    assert batch(api, "5.00,AUD", row).status == status
    assert told(api) == ([("batch.create", "the amount of line 3 is not exact")] if is_told else [])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"{FLOAT},AUD", "got 15 digits after the point, AUD has 2 digits after the point"),
        ("5.1234567,jpy", "got 7 digits after the point, JPY has no digits after the point"),
        ("5.1234567,", "got 7 digits after the point, at most 6 are allowed"),
        ("1234567890123456.5,AUD", "got 16 digits before the point, at most 15 are allowed"),
        ("five,AUD", "wanted a number such as 12.50"),
        ('"1,5",AUD', "got a comma, wanted a number such as 12.50"),
    ],
)
def test_a_row_that_is_refused_is_told_what_is_wrong_with_its_amount(row: str, words: str) -> None:
    reply = batch(Api(), row)
    assert (reply.status, reply["code"], reply["details"]) == (
        400,
        102,
        {"Batch.Line2": f"line 2: Amount: {words}"},
    )


@pytest.mark.parametrize("unit", ["m,5.00,AUD,r\n", "m", ",", "1.1", "m,1.1", "\n", "m,   ", 'm,"'])
def test_a_long_batch_is_looked_at_in_time_in_proportion(unit: str) -> None:
    ledger = Ledger(Policy())
    call = Call(
        entry=1,
        at=0,
        real=0,
        op="batch.create",
        request={"batch": unit * (5_000_000 // len(unit))},
        path={},
    )
    before = process_time()
    RequestChecks(ledger).called(call)
    assert process_time() - before < 1
    assert not list(ledger)
