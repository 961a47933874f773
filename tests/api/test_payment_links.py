"""Payment links over HTTP, and paying them as the hosted page does (service document, Payment
links)."""

from base64 import b64encode
from typing import Any

import pytest

from mockserver.domain.charge import Charge
from mockserver.domain.commands import LinkPayment
from mockserver.domain.errors import Invalid, NotFound, WrongState
from mockserver.domain.payment_link import LinkPaymentType
from mockserver.domain.sources import (
    BankAccount,
    BankSource,
    CardSource,
    ChallengeAnswer,
    ChargeSource,
)
from mockserver.domain.states import ChargeState
from mockserver.engine import charges, payment_links, three_ds
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import unnoted
from tests.driving import DUMMY, VISA, Api, problem_of

LINK_FIELDS = [
    "url", "paymentLinkId", "dateAdded", "accountId", "publicKey", "title", "amount", "currency",
    "allowedPaymentTypes", "description", "image", "confirmationMessage", "redirectUrl", "callToAction",
    "limitPayments", "countPayments", "invoiceId", "metadata",
]  # fmt: skip
PIXEL = "data:image/png;base64," + b64encode(b"not really a picture").decode()
FULL = {
    "title": "A lamp", "amount": "12.50", "currency": "nzd", "allowedPaymentTypes": ["Card", "zip", "card"],
    "description": "Brass", "image": PIXEL, "confirmationMessage": "Thank you", "redirectUrl": "https://shop.test/ok",
    "callToAction": "donate", "limitPayments": 3, "invoiceId": "INV-1", "metadata": {"Order_Id": "7"},
}  # fmt: skip
CHALLENGED_CARD = "4000000000003220"


def make(api: Api, **fields: object) -> Any:
    reply = api.post(
        "/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD", **fields}
    )
    assert reply.status == 201, reply.raw
    return reply.body


def box_of(api: Api) -> Sandbox:
    return api.app.world.sandboxes.open(api.key, 0)


def by_card(number: str = VISA) -> ChargeSource:
    return CardSource(number, "12/40", "123", "Ann Example", provider_id=DUMMY)


BY_BANK = BankSource(BankAccount("123-456", "12345678", "Ann Example"), DUMMY)


def pay(
    api: Api, link_id: str, key: str, source: ChargeSource | None = None, **fields: Any
) -> Charge:
    return payment_links.pay(
        unnoted(box_of(api)), link_id, LinkPayment(source or by_card(), key, **fields)
    )


def paid(api: Api, link_id: str) -> int:
    return api.get(f"/payment_link/{link_id}")["countPayments"]


def status_of(api: Api, charge: Charge) -> ChargeState:
    return charges.get(unnoted(box_of(api)), charge.charge_id).status


def test_a_link_shows_every_documented_field(api: Api) -> None:
    link = make(api, **FULL)
    assert list(link) == LINK_FIELDS
    assert link["url"] == f"http://127.0.0.1:4111/pay/{link['paymentLinkId']}"
    assert (link["publicKey"], len(link["accountId"])) == ("pk_tests", 32)
    assert (link["amount"], link["currency"]) == (12.5, "NZD")
    assert (link["allowedPaymentTypes"], link["callToAction"]) == (["card", "zip"], "Donate")
    assert (link["limitPayments"], link["countPayments"]) == (3, 0)
    same = (
        "title",
        "description",
        "image",
        "confirmationMessage",
        "redirectUrl",
        "invoiceId",
        "metadata",
    )
    assert {name: link[name] for name in same} == {name: FULL[name] for name in same}
    assert api.get(f"/payment_link/{link['paymentLinkId']}").body == link


def test_every_part_of_a_link_can_be_left_out(api: Api) -> None:
    link = api.post("/payment_link", dict.fromkeys(FULL)).body
    assert [name for name in LINK_FIELDS if link[name] is not None] == [
        "url", "paymentLinkId", "dateAdded", "accountId", "publicKey", "countPayments",
    ]  # fmt: skip


def test_a_payment_link_without_currency_names_the_assumptions_that_it_rests_on(api: Api) -> None:
    def named() -> set[str]:
        entry = api.get("/__admin/journal")["entries"][-1]
        return {key for key in entry["assumptions"] if "currency" in key}

    make(api, currency=None)
    assert named() == {"currency.default"}
    make(api, currency="NZD")
    assert named() == set()
    assert api.delete(f"/provider/{DUMMY}").status == 200
    make(api, currency=None)
    assert named() == {"currency.default", "provider.currency"}


