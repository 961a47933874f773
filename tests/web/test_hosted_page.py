"""The hosted payment page as a browser without JavaScript uses it."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mockserver import create_app
from mockserver.domain.money import CURRENCIES
from tests.depth import tries
from tests.driving import VISA, Api, Reply
from tests.web.browsing import Document, document, submit, visit

PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
POOR = "4000000000009995"
CHALLENGED = "4000000000003220"
CARD = {"cardNumber": VISA, "expiryDate": "12/40", "ccv": "123", "cardholder": "Ann Example"}


def link(api: Api, **fields: object) -> str:
    """The path of the page of a new link."""
    made = api.post("/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD", **fields})
    assert made.status == 201, made.raw
    return urlsplit(made["url"]).path


def opened(api: Api, path: str) -> Document:
    reply = visit(api, path)
    assert reply.status == 200, reply.raw
    return document(reply)


def pay(api: Api, path: str, shown: Document | None = None, **fields: str) -> Reply:
    shown = shown or opened(api, path)
    return submit(api, path, **{**shown.hidden, **CARD, **fields})


def charges(api: Api) -> list[dict[str, Any]]:
    return api.get("/charge")["charges"]


def count(api: Api, path: str) -> int:
    return api.get(f"/payment_link/{path.rpartition('/')[2]}")["countPayments"]


@pytest.mark.parametrize("kind", ["card", "paypal"])
def test_a_link_of_every_currency_can_be_paid(api: Api, kind: str) -> None:
    for money in tries({money.digits: money for money in CURRENCIES.values()}, CURRENCIES).values():
        path = link(api, currency=money.code.lower(), amount=str(money.unit))
        page = path if kind == "card" else f"{path}?type={kind}"
        assert pay(api, page, result="approve").status == 303, money
        [charge] = api.get("/charge", currency=money.code)["charges"]
        assert (charge["amount"], charge["status"]) == (float(money.unit), "SUCCESS")
        assert count(api, path) == 1


def test_the_page_shows_what_the_link_says(api: Api) -> None:
    path = link(
        api, description="Brass\nand glass", image=PIXEL, callToAction="Donate", amount="1250.5"
    )
    shown = opened(api, path)
    assert shown.texts["title"] == "A lamp"
    assert shown.texts["description"] == "Brass and glass"
    assert shown.texts["amount"] == "AUD 1,250.50"
    assert shown.texts["pay"] == "Donate AUD 1,250.50"
    assert f'src="{PIXEL}"' in shown.html
    assert 'placeholder="Number on the front"' in shown.html
    assert "***" not in shown.html


def test_every_field_has_a_label_and_nothing_needs_a_script(api: Api) -> None:
    shown = opened(api, link(api, amount=None))
    visible = {name for name, given in shown.inputs.items() if given.get("type") != "hidden"}
    assert visible == {"amount", "cardNumber", "expiryDate", "ccv", "cardholder"} == shown.labels
    assert "script" not in shown.tags
    assert "style=" not in shown.html


def test_the_policy_lets_the_form_go_to_the_shop_and_the_page_be_framed(api: Api) -> None:
    reply = visit(api, link(api, redirectUrl="https://shop.example:8443/ok"))
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self' https://shop.example:8443;" in policy
    assert "frame-ancestors http: https:" in policy
    assert "x-frame-options" not in reply.headers
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "away", ["http://*/", "https://*.example/", "http://shop.example:*/", "http://a;script-src *"]
)
def test_no_address_widens_the_policy(api: Api, away: str) -> None:
    path = link(api, redirectUrl="https://shop.example/ok")
    state = api.send("GET", "/__admin/state").raw.replace(b"https://shop.example/ok", away.encode())
    assert (
        api.send("PUT", "/__admin/state", state, {"content-type": "application/json"}).status == 200
    )
    policy = visit(api, path).headers["content-security-policy"]
    assert "form-action 'self';" in policy
    assert "*" not in policy


def test_a_page_asked_for_with_doubled_slashes_leads_to_this_server(api: Api) -> None:
    path = link(api)
    led = api.send("GET", f"/{path}").headers["location"]
    assert led.startswith(f"{path}?view=")


def test_merchant_text_is_escaped_everywhere(api: Api) -> None:
    evil = '"><script>alert(1)</script>'
    path = link(api, title=evil, description=evil, confirmationMessage=evil)
    paid = pay(api, path)
    for html in (opened(api, path).html, opened(api, paid.headers["location"]).html):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_a_payment_is_an_ordinary_charge_counted_once(api: Api) -> None:
    path = link(api, metadata={"order": "7"}, confirmationMessage="Come again")
    paid = pay(api, path)
    assert paid.status == 303
    thanks = opened(api, paid.headers["location"])
    assert thanks.texts["confirmation"] == "Come again"
    (charge,) = charges(api)
    assert thanks.texts["charge-id"] == charge["chargeId"]
    assert (charge["status"], charge["amount"], charge["metadata"]) == (
        "SUCCESS",
        20,
        {"order": "7"},
    )
    assert count(api, path) == 1


def test_a_double_click_and_a_reload_never_charge_twice(api: Api) -> None:
    path = link(api)
    shown = opened(api, path)
    first, second = pay(api, path, shown), pay(api, path, shown)
    assert first.headers["location"] == second.headers["location"]
    opened(api, first.headers["location"])
    opened(api, first.headers["location"])
    assert len(charges(api)) == count(api, path) == 1


def test_a_paid_page_sent_again_with_a_fault_leads_to_what_was_paid(api: Api) -> None:
    path = link(api, amount=None)
    shown = opened(api, path)
    first, second = pay(api, path, shown, amount="5"), pay(api, path, shown, amount="five")
    assert (second.status, second.headers["location"]) == (303, first.headers["location"])
    assert [charge["amount"] for charge in charges(api)] == [5]


def test_two_payers_who_open_the_page_at_once_both_pay(api: Api) -> None:
    path = link(api)
    ann, bob = opened(api, path), opened(api, path)
    pay(api, path, ann)
    pay(api, path, bob)
    assert len(charges(api)) == count(api, path) == 2


def test_a_declined_payer_reads_why_and_tries_again(api: Api) -> None:
    path = link(api)
    declined = pay(api, path, cardNumber=POOR)
    shown = document(declined)
    assert declined.status == 402
    assert "not enough money on this account" in shown.texts["alert"]
    assert shown.inputs["cardholder"]["value"] == "Ann Example"
    assert shown.inputs["cardNumber"]["value"] == shown.inputs["ccv"]["value"] == ""
    assert count(api, path) == 0
    assert pay(api, path, shown).status == 303
    assert [charge["status"] for charge in charges(api)] == ["SUCCESS", "FAILED"]
    assert count(api, path) == 1


def test_a_reload_of_a_declined_form_does_not_ask_the_provider_again(api: Api) -> None:
    path = link(api)
    shown = opened(api, path)
    assert (
        pay(api, path, shown, cardNumber=POOR).status
        == pay(api, path, shown, cardNumber=POOR).status
        == 402
    )
    assert len(charges(api)) == 1


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("cardNumber", "", "Please fill this in."),
        ("cardNumber", "4111111111111112", "This is not a card number."),
        ("expiryDate", "13/40", "MM/YY"),
        ("expiryDate", "01/20", "This card has expired."),
        ("ccv", "12", "3 or 4 digits"),
        ("ccv", "", "Please fill this in."),
        ("cardholder", " ", "Please fill this in."),
    ],
)
def test_a_fault_is_reported_beside_its_field(api: Api, field: str, value: str, told: str) -> None:
    path = link(api)
    refused = pay(api, path, **{field: value})
    shown = document(refused)
    assert refused.status == 400
    assert told in shown.texts[f"{field}-error"]
    assert shown.inputs[field]["aria-invalid"] == "true"
    assert shown.inputs[field]["aria-describedby"] == f"{field}-error"
    assert 'role="alert"' in shown.html
    assert charges(api) == []


def test_a_refused_form_keeps_its_key_and_never_shows_the_number_again(api: Api) -> None:
    path = link(api)
    shown = opened(api, path)
    refused = document(pay(api, path, shown, expiryDate="99/99"))
    assert refused.hidden == shown.hidden
    assert VISA not in refused.html
    assert pay(api, path, refused).status == 303


def test_a_form_without_its_key_is_refused(api: Api) -> None:
    path = link(api)
    refused = submit(api, path, **CARD, paymentType="card")
    assert refused.status == 400
    assert "out of date" in document(refused).texts["alert"]
    assert charges(api) == []


@pytest.mark.parametrize(("amount", "paid"), [("7.50", 7.5), ("1000", 1000)])
def test_a_link_without_amount_lets_the_payer_choose(api: Api, amount: str, paid: float) -> None:
    path = link(api, amount=None, callToAction="Donate")
    shown = opened(api, path)
    assert shown.texts["pay"] == "Donate"
    assert pay(api, path, shown, amount=amount).status == 303
    assert charges(api)[0]["amount"] == paid


@pytest.mark.parametrize(
    "amount",
    ["", "0", "-5", "+5", "1.234", "ten", "1e3", "1E3", "1e9999", "NaN", "1,5,5", "\u0665"],
)
def test_an_amount_that_is_none_is_refused_beside_its_field(api: Api, amount: str) -> None:
    path = link(api, amount=None)
    refused = pay(api, path, amount=amount)
    assert refused.status == 400
    assert document(refused).texts["amount-error"]
    assert charges(api) == []


def test_a_fixed_amount_cannot_be_changed_by_the_form(api: Api) -> None:
    pay(api, link(api), amount="0.01")
    assert charges(api)[0]["amount"] == 20


def test_the_payer_is_sent_to_the_shop_with_the_charge(api: Api) -> None:
    path = link(api, redirectUrl="https://shop.example/ok?order=7")
    went = pay(api, path)
    there = urlsplit(went.headers["location"])
    assert (went.status, there.netloc, there.path) == (303, "shop.example", "/ok")
    assert parse_qs(there.query) == {"order": ["7"], "chargeId": [charges(api)[0]["chargeId"]]}


def test_the_limit_closes_the_page_and_refuses_who_had_it_open(api: Api) -> None:
    path = link(api, limitPayments=1)
    late = opened(api, path)
    pay(api, path)
    assert "no more payments" in opened(api, path).texts["closed"]
    refused = pay(api, path, late)
    assert refused.status == 409
    assert "no more payments" in document(refused).texts["closed"]
    assert (len(charges(api)), count(api, path)) == (1, 1)


def test_the_one_who_paid_last_still_sees_the_confirmation(api: Api) -> None:
    path = link(api, limitPayments=1)
    shown = opened(api, path)
    first = pay(api, path, shown)
    assert pay(api, path, shown).headers["location"] == first.headers["location"]
    assert "paid" in opened(api, first.headers["location"]).texts


def test_an_unknown_link_is_reported(api: Api) -> None:
    assert api.send("GET", f"/pay/{'0' * 32}").status == 404
    assert submit(api, f"/pay/{'0' * 32}", **CARD).status == 404


def test_a_charge_of_another_link_is_not_shown(api: Api) -> None:
    paid = pay(api, link(api))
    query = urlsplit(paid.headers["location"]).query
    assert "paid" not in opened(api, f"{link(api)}?{query}").texts


def test_a_challenge_leads_through_three_ds_and_back(api: Api) -> None:
    path = link(api)
    challenge = pay(api, path, cardNumber=CHALLENGED).headers["location"]
    assert challenge.startswith("/3ds/")
    back = submit(api, challenge, result="pass").headers["location"]
    assert urlsplit(back).path == path
    thanks = opened(api, f"{urlsplit(back).path}?{urlsplit(back).query}")
    assert "paid" in thanks.texts
    assert count(api, path) == 1


def test_a_failed_challenge_lets_the_payer_try_again(api: Api) -> None:
    path = link(api)
    challenge = pay(api, path, cardNumber=CHALLENGED).headers["location"]
    back = urlsplit(submit(api, challenge, result="fail").headers["location"])
    shown = document(api.send("GET", f"{back.path}?{back.query}"))
    assert "could not confirm that it is you" in shown.texts["alert"]
    assert pay(api, path, shown).status == 303
    assert count(api, path) == 1


def test_a_challenged_payer_may_be_sent_on_to_the_shop(api: Api) -> None:
    path = link(api, redirectUrl="https://shop.example/ok")
    challenge = pay(api, path, cardNumber=CHALLENGED).headers["location"]
    assert "https://shop.example;" in api.send("GET", challenge).headers["content-security-policy"]
    back = urlsplit(submit(api, challenge, result="pass").headers["location"])
    assert (
        api.send("GET", f"{back.path}?{back.query}")
        .headers["location"]
        .startswith("https://shop.example/ok?")
    )


def test_the_journal_tells_the_payment_without_the_card(api: Api) -> None:
    pay(api, link(api), cardNumber=POOR)
    (entry,) = api.get("/__admin/journal", op="payment_link.pay")["entries"]
    assert entry["decisions"][-1]["rule"] == "card-insufficient-funds"
    assert POOR not in api.get("/__admin/journal").raw.decode()


def test_a_rule_for_the_page_strikes_there_only() -> None:
    api = Api(
        scenario="""
