"""The OpenAPI document: complete, valid, and true to what is answered."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from mockserver.assumptions import Assumed, Profile
from mockserver.cli import main
from mockserver.domain.cards import TEST_CARDS, clean, passes_luhn
from mockserver.domain.errors import Problem
from mockserver.web.openapi import document
from mockserver.web.routes import ROUTES
from mockserver.wire.fields import Folded, names_of, validate
from mockserver.wire.replies import reply_type
from tests.driving import PUBLIC, Api, card_charge
from tests.rows import at_row

NAMES = [f"{row.method} {row.path}" for row in ROUTES]


@cache
def the_document() -> dict[str, Any]:
    return document(Assumed(Profile.DOCUMENTED), "http://127.0.0.1:4111")


def operation_of(row: Any) -> dict[str, Any]:
    return the_document()["paths"][row.path][row.method.lower()]


def walk(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name, item
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def resolve(reference: str) -> object:
    found: Any = the_document()
    assert reference.startswith("#/")
    for part in reference[2:].split("/"):
        found = found[part]
    return found


def test_every_operation_is_described_and_nothing_else() -> None:
    described = {
        (method.upper(), path) for path, item in the_document()["paths"].items() for method in item
    }
    assert described == {(row.method, row.path) for row in ROUTES}
    assert the_document()["openapi"] == "3.1.0"


def test_operation_ids_are_unique_identifiers() -> None:
    ids = [operation["operationId"] for operation in map(operation_of, ROUTES)]
    assert len(set(ids)) == len(ids)
    assert all(name.isidentifier() for name in ids)


def test_an_operation_has_all_its_parts_and_an_example_that_its_model_takes() -> None:
    for row in ROUTES:
        with at_row(f"{row.method} {row.path}"):
            operation = operation_of(row)
            assert set(operation) <= {
                "operationId", "tags", "summary", "description", "parameters", "responses", "requestBody", "security",
            }  # fmt: skip
            assert operation["summary"]
            assert row.source in operation["description"]
            placed = {(parameter["name"], parameter["in"]) for parameter in operation["parameters"]}
            assert len(placed) == len(operation["parameters"])
            assert {name for name, where in placed if where == "path"} == set(
                re.findall(r"\{(\w+)\}", row.path)
            )
            assert all(
                parameter["required"]
                for parameter in operation["parameters"]
                if parameter["in"] == "path"
            )
            wanted = set(names_of(row.query)) if row.query else set()
            assert {name for name, where in placed if where == "query"} == wanted
            assert ("requestBody" in operation) == (row.body is not None)
            success = [status for status in operation["responses"] if status.startswith("2")]
            assert len(success) == 1
            assert {"400", "401"} <= set(operation["responses"])
            assert ("404" in operation["responses"]) == ("{" in row.path)
            for status in ("413", "415"):
                assert (status in operation["responses"]) == (row.body is not None)
            assert ("security" in operation) == row.is_public
            if row.body is not None:
                example = operation["requestBody"]["content"]["application/json"]["example"]
                validate(row.body, Folded(example, [], []))


def test_the_keys_of_a_wallet_are_those_of_the_profile() -> None:
    both = [{"publicKey": []}, {"secretKey": []}]
    for profile, keys in (("documented", both[:1]), ("sdk", both)):
        paths = document(Assumed(Profile(profile)), "http://127.0.0.1:4111")["paths"]
        assert paths["/charge/token/apple"]["post"]["security"] == keys
        assert paths["/charge/checkout"]["post"]["security"] == both


@pytest.mark.parametrize("path", ["/token/card", "/charge/token/apple"])
def test_the_header_that_names_a_provider_is_described_and_obeyed(path: str) -> None:
    parameters = the_document()["paths"][path]["post"]["parameters"]
    assert [item["name"] for item in parameters if item["in"] == "header"] == ["ProviderId"]
    body = card_charge(token={})
    del body["providerId"]
    refused = Api().call("POST", path, body, headers={**PUBLIC, "ProviderId": "nobody"})
    assert (refused.status, refused["code"]) == (400, 39)


def test_every_reference_leads_somewhere() -> None:
    references = [str(item) for name, item in walk(the_document()) if name == "$ref"]
    assert references
    for reference in references:
        assert isinstance(resolve(reference), dict)


def test_an_error_is_described_as_it_is_made() -> None:
    assert list(reply_type("Problem").fields) == list(Problem.__annotations__)


def test_no_schema_lies_unused() -> None:
    used = {str(item).rsplit("/", 1)[1] for name, item in walk(the_document()) if name == "$ref"}
    assert set(the_document()["components"]["schemas"]) <= used


def test_every_schema_is_valid() -> None:
    for schema in the_document()["components"]["schemas"].values():
        jsonschema_rs.meta.validate(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        )


def test_examples_hold_no_number_but_published_test_numbers() -> None:
    for found in re.findall(r"\d(?:[ -]?\d){11,18}", json.dumps(the_document())):
        digits = clean(found)
        assert digits is None or not passes_luhn(digits) or digits in TEST_CARDS.values()


def test_the_profile_is_applied() -> None:
    assumptions_used = document(Assumed(Profile.SDK), "http://127.0.0.1:4111")
    assert "200" in assumptions_used["paths"]["/vault"]["post"]["responses"]
    assert "201" in the_document()["paths"]["/vault"]["post"]["responses"]
    assert (
        "Authorised"
        in the_document()["components"]["schemas"]["Charge"]["properties"]["status"]["enum"]
    )
    assert (
        "AUTHORISE"
        in assumptions_used["components"]["schemas"]["Charge"]["properties"]["status"]["enum"]
    )
    assert "404" not in assumptions_used["paths"]["/vault/{vault_id}"]["get"]["responses"]


def test_it_is_served_without_a_key_and_with_one_as_its_sandbox_speaks() -> None:
    api = Api(key=None)
    served = api.get("/openapi.json")
    assert (served.status, served.body["paths"]) == (200, the_document()["paths"])
    assert served.body["servers"] == [{"url": "http://127.0.0.1:4111"}]
    mine = {"x-secretkey": "sk_mine"}
    changed = api.call(
        "PUT", "/__admin/assumptions", {"response.created_status": 200}, headers=mine
    )
    assert changed.status == 200
    assumptions_used = api.call("GET", "/openapi.json", headers=mine)
    assert "200" in assumptions_used["paths"]["/vault"]["post"]["responses"]


def test_the_command_prints_it() -> None:
    done = CliRunner().invoke(
        main, ["openapi", "--profile", "sdk", "--public-url", "http://pay.test/"]
    )
    assert (done.exit_code, json.loads(done.output)["servers"]) == (0, [{"url": "http://pay.test"}])
    assert "200" in json.loads(done.output)["paths"]["/vault"]["post"]["responses"]


def test_answers_are_as_described() -> None:
    api = Api()
    root = {"components": the_document()["components"]}

    def check(method: str, path: str, template: str, body: object = None, **query: object) -> Any:
        reply = api.call(method, path, body, query=query)
        described = the_document()["paths"][template][method.lower()]["responses"][
            str(reply.status)
        ]
        if "$ref" in described:
            described = resolve(described["$ref"])
        schema = described["content"]["application/json"]["schema"]
        jsonschema_rs.Draft202012Validator({**root, **schema}).validate(reply.body)
        return reply.body

    vaulted = check("POST", "/vault", "/vault", {"cardNumber": "4111111111111111", "ccv": "123"})
    check("GET", f"/vault/{vaulted['vaultId']}", "/vault/{vault_id}")
    charge = check(
        "POST",
        "/charge/card",
        "/charge/card",
        card_charge(capture=False, ip="203.0.113.7", firstName="A"),
    )
    check("POST", f"/charge/{charge['chargeId']}", "/charge/{charge_id}", {})
    check("DELETE", f"/refund/{charge['chargeId']}", "/refund/{charge_id}", amount=1, comment="x")
    check("DELETE", f"/charge/{charge['chargeId']}/void", "/charge/{charge_id}/void")
    check("GET", "/charge", "/charge")
    check("GET", "/charge/nothing", "/charge/{charge_id}")
    check("POST", "/charge/card", "/charge/card", {})
