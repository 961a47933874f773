"""Payment methods besides cards and switches: every way in, search, change, removal (published
facts, 1.1 rows 29-39, 2.6)."""

from time import perf_counter
from typing import Any

import pytest

from tests.driving import DUMMY, Api, card, problem_of, without

NOW = "2031-03-01T00:00:00.0000000Z"
BANK = {"bankCode": "123-456", "accountNumber": "012345678", "accountName": "Ann Example"}
AGREEMENT = {
    "payerName": "Ann Example",
    "description": "Membership",
    "maximumAmount": 100,
    "providerId": DUMMY,
}


def made(api: Api, way: str = "card", **fields: object) -> dict[str, Any]:
    bodies: dict[str, dict[str, object]] = {
        "card": {"providerId": DUMMY, "paymentInformation": card()},
        "bank_account": {"providerId": DUMMY, "bankPaymentInformation": BANK},
        "payto": AGREEMENT,
        "provider_token": {"providerId": DUMMY, "providerToken": "pt_1"},
    }
    reply = api.post(f"/payment_method/{way}", {**bodies[way], **fields})
    assert reply.status in (200, 201), reply.raw
    return reply.body


def path_of(method: dict[str, Any]) -> str:
    return f"/payment_method/{method['paymentMethodId']}"


def test_a_bank_account_is_stored_and_shown(api: Api) -> None:
    fields = {
        "firstName": "Ann",
        "lastName": "Example",
        "metadata": {"Shop_id": "7"},
        "setDefault": True,
    }
    method = made(api, "bank_account", **fields)
    assert (method["type"], method["card"], method["bankPayment"]) == ("BANK_ACCOUNT", None, BANK)
    assert (method["customer"]["firstName"], method["customer"]["customerId"]) == ("Ann", None)
    assert method["metadata"] == {"Shop_id": "7"}
    assert api.get(path_of(method)).body == method


@pytest.mark.parametrize("name", ["bankCode", "accountNumber", "accountName"])
def test_a_bank_account_needs_all_its_parts(api: Api, name: str) -> None:
    reply = api.post(
        "/payment_method/bank_account",
        {"providerId": DUMMY, "bankPaymentInformation": without(BANK, name)},
    )
    assert problem_of(reply) == (400, 90)
    assert list(reply["details"]) == [f"BankPaymentInformation.{name[0].upper()}{name[1:]}"]


@pytest.mark.parametrize(
    ("kind", "way", "code"),
    [("nab_transact", "bank_account", 103), ("nab_transact", "payto", 32), ("azupay", "card", 32)],
)
def test_a_provider_must_have_the_feature(api: Api, kind: str, way: str, code: int) -> None:
    provider = api.post("/provider", {"type": kind, "name": "Other"})["providerId"]
    body = {
        "card": {"paymentInformation": card()},
        "bank_account": {"bankPaymentInformation": BANK},
        "payto": AGREEMENT,
    }
    reply = api.post(f"/payment_method/{way}", {**body[way], "providerId": provider})
    assert (problem_of(reply), list(reply["details"])) == ((400, code), ["ProviderId"])


def test_a_single_use_token_with_customer_details_shows_them(api: Api) -> None:
    body = {
        "providerId": DUMMY,
        "providerToken": "pt_1",
        "firstName": "Ann",
        "email": "a@example.com",
        "ip": "::1",
    }
    method = api.post("/payment_method/provider_single_use_token", body).body
    assert (method["customer"]["firstName"], method["email"], method["ip"]) == (
        "Ann",
        "a@example.com",
        "::1",
    )
    assert (method["token"], method["providerPaymentMethodId"][:3]) == ("pt_1", "pm_")
    refused = api.post("/payment_method/provider_single_use_token", {**body, "firstName": "x" * 41})
    assert (problem_of(refused), list(refused["details"])) == ((400, 90), ["FirstName"])


