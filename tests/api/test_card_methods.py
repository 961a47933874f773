"""Payment methods from a card and from a vaulted method (service document, Payment methods; What
the service does)."""

from typing import Any

import pytest

from tests.driving import DUMMY, VISA, Api, card, problem_of

FIELDS = {
    "paymentMethodId", "customerId", "type", "card", "bankPayment", "providerId", "providerType", "dateAdded",
    "dateRemoved", "email", "customer", "provider", "payTo", "networkToken", "vaultId", "payToStatus", "ip",
    "providerPaymentMethodId", "providerPaymentMethodData", "token", "networkTokenId", "fallbackPaymentMethodId",
    "metadata",
}  # fmt: skip


@pytest.fixture
def other_provider(api: Api) -> str:
    return api.post("/provider", {"type": "dummy", "name": "Other"})["providerId"]


def body(**fields: object) -> dict[str, object]:
    return {"providerId": DUMMY, "paymentInformation": card(), **fields}


def method(api: Api, **fields: object) -> dict[str, Any]:
    reply = api.post("/payment_method/card", body(**fields))
    assert reply.status == 201, reply.raw
    return reply.body


def test_every_documented_field_is_there(api: Api) -> None:
    made = method(api, ip="203.0.113.7", metadata={"Shop": "A", "n": 1, "ok": True})
    assert set(made) >= FIELDS
    assert (made["type"], made["providerId"], made["providerType"]) == ("CARD", DUMMY, "dummy")
    assert (made["ip"], made["metadata"], made["vaultId"]) == (
        "203.0.113.7",
        {"Shop": "A", "n": "1", "ok": "true"},
        None,
    )
    assert made["card"]["cardNumber"] == "4111********1111"
    assert made["provider"] == {"providerId": DUMMY, "type": "dummy", "name": "Dummy"}


def test_get_gives_what_was_created(api: Api) -> None:
    made = method(api)
    got = api.get(f"/payment_method/{made['paymentMethodId']}")
    assert (got.status, got.body) == (200, made)
    assert problem_of(api.get("/payment_method/nothing")) == (404, 56)


def test_vaulting_keeps_the_number_in_the_vault_alone(api: Api) -> None:
    made = method(api, vaultCard=True, vaultExpireSeconds=60)
    item = api.get(f"/vault/{made['vaultId']}")
    assert (item["cardNumber"], item["ccv"]) == (VISA, "123")
    assert item["expireDate"] == "2031-03-01T00:01:00.0000000Z"
    assert VISA not in str(made)


def test_a_vault_expiry_date_counts_too(api: Api) -> None:
    made = method(
        api, vaultCard="true", vaultExpireDate="2031-03-02T00:00:00Z", vaultExpireSeconds=None
    )
    assert api.get(f"/vault/{made['vaultId']}")["expireDate"] == "2031-03-02T00:00:00.0000000Z"


@pytest.mark.parametrize(
    ("fields", "code", "details"),
    [
        (
            {"vaultCard": True, "vaultExpireSeconds": 9, "vaultExpireDate": "2032-01-01"},
            85,
            ["VaultExpireSeconds"],
        ),
        ({"vaultExpireSeconds": 9, "vaultExpireDate": "2032-01-01"}, 85, ["VaultExpireSeconds"]),
        ({"vaultCard": True, "vaultExpireSeconds": 0}, 86, ["VaultExpireSeconds"]),
        ({"vaultCard": True, "vaultExpireDate": "2031-02-28"}, 86, ["VaultExpireDate"]),
        ({"providerId": "nobody"}, 39, ["ProviderId"]),
        ({"providerId": ""}, 90, ["ProviderId"]),
        ({"paymentInformation": card(ccv="12")}, 6, ["Ccv"]),
        ({"paymentInformation": card(expiryDate="13/40")}, 9, ["ExpiryDate"]),
        ({"paymentInformation": card(expiryDate="02/31")}, 14, ["ExpiryDate"]),
        ({"paymentInformation": card(threeDSServerTransID="x")}, 59, ["ThreeDSServerTransID"]),
        ({"fallbackPaymentMethodId": "nothing"}, 56, ["FallbackPaymentMethodId"]),
        ({"fallbackPaymentMethodId": ""}, 56, ["FallbackPaymentMethodId"]),
        ({"metadata": {"a": {"b": 1}}}, 90, ["Metadata"]),
        ({"metadata": "x"}, 90, ["Metadata"]),
    ],
)
def test_a_stored_card_with_a_bad_field_is_refused(
    shared: Api, fields: dict[str, object], code: int, details: list[str]
) -> None:
    refused = shared.post("/payment_method/card", body(**fields))
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == details


