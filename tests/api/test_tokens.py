"""Payment tokens over HTTP (published facts, 1.1 rows 50-54, 2.8, 10; assumptions token.lifetime,
token.uses)."""

from typing import Any

import pytest

from tests.driving import DUMMY, Api, card, problem_of, without

NOW = "2031-03-01T00:00:00.0000000Z"
AGREEMENT = {
    "payerName": "Ann Example",
    "description": "Membership",
    "maximumAmount": 100,
    "providerId": DUMMY,
}
FIELDS = [
    "tokenId", "gatewayTokenId", "accountId", "userId", "payToStatus", "card", "provider", "dateAdded", "dateUsed",
    "metadata", "clickToPay",
]  # fmt: skip


def token(api: Api, **fields: object) -> dict[str, Any]:
    reply = api.post("/token/card", {"providerId": DUMMY, "paymentInformation": card(), **fields})
    assert reply.status in (200, 201), reply.raw
    return reply.body


def use(api: Api, made: dict[str, Any], **fields: object) -> Any:
    return api.post("/charge/token", {"token": made["tokenId"], "amount": 5, **fields})


def test_a_token_shows_the_card_and_can_be_read(api: Api) -> None:
    made = token(api, metadata={"K_k": "v"})
    assert list(made) == FIELDS
    assert (made["card"]["cardNumber"], made["provider"]["providerId"]) == (
        "4111********1111",
        DUMMY,
    )
    assert (made["dateAdded"], made["dateUsed"], made["clickToPay"]) == (NOW, None, None)
    assert (made["metadata"], made["payToStatus"], len(made["tokenId"])) == ({"K_k": "v"}, None, 24)
    assert api.get(f"/token/{made['tokenId']}").body == made


def test_the_provider_is_named_in_header_query_or_body(api: Api) -> None:
    body = {"PaymentInformation": card()}
    assert api.call("POST", "/token/card", body, headers={"ProviderId": DUMMY}).status == 201
    assert api.call("POST", "/token/card", body, query={"ProviderId": DUMMY}).status == 201
    assert api.post("/token/card", {**body, "ProviderId": DUMMY}).status == 201
    nowhere = api.post("/token/card", body)
    assert (problem_of(nowhere), list(nowhere["details"])) == ((400, 90), ["ProviderId"])
    assert problem_of(api.call("POST", "/token/card", body, headers={"providerid": "nobody"})) == (
        400,
        39,
    )


def test_a_public_key_makes_tokens_and_reads_none(api: Api) -> None:
    browser = Api(key=None)
    browser.app = api.app
    pair = {"x-publickey": "pk_tests"}
    token(api)
    body = {"providerId": DUMMY, "paymentInformation": card()}
    made = browser.call("POST", "/token/card", body, headers=pair)
    assert made.status == 201
    assert use(api, made.body).status == 201
    assert (
        browser.call(
            "POST", "/token/card/least_cost", {"paymentInformation": card()}, headers=pair
        ).status
        == 201
    )
    assert browser.call("POST", "/token/payto", AGREEMENT, headers=pair).status == 201
    assert problem_of(browser.call("GET", f"/token/{made['tokenId']}", headers=pair)) == (401, 40)
    assert problem_of(browser.call("GET", "/token", headers=pair)) == (401, 40)
    assert problem_of(browser.call("POST", "/token/card", body)) == (401, 40)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"paymentInformation": None}, 81),
        ({"paymentInformation": card("4000000000000000")}, 5),
        ({"paymentInformation": card(ccv="1x3")}, 6),
        ({"paymentInformation": card(expiryDate="02/31")}, 14),
        ({"vaultExpireSeconds": 1, "vaultExpireDate": "2040-01-01"}, 85),
        ({"vaultExpireSeconds": 0}, 86),
        ({"providerId": "nobody", "paymentInformation": card(ccv="1")}, 90),
    ],
)
def test_a_bad_card_makes_no_token(shared: Api, fields: dict[str, object], code: int) -> None:
    reply = shared.post(
        "/token/card", {"providerId": DUMMY, "paymentInformation": card(), **fields}
    )
    assert problem_of(reply) == (400, code)
    assert shared.get("/token")["count"] == 0


