"""What a body may hold: at the limit it is taken; beyond, it is refused with what was got and what
is allowed, and nothing has changed."""

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.domain.addresses import LONGEST_ADDRESS
from mockserver.web.routes import ROUTES
from mockserver.wire.field_types import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_OF_KEY,
    MOST_OF_METADATA,
)
from mockserver.wire.fields import MOST_FIELDS, Body
from mockserver.wire.schemas import Schemas
from tests.driving import DUMMY, Api, batch_of, problem_of

ADDRESS = "http://127.0.0.1:4111/__inbox/shop?"


def entries(count: int) -> dict[str, str]:
    return {f"k{number}": "a" for number in range(count)}


@pytest.mark.parametrize(
    ("field", "taken", "refused", "words"),
    [
        ("metadata", entries(500), entries(501), "got 501, wanted at most 500 entries"),
        (
            "metadata",
            {"k" * 100: "a"},
            {"k" * 101: "a"},
            f"got a key '{'k' * 40}...' of 101, wanted at most 100 characters",
        ),
        (
            "metadata",
            {"k": "a" * 2_000},
            {"k": "a" * 2_001},
            "got 2001 under 'k', wanted at most 2000 characters",
        ),
        ("descriptor", "a" * 10_000, "a" * 10_001, "got 10001, wanted at most 10000 characters"),
        ("reference", "a" * 40, "a" * 41, "got 41, wanted at most 40 characters"),
        (
            "threeDSNotificationUrl",
            ADDRESS.ljust(2_048, "a"),
            ADDRESS.ljust(2_049, "a"),
            "got 2049, wanted at most 2048 characters",
        ),
    ],
)
@pytest.mark.parametrize("profile", ["documented", "sdk"])
def test_a_field_is_taken_as_far_as_its_limit(
    profile: str, field: str, taken: object, refused: object, words: str
) -> None:
    api = Api(profile=profile, waits=True)
    reply = api.try_charge(**{field: refused})
    assert problem_of(reply) == (400, 90)
    assert list(reply["details"].values()) == [words]
    assert list(reply["details"]) == [field[0].upper() + field[1:]]
    assert api.get("/charge")["count"] == 0
    assert api.try_charge(**{field: taken}).status in (200, 201)


def test_all_that_is_too_long_is_told_at_once() -> None:
    wrong = {"k" * 101: "a", "n": "a" * 2_001, "o": {}}
    reply = Api().try_charge(metadata=wrong, descriptor="a" * 10_001, webhook={"url": "h" * 2_049})
    assert reply["details"] == {
        "Metadata": (
            f"got a key '{'k' * 40}...' of 101, wanted at most 100 characters; "
            "got 2001 under 'n', wanted at most 2000 characters; "
            "wanted a text under 'o', not an object or a list"
        ),
        "Descriptor": "got 10001, wanted at most 10000 characters",
        "Webhook.Url": "got 2049, wanted at most 2048 characters",
    }


def test_a_key_of_metadata_is_told_without_the_card_number_in_it() -> None:
    reply = Api().try_charge(metadata={"4111111111111111": {}})
    assert "4111111111111111" not in reply.raw.decode()


def test_of_many_faulty_entries_ten_are_told() -> None:
    reply = Api().try_charge(metadata={f"k{number}": {} for number in range(500)})
    assert reply["details"]["Metadata"].count("wanted a text") == 10


@pytest.mark.parametrize(("items", "status"), [(1_000, 400), (500, 201)])
def test_a_body_has_two_thousand_fields_and_items(items: int, status: int) -> None:
    api = Api()
    lines = [{"quantity": 1, "description": "a shirt"}] * items
    reply = api.try_charge(order={"items": lines})
    assert reply.status == status
    if status == 400:
        words = "got 3010 or more, wanted at most 2000 fields and items of lists"
        assert (reply["code"], reply["details"]) == (90, {"Body": words})
        assert api.get("/charge")["count"] == 0