def test_a_payment_link_takes_pascal_case_and_indexes(api: Api) -> None:
    link = api.post(
        "/payment_link", {"Title": "T", "Amount": 1.0, "CallToAction": 1, "LimitPayments": "2"}
    ).body
    assert (link["title"], link["amount"], link["callToAction"], link["limitPayments"]) == (
        "T",
        1,
        "Donate",
        2,
    )
    assert make(api, callToAction=0)["callToAction"] == "Pay"


@pytest.mark.parametrize(
    ("field", "value", "code", "place"),
    [
        ("amount", 0, 74, "Amount"),
        ("amount", -1, 74, "Amount"),
        ("amount", "1.005", 2, "Amount"),
        ("amount", "lots", 90, "Amount"),
        ("currency", "QQQ", 29, "Currency"),
        ("allowedPaymentTypes", [], 90, "AllowedPaymentTypes"),
        ("allowedPaymentTypes", ["card", "crd"], 90, "AllowedPaymentTypes.1"),
        ("allowedPaymentTypes", [0], 90, "AllowedPaymentTypes.0"),
        ("callToAction", "Buy", 90, "CallToAction"),
        ("callToAction", 2, 90, "CallToAction"),
        ("limitPayments", 0, 90, "LimitPayments"),
        ("limitPayments", 1.5, 90, "LimitPayments"),
        ("image", "https://shop.test/lamp.png", 90, "Image"),
        ("image", "data:text/html;base64,PGI+", 90, "Image"),
        ("image", "data:image/png;base64,*", 90, "Image"),
        ("image", "data:image/png;base64,", 90, "Image"),
        ("image", "data:image/png,plain", 90, "Image"),
        ("redirectUrl", "javascript:alert(1)", 90, "RedirectUrl"),
        ("redirectUrl", "/thanks", 90, "RedirectUrl"),
        ("redirectUrl", "https://", 90, "RedirectUrl"),
        ("redirectUrl", "http://*/", 90, "RedirectUrl"),
        ("redirectUrl", "https://*.shop.test/", 90, "RedirectUrl"),
        ("redirectUrl", "http://shop.test:*/", 90, "RedirectUrl"),
        ("redirectUrl", "http://shop.test;script-src", 90, "RedirectUrl"),
        ("metadata", {"a": {"b": 1}}, 90, "Metadata"),
    ],
)
def test_a_payment_link_with_a_bad_field_is_refused(
    shared: Api, field: str, value: object, code: int, place: str
) -> None:
    reply = shared.post("/payment_link", {"title": "A lamp", "amount": 20, field: value})
    assert problem_of(reply) == (400, code)
    assert list(reply["details"]) == [place]
    assert shared.get("/payment_link")["count"] == 0


def test_an_image_may_be_as_large_as_the_assumption_says() -> None:
    api = Api(assumptions={"link.image_maximum": 20})
    image = "data:image/png;base64," + b64encode(b"x" * 20).decode()
    assert make(api, image=image)["image"] == image
    for length in (21, 22, 24):
        refused = api.post(
            "/payment_link", {"image": "data:image/png;base64," + b64encode(b"x" * length).decode()}
        )
        assert problem_of(refused) == (400, 90)
        assert refused["details"]["Image"] == f"got {length} bytes, wanted at most 20"


def test_only_a_link_with_an_image_rests_on_the_assumption_about_images(api: Api) -> None:
    make(api)
    make(api, image="data:image/png;base64,eA==")
    entries = api.get("/__admin/journal").body["entries"]
    assumed = ["link.image_maximum" in entry["assumptions"] for entry in entries]
    assert sorted(assumed) == [False, True]


def test_links_are_listed_newest_first_without_limit_and_skip(api: Api) -> None:
    ids = []
    for title in ("b", "a", "c"):
        ids.append(make(api, title=title)["paymentLinkId"])
        api.advance("1h")
    listed = api.get("/payment_link").body
    assert list(listed) == ["paymentLinks", "count"]
    assert [link["paymentLinkId"] for link in listed["paymentLinks"]] == ids[::-1]
    page = api.get("/payment_link", Limit=1, Skip=1).body
    assert ([link["title"] for link in page["paymentLinks"]], page["count"]) == (["a"], 3)
    by_title = api.get("/payment_link", SortBy="Title", SortOrder="asc").body
    assert [link["title"] for link in by_title["paymentLinks"]] == ["a", "b", "c"]
    between = api.get(
        "/payment_link", addedAfter="2031-03-01T00:00:00Z", addedBefore="2031-03-01T02:00:00Z"
    ).body
    assert [link["title"] for link in between["paymentLinks"]] == ["a"]
    assert api.send("GET", "/payment_link?")["count"] == 3


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"skip": -1}, {"sortBy": "colour"}, {"addedAfter": "soon"}]
)
def test_a_list_of_payment_links_with_a_bad_parameter_is_refused(
    api: Api, query: dict[str, object]
) -> None:
    assert problem_of(api.get("/payment_link", **query)) == (400, 90)


