"""The 3-D Secure page as a browser without JavaScript uses it: GET, form POST, redirect."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mockserver.web.transport_faults import Cut
from tests.driving import Api, Reply, card
from tests.web.browsing import document, submit, visit

CHALLENGED = "4000000000003220"
SHOP = "https://shop.example/back?order=7"


def challenged(api: Api, **fields: object) -> dict[str, Any]:
    charge = api.charge(paymentInformation=card(CHALLENGED), **fields)
    assert charge["status"] == "PENDING_CHECKOUT"
    return charge


def page_of(charge: dict[str, Any]) -> str:
    return urlsplit(charge["threeDsRedirectUrl"]).path


def answer(api: Api, charge: dict[str, Any], result: str) -> Reply:
    return form(api, page_of(charge), f"result={result}")


def form(api: Api, path: str, body: str) -> Reply:
    return api.send(
        "POST", path, body.encode(), {"content-type": "application/x-www-form-urlencoded"}
    )


def test_the_page_shows_amount_and_card_and_three_answers(api: Api) -> None:
    shown = api.send("GET", page_of(challenged(api)))
    html = shown.raw.decode()
    assert shown.status == 200
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "AUD 20.00" in html
    assert "•••• 3220" in html
    assert CHALLENGED not in html
    assert all(f'data-testid="{name}"' in html for name in ("pass", "fail", "cancel"))


def test_the_policy_allows_no_script_nothing_inline_and_frames(api: Api) -> None:
    policy = api.send("GET", page_of(challenged(api))).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert "frame-ancestors http: https:" in policy


@pytest.mark.parametrize(
    ("capture", "result", "status", "verified", "code"),
    [
        (True, "pass", "SUCCESS", True, None),
        (False, "pass", "Authorised", True, None),
        (True, "fail", "FAILED", False, "18"),
        (True, "cancel", "FAILED", False, "917"),
    ],
)
def test_the_answer_moves_the_charge(
    api: Api, capture: bool, result: str, status: str, verified: bool, code: str | None
) -> None:
    charge = challenged(api, capture=capture)
    assert answer(api, charge, result).status == 303
    now = api.get(f"/charge/{charge['chargeId']}").body
    assert (now["status"], now["threeDsVerified"]) == (status, verified)
    assert [attempt["errorCode"] for attempt in now["failedAttempts"]] == ([code] if code else [])
    assert (now["successDate"] is not None) == (status == "SUCCESS")
    assert now["authorisationAmount"] == (None if code else 20)


@pytest.mark.parametrize("second", ["pass", "fail", "cancel"])
def test_a_second_answer_changes_nothing(api: Api, second: str) -> None:
    charge = challenged(api)
    answer(api, charge, "pass")
    before = api.get(f"/charge/{charge['chargeId']}").raw
    assert answer(api, charge, second).status == 303
    assert api.get(f"/charge/{charge['chargeId']}").raw == before


def test_the_payer_goes_back_to_the_shop_with_the_charge(api: Api) -> None:
    charge = challenged(api, threeDSNotificationUrl=SHOP)
    back = urlsplit(answer(api, charge, "pass").headers["location"])
    assert (back.scheme, back.netloc, back.path) == ("https", "shop.example", "/back")
    assert parse_qs(back.query) == {
        "order": ["7"],
        "chargeId": [charge["chargeId"]],
        "status": ["SUCCESS"],
    }


def test_the_form_may_be_redirected_to_the_shop_and_nowhere_else(api: Api) -> None:
    policy = api.send("GET", page_of(challenged(api, threeDSNotificationUrl=SHOP))).headers[
        "content-security-policy"
    ]
    assert "form-action 'self' https://shop.example;" in policy


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "https://a.example; script-src *", "/relative", "data:x"]
)
def test_an_address_that_is_not_for_browsers_is_not_gone_to(api: Api, address: str) -> None:
    charge = challenged(api, threeDSNotificationUrl=address)
    moved = answer(api, charge, "pass")
    assert moved.headers["location"] == page_of(charge)
    shown = api.send("GET", page_of(charge))
    assert b"Return to the shop" not in shown.raw
    assert "form-action 'self';" in shown.headers["content-security-policy"]


def test_without_an_address_the_page_tells_the_result(api: Api) -> None:
    charge = challenged(api)
    moved = answer(api, charge, "fail")
    html = api.send("GET", moved.headers["location"]).raw.decode()
    assert "Not paid" in html
    assert "could not confirm that it is you" in html
    assert 'data-testid="pass"' not in html


def test_an_unknown_answer_is_refused_and_the_charge_still_waits(api: Api) -> None:
    charge = challenged(api)
    refused = answer(api, charge, "maybe")
    assert refused.status == 400
    assert 'role="alert"' in refused.raw.decode()
    assert api.get(f"/charge/{charge['chargeId']}")["status"] == "PENDING_CHECKOUT"


@pytest.mark.parametrize("of", [lambda api: "0" * 32, lambda api: api.charge()["chargeId"]])
def test_only_a_challenged_charge_has_a_page(api: Api, of: Callable[[Api], str]) -> None:
    path = f"/3ds/{of(api)}"
    assert api.send("GET", path).status == 404
    assert form(api, path, "result=pass").status == 404


def test_what_the_merchant_says_is_escaped(api: Api) -> None:
    charge = challenged(api, reference="<script>alert(1)</script>")
    html = api.send("GET", page_of(charge)).raw.decode()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_challenge_that_nobody_answers_is_abandoned(api: Api) -> None:
    charge = challenged(api)
    api.advance("14m59s")
    assert api.get(f"/charge/{charge['chargeId']}")["status"] == "PENDING_CHECKOUT"
    api.advance("1s")
    now = api.get(f"/charge/{charge['chargeId']}").body
    assert (now["status"], now["failedAttempts"][0]["errorCode"]) == ("FAILED", "18")


def test_an_authorisation_that_followed_a_challenge_lapses_like_any_other(api: Api) -> None:
    charge = challenged(api, capture=False)
    answer(api, charge, "pass")
    api.advance("7d")
    assert api.get(f"/charge/{charge['chargeId']}")["status"] == "AUTHORISE_CANCELLED"


def test_a_rule_can_decline_after_the_challenge_was_passed() -> None:
    api = Api(
        scenario="""
