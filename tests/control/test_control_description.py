"""``/__admin/openapi.json``: every row of the control table, described well enough to be called."""

from typing import Any

import jsonschema_rs
import pytest

from mockserver.web.control.call import ControlRoute
from mockserver.web.control.routes import CONTROL_ROUTES
from tests.driving import Api


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    return api.call("GET", "/__admin/openapi.json", key=None).body


def test_every_row_is_described_once(document: dict[str, Any]) -> None:
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    assert described == {(row.method, row.path) for row in CONTROL_ROUTES}
    names = [
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(names)) == len(names)


def test_every_operation_says_what_it_takes_and_answers(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["summary"]
            assert {"400", "401", "403"} <= operation["responses"].keys()
            placed = [one["name"] for one in operation.get("parameters", []) if one["in"] == "path"]
            assert [f"{{{name}}}" in path for name in placed] == [True] * path.count("{")


def test_what_is_described_is_what_is_taken(api: Api) -> None:
    for row in CONTROL_ROUTES:
        if row.body is not None and row.body.model_config["extra"] == "forbid":
            reply = api.call(row.method, row.path, {"noSuchField": 1})
            assert reply.status == 400, row.path


def test_a_call_without_key_is_refused_where_one_is_needed(api: Api) -> None:
    for row in CONTROL_ROUTES:
        if "{" in row.path:
            continue
        status = api.call(
            row.method, row.path, None if row.method == "GET" else {}, key=None
        ).status
        assert (status == 401) == row.keyed, row.path


def strictly(schema: Any) -> Any:
    """A schema that takes no member which it does not name."""
    if isinstance(schema, list):
        return [strictly(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if schema.get("properties") else {}
    return closed | {name: strictly(one) for name, one in schema.items()}


@pytest.mark.parametrize("row", CONTROL_ROUTES, ids=lambda row: f"{row.method} {row.path}")
def test_the_example_of_a_call_is_what_it_says(row: ControlRoute, document: dict[str, Any]) -> None:
    operation = document["paths"][row.path][row.method.lower()]
    whole = {"components": strictly(document["components"])}
    content = operation["responses"][str(row.success)]["content"][row.media]
    fits = jsonschema_rs.validator_for({**strictly(content["schema"]), **whole})
    fits.validate(content["example"])
    if isinstance(content["example"], dict) and row.reply != "DocumentAnswer":
        assert not fits.is_valid({**content["example"], "another": {"member": [None]}})
    placed = [one for one in operation.get("parameters", []) if one["in"] == "path"]
    assert all(one["example"] for one in placed)
    if row.body is not None:
        for kind in operation["requestBody"]["content"].values():
            jsonschema_rs.validator_for({**strictly(kind["schema"]), **whole}).validate(
                kind["example"]
            )
