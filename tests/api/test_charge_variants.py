"""Charges of customers, tokens, network tokens and wallets (service document, Charges; published
facts, 1.2)."""

from typing import Any

import pytest

from mockserver.domain.fake_lookups import bank_name
from tests.driving import DUMMY, PUBLIC, Api, Reply, card, problem_of, without

BANK = {"bankCode": "123-456", "accountNumber": "012345678", "accountName": "Ann Example"}
WALLET = {
    "paymentData": {
        "data": "ZGF0YQ==",
        "signature": "c2ln",
        "header": {"publicKeyHash": "a", "ephemeralPublicKey": "b", "transactionId": "c"},
        "version": "EC_v1",
    },
    "paymentMethod": {"displayName": "Visa 1234", "network": "Visa", "type": "credit"},
}


def customer(api: Api, **fields: object) -> dict[str, Any]:
    reply = api.post(
        "/customer/card", {"providerId": DUMMY, "paymentInformation": card(), **fields}
    )
    assert reply.status == 201, reply.raw
    return reply.body


def token(api: Api, number: str = "4111111111111111", **fields: object) -> str:
    reply = api.post(
        "/token/card", {"providerId": DUMMY, "paymentInformation": card(number), **fields}
    )
    assert reply.status == 201, reply.raw
    return reply["tokenId"]


def sources(api: Api) -> dict[str, dict[str, object]]:
    made = customer(api, createNetworkToken=True)
    network_token = api.get(f"/payment_method/{made['defaultPaymentMethod']['paymentMethodId']}")[
        "networkTokenId"
    ]
    return {
        "customer": {"customerId": made["customerId"]},
        "token": {"token": token(api)},
        "network_token": {"networkTokenId": network_token, "providerId": DUMMY},
        "token/apple": {"token": WALLET},
        "checkout": {"providerType": "paypal"},
    }


def charged(api: Api, variant: str, body: object) -> Reply:
    """The answer to a charge of any variant; that of a wallet is sent with the public key."""
    headers = PUBLIC if variant == "token/apple" else None
    return api.call("POST", f"/charge/{variant}", body, headers=headers)


VARIANTS = ["customer", "token", "network_token", "token/apple", "checkout"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_takes_the_common_fields(api: Api, variant: str) -> None:
    fields: dict[str, object] = {
        "Amount": "12.50", "Currency": "aud", "Reference": "r" * 40, "Ip": "203.0.113.9", "Descriptor": "SHOP",
        "Email": "a@example.com", "Phone": "1", "FirstName": "f" * 60, "LastName": "l", "CustomerCode": "c",
        "InvoiceNumber": "i", "Initiator": "merchant", "Metadata": {"Key_a": "v"}, "Capture": False,
        "Address": {"Line1": "1 Main St"}, "Order": {"OrderNumber": "7", "Items": [{"Quantity": "1.0000"}]},
        "Webhook": {"Url": "https://example.com/hook"},
    }  # fmt: skip
    reply = charged(api, variant, {**fields, **sources(api)[variant]})
    assert reply.status == 201, reply.raw
    charge = reply.body
    assert (charge["amount"], charge["currency"], charge["status"]) == (12.5, "AUD", "Authorised")
    assert (charge["metadata"], charge["initiator"], charge["descriptor"]) == (
        {"Key_a": "v"},
        "MERCHANT",
        "SHOP",
    )
    assert (charge["customer"]["firstName"], charge["customer"]["email"]) == (
        "f" * 60,
        "a@example.com",
    )
    captured = api.post(f"/charge/{charge['chargeId']}")
    assert captured["status"] == "SUCCESS"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("fields", "code", "name"),
    [
        ({"amount": None}, 90, "Amount"),
        ({"amount": 0}, 90, "Amount"),
        ({"amount": "1.234"}, 2, "Amount"),
        ({"currency": "XXQ"}, 29, "Currency"),
        ({"reference": "r" * 41}, 90, "Reference"),
        ({"initiator": "NOBODY"}, 90, "Initiator"),
    ],
)
def test_every_variant_refuses_a_bad_field(
    shared: Api, variant: str, fields: dict[str, object], code: int, name: str
) -> None:
    reply = charged(shared, variant, {"amount": 5, **sources(shared)[variant], **fields})
    assert (problem_of(reply), list(reply["details"])) == ((400, code), [name])
    assert shared.get("/charge")["count"] == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_metadata_decides_in_every_variant(api: Api, variant: str) -> None:
    body = {"amount": 5, **sources(api)[variant], "metadata": {"Mock": "do_not_honour"}}
    assert problem_of(charged(api, variant, body)) == (400, 905)
    assert api.get("/charge", Status="FAILED")["count"] == 1


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("customer", "customerId"),
        ("token", "token"),
        ("network_token", "providerId"),
        ("token/apple", "token"),
    ],
)
def test_a_variant_needs_its_source(api: Api, variant: str, name: str) -> None:
    reply = charged(api, variant, {"amount": 5, **without(sources(api)[variant], name)})
    assert (problem_of(reply), list(reply["details"])) == ((400, 90), [name[0].upper() + name[1:]])