version: 1
name: page
rules:
  - {id: no, when: {op: payment_link.pay}, then: {decline: do_not_honour}}
"""
    )
    assert pay(api, link(api)).status == 402
    assert api.charge()["status"] == "SUCCESS"


def test_other_ways_to_pay_are_offered_as_the_link_allows(api: Api) -> None:
    shown = opened(api, link(api, allowedPaymentTypes=["paypal", "zip"]))
    assert {name for name in shown.texts if name.startswith("type-")} == {"type-paypal", "type-zip"}
    assert "card-form" not in shown.texts
    assert "type-upi" in opened(api, link(api)).texts


def test_a_simulated_way_to_pay_is_approved(api: Api) -> None:
    path = link(api)
    shown = opened(api, f"{path}?type=paypal")
    paid = submit(api, path, **shown.hidden, result="approve")
    assert paid.status == 303
    (charge,) = charges(api)
    assert (charge["status"], charge["paymentInformation"]["displayType"]) == ("SUCCESS", "paypal")
    assert count(api, path) == 1


def test_a_simulated_way_to_pay_is_declined_and_tried_again(api: Api) -> None:
    path = link(api)
    declined = submit(api, path, **opened(api, f"{path}?type=zip").hidden, result="decline")
    assert declined.status == 402
    assert "declined" in document(declined).texts["alert"]
    assert charges(api)[0]["status"] == "FAILED"
    assert count(api, path) == 0


def test_a_simulated_way_to_pay_is_cancelled(api: Api) -> None:
    path = link(api)
    back = submit(api, path, **opened(api, f"{path}?type=zip").hidden, result="cancel").headers[
        "location"
    ]
    assert "Nothing was paid" in opened(api, back).texts["notice"]
    assert charges(api) == []


def test_a_way_that_the_link_does_not_take_is_refused(api: Api) -> None:
    path = link(api, allowedPaymentTypes=["card"])
    shown = opened(api, f"{path}?type=paypal")
    assert "card-form" in shown.texts
    refused = submit(
        api, path, attempt=shown.hidden["attempt"], paymentType="paypal", result="approve"
    )
    assert refused.status == 400
    assert charges(api) == []


def test_a_chosen_amount_goes_with_a_simulated_way(api: Api) -> None:
    path = link(api, amount=None)
    shown = opened(api, f"{path}?type=upi")
    assert submit(api, path, **shown.hidden, amount="", result="approve").status == 400
    submit(api, path, **shown.hidden, amount="3.25", result="approve")
    assert charges(api)[0]["amount"] == 3.25


def test_without_test_values_no_decline_is_offered(api: Api) -> None:
    path = link(api)
    assert "decline" in opened(api, f"{path}?type=upi").texts
    api.app = create_app(test_values=False)
    path = link(api)
    shown = opened(api, f"{path}?type=upi")
    assert "approve" in shown.texts
    assert "decline" not in shown.texts


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("expiryDate", "13/30", "Please write the expiry date as MM/YY."),
        ("expiryDate", "02/31", "This card has expired."),
        ("ccv", "12", "Please write the 3 or 4 digits on the card."),
        ("cardholder", "", "Please fill this in."),
        ("amount", "", "Please fill this in."),
        ("amount", "0", "Please pay at least 0.01."),
        ("amount", "1e3", "Please write an amount in plain digits, such as 12.50."),
        ("amount", "1,234", "Please write an amount in plain digits, such as 12.50."),
        ("amount", "1234567890123456", "This amount is too large."),
        ("amount", "1.234", "AUD has 2 digits after the point."),
    ],
)
def test_a_fault_is_reported_in_the_words_of_a_payer(
    api: Api, name: str, value: str, words: str
) -> None:
    path = link(api, amount=None)
    refused = document(pay(api, path, **{"amount": "5", name: value}))
    assert refused.texts[f"{name}-error"] == words


@pytest.mark.parametrize(
    ("bounds", "amount", "words"),
    [
        ({"amount.minimum": "3"}, "2", "Please pay at least 3."),
        ({"amount.maximum": "50"}, "70", "Please pay at least 0.01 and at most 50."),
        (
            {"amount.minimum": "3", "amount.maximum": "50"},
            "0",
            "Please pay at least 3 and at most 50.",
        ),
        ({"amount.minimum": "3", "amount.maximum": "50"}, "50", None),
        ({"amount.minimum": "0"}, "0.01", None),
    ],
)
def test_a_payer_hears_between_which_amounts_to_choose(
    bounds: dict[str, object], amount: str, words: str | None
) -> None:
    api = Api(assumptions=bounds)
    answer = pay(api, link(api, amount=None), amount=amount)
    assert answer.status == (303 if words is None else 400)
    assert words is None or document(answer).texts["amount-error"] == words


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cardNumber", "\uff14\uff11\uff11\uff11 1111\u00a01111\u20111111"),
        ("cardNumber", "\u200e4111-1111-1111-1111\u200b"),
        ("expiryDate", "1240"),
        ("expiryDate", "12-40"),
        ("expiryDate", "12 / 2040"),
        ("expiryDate", "\uff11\uff12/\uff14\uff10"),
        ("ccv", " 1 2 3 "),
        ("amount", "5,00"),
        ("amount", "\u00a05.00 "),
        ("amount", "\uff15"),
    ],
)
def test_what_can_be_meant_in_one_way_only_is_taken(api: Api, name: str, value: str) -> None:
    path = link(api, amount=None)
    assert pay(api, path, **{"amount": "5", name: value}).status == 303
    (charge,) = charges(api)
    card = charge["paymentInformation"]["card"]
    assert (charge["amount"], card["cardNumber"], card["expiryDate"]) == (
        5,
        "4111********1111",
        "12/40",
    )
    # The page puts it right, so --strict has nothing to refuse.
    strict = Api(strict=True)
    assert pay(strict, link(strict, amount=None), **{"amount": "5", name: value}).status == 303


@pytest.mark.parametrize(
    ("amount", "paid"), [("1,234.50", 1234.5), ("1,234,567", 1234567), ("0,5", 0.5)]
)
def test_an_amount_with_commas_is_read(api: Api, amount: str, paid: float) -> None:
    assert pay(api, link(api, amount=None), amount=amount).status == 303
    assert [charge["amount"] for charge in charges(api)] == [paid]


def test_all_faults_of_a_form_are_reported_at_once(api: Api) -> None:
    path = link(api, amount=None)
    empty = dict.fromkeys(("amount", "cardNumber", "expiryDate", "ccv", "cardholder"), "")
    shown = document(pay(api, path, **empty))
    assert [shown.texts[f"{name}-error"] for name in empty] == ["Please fill this in."] * 5
    amex = document(pay(api, path, amount="5", cardNumber="371449635398431", expiryDate="13/40"))
    assert amex.texts["ccv-error"] == "Please write the 4 digits on the front of the card."
    assert "MM/YY" in amex.texts["expiryDate-error"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("stolen_card", "Your bank has declined this payment. Try another card."),
        ("blocked_by_fraud_rules", "Your bank has declined this payment. Try another card."),
        ("provider_down", "The payment could not be made just now. Try again in a moment."),
    ],
)
def test_a_payer_reads_no_more_of_a_decline_than_a_bank_would_say(
    api: Api, outcome: str, words: str
) -> None:
    declined = document(pay(api, link(api, metadata={"mock": outcome})))
    assert declined.texts["alert"] == f"{words} Nothing was taken."


def test_a_fault_of_no_field_of_the_form_is_reported_in_the_alert(api: Api) -> None:
    """The payer has nothing to mend when the link's own provider is the matter."""
    path = link(api, allowedPaymentTypes=["card", "zip"])
    refused = submit(
        api, path, **{**opened(api, path).hidden, "paymentType": "upi"}, result="approve"
    )
    shown = document(refused)
    assert refused.status == 400
    assert shown.texts["alert"].startswith("The payment could not be made. Nothing was taken")


