"""Faults of form and faults of content are told in one answer, and a refused request leaves everything as it was."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mockserver.web.routes import ROUTES
from tests.driving import DUMMY, VISA, Api, card, card_charge, problem_of
from tests.tables.test_document import OPERATIONS, Book

MAKES = [name for name, row in OPERATIONS.items() if row["method"] == "POST" and row.get("key") != "public"]


def told(reply: Any) -> set[str]:
    assert problem_of(reply) == (400, 90)
    return set(reply["details"])


def test_a_charge_tells_the_length_of_a_text_beside_a_wrong_card_amount_currency_and_provider() -> None:
    api = Api()
    body = {
        "amount": -1,
        "currency": "ZZZ",
        "providerId": "nobody",
        "reference": "r" * 41,
        "capture": "maybe",
        "paymentInformation": card("4000000000000000", ccv="1", expiryDate="13/40"),
    }
    assert told(api.post("/charge/card", body)) == {
        "Amount", "Currency", "ProviderId", "Reference", "Capture", "CardNumber", "Ccv", "ExpiryDate",
    }  # fmt: skip
    assert api.get("/charge")["count"] == 0


def test_a_search_tells_a_parameter_that_cannot_be_read_beside_one_that_does_not_fit() -> None:
    api = Api()
    faulty = {"Status": "gone", "limit": 0, "skip": -1, "SortBy": "colour", "CardNumber": "41111", "AddedAfter": "x"}
    assert told(api.get("/charge", **faulty)) == {"Status", "Limit", "Skip", "SortBy", "CardNumber", "AddedAfter"}
    assert told(api.get("/charge", CardNumber="41111", limit=0)) == {"CardNumber", "Limit"}
    assert told(api.get("/token", Status="gone", limit=0, AddedAfter="x")) == {"Status", "Limit", "AddedAfter"}
    assert told(api.get("/batch", Status="gone", limit=0, AddedAfter="x")) == {"Status", "Limit", "AddedAfter"}
    assert told(api.get("/charge", Status="gone")) == {"Status"}
    assert told(api.get("/settlements", endDate="x")) == {"StartDate", "EndDate"}


def test_a_fault_is_not_told_twice() -> None:
    body = card_charge(amount="x", paymentInformation={"cardNumber": 4111111111111111, "expiryDate": "12/40"})
    refused = Api().post("/charge/card", body)
    assert told(refused) == {"Amount", "PaymentInformation.CardNumber"}
    assert VISA.encode() not in refused.raw


def test_a_missing_amount_does_not_hide_a_wrong_card() -> None:
    refused = Api().post("/charge/card", {"providerId": DUMMY, "paymentInformation": card("4111")})
    assert told(refused) == {"Amount", "CardNumber"}
    assert refused["details"]["Amount"] == "required"


def test_the_vault_and_providers_tell_both_kinds() -> None:
    api = Api()
    refused = api.post("/vault", {"cardNumber": "4111", "expireSeconds": 1.5, "expireDate": "2020-01-01"})
    assert told(refused) == {"CardNumber", "ExpireSeconds", "ExpireDate"}
    refused = api.post("/provider", {"name": ["n"], "type": "dumy", "currency": "ZZZ"})
    assert told(refused) == {"Name", "Type", "Currency"}


def test_strict_mode_tells_unknown_fields_with_the_rest() -> None:
    refused = Api(strict=True).post("/charge/card", card_charge(colour="red", paymentInformation=card("4111")))
    assert told(refused) == {"Colour", "CardNumber"}


@pytest.mark.parametrize("name", MAKES)
def test_a_request_with_one_fault_of_form_changes_nothing(name: str) -> None:
    book = Book(strict=True)
    book.filled([OPERATIONS[name]["path"], OPERATIONS[name].get("body")])
    before = _state(book)
    refused = book.perform(name, {"noSuchField": 1})
    assert problem_of(refused)[0] == 400
    assert "NoSuchField" in refused["details"]
    assert _state(book) == before


BAD_CARD = {"paymentInformation": card("4111", cardholder=5)}
NOBODY = {"providerId": "nobody", "metadata": 5}
BANK = {"bankPaymentInformation": {"bankCode": 1, "accountNumber": "12345678", "accountName": "Ann"}}
AGREEMENT = {"payerName": "Ann", "description": 5, "maximumAmount": 10_000, "providerId": DUMMY}
LINES = "PaymentMethodId,Amount,Currency,Reference\nm,1,AUD,r\nm,x,AUD,r\n"
SUBSCRIPTION = {"paymentMethodId": "nothing", "amount": 5, "interval": "Yearly", "frequency": 0}
TRANSFER = {"account": "a", "amount": 0, "message": 5}
ONE_FORM_ONE_CONTENT: dict[str, tuple[object, set[str]]] = {
    "POST /charge/card": ({"amount": 1, **NOBODY, "paymentInformation": card()}, {"Metadata", "ProviderId"}),
    "POST /charge/card/least_cost": (
        {"amount": "x", **BAD_CARD},
        {"Amount", "PaymentInformation.Cardholder", "CardNumber"},
    ),
    "POST /charge/payment_method": ({"amount": "x", "paymentMethodId": "m"}, {"Amount", "PaymentMethodId"}),
    "POST /charge/bank_account": (
        {"amount": 0, "providerId": DUMMY, **BANK},
        {"Amount", "BankPaymentInformation.BankCode"},
    ),
    "POST /charge/customer": ({"amount": "x", "customerId": "c"}, {"Amount", "CustomerId"}),
    "POST /charge/token": ({"amount": "x", "token": "t"}, {"Amount", "Token"}),
    "POST /charge/network_token": (
        {"amount": "x", "networkTokenId": "n", "providerId": DUMMY},
        {"Amount", "NetworkTokenId"},
    ),
    "POST /charge/token/apple": ({"amount": 0, "providerId": DUMMY}, {"Amount", "Token"}),
    "POST /charge/checkout": ({"amount": "x", "providerId": "nobody"}, {"Amount", "ProviderId"}),
    "POST /vault": ({"cardNumber": "4111", "expireSeconds": 1.5}, {"CardNumber", "ExpireSeconds"}),
    "POST /customer/card": ({**NOBODY, "paymentInformation": card()}, {"Metadata", "ProviderId"}),
    "POST /customer/token": ({"token": "t", "metadata": 5}, {"Metadata", "Token"}),
    "POST /customer/provider_token": ({**NOBODY, "providerToken": "t"}, {"Metadata", "ProviderId"}),
    "POST /customer/provider_single_use_token": ({**NOBODY, "providerToken": "t"}, {"Metadata", "ProviderId"}),
    "POST /customer/payto": ({"payToAgreement": AGREEMENT}, {"PayToAgreement.Description", "MaximumAmount"}),
    "POST /customer/bank_account": (
        {"providerId": "nobody", **BANK},
        {"ProviderId", "BankPaymentInformation.BankCode"},
    ),
    "PUT /customer/{customer}": ({"email": 5, "defaultPaymentMethodId": "m"}, {"Email", "DefaultPaymentMethodId"}),
    "POST /customer/{customer}/payment_method/card": (
        {**NOBODY, "paymentInformation": card()},
        {"Metadata", "ProviderId"},
    ),
    "POST /customer/{customer}/payment_method/token": ({"token": "t", "metadata": 5}, {"Metadata", "Token"}),
    "POST /customer/{customer}/payment_method/payto": (AGREEMENT, {"Description", "MaximumAmount"}),
    "POST /customer/{customer}/bank_account": (
        {"providerId": "nobody", **BANK},
        {"ProviderId", "BankPaymentInformation.BankCode"},
    ),
    "POST /customer/{customer}/payment_method/bank_account": (
        {"providerId": "nobody", **BANK},
        {"ProviderId", "BankPaymentInformation.BankCode"},
    ),
    "POST /payment_method/card": ({**NOBODY, "paymentInformation": card()}, {"Metadata", "ProviderId"}),
    "POST /payment_method/vault": (
        {"providerId": DUMMY, "paymentMethodId": "m", "webhook": 5},
        {"PaymentMethodId", "Webhook"},
    ),
    "POST /payment_method/token": ({"token": "t", "metadata": 5}, {"Metadata", "Token"}),
    "POST /payment_method/payto": (AGREEMENT, {"Description", "MaximumAmount"}),
    "POST /payment_method/provider_single_use_token": ({**NOBODY, "providerToken": "t"}, {"Metadata", "ProviderId"}),
    "POST /payment_method/provider_token": ({**NOBODY, "providerToken": "t"}, {"Metadata", "ProviderId"}),
    "POST /payment_method/bank_account": (
        {"providerId": "nobody", **BANK},
        {"ProviderId", "BankPaymentInformation.BankCode"},
    ),
    "PUT /payment_method/{method}": ({"card": {"expiryDate": "13/40"}, "metadata": 5}, {"ExpiryDate", "Metadata"}),
    "POST /token/card": ({"metadata": 5, "paymentInformation": card()}, {"Metadata", "ProviderId"}),
    "POST /token/card/least_cost": ({"metadata": 5, "paymentInformation": card("4111")}, {"Metadata", "CardNumber"}),
    "POST /token/payto": (AGREEMENT, {"Description", "MaximumAmount"}),
    "POST /payment_link": ({"limitPayments": "x", "redirectUrl": "nowhere"}, {"LimitPayments", "RedirectUrl"}),
    "POST /subscription/payment_method": (SUBSCRIPTION, {"PaymentMethodId", "Interval", "Frequency"}),
    "PUT /subscription/{subscription}": (
        {"amount": 0, "retry": {"interval": "Day"}, "frequency": 0},
        {"Amount", "Retry.Maximum", "Frequency"},
    ),
    "POST /transfer": (
        {"providerId": "nobody", "transfers": [TRANSFER]},
        {"ProviderId", "Transfers.0.Message", "Transfers.0.Amount"},
    ),
    "POST /webhook/subscription": ({"url": "nowhere", "types": ["no", "Transaction"]}, {"Url", "Types.0"}),
    "POST /batch/transaction/payment_method": (
        {"count": "x", "description": "d", "batch": LINES},
        {"Count", "Batch.Line3"},
    ),
    "POST /provider": ({"name": "n", "type": 5, "currency": "ZZZ"}, {"Type", "Currency"}),
    "PUT /provider/{provider}": ({"name": 5, "currency": "ZZZ"}, {"Name", "Currency"}),
}
"""Every operation with a body of two fields or more: a body with faults of form and of content, and what is told."""


def test_every_operation_with_several_fields_is_in_the_table() -> None:
    wanted = {
        (route.method, re.sub(r"{\w+}", "{}", route.path))
        for route in ROUTES
        if route.body is not None and len(route.body.model_fields) > 1
    }
    assert {(*re.sub(r"{\w+}", "{}", name).split(),) for name in ONE_FORM_ONE_CONTENT} == wanted


@pytest.mark.parametrize("name", ONE_FORM_ONE_CONTENT)
def test_a_fault_of_form_does_not_hide_a_fault_of_content(name: str) -> None:
    body, wanted = ONE_FORM_ONE_CONTENT[name]
    book = Book()
    method, path = name.split()
    path = path.replace("{subscription}", _subscription(book)).replace("{provider}", DUMMY)
    path = book.filled(path)
    before = _state(book)
    assert told(book.api.call(method, path, body)) == wanted
    assert _state(book) == before


def test_what_follows_from_a_faulty_field_is_not_told_of_it() -> None:
    api = Api()
    charge = api.charge(amount=1)["chargeId"]
    group = {"providerId": DUMMY, "chargeId": charge, "transfers": [5, {"account": "a", "amount": 1}]}
    assert told(api.post("/transfer", group)) == {"Transfers.0"}
    assert told(api.post("/transfer", {"providerId": DUMMY, "transfers": "x"})) == {"Transfers"}
    assert told(api.post("/batch/transaction/payment_method", {"count": 1, "description": "d"})) == {"Batch"}
    starts = {"startDate": "x", "endAfter": {"date": "2020-01-01"}}
    body = {"paymentMethodId": "m", "amount": 1, "interval": "Day", **starts}
    assert told(api.post("/subscription/payment_method", body)) == {"PaymentMethodId", "StartDate"}


@pytest.mark.parametrize("agreement", [None, "x", 5])
def test_nothing_is_told_of_what_stands_in_for_an_object_that_is_not_there(agreement: object) -> None:
    refused = Api().post("/customer/payto", {"payToAgreement": agreement, "firstName": "f" * 41})
    assert told(refused) == {"PayToAgreement", "FirstName"}


def test_a_transfer_is_not_compared_with_an_amount_that_is_not_there() -> None:
    api = Api()
    transfer = {"account": "a", "amount": 5}
    assert told(api.post("/charge/token", {"token": "t", "transfer": transfer})) == {"Amount", "Token"}
    refused = api.post("/charge/token", {"token": "t", "amount": 3, "transfer": transfer})
    assert told(refused) == {"Token", "Transfer.Amount"}


def test_faults_that_share_a_code_are_told_under_it() -> None:
    refused = Api().post("/charge/card", {"amount": 1, "providerId": DUMMY, "paymentInformation": []})
    assert problem_of(refused) == (400, 81)
    assert set(refused["details"]) == {"CardNumber", "ExpiryDate"}
    assert refused["message"] == "Invalid Payment Information"
    mixed = Api().post("/charge/card", {"amount": 1, "providerId": "nobody", "paymentInformation": []})
    assert told(mixed) == {"CardNumber", "ExpiryDate", "ProviderId"}


def test_a_form_fault_of_the_only_field_changes_nothing() -> None:
    book = Book()
    charge, subscription = book.id_of("authorised charge"), _subscription(book)
    before = _state(book)
    assert told(book.api.post(f"/charge/{charge}", {"amount": "x"})) == {"Amount"}
    assert told(book.api.put(f"/subscription/{subscription}/status", {"status": "x"})) == {"Status"}
    assert _state(book) == before


def _subscription(book: Book) -> str:
    body = {"paymentMethodId": book.id_of("method"), "amount": 1, "interval": "Day"}
    made: str = book.api.post("/subscription/payment_method", body)["subscriptionId"]
    return made


def _state(book: Book) -> str:
    state = book.api.get("/__admin/state").body
    del state["rules"]  # that a rule was asked is remembered, refused request or not
    return json.dumps(state, sort_keys=True)