def test_rules_know_each_variant_by_its_source() -> None:
    rules = ", ".join(
        f"{{id: {name}, when: {{op: charge.create, source: {name}}}, then: {{decline: {outcome}}}}}"
        for name, outcome in (
            ("customer", "lost_card"),
            ("token", "stolen_card"),
            ("network_token", "expired_card"),
            ("wallet", "do_not_honour"),
            ("checkout", "insufficient_funds"),
        )
    )
    api = Api(scenario=f"version: 1\nrules: [{rules}]\n")
    codes = [
        charged(api, name, {"amount": 5, **body})["code"] for name, body in sources(api).items()
    ]
    assert codes == [941, 943, 14, 905, 15]


def test_a_customer_is_charged_by_the_default_method(api: Api) -> None:
    made = customer(
        api, firstName="Ann", lastName="Example", email="a@example.com", reference="c-1"
    )
    charge = api.post(
        "/charge/customer", {"customerId": made["customerId"], "amount": 5, "recurring": True}
    ).body
    assert charge["customerId"] == made["customerId"]
    assert (
        charge["paymentInformation"]["paymentMethodId"]
        == made["defaultPaymentMethod"]["paymentMethodId"]
    )
    assert charge["paymentInformation"]["email"] == "a@example.com"
    assert (charge["customer"]["firstName"], charge["customer"]["reference"]) == ("Ann", "c-1")
    assert [
        row["chargeId"] for row in api.get("/charge", CustomerId=made["customerId"])["charges"]
    ] == [charge["chargeId"]]


def test_names_of_the_request_override_the_stored_ones(api: Api) -> None:
    made = customer(api, firstName="Ann", lastName="Example", reference="c-1")
    body = {
        "customerId": made["customerId"],
        "amount": 5,
        "firstName": "Bob",
        "reference": "order-7",
    }
    charge = api.post("/charge/customer", body).body
    shown = charge["customer"]
    assert (shown["firstName"], shown["lastName"], shown["customerId"]) == (
        "Bob",
        "Example",
        made["customerId"],
    )
    assert (shown["reference"], charge["reference"]) == ("c-1", "order-7")
    assert api.get(f"/customer/{made['customerId']}")["firstName"] == "Ann"


def test_a_customer_with_a_bank_account_pays_later(api: Api) -> None:
    made = api.post(
        "/customer/bank_account", {"providerId": DUMMY, "bankPaymentInformation": BANK}
    ).body
    charge = api.post("/charge/customer", {"customerId": made["customerId"], "amount": 5}).body
    shown = charge["paymentInformation"]
    assert (charge["status"], shown["bankPayment"]) == ("PENDING", BANK)
    assert shown["displayType"] == bank_name(BANK["bankCode"]) == "Banca del Cipresso"
    api.advance("24h")
    assert api.get(f"/charge/{charge['chargeId']}")["status"] == "SUCCESS"