PENDING = """
version: 1
name: slow
rules:
  - {id: slow, when: {op: payment_link.pay, request.metadata.bank: slow}, then: {pending: {settle: SUCCESS, after: 1h}}}
  - {id: back, when: {op: payment_link.pay}, then: {pending: {settle: FAILED, after: 1h}}}
"""


def test_a_pending_payment_is_not_thanked_for_as_paid() -> None:
    api = Api(scenario=PENDING)
    path = link(api, confirmationMessage="Paid, thank you", metadata={"bank": "slow"})
    there = pay(api, path).headers["location"]
    waits = opened(api, there)
    assert waits.texts["paid"] == "Payment under way"
    assert (
        waits.texts["confirmation"] == "It is not complete yet: the bank still has to confirm it."
    )
    api.advance("1h")
    assert opened(api, there).texts["confirmation"] == "Paid, thank you"


def test_a_payment_that_the_bank_returned_is_reported_so_and_may_be_made_again() -> None:
    api = Api(scenario=PENDING)
    path = link(api)
    there = pay(api, path).headers["location"]
    api.advance("1h")
    returned = document(api.send("GET", there))
    assert returned.texts["alert"] == "Your bank has returned the payment. Nothing was taken."
    assert pay(api, path, returned).status == 303
    assert [charge["status"] for charge in charges(api)] == ["PENDING", "FAILED"]


