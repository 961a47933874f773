"""A refusal names every fault of the form of body and query; once the form is sound, every rule
that is broken. Refused requests leave everything as it was."""

import json
import re
from typing import Any

import pytest

from mockserver.web.routes import ROUTES
from tests.driving import DUMMY, PUBLIC, VISA, Api, card, card_charge, problem_of
from tests.tables.test_document import OPERATIONS, Book

MAKES = [
    name
    for name, row in OPERATIONS.items()
    if row["method"] == "POST" and row.get("key") != "public"
]


def told(reply: Any) -> set[str]:
    assert problem_of(reply) == (400, 90)
    return set(reply["details"])


def test_a_charge_names_every_fault_of_form_and_then_every_broken_rule(api: Api) -> None:
    sound = {
        "amount": -1,
        "currency": "ZZZ",
        "providerId": "nobody",
        "paymentInformation": card("4000000000000000", ccv="1", expiryDate="13/40"),
    }
    faulty = {**sound, "reference": "r" * 41, "capture": "maybe", "metadata": 5}
    assert told(api.post("/charge/card", faulty)) == {"Reference", "Capture", "Metadata"}
    refused = api.post("/charge/card", sound)
    assert told(refused) == {"Amount", "Currency", "ProviderId", "CardNumber", "Ccv", "ExpiryDate"}
    assert api.get("/charge")["count"] == 0


def test_a_search_names_every_parameter_that_cannot_be_read_and_then_every_one_that_does_not_fit(
    api: Api,
) -> None:
    sound = {"Status": "gone", "limit": 0, "skip": -1, "SortBy": "colour", "CardNumber": "41111"}
    assert told(api.get("/charge", **sound, AddedAfter="x", AddedBefore="y")) == {
        "AddedAfter",
        "AddedBefore",
    }
    assert told(api.get("/charge", **sound)) == {"Status", "Limit", "Skip", "SortBy", "CardNumber"}
    assert told(api.get("/token", Status="gone", limit=0, AddedAfter="x")) == {"AddedAfter"}
    assert told(api.get("/token", Status="gone", limit=0)) == {"Status", "Limit"}
    assert told(api.get("/batch", Status="gone", limit=0)) == {"Status", "Limit"}
    assert told(api.get("/charge", Status="gone")) == {"Status"}
    assert told(api.get("/settlements", endDate="x")) == {"StartDate", "EndDate"}


def test_faults_of_form_in_body_and_query_are_in_one_answer() -> None:
    refused = Api(strict=True).call("POST", "/charge/card", {"amount": "x"}, {"colour": "red"})
    assert told(refused) == {"Amount", "ProviderId", "Colour"}
    refused = Api().call("POST", "/charge/token/apple", {"amount": "x"}, {"providerId": DUMMY})
    assert told(refused) == {"Amount", "Token"}


def test_each_fault_is_named_once_and_the_card_number_is_masked() -> None:
    body = card_charge(
        amount="x", paymentInformation={"cardNumber": 4111111111111111, "expiryDate": "12/40"}
    )
    refused = Api().post("/charge/card", body)
    assert told(refused) == {"Amount", "PaymentInformation.CardNumber"}
    assert VISA.encode() not in refused.raw


@pytest.mark.parametrize("name", MAKES)
def test_a_request_with_one_fault_of_form_changes_nothing(name: str) -> None:
    book = Book(strict=True)
    book.filled([OPERATIONS[name]["path"], OPERATIONS[name].get("body")])
    before = _state(book)
    refused = book.perform(name, {"noSuchField": 1})
    assert problem_of(refused)[0] == 400
    assert "NoSuchField" in refused["details"]
    assert _state(book) == before