version: 1
name: passed-but-poor
rules:
  - {id: poor, when: {op: charge.challenge}, then: {decline: insufficient_funds}}
"""
    )
    charge = challenged(api)
    answer(api, charge, "pass")
    now = api.get(f"/charge/{charge['chargeId']}").body
    assert (now["status"], now["failedAttempts"][0]["errorCode"]) == ("FAILED", "15")


def test_a_fault_strikes_the_page_after_the_charge_has_moved() -> None:
    api = Api(
        scenario="""
version: 1
name: lost-on-the-way-back
rules:
  - {id: cut, when: {op: charge.challenge}, then: {transport: {at: answer, reset: {}}}}
"""
    )
    charge = challenged(api)
    with pytest.raises(Cut):
        answer(api, charge, "pass")
    assert api.get(f"/charge/{charge['chargeId']}")["status"] == "SUCCESS"


def test_the_journal_keeps_what_the_payer_did(api: Api) -> None:
    charge = challenged(api)
    answer(api, charge, "cancel")
    entry = api.get("/__admin/journal", op="charge.challenge")["entries"][0]
    assert entry["request"]["body"] == {"result": "cancel"}
    assert [(event["before"], event["after"]) for event in entry["events"]] == [
        ("PENDING_CHECKOUT", "FAILED")
    ]


def test_the_page_belongs_to_the_sandbox_that_has_the_charge(api: Api) -> None:
    charge = challenged(api)
    other = {"x-secretkey": "sk_other"}
    assert api.send("POST", page_of(charge), b"result=pass", other).status == 303
    assert api.get(f"/charge/{charge['chargeId']}")["status"] == "SUCCESS"


def test_a_static_file_is_served_once(api: Api) -> None:
    first = api.send("GET", "/__static/pages.css")
    assert (first.status, first.headers["content-type"]) == (200, "text/css; charset=utf-8")
    again = api.send("GET", "/__static/pages.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.raw) == (304, b"")
    assert api.send("GET", "/__static/..%2fpages.py").status == 404


def webhooks(api: Api) -> list[Any]:
    return api.get("/__admin/webhooks")["webhooks"]


def test_the_webhook_of_the_charge_follows_the_answer(api: Api) -> None:
    inbox = "http://127.0.0.1:4111/__inbox/shop"
    charge = challenged(api, webhook={"url": inbox})
    answer(api, charge, "pass")
    messages = api.get("/__admin/inbox/shop")["messages"]
    told = [message["body"]["data"]["status"] for message in messages]
    assert told == ["PENDING_CHECKOUT", "SUCCESS"]
    assert api.get("/__admin/inbox")["inboxes"] == [{"name": "shop", "count": 2}]


def test_the_shop_is_reported_at_its_notification_address(api: Api) -> None:
    charge = challenged(api, threeDSNotificationUrl="http://127.0.0.1:4111/__inbox/challenge")
    assert webhooks(api) == []
    answer(api, charge, "fail")
    (message,) = api.get("/__admin/inbox/challenge")["messages"]
    assert (
        message["body"]["data"] | {"status": "FAILED", "chargeId": charge["chargeId"]}
        == message["body"]["data"]
    )


def test_nobody_is_reported_of_the_page_of_a_link_or_of_a_strange_address(api: Api) -> None:
    made = api.post("/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD"})
    path = urlsplit(made["url"]).path
    shown = document(visit(api, path))
    fields = {"cardNumber": CHALLENGED, "expiryDate": "12/40", "ccv": "123", "cardholder": "Ann"}
    submit(api, submit(api, path, **shown.hidden, **fields).headers["location"], result="pass")
    answer(api, challenged(api, threeDSNotificationUrl="javascript:alert(1)"), "pass")
    assert webhooks(api) == []


def token_page(api: Api, **fields: object) -> tuple[str, str]:
    """A token whose payer is to be challenged first: its id and the path of the page."""
    body = {"paymentInformation": card(CHALLENGED), "threeDSEmail": "ann@example.com", **fields}
    made = api.call(
        "POST", "/token/card/least_cost", body, headers={"x-publickey": "pk_tests"}
    ).body
    return made["tokenId"], urlsplit(made["threeDsRedirectUrl"]).path


@pytest.mark.parametrize(
    ("result", "title", "status", "verified"),
    [
        ("pass", "Thank you", "SUCCESS", True),
        ("fail", "Not verified", "PENDING_CHECKOUT", False),
        ("cancel", "Cancelled", "PENDING_CHECKOUT", False),
    ],
)
def test_a_payer_is_challenged_before_a_token_is_used(
    api: Api, result: str, title: str, status: str, verified: bool
) -> None:
    token_id, page = token_page(api)
    asked = api.send("GET", page)
    assert document(asked).texts["card"] == "VISA •••• 3220"
    assert CHALLENGED.encode() not in asked.raw
    assert "script-src" not in asked.headers["content-security-policy"]
    ended = form(api, page, f"result={result}").headers["location"]
    shown = api.send("GET", ended)
    assert document(shown).texts["outcome"] == title
    assert f'data-answer="{result}"' in shown.raw.decode()
    assert form(api, page, "result=pass").status == 303
    assert document(api.send("GET", page)).texts["outcome"] == title
    charge = api.post("/charge/token", {"token": token_id, "amount": 5}).body
    assert (charge["status"], charge["threeDsVerified"]) == (status, verified)
    entries = api.get("/__admin/journal", op="token.challenge")["entries"]
    assert entries[0]["request"]["path"] == page


def test_a_wrong_answer_for_a_token_is_reported_and_changes_nothing(api: Api) -> None:
    _, page = token_page(api)
    assert form(api, page, "result=perhaps").status == 400
    assert (
        document(form(api, page, "result=perhaps")).texts["fault"]
        == "Choose one of the three answers."
    )
    assert "pass" in document(api.send("GET", page)).texts


def test_the_page_of_a_token_ends_with_the_token(api: Api) -> None:
    token_id, page = token_page(api)
    api.post("/charge/token", {"token": token_id, "amount": 5})
    assert form(api, page, "result=pass").status == 303
    assert document(api.send("GET", page)).texts["outcome"] == "Too late"
    other = api.post("/token/card/least_cost", {"paymentInformation": card()})["tokenId"]
    assert api.send("GET", f"/3ds/token/{other}").status == 404
    assert form(api, "/3ds/token/nobody", "result=pass").status == 404


def test_only_a_payer_who_is_there_and_not_verified_is_challenged_before(api: Api) -> None:
    path = "/token/card/least_cost"
    verified = {**card(CHALLENGED), "threeDSServerTransID": "a26c371f-94f6-40da-add2-28ec8e9da8ed"}
    for body in (
        {"paymentInformation": card(CHALLENGED)},
        {"paymentInformation": card(), "threeDSEmail": "ann@example.com"},
        {"paymentInformation": verified, "threeDSEmail": "ann@example.com"},
    ):
        assert "threeDsRedirectUrl" not in api.post(path, body).body


def test_a_rule_can_challenge_any_token() -> None:
    rule = (
        "{id: asked, when: {op: token.create, request.amount: {gte: 100}}, then: {challenge: {}}}"
    )
    api = Api(scenario=f"version: 1\nrules: [{rule}]\n")
    made = api.post("/token/card/least_cost", {"amount": 100, "paymentInformation": card()})
    assert made["threeDsRedirectUrl"].endswith(f"/3ds/token/{made['tokenId']}")