def test_a_refunded_payment_is_not_thanked_for(api: Api) -> None:
    path = link(api, confirmationMessage="Paid, thank you")
    there = pay(api, path).headers["location"]
    api.delete(f"/refund/{charges(api)[0]['chargeId']}")
    shown = opened(api, there)
    assert (shown.texts["paid"], "Paid, thank you" in shown.html) == ("Refunded", False)


def view_of(api: Api, path: str) -> str:
    """The address of a new view of the page."""
    return api.send("GET", path).headers["location"]


def test_back_after_a_payment_leads_to_what_was_paid(api: Api) -> None:
    path = link(api)
    view = view_of(api, path)
    pay(api, path, opened(api, view))
    again = opened(api, view)
    assert "card-form" not in again.texts
    assert again.texts["charge-id"] == charges(api)[0]["chargeId"]
    assert f'href="{path}"' in again.html
    assert pay(api, path).status == 303
    assert len(charges(api)) == 2


def test_back_from_the_shop_does_not_send_the_payer_there_again(api: Api) -> None:
    path = link(api, redirectUrl="https://shop.example/ok", limitPayments=1)
    view = view_of(api, path)
    pay(api, path, opened(api, view))
    again = opened(api, view)
    assert "https://shop.example/ok?chargeId=" in again.html
    assert "again" not in again.texts