NOBODY = {"providerId": "nobody"}
CARD = {"paymentInformation": card()}
BAD_CARD = {"paymentInformation": card("4111")}
BANK = {
    "bankPaymentInformation": {
        "bankCode": "123-456",
        "accountNumber": "12345678",
        "accountName": "Ann",
    }
}
AGREEMENT = {"payerName": "Ann", "description": "d", "maximumAmount": 10_000, "providerId": DUMMY}
LINES = "PaymentMethodId,Amount,Currency,Reference\nm,1,AUD,r\nm,x,AUD,r\n"
SUBSCRIPTION = {"paymentMethodId": "nothing", "amount": 5, "interval": "Year", "frequency": 0}
TRANSFER = {"account": "a", "amount": 0}
METADATA: dict[str, object] = {"metadata": 5}
PROVIDER_TOKEN = {**NOBODY, "providerToken": "t"}
TOKEN = {"token": "t"}
NO_AMOUNT = {"amount": "x"}
BANK_CODE = {
    "bankPaymentInformation": {"bankCode": 1, "accountNumber": "12345678", "accountName": "Ann"}
}
DESCRIPTION = {"description": 5}
FORM_AND_RULE: dict[str, tuple[dict[str, Any], dict[str, Any], str, int, set[str]]] = {
    "POST /charge/card": (
        {"amount": 1, **NOBODY, **CARD},
        METADATA,
        "Metadata",
        39,
        {"ProviderId"},
    ),
    "POST /charge/card/least_cost": ({"amount": 1, **BAD_CARD}, NO_AMOUNT, "Amount", 5, set()),
    "POST /charge/payment_method": (
        {"amount": 1, "paymentMethodId": "m"},
        NO_AMOUNT,
        "Amount",
        56,
        {"PaymentMethodId"},
    ),
    "POST /charge/bank_account": (
        {"amount": 0, "providerId": DUMMY, **BANK},
        BANK_CODE,
        "BankPaymentInformation.BankCode",
        90,
        {"Amount"},
    ),
    "POST /charge/customer": (
        {"amount": 1, "customerId": "c"},
        NO_AMOUNT,
        "Amount",
        52,
        {"CustomerId"},
    ),
    "POST /charge/token": ({"amount": 1, **TOKEN}, NO_AMOUNT, "Amount", 51, {"Token"}),
    "POST /charge/network_token": (
        {"amount": 1, "networkTokenId": "n", "providerId": DUMMY},
        NO_AMOUNT,
        "Amount",
        51,
        {"NetworkTokenId"},
    ),
    "POST /charge/token/apple": (
        {"amount": 0, "token": {}, "providerId": DUMMY},
        {"token": 5},
        "Token",
        90,
        {"Amount"},
    ),
    "POST /charge/checkout": ({"amount": 1, **NOBODY}, NO_AMOUNT, "Amount", 39, {"ProviderId"}),
    "POST /vault": ({"cardNumber": "4111"}, {"expireSeconds": 1.5}, "ExpireSeconds", 5, set()),
    "POST /customer/card": ({**NOBODY, **CARD}, METADATA, "Metadata", 39, {"ProviderId"}),
    "POST /customer/token": (TOKEN, METADATA, "Metadata", 51, {"Token"}),
    "POST /customer/provider_token": (PROVIDER_TOKEN, METADATA, "Metadata", 39, {"ProviderId"}),
    "POST /customer/provider_single_use_token": (
        PROVIDER_TOKEN,
        METADATA,
        "Metadata",
        39,
        {"ProviderId"},
    ),
    "POST /customer/payto": (
        {"payToAgreement": AGREEMENT},
        {"payToAgreement": {**AGREEMENT, **DESCRIPTION}},
        "PayToAgreement.Description",
        90,
        {"MaximumAmount"},
    ),
    "POST /customer/bank_account": (
        {**NOBODY, **BANK},
        BANK_CODE,
        "BankPaymentInformation.BankCode",
        39,
        {"ProviderId"},
    ),
    "PUT /customer/{customer}": (
        {"defaultPaymentMethodId": "m"},
        {"email": 5},
        "Email",
        56,
        {"DefaultPaymentMethodId"},
    ),
    "POST /customer/{customer}/payment_method/card": (
        {**NOBODY, **CARD},
        METADATA,
        "Metadata",
        39,
        {"ProviderId"},
    ),
    "POST /customer/{customer}/payment_method/token": (TOKEN, METADATA, "Metadata", 51, {"Token"}),
    "POST /customer/{customer}/payment_method/payto": (
        AGREEMENT,
        DESCRIPTION,
        "Description",
        90,
        {"MaximumAmount"},
    ),
    "POST /customer/{customer}/bank_account": (
        {**NOBODY, **BANK},
        BANK_CODE,
        "BankPaymentInformation.BankCode",
        39,
        {"ProviderId"},
    ),
    "POST /customer/{customer}/payment_method/bank_account": (
        {**NOBODY, **BANK},
        BANK_CODE,
        "BankPaymentInformation.BankCode",
        39,
        {"ProviderId"},
    ),
    "POST /payment_method/card": ({**NOBODY, **CARD}, METADATA, "Metadata", 39, {"ProviderId"}),
    "POST /payment_method/vault": (
        {"providerId": DUMMY, "paymentMethodId": "m"},
        {"webhook": 5},
        "Webhook",
        56,
        {"PaymentMethodId"},
    ),
    "POST /payment_method/token": (TOKEN, METADATA, "Metadata", 51, {"Token"}),
    "POST /payment_method/payto": (AGREEMENT, DESCRIPTION, "Description", 90, {"MaximumAmount"}),
    "POST /payment_method/provider_single_use_token": (
        PROVIDER_TOKEN,
        METADATA,
        "Metadata",
        39,
        {"ProviderId"},
    ),
    "POST /payment_method/provider_token": (
        PROVIDER_TOKEN,
        METADATA,
        "Metadata",
        39,
        {"ProviderId"},
    ),
    "POST /payment_method/bank_account": (
        {**NOBODY, **BANK},
        BANK_CODE,
        "BankPaymentInformation.BankCode",
        39,
        {"ProviderId"},
    ),
    "PUT /payment_method/{method}": (
        {"card": {"expiryDate": "13/40"}},
        METADATA,
        "Metadata",
        9,
        {"ExpiryDate"},
    ),
    "POST /token/card": (CARD, METADATA, "Metadata", 90, {"ProviderId"}),
    "POST /token/card/least_cost": (BAD_CARD, METADATA, "Metadata", 5, set()),
    "POST /token/payto": (AGREEMENT, DESCRIPTION, "Description", 90, {"MaximumAmount"}),
    "POST /payment_link": (
        {"limitPayments": 1, "redirectUrl": "nowhere"},
        {"limitPayments": "x"},
        "LimitPayments",
        90,
        {"RedirectUrl"},
    ),
    "POST /subscription/payment_method": (
        SUBSCRIPTION,
        {"interval": "Yearly"},
        "Interval",
        90,
        {"Frequency", "PaymentMethodId"},
    ),
    "PUT /subscription/{subscription}": (
        {"amount": 0, "frequency": 0},
        {"retry": {"interval": "Day"}},
        "Retry.Maximum",
        90,
        {"Amount", "Frequency"},
    ),
    "POST /transfer": (
        {**NOBODY, "transfers": [TRANSFER]},
        {"transfers": [{**TRANSFER, "message": 5}]},
        "Transfers.0.Message",
        90,
        {"ProviderId", "Transfers.0.Amount"},
    ),
    "POST /webhook/subscription": (
        {"url": "nowhere", "types": ["Transaction"]},
        {"types": ["no", "Transaction"]},
        "Types.0",
        109,
        {"Url"},
    ),
    "POST /batch/transaction/payment_method": (
        {"count": 2, "description": "d", "batch": LINES},
        {"count": "x"},
        "Count",
        102,
        {"Batch.Line3"},
    ),
    "POST /provider": (
        {"name": "n", "type": "dummy", "currency": "ZZZ"},
        {"type": 5},
        "Type",
        29,
        {"Currency"},
    ),
    "PUT /provider/{provider}": ({"currency": "ZZZ"}, {"name": 5}, "Name", 29, {"Currency"}),
}
"""Every operation with a body of two fields or more: a body that breaks a rule, what makes its form
faulty too, the field of that fault; then the code and the fields of the second answer (a card
number is refused without details)."""