def test_what_an_unknown_field_holds_is_not_read_and_does_not_count(api: Api) -> None:
    assert api.try_charge(unknown=[1] * 50_000).status == 201


def test_texts_of_a_wallet_fit() -> None:
    """The signature of an Apple Pay token holds two certificates: the longest text that clients
    send."""
    data = {"data": "A" * 2_000, "signature": "A" * 6_000, "version": "EC_v1"}
    token = {"paymentData": data, "paymentMethod": {"network": "Visa"}}
    body = {"amount": 5, "currency": "AUD", "token": token, "providerId": DUMMY}
    taken = Api().call("POST", "/charge/token/apple", body, headers={"x-publickey": "pk_tests"})
    assert taken.status == 201, taken.raw


def test_an_image_and_a_batch_have_limits_of_their_own(api: Api) -> None:
    image = "data:image/png;base64," + "A" * 100_000
    taken = api.post(
        "/payment_link",
        {"title": "a", "amount": 5, "allowedPaymentTypes": ["card"], "image": image},
    )
    assert taken.status == 201, taken.raw
    method = api.method()
    assert len(batch_of(*[f"{method},1,AUD,r"] * 400)["batch"]) > MOST_CHARACTERS
    assert api.batch(*[f"{method},1,AUD,r"] * 400)


# What the OpenAPI document says


def strings(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The schemas of texts of any length inside a schema, each with its place."""
    if not isinstance(schema, dict):
        return
    is_free = schema.get("type") == "string" and not {"enum", "pattern", "format"} & schema.keys()
    if is_free or schema.get("format") == "uri":
        yield path, schema
    for inner in (
        *schema.get("anyOf", ()),
        schema.get("items"),
        schema.get("additionalProperties"),
    ):
        yield from strings(inner, path)
    for name, inner in schema.get("properties", {}).items():
        yield from strings(inner, f"{path}.{name}")


def test_every_text_of_a_request_says_how_long_it_may_be() -> None:
    models: set[type[Body]] = {
        model for row in ROUTES for model in (row.body, row.query) if model is not None
    }
    found = [one for name, schema in Schemas(models).named.items() for one in strings(schema, name)]
    assert len(found) > 200
    assert {path for path, schema in found if "maxLength" not in schema} == {
        "PaymentLinkCreation.image",
        "BatchCreation.batch",
    }


def test_the_document_says_the_limits(api: Api) -> None:
    schemas = api.get("/openapi.json")["components"]["schemas"]
    metadata = next(
        one for one in schemas["CardCharge"]["properties"]["metadata"]["anyOf"] if "type" in one
    )
    assert metadata["maxProperties"] == MOST_ENTRIES == 500
    assert metadata["propertyNames"] == {"maxLength": MOST_OF_KEY} == {"maxLength": 100}
    assert metadata["additionalProperties"]["maxLength"] == MOST_OF_METADATA == 2_000
    assert schemas["WebhookConfig"]["properties"]["url"]["maxLength"] == LONGEST_ADDRESS == 2_048
    assert (MOST_CHARACTERS, MOST_FIELDS) == (10_000, 2_000)


# What was stored before there were limits


def test_a_document_with_longer_values_is_read_and_shown_as_before(api: Api) -> None:
    api.charge(metadata={"k": "a"}, webhook={"url": "http://127.0.0.1:4111/__inbox/shop"})
    document = api.get("/__admin/state?secrets=true").body
    (charge,) = document["tables"]["charges"]
    charge["metadata"] = {**entries(2_000), "k": "b" * 50_000}
    charge["webhook"]["url"] = "http://127.0.0.1:4111/" + "a" * 5_000
    other = Api()
    assert other.put("/__admin/state", document).status == 200
    read = other.get(f"/charge/{charge['charge_id']}").body
    assert read["metadata"] == charge["metadata"]
    assert other.get("/__admin/state?secrets=true")["tables"]["charges"] == [charge]
