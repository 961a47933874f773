"""Lists in bodies are bounded, and so is what a refusal says of them: nobody else waits for a
thousand faults."""

from typing import Any

import pytest

from mockserver.domain import money
from mockserver.domain.errors import MOST_FAULTS
from mockserver.web.routes import ROUTES
from mockserver.wire import field_types
from mockserver.wire.field_types import MOST_CHOICES, MOST_ITEMS
from mockserver.wire.fields import Body, nested_body
from mockserver.wire.schemas import Schemas
from tests.driving import DUMMY, Api, card_charge, problem_of

TRANSFER = {"account": "a", "amount": 1, "currency": "AUD"}


def group(*transfers: object) -> dict[str, object]:
    return {"providerId": DUMMY, "groupReference": "g", "transfers": transfers}


def bodies(model: type[Body]) -> set[type[Body]]:
    inner = (nested_body(info.annotation) for info in model.model_fields.values())
    return {model}.union(*(bodies(one) for one in inner if one is not None))


def test_every_list_of_a_body_has_a_most() -> None:
    models = set[type[Body]]().union(*(bodies(row.body) for row in ROUTES if row.body is not None))
    found = {}
    for model in models:
        for name, schema in Schemas([model]).named[model.__name__]["properties"].items():
            for one in (schema, *schema.get("anyOf", ())):
                if one.get("type") == "array":
                    found[f"{model.__name__}.{name}"] = one.get("maxItems")
    assert len(found) >= 6
    assert set(found.values()) == {MOST_ITEMS, MOST_CHOICES}, found


@pytest.mark.parametrize(
    ("path", "body", "field", "got", "most"),
    [
        (
            "/charge/card",
            card_charge(order={"items": [{}] * (MOST_ITEMS + 1)}),
            "Order.Items",
            1_001,
            MOST_ITEMS,
        ),
        (
            "/webhook/subscription",
            {"url": "http://a.b/c", "types": ["Batch"] * 101},
            "Types",
            101,
            MOST_CHOICES,
        ),
        (
            "/webhook/subscription",
            {"url": "http://a.b/c", "types": ["no"] * 1_900},
            "Types",
            1_900,
            MOST_CHOICES,
        ),
        (
            "/payment_link",
            {"allowedPaymentTypes": ["no"] * 1_900},
            "AllowedPaymentTypes",
            1_900,
            MOST_CHOICES,
        ),
    ],
)
def test_a_longer_list_is_refused(
    path: str, body: dict[str, Any], field: str, got: int, most: int
) -> None:
    refused = Api(waits=True).post(path, body)
    assert problem_of(refused) == (400, 90)
    assert refused["details"] == {field: f"got {got}, wanted at most {most} items"}


def test_the_longest_lists_are_taken() -> None:
    api = Api(waits=True)
    # Each is an item with three fields, and a body has 2,000 of both.
    made = api.post("/transfer", group(*[TRANSFER] * 499))
    assert (made.status, len(made.body)) == (201, 499)
    types = api.post(
        "/webhook/subscription", {"url": "http://a.b/c", "types": ["batch"] * MOST_CHOICES}
    )
    assert (types.status, types["types"]) == (201, ["Batch"])


def test_a_refusal_names_a_hundred_faults_of_form() -> None:
    details = Api(waits=True).post("/transfer", group(*[{}] * MOST_ITEMS))["details"]
    assert list(details) == [
        f"Transfers.{row}.{name}" for row in range(50) for name in ("Account", "Amount")
    ]


def test_a_refusal_names_a_hundred_faults_of_transfers_and_looks_for_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[str]()
    plain = money.nearest
    monkeypatch.setattr(
        money, "nearest", lambda word, known: (asked.append(word), plain(word, known))[1]
    )
    codes = [f"Q{chr(65 + row // 26 % 26)}{chr(65 + row % 26)}" for row in range(400)]
    details = Api(waits=True).post(
        "/transfer", group(*({**TRANSFER, "currency": code} for code in codes))
    )["details"]
    assert len(details) == MOST_FAULTS
    assert len(asked) <= MOST_FAULTS


def test_few_names_are_compared_with_the_wrong_ones_of_a_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[str]()
    plain = field_types.nearest
    monkeypatch.setattr(
        field_types, "nearest", lambda word, known: (asked.append(word), plain(word, known))[1]
    )
    types = [f"no-{number}" for number in range(1_900)]
    Api(waits=True).post("/webhook/subscription", {"url": "http://a.b/c", "types": types})
    # Two passes find out that something is wrong, a third what.
    assert 0 < len(asked) <= 3 * (MOST_CHOICES + 1)