def test_every_operation_with_several_fields_is_in_the_table() -> None:
    wanted = {
        (route.method, re.sub(r"{\w+}", "{}", route.path))
        for route in ROUTES
        if route.body is not None and len(route.body.model_fields) > 1
    }
    assert {(*re.sub(r"{\w+}", "{}", name).split(),) for name in FORM_AND_RULE} == wanted


@pytest.mark.parametrize("name", FORM_AND_RULE)
def test_the_form_is_refused_first_and_then_the_rules(name: str) -> None:
    sound, fault, field, code, fields = FORM_AND_RULE[name]
    book = Book()
    method, path = name.split()
    path = path.replace("{subscription}", _subscription(book)).replace("{provider}", DUMMY)
    path = book.filled(path)
    before = _state(book)
    # A wallet is charged with the public key; other operations do not look at it.
    assert told(book.api.call(method, path, {**sound, **fault}, headers=PUBLIC)) == {field}
    refused = book.api.call(method, path, sound, headers=PUBLIC)
    assert (problem_of(refused), set(refused["details"] or ())) == ((400, code), fields)
    assert _state(book) == before


def test_what_follows_from_a_broken_rule_is_not_named_with_it() -> None:
    api = Api()
    charge = api.charge(amount=1)["chargeId"]
    transfers = [{"account": "a", "amount": 0, "currency": "ZZZ"}, {"account": "a", "amount": 5}]
    refused = api.post(
        "/transfer", {"providerId": DUMMY, "chargeId": charge, "transfers": transfers}
    )
    assert set(refused["details"]) == {"Transfers.0.Amount", "Transfers.0.Currency"}
    assert told(
        api.post("/batch/transaction/payment_method", {"count": 1, "description": "d"})
    ) == {"Batch"}
    past = {"startDate": "2020-01-01", "endAfter": {"date": "2019-01-01"}}
    body = {"paymentMethodId": "m", "amount": 1, "interval": "Day", **past}
    refusing = Api(assumptions={"subscription.past_start": "refuse"})
    assert told(refusing.post("/subscription/payment_method", body)) == {
        "PaymentMethodId",
        "StartDate",
    }