def test_back_to_a_declined_try_of_a_paid_view_charges_no_more(api: Api) -> None:
    path = link(api)
    shown = opened(api, path)
    declined = document(pay(api, path, shown, cardNumber=POOR))
    paid = pay(api, path, declined)
    for form in (shown, declined):
        again = pay(api, path, form)
        assert (again.status, again.headers["location"]) == (303, paid.headers["location"])
    invented = {**declined.hidden, "attempt": declined.hidden["attempt"].partition(".")[0] + ".9"}
    assert submit(api, path, **invented, **CARD).headers["location"] == paid.headers["location"]
    assert [charge["status"] for charge in charges(api)] == ["SUCCESS", "FAILED"]


def test_a_try_that_the_page_has_not_offered_is_out_of_date(api: Api) -> None:
    path = link(api)
    shown = opened(api, path)
    refused = submit(
        api, path, **{**shown.hidden, "attempt": shown.hidden["attempt"] + ".7"}, **CARD
    )
    assert (refused.status, charges(api)) == (400, [])
    assert "out of date" in document(refused).texts["alert"]


def test_back_to_the_form_of_a_challenged_payment_leads_to_the_challenge(api: Api) -> None:
    path = link(api)
    view = view_of(api, path)
    challenge = pay(api, path, opened(api, view), cardNumber=CHALLENGED).headers["location"]
    assert api.send("GET", view).headers["location"] == challenge
    back = submit(api, challenge, result="fail").headers["location"]
    assert (
        opened(api, view).hidden
        == document(api.send("GET", back.removeprefix("http://127.0.0.1:4111"))).hidden
    )