@pytest.mark.parametrize("way", ["provider_token", "provider_single_use_token"])
@pytest.mark.parametrize("name", ["providerId", "providerToken"])
def test_a_provider_token_needs_its_provider_and_itself(api: Api, way: str, name: str) -> None:
    body = {"providerId": DUMMY, "providerToken": "pt_1"}
    for bad in (without(body, name), {**body, name: ""}):
        reply = api.post(f"/payment_method/{way}", bad)
        assert (problem_of(reply), list(reply["details"])) == (
            (400, 90),
            [name[0].upper() + name[1:]],
        )


def test_an_agreement_is_active_at_once_and_shown(api: Api) -> None:
    method = made(
        api, "payto", payerPayIdDetails={"PayId": "ann@example.com", "PayIdType": "EMAIL"}
    )
    assert (method["type"], method["payToStatus"]) == ("PAYTO", "ACTIVE")
    assert without(method["payTo"], "payToId") == {
        "status": "ACTIVE",
        "payerName": "Ann Example",
        "payerPayIdDetails": {"payId": "ann@example.com", "payIdType": "EMAIL"},
        "payerDirectDebitDetails": None,
        "providerId": DUMMY,
        "providerType": "dummy",
    }


@pytest.mark.parametrize("maximum", [1, 9999, "50"])
def test_an_agreement_has_a_maximum_amount_from_1_to_9999(api: Api, maximum: object) -> None:
    assert made(api, "payto", maximumAmount=maximum)["payToStatus"] == "ACTIVE"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"maximumAmount": 0}, "MaximumAmount"),
        ({"maximumAmount": 10_000}, "MaximumAmount"),
        ({"maximumAmount": 1.5}, "MaximumAmount"),
        ({"payerName": ""}, "PayerName"),
        ({"description": ""}, "Description"),
    ],
)
def test_an_agreement_with_a_bad_maximum_amount_or_payer_is_refused(
    shared: Api, fields: dict[str, object], name: str
) -> None:
    reply = shared.post("/payment_method/payto", {**AGREEMENT, **fields})
    assert (problem_of(reply), list(reply["details"])) == ((400, 90), [name])


def test_an_agreement_becomes_active_on_the_clock(api: Api) -> None:
    api = Api(assumptions={"payto.active_after": "1h"})
    method = made(api, "payto")
    assert method["payToStatus"] == "PENDING"
    charge = {"paymentMethodId": method["paymentMethodId"], "amount": 20}
    assert problem_of(api.post("/charge/payment_method", charge)) == (400, 33)
    api.advance("1h")
    assert api.get(path_of(method))["payTo"]["status"] == "ACTIVE"
    assert api.post("/charge/payment_method", charge)["status"] == "PENDING"
    assert api.post("/charge/payment_method", {**charge, "amount": 100}).status == 201
    assert problem_of(api.post("/charge/payment_method", {**charge, "amount": 100.01})) == (400, 24)


@pytest.mark.parametrize("prefix", ["declined", "expired", "pending"])
@pytest.mark.parametrize("path", ["/payment_method/payto", "/customer/payto"])
def test_the_payid_of_a_test_value_decides(api: Api, prefix: str, path: str) -> None:
    agreement = {
        **AGREEMENT,
        "payerPayIdDetails": {"payId": f"{prefix}@example.com", "payIdType": "EMAIL"},
    }
    reply = api.post(
        path, {"payToAgreement": agreement} if path.startswith("/customer") else agreement
    )
    assert reply.status == 201, reply.raw
    method = reply.body.get("defaultPaymentMethod") or reply.body
    assert api.get(path_of(method))["payToStatus"] == prefix.upper()
    charge = api.post(
        "/charge/payment_method", {"paymentMethodId": method["paymentMethodId"], "amount": 1}
    )
    assert problem_of(charge) == (400, 33)


def test_a_network_token_is_made_with_the_card(api: Api) -> None:
    method = made(api, createNetworkToken=True)
    token = method["networkToken"]
    assert token["networkTokenId"] == method["networkTokenId"]
    assert (token["status"], token["dateAdded"], token["providerId"]) == ("ACTIVE", NOW, DUMMY)
    assert token["schemeTokenData"] == {"scheme": "VISA", "panLastFour": "1111"}
    assert made(api)["networkToken"] is None
    assert made(Api(profile="sdk"), createNetworkToken=True)["networkToken"]["dateAdded"] is None