@pytest.mark.parametrize("agreement", [None, "x", 5])
def test_nothing_is_reported_of_what_stands_in_for_an_object_that_is_not_there(
    agreement: object,
) -> None:
    refused = Api().post("/customer/payto", {"payToAgreement": agreement, "firstName": "f" * 41})
    assert told(refused) == {"PayToAgreement", "FirstName"}


def test_a_transfer_is_not_compared_with_an_amount_that_is_not_there(api: Api) -> None:
    transfer = {"account": "a", "amount": 5}
    assert told(api.post("/charge/token", {"token": "t", "transfer": transfer})) == {"Amount"}
    refused = api.post("/charge/token", {"token": "t", "amount": 3, "transfer": transfer})
    assert told(refused) == {"Token", "Transfer.Amount"}


def test_faults_that_share_a_code_are_reported_under_it() -> None:
    refused = Api().post(
        "/charge/card", {"amount": 1, "providerId": DUMMY, "paymentInformation": []}
    )
    assert problem_of(refused) == (400, 81)
    assert set(refused["details"]) == {"CardNumber", "ExpiryDate"}
    assert refused["message"] == "Invalid Payment Information"
    mixed = Api().post(
        "/charge/card", {"amount": 1, "providerId": "nobody", "paymentInformation": []}
    )
    assert told(mixed) == {"CardNumber", "ExpiryDate", "ProviderId"}


def _subscription(book: Book) -> str:
    body = {"paymentMethodId": book.id_of("method"), "amount": 1, "interval": "Day"}
    return book.api.post("/subscription/payment_method", body)["subscriptionId"]


def _state(book: Book) -> str:
    state = book.api.get("/__admin/state", secrets="true").body
    del state["rules"]  # that a rule was asked is remembered, refused request or not
    return json.dumps(state, sort_keys=True)