def test_a_customer_that_cannot_pay_is_refused(api: Api) -> None:
    made = customer(api)
    body = {"customerId": made["customerId"], "amount": 5}
    assert problem_of(api.post("/charge/customer", {**body, "customerId": "none"})) == (400, 52)
    api.delete(f"/payment_method/{made['defaultPaymentMethod']['paymentMethodId']}")
    assert problem_of(api.post("/charge/customer", body)) == (400, 64)
    api.delete(f"/customer/{made['customerId']}")
    assert problem_of(api.post("/charge/customer", body)) == (400, 72)


@pytest.mark.parametrize("name", ["transfer", "Transfer", "checkoutTransfer", "CheckoutTransfer"])
def test_a_transfer_of_a_token_charge_is_taken_under_both_names(api: Api, name: str) -> None:
    transfer = {"account": "acct_1", "amount": "5"}
    body = {"token": token(api), "amount": 5, name: transfer}
    charge = api.post("/charge/token", body)
    assert charge.status == 201
    made = api.get("/transfer")["transfers"]
    assert [(row["account"], row["amount"], row["chargeId"]) for row in made] == [
        ("acct_1", 5, charge["chargeId"])
    ]


def test_a_transfer_waits_for_the_payment_and_is_never_more_than_it(api: Api) -> None:
    body = {
        "token": token(api),
        "amount": 5,
        "capture": False,
        "transfer": {"account": "acct_1", "amount": 5},
    }
    charge = api.post("/charge/token", body)
    assert api.get("/transfer")["count"] == 0
    api.post(f"/charge/{charge['chargeId']}", {"amount": 3})
    assert [row["amount"] for row in api.get("/transfer")["transfers"]] == [3]
    api.delete(f"/refund/{charge['chargeId']}", amount=1)
    assert api.get("/transfer")["count"] == 1


def test_a_declined_charge_passes_nothing_on(api: Api) -> None:
    body = {
        "token": token(api, "4000000000000002"),
        "amount": 5,
        "transfer": {"account": "acct_1", "amount": 5},
    }
    assert problem_of(api.post("/charge/token", body)) == (400, 905)
    assert api.get("/transfer")["count"] == 0


@pytest.mark.parametrize(
    ("transfer", "code"),
    [
        ({}, 67),
        ({"account": "a", "amount": "1.001"}, 60),
        ({"account": "a"}, 67),
        ({"account": "a", "amount": 0}, 60),
        ({"account": "a", "amount": 6}, 68),
    ],
)
def test_a_bad_transfer_is_refused_and_leaves_the_token(
    api: Api, transfer: dict[str, object], code: int
) -> None:
    made = token(api)
    assert problem_of(
        api.post("/charge/token", {"token": made, "amount": 5, "transfer": transfer})
    ) == (400, code)
    assert api.get(f"/token/{made}")["dateUsed"] is None


def test_a_payment_with_a_token_takes_the_ccv_out_of_the_vault(api: Api) -> None:
    method = customer(api, vaultCard=True)["defaultPaymentMethod"]
    assert api.get(f"/vault/{method['vaultId']}")["hasCvv"] is True
    assert api.post("/charge/token", {"token": token(api), "amount": 5}).status == 201
    assert api.get(f"/vault/{method['vaultId']}")["hasCvv"] is False