def test_a_copy_of_a_link_keeps_its_sandbox_from_page_to_page(api: Api) -> None:
    path = link(api)
    assert api.post("/__admin/fork", {"to": "sk_copy"}).status == 201
    view = view_of(api, f"{path}?sandbox=pk_copy")
    shown = opened(api, view)
    action = shown.html.partition('action="')[2].partition('"')[0].replace("&amp;", "&")
    paid = pay(api, action, shown)
    assert "paid" in opened(api, paid.headers["location"]).texts
    assert charges(api) == []


def test_a_long_text_is_cut_and_no_cut_uncovers_a_number(api: Api) -> None:
    path = link(api, title="A" * 10_000, description="b" * 10_000, confirmationMessage="c" * 10_000)
    shown = opened(api, path)
    assert (shown.texts["title"], len(shown.texts["description"])) == ("A" * 119 + "…", 1000)
    thanks = opened(api, pay(api, path).headers["location"])
    assert max(len(shown.html), len(thanks.html)) < 10_000
    number = opened(api, link(api, title="A" * 105 + " " + VISA))
    assert "4111 1" not in number.html
    assert "41111" not in number.html


def test_texts_are_laid_out_in_their_own_direction(api: Api) -> None:
    path = link(api, title="מנורה", description="נחושת", confirmationMessage="תודה")
    assert opened(api, path).html.count('dir="auto" ') == 6
    assert opened(api, pay(api, path).headers["location"]).html.count('dir="auto"') == 2