def test_a_provider_without_network_tokens_refuses_one(api: Api) -> None:
    provider = api.post("/provider", {"type": "nab_transact", "name": "Nab"})["providerId"]
    body = {"providerId": provider, "paymentInformation": card(), "createNetworkToken": True}
    assert problem_of(api.post("/payment_method/card", body)) == (400, 32)
    assert api.post("/payment_method/card", {**body, "createNetworkToken": False}).status == 201


def test_the_card_of_a_payment_method_is_changed(api: Api) -> None:
    method = made(api, metadata={"a": "1"})
    changed = api.put(path_of(method), {"Card": {"ExpiryDate": "11/39", "CardHolder": "Bob"}}).body
    assert (changed["card"]["expiryDate"], changed["card"]["cardholder"]) == ("11/39", "Bob")
    assert changed["card"]["cardNumber"] == method["card"]["cardNumber"]
    assert changed["metadata"] == {"a": "1"}
    again = api.put(
        path_of(method), {"card": {"cardNumber": "5555555555554444"}, "metadata": {"b": "2"}}
    ).body
    assert (again["card"]["type"], again["metadata"]) == ("MASTERCARD", {"b": "2"})
    assert [
        row["paymentMethodId"]
        for row in api.get("/payment_method", CardType="mastercard")["paymentMethods"]
    ] == [method["paymentMethodId"]]


def test_a_charge_shows_the_card_as_it_was_then(api: Api) -> None:
    method = made(api)
    body = {"paymentMethodId": method["paymentMethodId"], "amount": 1}
    first = api.post("/charge/payment_method", body)["chargeId"]
    api.put(path_of(method), {"card": {"cardNumber": "5555555555554444"}})
    second = api.post("/charge/payment_method", body)["chargeId"]
    shown = [
        api.get(f"/charge/{charge}")["paymentInformation"]["card"]["type"]
        for charge in (first, second)
    ]
    assert shown == ["VISA", "MASTERCARD"]


def test_a_new_number_of_a_vaulted_card_gets_a_vault_item_of_its_own(api: Api) -> None:
    method = made(api, vaultCard=True)
    changed = api.put(path_of(method), {"card": {"cardNumber": "5555555555554444"}}).body
    assert changed["vaultId"] != method["vaultId"]
    assert api.get(f"/vault/{changed['vaultId']}")["cardNumber"] == "5555555555554444"
    assert api.get(f"/vault/{method['vaultId']}")["cardNumber"] == "4111111111111111"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 90),
        ({"card": {}}, 105),
        ({"card": {"expiryDate": "00/40"}}, 9),
        ({"card": {"expiryDate": "01/31"}}, 14),
        ({"card": {"cardNumber": "4111111111111112"}}, 5),
        ({"card": {"cardNumber": "4111111111111112", "expiryDate": "1"}}, 90),
    ],
)
def test_a_bad_change_of_a_card_is_refused_and_changes_nothing(
    shared: Api, body: dict[str, object], code: int
) -> None:
    method = made(shared)
    assert problem_of(shared.put(path_of(method), body)) == (400, code)
    assert shared.get(path_of(method)).body == method


def test_only_a_card_in_use_can_be_changed(api: Api) -> None:
    change = {"card": {"cardholder": "Bob"}}
    for way in ("bank_account", "payto", "provider_token"):
        assert problem_of(api.put(path_of(made(api, way)), change)) == (400, 106)
    assert problem_of(api.put("/payment_method/none", change)) == (404, 56)
    method = made(api)
    api.delete(path_of(method))
    assert problem_of(api.put(path_of(method), change)) == (409, 73)