def test_a_network_token_is_charged_through_the_named_provider(api: Api) -> None:
    body = {"amount": 5, **sources(api)["network_token"]}
    charge = api.post("/charge/network_token", body).body
    shown = charge["paymentInformation"]
    assert (charge["status"], shown["type"], shown["card"]["cardNumber"]) == (
        "SUCCESS", "NETWORK_TOKEN", "4111********1111",
    )  # fmt: skip
    assert problem_of(api.post("/charge/network_token", {**body, "providerId": "nobody"})) == (
        400,
        39,
    )
    nab = api.post("/provider", {"type": "nab_transact", "name": "Nab"})["providerId"]
    assert problem_of(api.post("/charge/network_token", {**body, "providerId": nab})) == (400, 32)


def test_a_network_token_stands_for_the_card_as_it_is_now(api: Api) -> None:
    body = {"amount": 5, **sources(api)["network_token"]}
    [method] = api.get("/payment_method")["paymentMethods"]
    path = f"/payment_method/{method['paymentMethodId']}"

    def card_charged() -> tuple[str, str]:
        shown = api.post("/charge/network_token", body)["paymentInformation"]["card"]
        return shown["cardNumber"], shown["expiryDate"]

    assert card_charged() == ("4111********1111", "12/40")
    assert api.put(path, {"metadata": {"shop": "x"}, "card": {}}).status == 200
    assert card_charged() == ("4111********1111", "12/40")
    api.put(path, {"card": {"expiryDate": "11/41"}})
    assert card_charged() == ("4111********1111", "11/41")
    api.put(path, {"card": {"cardNumber": "5555555555554444"}})
    assert card_charged() == ("5555********4444", "11/41")
    token = api.get(path)["networkToken"]
    assert (token["networkTokenId"], token["status"]) == (body["networkTokenId"], "ACTIVE")
    assert token["schemeTokenData"] == {"scheme": "MASTERCARD", "panLastFour": "4444"}


def test_a_network_token_of_a_card_that_is_not_changed_stays(api: Api) -> None:
    body = {"amount": 5, **sources(api)["network_token"]}
    other = api.method()
    api.put(f"/payment_method/{other}", {"card": {"expiryDate": "11/41"}})
    shown = api.post("/charge/network_token", body)["paymentInformation"]["card"]
    assert shown["expiryDate"] == "12/40"


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_reference_of_an_order_is_no_reference_of_a_customer(api: Api, variant: str) -> None:
    body = {"amount": 5, **sources(api)[variant], "reference": "order-7", "firstName": "Bob"}
    charge = charged(api, variant, body).body
    assert (charge["reference"], charge["customer"]["firstName"]) == ("order-7", "Bob")
    assert charge["customer"]["reference"] is None


def test_the_reference_of_a_payer_who_is_stored_with_a_method_is_shown(api: Api) -> None:
    body = {"providerId": DUMMY, "providerToken": "t", "firstName": "Ann", "reference": "c-1"}
    method = api.post("/payment_method/provider_single_use_token", body)["paymentMethodId"]
    charge = api.post(
        "/charge/payment_method", {"paymentMethodId": method, "amount": 5, "reference": "order-7"}
    )
    assert (charge["customer"]["reference"], charge["reference"]) == ("c-1", "order-7")


def test_a_network_token_must_be_known_and_active(api: Api) -> None:
    body = {"amount": 5, **sources(api)["network_token"]}
    assert problem_of(api.post("/charge/network_token", {**body, "networkTokenId": None})) == (
        400,
        90,
    )
    assert problem_of(api.post("/charge/network_token", {**body, "networkTokenId": "none"})) == (
        400,
        51,
    )
    for row in api.get("/payment_method")["paymentMethods"]:
        api.delete(f"/payment_method/{row['paymentMethodId']}")
    assert problem_of(api.post("/charge/network_token", body)) == (400, 51)


@pytest.mark.parametrize(("profile", "kind"), [("documented", "WALLET"), ("sdk", "APPLEPAY")])
def test_a_wallet_is_charged_by_the_first_capable_provider(profile: str, kind: str) -> None:
    api = Api(profile=profile, assumptions={"provider.latency": "0"})
    charge = charged(api, "token/apple", {"Token": WALLET, "Amount": 5}).body
    shown = charge["paymentInformation"]
    assert (charge["providerId"], shown["type"], shown["displayType"]) == (DUMMY, kind, "Visa 1234")
    assert api.get("/charge", PaymentType=kind.lower())["count"] == 1


