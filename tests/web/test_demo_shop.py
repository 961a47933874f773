"""The demo shop and the client script as far as they go without a browser; tests/browser drives
both."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.driving import PUBLIC, VISA, Api, Reply, card
from tests.web.browsing import document, submit

SHOP = "/demo?key=pk_tests"
ORDER = "/demo/order?key=pk_tests"


def token(api: Api, number: str = VISA) -> str:
    made = api.post(
        "/token/card/least_cost",
        {"amount": 24, "currency": "AUD", "paymentInformation": card(number)},
    )
    assert made.status in (200, 201), made.raw
    return made["tokenId"]


def ordered(api: Api, **fields: str) -> Reply:
    return submit(api, ORDER, **fields)


def charge_of(api: Api, reply: Reply) -> Any:
    assert reply.status == 303, reply.raw
    found = parse_qs(urlsplit(reply.headers["location"]).query)["chargeId"][0]
    return api.get(f"/charge/{found}").body


def test_the_shop_loads_the_script_by_its_address_and_nothing_inline(api: Api) -> None:
    shown = api.send("GET", SHOP)
    html = shown.raw.decode()
    assert shown.status == 200
    assert '<script src="/js/payfurl.js" defer>' in html
    assert "<script>" not in html
    assert "style=" not in html
    assert "script-src 'self'" in shown.headers["content-security-policy"]
    assert 'data-key="pk_tests"' in html


def test_any_shop_may_load_the_script(api: Api) -> None:
    script = api.send("GET", "/js/payfurl.js", headers={"origin": "https://shop.example"})
    assert script.status == 200
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["access-control-allow-origin"] == "*"


def test_any_shop_may_frame_the_fields_and_nothing_but_their_own_script_runs_there(
    api: Api,
) -> None:
    shown = api.send("GET", "/js/fields")
    policy = shown.headers["content-security-policy"]
    assert shown.status == 200
    assert "frame-ancestors http: https:" in policy
    assert "unsafe" not in policy
    for rule in (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
    ):
        assert rule in policy
    assert b"<script>" not in shown.raw


def test_a_token_is_charged_by_the_server_of_the_shop(api: Api) -> None:
    charge = charge_of(api, ordered(api, token=token(api), quantity="3"))
    assert (charge["status"], charge["amount"], charge["currency"]) == ("SUCCESS", 72, "AUD")
    shown = document(api.send("GET", f"/demo/thanks?key=pk_tests&chargeId={charge['chargeId']}"))
    assert shown.texts["amount"] == "AUD 72.00"
    entry = api.get("/__admin/journal", op="charge.create")["entries"][-1]
    assert entry["request"]["path"] == "/charge/token"


@pytest.mark.parametrize(("given", "counted"), [("0", 1), ("99", 5), ("two", 1), ("", 1)])
def test_a_quantity_stays_in_its_bounds(api: Api, given: str, counted: int) -> None:
    assert charge_of(api, ordered(api, token=token(api), quantity=given))["amount"] == 24 * counted


def test_a_declined_token_is_reported_in_the_shop(api: Api) -> None:
    declined = ordered(api, token=token(api, "4000000000009995"))
    assert declined.status == 402
    assert "not enough money" in document(declined).texts["alert"]


def test_a_token_that_was_used_is_refused(api: Api) -> None:
    once = token(api)
    ordered(api, token=once)
    assert ordered(api, token=once).status == 402


def test_a_challenge_brings_the_payer_back_to_the_shop(api: Api) -> None:
    challenge = ordered(api, token=token(api, "4000000000003220")).headers["location"]
    back = urlsplit(submit(api, challenge, result="pass").headers["location"])
    shown = document(api.send("GET", f"{back.path}?{back.query}"))
    assert shown.texts["status"] == "SUCCESS"


def test_a_cancelled_challenge_is_reported_in_the_shop(api: Api) -> None:
    challenge = ordered(api, token=token(api, "4000000000003220")).headers["location"]
    back = urlsplit(submit(api, challenge, result="cancel").headers["location"])
    shown = api.send("GET", f"{back.path}?{back.query}")
    assert shown.status == 402
    assert "Nothing was taken" in document(shown).texts["alert"]


def test_a_charge_that_the_script_made_is_taken_as_paid(api: Api) -> None:
    body = {"amount": 24, "token": {"paymentMethod": {"displayName": "PayPal"}}}
    made = api.call("POST", "/charge/token/apple", body, headers=PUBLIC)
    thanks = ordered(api, transactionId=made["chargeId"]).headers["location"]
    assert document(api.send("GET", thanks)).texts["paid-with"] == "PayPal"


def test_an_order_whose_payment_is_under_way_is_not_sent_yet() -> None:
    api = Api(
        scenario="""
version: 1
name: slow
rules:
  - {id: slow, when: {op: charge.create}, then: {pending: {settle: FAILED, after: 1h}}}
"""
    )
    there = ordered(api, token=token(api)).headers["location"]
    waits = document(api.send("GET", there))
    assert (waits.texts["paid"], "mug is on its way" in waits.html) == ("Payment under way", False)
    api.advance("1h")
    returned = api.send("GET", there)
    assert (
        returned.status,
        "Your bank has returned the payment" in document(returned).texts["alert"],
    ) == (402, True)


def test_an_unknown_charge_and_an_unknown_key_are_reported(api: Api) -> None:
    assert api.send("GET", "/demo/thanks?key=pk_tests&chargeId=none").status == 404
    assert api.send("GET", "/demo?key=nobody").status == 404
    assert submit(api, "/demo/order?key=nobody", token="x").status == 404