def test_the_cheapest_provider_gets_a_token_without_one(api: Api) -> None:
    cost = [{"cardScheme": "VISA", "transactionCost": "0.01", "transactionPercentage": 0}]
    cheap = api.post(
        "/provider", {"type": "dummy", "name": "Cheap", "currency": "AUD", "costData": cost}
    ).body
    body = {"paymentInformation": card(), "amount": "20", "currency": "aud"}
    assert api.post("/token/card/least_cost", body)["provider"]["providerId"] == cheap["providerId"]
    dear = api.post(
        "/token/card/least_cost", {**body, "paymentInformation": card("5555555555554444")}
    )
    assert dear["provider"]["providerId"] == DUMMY
    assert (
        api.post("/token/card/least_cost", {**body, "currency": "JPY"})["provider"]["providerId"]
        == cheap["providerId"]
    )
    api.put("/__admin/assumptions", {"provider.other_currency": "none"})
    assert problem_of(api.post("/token/card/least_cost", {**body, "currency": "JPY"})) == (400, 63)
    assert problem_of(api.post("/token/card/least_cost", {**body, "currency": "XX"})) == (400, 29)
    assert problem_of(api.post("/token/card/least_cost", {**body, "amount": "1e99"})) == (400, 2)


def test_a_token_works_once_for_charges_and_stored_methods(api: Api) -> None:
    made = token(api)
    charge = use(api, made)
    assert (charge.status, charge["status"], charge["paymentTokenId"]) == (
        201,
        "SUCCESS",
        made["tokenId"],
    )
    assert api.get(f"/token/{made['tokenId']}")["dateUsed"] == NOW
    for again in (
        use(api, made),
        api.post("/payment_method/token", {"token": made["tokenId"]}),
        api.post("/customer/token", {"token": made["tokenId"]}),
    ):
        assert (problem_of(again), list(again["details"])) == ((400, 51), ["Token"])


def test_a_token_works_as_often_as_the_assumption_says() -> None:
    api = Api(assumptions={"token.uses": 2})
    made = token(api)
    assert [use(api, made).status for _ in range(3)] == [201, 201, 400]


def test_a_token_expires_on_the_clock(api: Api) -> None:
    made, late = token(api), token(api)
    api.advance("59m")
    assert use(api, made).status == 201
    api.advance("1m")
    assert problem_of(use(api, late)) == (400, 51)
    assert api.get(f"/token/{late['tokenId']}")["dateUsed"] is None


def test_a_refused_use_leaves_the_token_as_it_is_and_a_declined_one_does_not(api: Api) -> None:
    made = token(api, paymentInformation=card("4000000000000002"))
    assert problem_of(use(api, made, amount=0)) == (400, 90)
    assert problem_of(use(api, made, reference="x" * 41)) == (400, 90)
    bad = {"token": made["tokenId"], "fallbackPaymentMethodId": "none"}
    assert problem_of(api.post("/payment_method/token", bad)) == (400, 56)
    assert api.get(f"/token/{made['tokenId']}")["dateUsed"] is None
    assert problem_of(use(api, made)) == (400, 905)
    assert problem_of(use(api, made)) == (400, 51)


def test_a_provider_that_declines_to_store_leaves_the_token_as_it_is() -> None:
    rule = "{id: r, when: {op: payment_method.create}, then: {decline: lost_card}, limit: 1}"
    api = Api(scenario=f"version: 1\nrules: [{rule}]\n")
    body = {"token": token(api)["tokenId"]}
    assert problem_of(api.post("/payment_method/token", body)) == (400, 941)
    assert api.post("/payment_method/token", body).status == 201


def test_a_declined_token_is_not_made() -> None:
    api = Api(
        scenario="version: 1\nrules: [{id: r, when: {op: token.create}, then: {decline: "
        "lost_card}}]\n"
    )
    assert problem_of(
        api.post("/token/card", {"providerId": DUMMY, "paymentInformation": card()})
    ) == (400, 941)
    assert problem_of(api.post("/token/payto", AGREEMENT)) == (400, 941)
    assert api.get("/token")["count"] == 0


def test_a_token_for_an_unknown_id_is_87_to_read_and_51_to_use(api: Api) -> None:
    assert problem_of(api.get("/token/none")) == (404, 87)
    assert problem_of(Api(profile="sdk").get("/token/none")) == (400, 87)
    assert problem_of(use(api, {"tokenId": "none"})) == (400, 51)


def test_a_vaulted_card_stays_vaulted_with_the_method_made_from_its_token(api: Api) -> None:
    made = token(api, vaultCard=True, vaultExpireSeconds=60)
    method = api.post(
        "/payment_method/token", {"Token": made["tokenId"], "Metadata": {"a": "b"}}
    ).body
    assert (method["token"], method["metadata"], method["card"]["type"]) == (
        made["tokenId"],
        {"a": "b"},
        "VISA",
    )
    assert api.get(f"/vault/{method['vaultId']}")["cardNumber"] == "4111111111111111"
    api.advance("1m")
    assert problem_of(api.get(f"/vault/{method['vaultId']}")) == (404, 62)