def test_a_wallet_is_charged_with_the_public_key_and_takes_its_provider_from_three_places(
    api: Api,
) -> None:
    other = api.post("/provider", {"type": "dummy", "name": "Other"})["providerId"]
    body = {"token": WALLET, "amount": 5}
    path = "/charge/token/apple"
    api.key = None
    in_query = api.call("POST", path, body, {"ProviderId": other}, headers=PUBLIC)
    assert in_query["providerId"] == other
    in_body = api.call("POST", path, {**body, "providerId": other}, headers=PUBLIC)
    assert in_body["providerId"] == other
    assert (
        api.call("POST", path, body, headers={**PUBLIC, "providerId": other})["providerId"] == other
    )
    assert problem_of(api.call("POST", path, body, headers={**PUBLIC, "providerId": "nobody"})) == (
        400,
        39,
    )
    assert problem_of(api.call("POST", path, body)) == (401, 40)
    assert problem_of(api.call("POST", "/charge/token", body, headers=PUBLIC)) == (401, 40)


def undocumented(api: Api) -> list[str]:
    """What findings say of the form of what was sent."""
    rows = api.get("/__admin/findings", finding="undocumented-form")["findings"]
    return [row["evidence"][0]["line"] for row in rows]


@pytest.mark.parametrize("strict", [False, True])
def test_a_wallet_may_be_charged_with_the_secret_key_as_one_library_does(strict: bool) -> None:
    body = {"token": WALLET, "amount": 5, "reference": "order-5"}
    refused = Api(strict=strict)
    answer = refused.post("/charge/token/apple", body)
    assert (problem_of(answer), list(answer["details"])) == ((401, 40), ["XPublickey"])
    assert (refused.get("/charge")["count"], undocumented(refused)) == (0, [])
    taking = Api(strict=strict, assumptions={"charge.wallet_key": "either"})
    assert charged(taking, "token/apple", body).status == 201
    assert undocumented(taking) == []
    assert taking.post("/charge/token/apple", body).status == 201
    [line] = undocumented(taking)
    assert "a wallet is charged with the public key" in line


def test_the_profile_of_the_libraries_takes_either_key_of_a_wallet() -> None:
    api = Api(profile="sdk", assumptions={"provider.latency": "0"})
    assert api.post("/charge/token/apple", {"token": WALLET, "amount": 5}).status == 200
    assert len(undocumented(api)) == 1


def test_a_wallet_needs_a_provider_that_has_wallets(api: Api) -> None:
    nab = api.post("/provider", {"type": "nab_transact", "name": "Nab"})["providerId"]
    body = {"token": WALLET, "amount": 5, "providerId": nab}
    assert problem_of(charged(api, "token/apple", body)) == (400, 32)
    api.delete(f"/provider/{DUMMY}")
    assert problem_of(charged(api, "token/apple", without(body, "providerId"))) == (400, 65)


@pytest.mark.parametrize(
    ("named", "kind"), [("googlepay", "GOOGLEPAY"), ("ApplePay", "APPLEPAY"), ("debit", "WALLET")]
)
def test_a_wallet_that_names_itself_is_the_type_of_the_payment(
    api: Api, named: str, kind: str
) -> None:
    token = {"paymentMethod": {"displayName": "A wallet", "type": named}}
    shown = charged(api, "token/apple", {"token": token, "amount": 5})["paymentInformation"]
    assert (shown["type"], shown["displayType"]) == (kind, "A wallet")


