"""Webhooks as OpenAPI and AsyncAPI describe them: what is sent fits, and nothing is sent that they do not name."""

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from mockserver.cli import main
from mockserver.web.openapi import WEBHOOKS
from tests import needs
from tests.driving import CARD, DUMMY, Api

SPECIFICATION = "@asyncapi/specs@6.11.1"


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that stands alone."""
    return {**schema, "components": document["components"], "$schema": "https://json-schema.org/draft/2020-12/schema"}


def faults_of(schema: dict[str, Any], value: object) -> list[str]:
    """What another library finds wrong with a value."""
    return [str(fault) for fault in jsonschema_rs.validator_for(schema).iter_errors(value)]


@pytest.fixture
def sent(api: Api) -> list[dict[str, Any]]:
    """The bodies of all webhooks of a day in which something of every kind happens."""
    types = ["Transaction", "Batch", "Subscription", "Customer", "PaymentMethod"]
    assert api.post("/webhook/subscription", {"url": "http://127.0.0.1:1/", "types": types}).status < 300
    made = api.post("/customer/card", {"providerId": DUMMY, "firstName": "Ann", "paymentInformation": CARD})
    method = made["defaultPaymentMethod"]["paymentMethodId"]
    charge = api.post("/charge/payment_method", {"paymentMethodId": method, "amount": 10, "currency": "AUD"})
    api.delete(f"/refund/{charge['chargeId']}?amount=4")
    api.put(f"/customer/{made['customerId']}", {"firstName": "Anne"})
    api.batch(f"{method},10,AUD,one")
    days = {"startDate": "2031-03-01", "interval": "Month", "frequency": 1}
    api.post("/subscription/payment_method", {"paymentMethodId": method, "amount": 5, "currency": "AUD", **days})
    api.post("/__admin/clock/advance", {"by": "1d"})
    api.delete(f"/customer/{made['customerId']}")
    return [one["body"] for one in api.get("/__admin/webhooks?limit=200")["webhooks"]]


def test_every_webhook_is_described_and_fits(api: Api, sent: list[dict[str, Any]]) -> None:
    document = api.get("/openapi.json").body
    seen = set()
    for body in sent:
        name = body["meta"]["eventType"]
        seen.add(body["meta"]["type"])
        schema = document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert faults_of(resolved(document, schema), body) == []
    assert seen == {kind.word for kind in WEBHOOKS}


def test_both_documents_name_the_same_webhooks(api: Api) -> None:
    names = {name for kind in WEBHOOKS for name in kind.event_types}
    assert set(api.get("/openapi.json")["webhooks"]) == names
    assert set(api.get("/asyncapi.json")["components"]["messages"]) == names


def test_the_statuses_of_a_charge_are_the_words_of_the_profile() -> None:
    for profile, word in (("documented", "Authorised"), ("sdk", "AUTHORISE")):
        done = CliRunner().invoke(main, ["asyncapi", "--profile", profile])
        transaction = json.loads(done.output)["components"]["schemas"]["Transaction"]
        assert word in transaction["properties"]["status"]["enum"]


def test_links_lead_from_what_is_created_to_operations_that_take_its_id(api: Api) -> None:
    document = api.get("/openapi.json").body
    operations = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    links = document["paths"]["/charge/card"]["post"]["responses"]["201"]["links"]
    assert links["getChargeByChargeId"]["parameters"] == {"charge_id": "$response.body#/chargeId"}
    for operation in operations.values():
        for link in operation["responses"].get("201", {}).get("links", {}).values():
            taken = {one["name"] for one in operations[link["operationId"]]["parameters"] if one["in"] == "path"}
            assert set(link["parameters"]) == taken


@pytest.mark.slow
@needs.DEEP
@needs.program("npm")
def test_the_asyncapi_document_is_valid_by_the_official_schema(api: Api, tmp_path: Path) -> None:
    pack = ["npm", "pack", "--silent", SPECIFICATION]
    name = subprocess.run(pack, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()[-1]
    with tarfile.open(tmp_path / name) as archive:
        found = archive.extractfile("package/schemas/3.0.0-without-$id.json")
        assert found is not None
        schema = json.load(found)
    document = api.get("/asyncapi.json").body
    assert faults_of(schema, document) == []
    assert faults_of(schema, {**document, "operations": {"a": {"action": "send"}}}) != []
