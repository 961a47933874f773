"""A client that uses a published library is not told of fields that the library sends by itself,
and ``--strict`` takes them.

The bodies have the fields that published facts, 1.2, list for any of the libraries, PHP's in the
Pascal case that it sends.
"""

from typing import Any

import pytest

from mockserver.wire.fields import _sent_by_libraries
from tests.driving import Api

COMMON = (
    "amount currency reference capture ip address.line1 order.orderNumber order.freightAmount "
    "order.dutyAmount "
    "order.country order.postalCode order.state order.items.productCode order.items.taxAmount "
    "customerCode "
    "invoiceNumber email phone firstName lastName initiator webhook.url webhook.authorization "
    "metadata descriptor "
    "threeDSNotificationUrl geolocation.longitude geolocation.latitude recurring"
)
CARD = "paymentInformation.cardNumber paymentInformation.cardHolder"
BANK = "bankPaymentInformation.bankCode"
PERSON = "reference firstName lastName email phone defaultPaymentMethodId address.line1 ip"
VAULT = "vaultCard vaultExpireDate vaultExpireSeconds"
TOKEN = "providerId providerToken providerTokenData metadata"
PAYTO = "payerName description maximumAmount providerId ip setDefault payerPayIdDetails.payId"
BODIES = {
    "POST /charge/card": f"{COMMON} {CARD} providerId",
    "POST /charge/card/least_cost": f"{COMMON} {CARD}",
    "POST /charge/customer": f"{COMMON} customerId",
    "POST /charge/payment_method": f"{COMMON} paymentMethodId",
    "POST /charge/token": f"{COMMON} token checkoutTransfer.account",
    "POST /charge/bank_account": f"{COMMON} {BANK} providerId",
    "POST /charge/network_token": "networkTokenId amount currency providerId capture "
    "order.orderNumber customerCode "
    "invoiceNumber initiator webhook.url metadata descriptor threeDSNotificationUrl email phone "
    "ip address.line1",
    "POST /charge/token/apple": "token.paymentMethod.type amount currency descriptor userAgent "
    "order.orderNumber email "
    "phone reference firstName lastName ip address.line1",
    "POST /charge/c": "amount",
    "POST /charge/c/capture": "amount",
    "POST /customer/card": f"{PERSON} {VAULT} {CARD} providerId skipExpiryDateValidation metadata",
    "POST /customer/token": f"{PERSON} {VAULT} token metadata",
    "POST /customer/provider_token": f"{PERSON} {TOKEN} verify",
    "POST /customer/provider_single_use_token": f"{PERSON} {TOKEN}",
    "POST /customer/payto": f"{PERSON} payToAgreement.payerName payToAgreement.setDefault",
    "POST /customer/bank_account": f"{PERSON} {BANK} providerId metadata",
    "PUT /customer/c": "reference firstName lastName email phone defaultPaymentMethodId "
    "address.line1",
    "POST /customer/c/payment_method/card": f"{CARD} {VAULT} providerId ip setDefault "
    "skipExpiryDateValidation",
    "POST /customer/c/payment_method/token": "token ip setDefault metadata",
    "POST /customer/c/payment_method/payto": PAYTO,
    "POST /customer/c/bank_account": f"{PERSON} {BANK} providerId setDefault metadata",
    "POST /payment_method/card": f"{CARD} {VAULT} providerId ip setDefault metadata "
    "skipExpiryDateValidation",
    "POST /payment_method/vault": "providerId paymentMethodId ccv",
    "POST /payment_method/payto": PAYTO,
    "POST /payment_method/token": "token ip setDefault metadata",
    "POST /payment_method/provider_token": f"{TOKEN} email verify",
    "POST /payment_method/provider_single_use_token": TOKEN,
    "POST /payment_method/bank_account": f"{BANK} providerId firstName lastName setDefault "
    "metadata",
    "PUT /payment_method/p": "card.expiryDate card.cardholder paymentMethodId providerId",
    "POST /vault": "cardNumber ccv expireDate expireSeconds",
    "POST /token/card": f"{CARD} {VAULT} ip",
    "POST /token/card/least_cost": f"{CARD} {VAULT} amount currency ip",
    "POST /token/payto": "payerName description maximumAmount providerId ip "
    "payerPayIdDetails.payId",
    "POST /provider": "type name environment currency authenticationParameters providerCountry "
    "threeDsProviderId "
    "additionalParameters",
    "PUT /provider/p": "name currency authenticationParameters providerCountry threeDsProviderId "
    "additionalParameters",
    "POST /transfer": "groupReference providerId chargeId transfers.account transfers.message "
    "transfers.reference",
    "POST /batch/transaction/payment_method": "count description batch metadata webhookConfig.url",
    "POST /payment_link": "title amount currency allowedPaymentTypes description image "
    "confirmationMessage redirectUrl "
    "callToAction limitPayments metadata invoiceId",
    "POST /subscription/payment_method": "paymentMethodId amount currency interval frequency "
    "startDate endAfter.count "
    "retry.maximum webhook.url metadata",
    "PUT /subscription/s": "amount currency interval frequency endAfter.count retry.maximum "
    "webhook.url metadata",
    "PUT /subscription/s/status": "status",
    "POST /webhook/subscription": "url authorization types",
}
LISTS = {"items", "transfers"}