def test_an_unknown_link_is_not_found(api: Api) -> None:
    assert problem_of(api.get("/payment_link/nothing")) == (404, 116)
    assert problem_of(Api(profile="sdk").get("/payment_link/nothing")) == (400, 116)
    with pytest.raises(NotFound):
        pay(api, "nothing", "view 1")


def test_a_payment_link_takes_no_more_payments_than_its_limit(api: Api) -> None:
    link_id = make(api, limitPayments=2)["paymentLinkId"]
    first = pay(api, link_id, "view 1")
    second = pay(api, link_id, "view 2")
    with pytest.raises(WrongState) as refused:
        pay(api, link_id, "view 3")
    assert (int(refused.value.code), list(refused.value.details or {})) == (46, ["LimitPayments"])
    assert (paid(api, link_id), api.get("/charge")["count"]) == (2, 2)
    assert pay(api, link_id, "view 2") is second
    charges.refund(unnoted(box_of(api)), first.charge_id, None, None)
    with pytest.raises(WrongState):
        pay(api, link_id, "view 4")
    assert paid(api, link_id) == 2


def test_the_code_of_a_payment_link_at_its_limit_is_an_assumption() -> None:
    api = Api(assumptions={"link.limit_code": 116})
    link_id = make(api, limitPayments=1)["paymentLinkId"]
    pay(api, link_id, "view 1")
    with pytest.raises(WrongState) as refused:
        pay(api, link_id, "view 2")
    assert int(refused.value.code) == 116


def test_a_pending_payment_holds_its_place_and_counts_when_it_succeeds(api: Api) -> None:
    link_id = make(api, limitPayments=1)["paymentLinkId"]
    charge = pay(api, link_id, "view 1", BY_BANK)
    assert (charge.status, paid(api, link_id)) == (ChargeState.PENDING, 0)
    with pytest.raises(WrongState):
        pay(api, link_id, "view 2")
    api.advance("24h")
    assert (status_of(api, charge), paid(api, link_id)) == (ChargeState.SUCCESS, 1)


def test_a_pending_payment_that_fails_gives_its_place_back() -> None:
    rule = """
version: 1
rules:
  - id: first-bounces
    when: {op: payment_link.pay, source: payment_link}
    sequence:
      - pending: {after: 1h, settle: FAILED}
      - approve: {}
"""
    api = Api(scenario=rule)
    link_id = make(api, limitPayments=1)["paymentLinkId"]
    charge = pay(api, link_id, "view 1")
    assert charge.status is ChargeState.PENDING
    api.advance("2h")
    assert (status_of(api, charge), paid(api, link_id)) == (ChargeState.FAILED, 0)
    assert pay(api, link_id, "view 2").status is ChargeState.SUCCESS


@pytest.mark.parametrize(
    ("given", "status", "count"),
    [(ChallengeAnswer.PASS, ChargeState.SUCCESS, 1), (ChallengeAnswer.FAIL, ChargeState.FAILED, 0)],
)
def test_a_challenged_payment_counts_when_the_payer_passes(
    api: Api, given: ChallengeAnswer, status: ChargeState, count: int
) -> None:
    link_id = make(api, limitPayments=1)["paymentLinkId"]
    charge = pay(api, link_id, "view 1", by_card(CHALLENGED_CARD))
    assert (charge.status, paid(api, link_id)) == (ChargeState.PENDING_CHECKOUT, 0)
    with pytest.raises(WrongState):
        pay(api, link_id, "view 2")
    three_ds.answer(unnoted(box_of(api)), charge.charge_id, given)
    assert (status_of(api, charge), paid(api, link_id)) == (status, count)
    assert payment_links.get(unnoted(box_of(api)), link_id).has_room is (count == 0)


def test_a_payment_link_is_paid_by_its_allowed_payment_types_only(api: Api) -> None:
    link_id = make(api, allowedPaymentTypes=["zip", "paypal"])["paymentLinkId"]
    with pytest.raises(Invalid) as refused:
        pay(api, link_id, "view 1")
    assert int(refused.value.code) == 58
    assert "got card, this link takes zip, paypal" in (refused.value.details or {}).values()
    assert (
        pay(api, link_id, "view 1", payment_type=LinkPaymentType.ZIP).status is ChargeState.SUCCESS
    )
