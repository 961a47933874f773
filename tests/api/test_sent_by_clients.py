"""What published clients send by themselves: operations are performed with it under ``--strict``,
and no finding names it. ``tests/findings/test_sdk_bodies.py`` has the whole bodies that they send.

Names as they are sent, from docs/spec/published-facts.md, 1.2 and 1.3.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mockserver.wire
from tests.driving import CARD, DUMMY, VISA, Api, problem_of

with (Path(mockserver.wire.__file__).parent / "sdk_fields.csv").open(encoding="utf-8") as file:
    BY_THEMSELVES = list(csv.DictReader(file))
"""The fields that nobody reads: what the table says of each."""

LISTED = "AddedAfter AddedBefore Limit SortBy Skip"
QUERIES = [
    (
        "GET",
        "/charge",
        f"{LISTED} Reference ProviderId AmountGreaterThan AmountLessThan Currency CustomerId "
        "Status PaymentMethodId"
        " PaymentType CardType CardNumber Cardholder",
    ),
    (
        "GET",
        "/customer",
        f"{LISTED} Reference Email Search PaymentMethodId CustomerId IncludeRemoved",
    ),
    ("GET", "/payment_method", f"{LISTED} ProviderId CustomerId PaymentType CardType Search"),
    ("GET", "/token", f"{LISTED} ProviderId Status"),
    ("GET", "/transfer", f"{LISTED} Reference ProviderId Status"),
    ("GET", "/payment_link", LISTED),
    ("GET", "/batch", "Description AddedAfter AddedBefore Limit Skip"),
    ("GET", "/subscription", f"{LISTED} AmountGreaterThan AmountLessThan Currency Status"),
    ("GET", "/webhook/subscription", f"{LISTED} Type Id"),
    ("GET", "/webhook/subscription", "Sort"),
    ("DELETE", "/charge/c", "Amount Comment"),
    ("GET", "/info/providers", "amount currency cardProviderId"),
    ("GET", "/info/providers/p", "amount currency"),
    ("GET", "/info/providers/token/t", "amount currency"),
    ("GET", "/settlements", "startDate endDate"),
]


def nested(names: str) -> dict[str, Any]:
    """``Order.State`` as ``{"Order": {"State": None}}``."""
    body: dict[str, Any] = {}
    for name in names.split():
        *parts, last = name.split(".")
        place = body
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = None
    return body


def unknown_to(api: Api, answer: dict[str, Any]) -> Iterator[str]:
    """The names that a refusal calls unknown, and those that a finding names."""
    for name, words in (answer.get("details") or {}).items():
        if words.startswith("unknown field"):
            yield name
    for row in api.get("/__admin/findings", finding="unknown-field")["findings"]:
        yield row["evidence"][0]["line"]


@pytest.mark.parametrize(("method", "path", "names"), QUERIES)
def test_a_query_of_a_published_client_has_no_unknown_field(
    method: str, path: str, names: str
) -> None:
    api = Api(strict=True)
    query = "&".join(f"{name}=1" for name in names.split())
    reply = api.call(method, f"{path}?{query}")
    assert list(unknown_to(api, reply.body if isinstance(reply.body, dict) else {})) == []
    assert "Colour" in list(unknown_to(api, api.call(method, f"{path}?{query}&colour=1").body))


def paid(api: Api, **more: object) -> Any:
    method = stored(api)
    body = {"paymentMethodId": method, "amount": 5, "currency": "AUD", "reference": "order-1"}
    return api.post("/charge/payment_method", body | more)


def stored(api: Api) -> str:
    card = {"providerId": DUMMY, "paymentInformation": CARD}
    method_id: str = api.post("/payment_method/card", card)["paymentMethodId"]
    return method_id


def with_token(api: Api, **more: object) -> Any:
    token = api.post(
        "/token/card/least_cost", {"amount": 5, "currency": "AUD", "paymentInformation": CARD}
    )["tokenId"]
    return api.post("/customer/token", {"token": token, "email": "ann@example.com"} | more)


def with_bank(api: Api, **more: object) -> Any:
    customer = api.post("/customer/card", {"providerId": DUMMY, "paymentInformation": CARD})[
        "customerId"
    ]
    account = {"bankCode": "123-456", "accountNumber": "123456789", "accountName": "Ann Example"}
    body = {"providerId": DUMMY, "bankPaymentInformation": account}
    return api.post(f"/customer/{customer}/bank_account", body | more)


def updated(api: Api, **more: object) -> Any:
    return api.call(
        "PUT", f"/payment_method/{stored(api)}", {"card": {"expiryDate": "11/41"}} | more
    )


ACTS = {
    "charge.create": paid,
    "customer.create": with_token,
    "payment_method.create": with_bank,
    "payment_method.update": updated,
}


@pytest.mark.parametrize("row", BY_THEMSELVES, ids=lambda row: f"{row['operation']}-{row['field']}")
def test_what_a_published_client_sends_by_itself_is_taken_under_strict(row: dict[str, str]) -> None:
    api = Api(strict=True)
    act, name = ACTS[row["operation"]], row["field"]
    sent = nested(".".join(part[:1].upper() + part[1:] for part in name.split(".")))
    assert act(api, **sent).status in (200, 201)
    assert list(unknown_to(api, {})) == []
    # The same of its caller, misspelt, is refused.
    assert problem_of(act(api, **{f"{name.partition('.')[0]}s": "1"})) == (400, 90)


def test_a_card_update_as_the_php_client_sends_it_is_performed_under_strict() -> None:
    api = Api(strict=True)
    method = stored(api)
    body = {"Card": {"ExpiryDate": "11/41"}, "PaymentMethodId": method, "ProviderId": DUMMY}
    assert api.call("PUT", f"/payment_method/{method}", body)["card"]["expiryDate"] == "11/41"


def test_what_a_client_sends_by_itself_with_one_operation_is_unknown_to_another() -> None:
    api = Api(strict=True)
    reply = api.post("/vault", {"cardNumber": VISA, "ProviderId": DUMMY})
    assert reply["details"] == {"ProviderId": "unknown field"}


def test_the_assumption_that_refuses_unknown_fields_takes_it_too() -> None:
    api = Api(assumptions={"request.unknown_fields": "refuse"})
    assert updated(api, ProviderId=DUMMY).status == 200
    assert problem_of(updated(api, ProvidersId=DUMMY)) == (400, 90)