def test_an_expired_card_is_stored_when_the_check_is_skipped(api: Api) -> None:
    made = method(api, paymentInformation=card(expiryDate="1/20"), skipExpiryDateValidation=True)
    assert made["card"]["expiryDate"] == "01/20"


def test_a_card_is_good_to_the_end_of_its_month(api: Api) -> None:
    assert method(api, paymentInformation=card(expiryDate="03/31"))["card"]["expiryDate"] == "03/31"
    api.advance("31d")
    refused = api.post("/payment_method/card", body(paymentInformation=card(expiryDate="03/31")))
    assert problem_of(refused) == (400, 14)


def test_switch_provider_stores_the_vaulted_card_with_the_other_one(
    api: Api, other_provider: str
) -> None:
    made = method(api, vaultCard=True, metadata={"a": "b"})
    switched = api.post(
        "/payment_method/vault",
        {"ProviderId": other_provider, "PaymentMethodId": made["paymentMethodId"], "Ccv": "456"},
    )
    assert switched.status == 201
    new = switched.body
    assert new["paymentMethodId"] != made["paymentMethodId"]
    assert (new["providerId"], new["vaultId"], new["card"]) == (
        other_provider,
        made["vaultId"],
        made["card"],
    )
    charged = api.post(
        "/charge/payment_method", {"amount": 5, "paymentMethodId": new["paymentMethodId"]}
    )
    assert (charged.status, charged["providerId"]) == (201, other_provider)


def test_switching_needs_a_card_that_is_still_in_the_vault(api: Api, other_provider: str) -> None:
    switch = {"providerId": other_provider}
    plain = method(api)["paymentMethodId"]
    assert problem_of(api.post("/payment_method/vault", {**switch, "paymentMethodId": plain})) == (
        400,
        66,
    )
    vaulted = method(api, vaultCard=True, vaultExpireSeconds=60)["paymentMethodId"]
    assert (
        api.post(
            "/payment_method/vault", {**switch, "paymentMethodId": vaulted, "ccv": None}
        ).status
        == 201
    )
    api.advance("60s")
    assert problem_of(
        api.post("/payment_method/vault", {**switch, "paymentMethodId": vaulted})
    ) == (400, 66)


@pytest.mark.parametrize(
    ("fields", "code", "details"),
    [
        ({"ccv": "12"}, 6, ["Ccv"]),
        ({"ccv": "12345"}, 6, ["Ccv"]),
        ({"ccv": "abc"}, 6, ["Ccv"]),
        ({"ccv": ""}, 6, ["Ccv"]),
        ({"providerId": "nobody"}, 39, ["ProviderId"]),
        ({"providerId": ""}, 90, ["ProviderId"]),
        ({"providerId": None}, 90, ["ProviderId"]),
        ({"paymentMethodId": "nothing"}, 56, ["PaymentMethodId"]),
        ({"paymentMethodId": ""}, 90, ["PaymentMethodId"]),
    ],
)
def test_what_a_switch_refuses(
    api: Api, other_provider: str, fields: dict[str, object], code: int, details: list[str]
) -> None:
    made = method(api, vaultCard=True)
    switch = {"providerId": other_provider, "paymentMethodId": made["paymentMethodId"], **fields}
    refused = api.post("/payment_method/vault", switch)
    assert problem_of(refused) == (400, code)
    assert list(refused["details"]) == details


def test_a_provider_that_takes_no_cards_is_refused(api: Api) -> None:
    checkout = api.post("/provider", {"type": "afterpay", "name": "Later"})["providerId"]
    refused = api.post("/payment_method/card", body(providerId=checkout))
    assert problem_of(refused) == (400, 32)
