"""Webhooks as OpenAPI and AsyncAPI describe them: what is sent fits, and nothing is sent that they
do not name."""

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from mockserver.assumptions import ROWS
from mockserver.cli import main
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.web.openapi import WEBHOOKS
from tests import needs
from tests.control.test_state import fill_everything
from tests.drift.test_settling import other_values
from tests.driving import CARD, DUMMY, Api, batch_of, card_charge

ROOT = Path(__file__).resolve().parents[2]
SPECIFICATION = "@asyncapi/specs@6.11.1"


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that stands alone."""
    return {
        **schema,
        "components": document["components"],
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }


def faults_of(schema: dict[str, Any], value: object) -> list[str]:
    """What another library finds wrong with a value."""
    return [str(fault) for fault in jsonschema_rs.validator_for(schema).iter_errors(value)]


def sent_by(api: Api, **assumed: object) -> list[dict[str, Any]]:
    """The bodies of all webhooks of ten weeks in which something of every kind happens, the most of
    it under some assumptions."""
    hook = {"url": "http://127.0.0.1:1/", "types": [kind.value for kind in WebhookType]}
    person = {"providerId": DUMMY, "firstName": "Ann", "paymentInformation": CARD}
    assert api.post("/webhook/subscription", hook).status < 300
    fill_everything(api)
    made = api.post("/customer/card", person)
    method = made["defaultPaymentMethod"]["paymentMethodId"]
    assert api.put("/__admin/assumptions", assumed).status < 300
    # What an assumption forbids is refused.
    paid = {"paymentMethodId": method, "amount": 10, "currency": "AUD"}
    charge = api.post("/charge/payment_method", paid).body
    api.delete(f"/refund/{charge.get('chargeId')}?amount=4")
    api.post("/charge/card", card_charge(capture=False))
    api.post("/token/card", {"providerId": DUMMY, "paymentInformation": CARD})
    api.post("/batch/transaction/payment_method", batch_of(f"{method},10,AUD,one"))
    plan = {**paid, "startDate": "2031-03-01", "interval": "Month", "frequency": 1}
    api.post("/subscription/payment_method", plan)
    api.put(f"/customer/{made['customerId']}", {"firstName": "Anne"})
    api.advance("70d")
    api.delete(f"/customer/{made['customerId']}")
    return [one["body"] for one in api.get("/__admin/webhooks?limit=200")["webhooks"]]


def described(api: Api) -> set[str]:
    """The types of events in both documents."""
    by_both = (
        api.get("/openapi.json")["webhooks"],
        api.get("/asyncapi.json")["components"]["messages"],
    )
    return set(by_both[0]) & set(by_both[1])


def test_every_type_of_webhooks_has_a_row_and_a_choice_on_the_page() -> None:
    words = [kind.value[:1].lower() + kind.value[1:] for kind in WebhookType]
    assert [kind.word for kind in WEBHOOKS] == words, "web/webhooks.csv and WebhookType differ"
    page = (ROOT / "mockserver" / "web" / "static" / "admin-webhooks.js").read_text("utf-8")
    choice = page.partition('"event-type"')[2].partition("]")[0]
    assert [word for word in words if f'"{word}"' not in choice] == [], "admin-webhooks.js"


def test_every_webhook_is_described_and_fits(api: Api) -> None:
    document = api.get("/openapi.json").body
    seen = set()
    for body in sent_by(api):
        name = body["meta"]["eventType"]
        seen.add(body["meta"]["type"])
        schema = document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"][
            "schema"
        ]
        assert faults_of(resolved(document, schema), body) == []
    assert seen == {kind.word for kind in WEBHOOKS}


@pytest.mark.slow
def test_what_is_sent_is_described_and_the_other_way_round_whatever_is_assumed() -> None:
    sent = {body["meta"]["eventType"]: "as it is" for body in sent_by(Api())}
    for key in ROWS:
        for value in other_values(key):
            for body in sent_by(Api(), **{key: value}):
                sent.setdefault(body["meta"]["eventType"], f"{key}: {value}")
    names = described(Api())
    undescribed = {name: when for name, when in sent.items() if name not in names}
    assert undescribed == {}, "each needs its row in mockserver/web/webhooks.csv"
    assert names - sent.keys() == set(), "mockserver/web/webhooks.csv: nothing sends these"


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
    operations = {
        one["operationId"]: one for path in document["paths"].values() for one in path.values()
    }
    links = document["paths"]["/charge/card"]["post"]["responses"]["201"]["links"]
    assert links["getChargeByChargeId"]["parameters"] == {"charge_id": "$response.body#/chargeId"}
    for operation in operations.values():
        for link in operation["responses"].get("201", {}).get("links", {}).values():
            taken = {
                one["name"]
                for one in operations[link["operationId"]]["parameters"]
                if one["in"] == "path"
            }
            assert set(link["parameters"]) == taken


@pytest.mark.slow
@needs.DEEP
@needs.program("npm")
def test_the_asyncapi_document_is_valid_by_the_official_schema(api: Api, tmp_path: Path) -> None:
    pack = ["npm", "pack", "--silent", SPECIFICATION]
    name = subprocess.run(
        pack, cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    with tarfile.open(tmp_path / name) as archive:
        found = archive.extractfile("package/schemas/3.0.0-without-$id.json")
        assert found is not None
        schema = json.load(found)
    document = api.get("/asyncapi.json").body
    assert faults_of(schema, document) == []
    assert faults_of(schema, {**document, "operations": {"a": {"action": "send"}}}) != []