def test_a_payto_token_is_charged_within_its_agreement(api: Api) -> None:
    made = api.post("/token/payto", AGREEMENT).body
    assert (made["payToStatus"], made["card"]) == ("ACTIVE", None)
    assert problem_of(use(api, made, amount=101)) == (400, 24)
    charge = use(api, made, amount=100)
    assert (charge["status"], charge["paymentInformation"]["type"]) == ("PENDING", "PAYTO")
    declined = {**AGREEMENT, "payerPayIdDetails": {"payId": "declined@example.com"}}
    refused = api.post("/token/payto", declined).body
    assert api.get(f"/token/{refused['tokenId']}")["payToStatus"] == "DECLINED"
    assert problem_of(use(api, refused)) == (400, 33)


def test_a_payto_token_can_be_stored(api: Api) -> None:
    made = api.post("/token/payto", AGREEMENT).body
    method = api.post("/payment_method/token", {"token": made["tokenId"]}).body
    assert (method["type"], method["payToStatus"], method["payTo"]["payerName"]) == (
        "PAYTO",
        "ACTIVE",
        "Ann Example",
    )


@pytest.mark.parametrize("name", ["payerName", "description", "maximumAmount", "providerId"])
def test_a_payto_token_needs_the_required_fields(api: Api, name: str) -> None:
    reply = api.post("/token/payto", without(AGREEMENT, name))
    assert (problem_of(reply), list(reply["details"])) == ((400, 90), [name[0].upper() + name[1:]])


def test_the_search_finds_by_every_parameter(api: Api) -> None:
    other = api.post("/provider", {"type": "dummy", "name": "Other"})["providerId"]
    ids = [token(api)["tokenId"]]
    api.advance("30m")
    ids += [token(api, providerId=other)["tokenId"], token(api)["tokenId"]]
    use(api, {"tokenId": ids[2]})

    def found(**query: object) -> list[int]:
        reply = api.get("/token", **query)
        assert reply.status == 200, reply.raw
        return [ids.index(row["tokenId"]) for row in reply["tokens"]]

    assert found() == [2, 1, 0]
    assert found(ProviderId=other) == [1]
    assert found(Status="used") == [2]
    assert found(status="ACTIVE") == [1, 0]
    assert found(AddedAfter="2031-03-01T00:10:00Z") == [2, 1]
    assert found(AddedBefore="2031-03-01T00:10:00Z") == [0]
    assert found(Limit=1, Skip=1) == [1]
    assert found(SortBy="dateAdded", SortOrder="asc") == [0, 1, 2]
    api.advance("30m")
    assert found(Status="EXPIRED") == [0]
    page = api.get("/token", limit=2).body
    assert (page["limit"], page["skip"], page["count"]) == (2, 0, 3)
    for bad in ({"status": "lost"}, {"sortBy": "colour"}, {"skip": -1}):
        assert problem_of(api.get("/token", **bad)) == (400, 90)


def test_what_was_said_with_the_token_is_kept_with_the_method_unless_told_otherwise(
    api: Api,
) -> None:
    first, second = (token(api, ip="203.0.113.9", metadata={"a": "1"})["tokenId"] for _ in range(2))
    kept = api.post("/payment_method/token", {"token": first})
    assert (kept["ip"], kept["metadata"]) == ("203.0.113.9", {"a": "1"})
    told = api.post(
        "/payment_method/token", {"token": second, "ip": "203.0.113.10", "metadata": {}}
    )
    assert (told["ip"], told["metadata"]) == ("203.0.113.10", {})


def test_a_three_ds_result_of_a_token_counts_for_its_charge(api: Api) -> None:
    trans_id = "0b8ba3a2-45d2-4f2d-9d0c-6a1d3f1f0a11"
    proven = token(api, paymentInformation=card("4000000000003220", threeDSServerTransID=trans_id))
    assert (use(api, proven)["status"], use(api, token(api))["threeDsVerified"]) == (
        "SUCCESS",
        False,
    )
    charge = api.get("/charge", SortOrder="asc")["charges"][0]
    assert (charge["threeDsVerified"], charge["threeDsServerTransId"]) == (True, trans_id)
    unproven = token(api, paymentInformation=card("4000000000003220"))
    assert use(api, unproven)["status"] == "PENDING_CHECKOUT"