@pytest.mark.parametrize(
    ("way", "words"),
    [("paybyaccount", "Pay by account"), ("applepay", "Apple Pay"), ("card", "VISA •••• 1111")],
)
def test_the_payer_reads_how_the_payment_was_made(api: Api, way: str, words: str) -> None:
    path = link(api)
    shown = opened(api, f"{path}?type={way}")
    paid = submit(api, path, **shown.hidden, **(CARD if way == "card" else {}), result="approve")
    assert opened(api, paid.headers["location"]).texts["paid-with"] == words


def test_a_link_behind_a_path_of_the_public_address_stays_behind_it() -> None:
    api = Api(public_url="https://pay.example.test/s/2")
    made = api.post("/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD"})
    assert made["url"].startswith("https://pay.example.test/s/2/pay/")
    path = urlsplit(made["url"]).path.removeprefix("/s/2")
    begun = api.get(path)
    assert (begun.status, begun.headers["location"].startswith(f"/s/2{path}?view=")) == (303, True)
    shown = document(visit(api, begun.headers["location"].removeprefix("/s/2")))
    assert f'action="/s/2{path}' in shown.html
    paid = submit(api, path, **{**shown.hidden, **CARD, "cardNumber": CHALLENGED})
    assert paid.headers["location"].startswith("/s/2/3ds/")


@pytest.mark.parametrize("name", ["self", "path", "address", "view"])
def test_a_query_of_any_name_opens_the_page(api: Api, name: str) -> None:
    assert api.get(f"{link(api)}?{name}=1").status in (200, 303)