def test_a_removed_method_can_be_read_but_neither_charged_nor_removed_again(api: Api) -> None:
    method = made(api, createNetworkToken=True)
    removed = api.delete(path_of(method))
    assert (removed.status, removed["dateRemoved"], removed["email"]) == (200, NOW, "deleted")
    assert removed["networkToken"]["status"] == "DELETED"
    assert api.get(path_of(method)).body == removed.body
    charge = {"paymentMethodId": method["paymentMethodId"], "amount": 1}
    assert problem_of(api.post("/charge/payment_method", charge)) == (400, 73)
    assert problem_of(api.delete(path_of(method))) == (409, 73)
    assert problem_of(api.delete("/payment_method/none")) == (404, 56)


def test_removing_a_method_cancels_its_agreement(api: Api) -> None:
    assert api.delete(path_of(made(api, "payto")))["payToStatus"] == "CANCELLED"


def test_a_payment_method_is_deleted_at_the_provider_too_unless_gateway_delete_is_false() -> None:
    rule = "{id: r, when: {op: payment_method.delete}, then: {decline: do_not_honour}}"
    api = Api(scenario=f"version: 1\nrules: [{rule}]\n")
    method = made(api)
    assert problem_of(api.delete(path_of(method))) == (400, 905)
    assert api.get(path_of(method)).body == method
    assert api.delete(path_of(method), GatewayDelete="False")["dateRemoved"] == NOW
    assert api.get("/payment_method")["count"] == 0


def test_payment_methods_are_found_by_every_parameter_of_the_search(api: Api) -> None:
    other = api.post("/provider", {"type": "dummy", "name": "Other"})["providerId"]
    first = made(api, paymentInformation=card(cardholder="Zoe"))
    api.advance("1h")
    second = made(api, "bank_account", providerId=other)
    third = api.post(
        "/customer/card", {"providerId": DUMMY, "paymentInformation": card("5555555555554444")}
    ).body
    ids = [
        first["paymentMethodId"],
        second["paymentMethodId"],
        third["defaultPaymentMethod"]["paymentMethodId"],
    ]

    def found(**query: object) -> list[int]:
        reply = api.get("/payment_method", **query)
        assert reply.status == 200, reply.raw
        return [ids.index(row["paymentMethodId"]) for row in reply["paymentMethods"]]

    assert found() == [2, 1, 0]
    assert found(ProviderId=other) == [1]
    assert found(CustomerId=third["customerId"]) == [2]
    assert found(PaymentType="card") == [2, 0]
    assert found(CardType="VISA") == [0]
    assert found(Search="zOe") == [0]
    assert found(Search="012345") == [1]
    assert found(AddedAfter="2031-03-01T00:30:00Z") == [2, 1]
    assert found(addedBefore="2031-03-01T00:30:00Z") == [0]
    assert found(limit=1, skip=1) == [1]
    assert found(SortBy="type", SortOrder="asc") == [1, 0, 2]
    api.delete(path_of(first))
    assert found() == [2, 1]
    assert found(IncludeRemoved="true") == [2, 1, 0]
    assert problem_of(api.get("/payment_method", sortBy="colour")) == (400, 90)
    assert problem_of(api.get("/payment_method", limit="many")) == (400, 90)


def test_a_fallback_method_takes_over_a_retryable_failure(api: Api) -> None:
    backup = made(api)
    method = made(
        api,
        paymentInformation=card("4000000000009995"),
        fallbackPaymentMethodId=backup["paymentMethodId"],
    )
    charge = api.post(
        "/charge/payment_method", {"paymentMethodId": method["paymentMethodId"], "amount": 5}
    )
    assert (charge.status, charge["status"]) == (201, "SUCCESS")
    assert charge["paymentInformation"]["paymentMethodId"] == backup["paymentMethodId"]
    assert [row["errorCode"] for row in charge["failedAttempts"]] == ["15"]
    api.delete(path_of(backup))
    alone = api.post(
        "/charge/payment_method", {"paymentMethodId": method["paymentMethodId"], "amount": 5}
    )
    assert problem_of(alone) == (400, 15)