@pytest.mark.parametrize(
    ("provider", "kind", "name"),
    [
        ("paypal", "PAYPAL", "PayPal"),
        ("zip", "ZIP", "Zip"),
        ("azupay", "PAYID", "PayID"),
        ("afterpay", "AFTERPAY", "Afterpay"),
        ("pay_by_account", "PAYBYACCOUNT", "Pay by Account"),
    ],
)
def test_a_checkout_takes_its_own_payment(api: Api, provider: str, kind: str, name: str) -> None:
    made = api.post("/provider", {"type": provider, "name": "Ours"})["providerId"]
    api.key = None
    public = {"x-publickey": "pk_tests"}
    body = {"providerId": made, "providerType": provider, "amount": 5}
    charge = api.call("POST", "/charge/checkout", body, headers=public).body
    shown = charge["paymentInformation"]
    assert (charge["status"], charge["providerId"], shown["type"], shown["displayType"], shown["providerType"]) == (
        "SUCCESS", made, kind, name, provider,
    )  # fmt: skip
    assert problem_of(api.call("POST", "/charge/checkout", body)) == (401, 40)


def test_a_checkout_without_a_provider_goes_to_one_of_its_type_else_to_one_that_simulates_it(
    api: Api,
) -> None:
    zip_pay = api.post("/provider", {"type": "zip", "name": "Zip"})["providerId"]
    taken = [
        api.post("/charge/checkout", {"providerType": word, "amount": 5}).body
        for word in ("ZIP", "PayPal", "Pay by account")
    ]
    assert [(row["providerId"], row["paymentInformation"]["type"]) for row in taken] == [
        (zip_pay, "ZIP"), (DUMMY, "PAYPAL"), (DUMMY, "PAYBYACCOUNT"),
    ]  # fmt: skip
    assert api.get("/charge", PaymentType="zip")["count"] == 1
    unknown = api.post("/charge/checkout", {"providerType": "zzip", "amount": 5})
    assert (problem_of(unknown), list(unknown["details"])) == ((400, 90), ["ProviderType"])
    assert "did you mean 'zip'" in unknown["details"]["ProviderType"]
    api.delete(f"/provider/{DUMMY}")
    assert problem_of(api.post("/charge/checkout", {"providerType": "paypal", "amount": 5})) == (
        400,
        65,
    )


def test_a_checkout_needs_a_provider_that_is_one(api: Api) -> None:
    nab = api.post("/provider", {"type": "nab_transact", "name": "Nab"})["providerId"]
    body = {"providerType": "paypal", "providerId": nab, "amount": 5}
    assert problem_of(api.post("/charge/checkout", body)) == (400, 32)
    assert problem_of(charged(api, "token/apple", {**body, "token": WALLET})) == (400, 32)


def test_the_type_of_wallets_and_checkouts_can_be_one_word() -> None:
    api = Api(assumptions={"payment_method.checkout_type": "wallet_type"})
    shown = api.post("/charge/checkout", {"providerType": "zip", "amount": 5})["paymentInformation"]
    assert (shown["type"], shown["displayType"]) == ("WALLET", "Zip")


def test_what_the_client_script_tells_of_an_order_is_taken() -> None:
    items = [{"productCode": "mug-1", "description": "Mug", "quantity": "1.0000", "amount": 20}]
    order = {"freightAmount": 5, "taxAmount": "2.5", "discountAmount": -3, "items": items}
    body = {"providerType": "zip", "amount": 24.5, "order": order}
    assert Api(strict=True).post("/charge/checkout", body).status == 201


def test_geolocation_is_no_field_of_network_token_and_wallet_charges() -> None:
    api = Api(strict=True)
    for variant, body in sources(api).items():
        reply = charged(
            api, variant, {"amount": 5, **body, "geolocation": {"longitude": 1, "latitude": "2"}}
        )
        expected = (201, None) if variant in ("customer", "token") else (400, ["Geolocation"])
        assert (reply.status, list(reply.body.get("details") or []) or None) == expected
