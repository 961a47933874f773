"""Faults of form and faults of content are told in one answer, and a refused request leaves everything as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
    refused = api.post("/provider", {"name": "n" * 41, "type": "dumy", "currency": "ZZZ"})
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


def _state(book: Book) -> str:
    state = book.api.get("/__admin/state").body
    del state["rules"]  # that a rule was asked is remembered, refused request or not
    return json.dumps(state, sort_keys=True)