def test_a_transport_fault_strikes_before_anything_is_stored() -> None:
    rule = (
        "{id: r, when: {op: payment_method.create}, then: {transport: {at: receive, status: "
        "503}}, limit: 1}"
    )
    api = Api(scenario=f"version: 1\nrules: [{rule}]\n")
    assert api.post("/payment_method/payto", AGREEMENT).status == 503
    assert api.get("/payment_method")["count"] == 0
    assert api.post("/payment_method/payto", AGREEMENT).status == 201


@pytest.mark.parametrize("assumed", ["refuse", "charge"])
def test_a_stored_card_that_has_expired_is_refused_or_charged_as_assumed(assumed: str) -> None:
    api = Api(assumptions={"card.expired": assumed, "token.lifetime": "60d"})
    soon = {"providerId": DUMMY, "paymentInformation": card(expiryDate="03/31")}
    method = api.post("/payment_method/card", soon)["paymentMethodId"]
    customer = api.post("/customer/card", soon)["customerId"]
    token = api.post("/token/card", soon)["tokenId"]
    poor = {
        **soon,
        "paymentInformation": card("4000000000009995"),
        "fallbackPaymentMethodId": method,
    }
    covered = api.post("/payment_method/card", poor)["paymentMethodId"]
    plan = {
        "paymentMethodId": method,
        "amount": 5,
        "interval": "Month",
        "startDate": "2031-03-31T23:59:59Z",
    }
    subscription = api.post("/subscription/payment_method", plan)["subscriptionId"]
    calls = [
        ("/charge/payment_method", {"paymentMethodId": method}, "PaymentMethodId"),
        ("/charge/customer", {"customerId": customer}, "PaymentMethodId"),
        ("/charge/token", {"token": token}, "Token"),
    ]
    api.advance("31d")
    assert api.get("/charge")["count"] == 1
    batch = api.batch(f"{method},1,AUD,a")
    for path, body, field in calls:
        reply = api.post(path, {**body, "amount": 5})
        if assumed == "charge":
            assert (reply.status, reply["status"]) == (201, "SUCCESS")
        else:
            assert problem_of(reply) == (400, 14)
            assert reply["details"] == {field: "its card expired 03/31, today is 2031-04-01"}
    passed_on = api.post("/charge/payment_method", {"paymentMethodId": covered, "amount": 5})
    assert passed_on.status == (400 if assumed == "refuse" else 201)
    api.advance("30d")
    assert api.get(f"/batch/{batch}")["failure"] == (1 if assumed == "refuse" else 0)
    suspended = api.get(f"/subscription/{subscription}")["status"]
    assert suspended == ("Suspended" if assumed == "refuse" else "Active")
    api.put(f"/payment_method/{method}", {"card": {"expiryDate": "12/40"}})
    assert (
        api.post("/charge/payment_method", {"paymentMethodId": method, "amount": 5}).status == 201
    )


def test_an_agreement_that_is_not_active_is_no_fallback(api: Api) -> None:
    pending = made(api, "payto", payerPayIdDetails={"payId": "pending@example.com"})
    broke = {
        "paymentInformation": card("4000000000009995"),
        "fallbackPaymentMethodId": pending["paymentMethodId"],
    }
    method = made(api, **broke)
    charge = {"paymentMethodId": method["paymentMethodId"], "amount": 5}
    assert problem_of(api.post("/charge/payment_method", charge)) == (400, 15)
    active = made(api, "payto")
    broke["fallbackPaymentMethodId"] = active["paymentMethodId"]
    charge["paymentMethodId"] = made(api, **broke)["paymentMethodId"]
    assert api.post("/charge/payment_method", charge)["paymentInformation"]["type"] == "PAYTO"
    assert problem_of(api.post("/charge/payment_method", {**charge, "amount": 101})) == (400, 15)


def test_a_scripted_latency_is_taken_by_storing_too() -> None:
    rule = "{id: r, when: {op: payment_method.create}, then: {latency: 20ms}}"
    api = Api(scenario=f"version: 1\nrules: [{rule}]\n", waits=True)
    began = perf_counter()
    made(api)
    assert perf_counter() - began >= 0.02