def body_of(fields: str) -> dict[str, Any]:
    """An object that has the fields, by their places."""
    body: dict[str, Any] = {}
    for field in fields.split():
        *places, name = field.split(".")
        inner = body
        for place in places:
            held = inner.setdefault(place, [{}] if place in LISTS else {})
            inner = held[0] if place in LISTS else held
        inner[name] = None
    return body


def pascal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: pascal(item) for name, item in value.items()}
    return [pascal(item) for item in value] if isinstance(value, list) else value


def unknown(api: Api, route: str, body: dict[str, Any]) -> list[str]:
    """The fields of a body that a finding names, or a refusal."""
    method, path = route.split()
    answer = api.call(method, path, body)
    details = (answer.body.get("details") if isinstance(answer.body, dict) else None) or {}
    refused = [name for name, words in details.items() if words.startswith("unknown field")]
    found = api.get("/__admin/findings", finding="unknown-field")["findings"]
    return refused + [row["about"]["field"] for row in found]


@pytest.fixture(scope="module", params=[False, True], ids=["", "strict"])
def clean(request: pytest.FixtureRequest) -> Api:
    """A caller of one application for all rows: none of them leaves a finding."""
    return Api(strict=request.param)


@pytest.mark.parametrize(("route", "fields"), BODIES.items())
def test_what_a_library_sends_is_no_finding_and_not_refused(
    clean: Api, route: str, fields: str
) -> None:
    body = body_of(fields)
    assert unknown(clean, route, body) == unknown(clean, route, pascal(body)) == []
    assert clean.get("/__admin/findings", finding="undocumented-form")["findings"] == []


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
@pytest.mark.parametrize("profile", ["documented", "sdk"])
def test_the_type_and_the_slash_that_libraries_send_are_no_finding(
    profile: str, content_type: str
) -> None:
    api = Api(profile=profile, strict=True, assumptions={"provider.latency": "0"})
    headers = {"content-type": content_type}
    body = b'{"url": "https://shop.example/hook", "types": ["Transaction"]}'
    assert api.send("POST", "/webhook/subscription/", body, headers).status in (200, 201)
    # PHP names a type where there is no body.
    assert api.send("GET", "/charge", b"", headers).status == 200
    assert api.get("/__admin/findings", finding="undocumented-form")["findings"] == []


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("POST /charge/card", {"order": {"county": "x"}}),
        ("POST /charge/card", {"country": "x"}),
        ("PUT /customer/c", {"providerId": "x"}),
        ("PUT /payment_method/p", {"customerId": "x"}),
        ("PUT /payment_method/p", {"card": {"providerId": "x"}}),
        ("POST /payment_link", {"recurring": True}),
    ],
)
def test_the_same_name_elsewhere_is_a_finding_and_refused(route: str, body: dict[str, Any]) -> None:
    assert len(unknown(Api(), route, body)) == 1
    assert len(unknown(Api(strict=True), route, body)) == 2


def test_every_row_is_a_field_that_is_not_read() -> None:
    """What is read, or no library sends, needs no row."""
    api = Api()
    for route, fields in BODIES.items():
        unknown(api, route, body_of(fields))
    entries = api.get("/__admin/journal", limit=100)["entries"]
    assert {
        (entry["op"], name.lower()) for entry in entries for name in entry["ignored"]
    } == _sent_by_libraries()
