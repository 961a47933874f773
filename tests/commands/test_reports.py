"""The SARIF report is valid by the schema that OASIS publishes."""

import json

from sarif_kit import validate

from mockserver.commands.reports import sarif
from mockserver.web.transport_faults import Cut
from tests.driving import Api, card_charge


def test_an_empty_report_is_valid() -> None:
    assert validate.validation_errors(json.loads(sarif([]))) == []


def test_a_report_of_many_findings_is_valid() -> None:
    api = Api(
        scenario="version: 1\nname: s\nrules: [{id: lost, when: {op: charge.create}, limit: 1, "
        "then: {transport: {at: answer, reset: true}}}]"
    )
    for fields in (
        {},
        {},
        {"refrence": "<&>"},
        {"metadata": {"note": "4111111111111111"}},
        {"amount": "10.005"},
    ):
        try:
            api.post("/charge/card", card_charge(**fields))
        except Cut:
            continue
    api.get("/chrge")
    api.post("/charge/card", card_charge(capture=False))
    rows = api.post("/__admin/findings/finish")["findings"]
    assert {row["severity"] for row in rows} == {"error", "warning", "note"}
    report = json.loads(sarif(rows))
    assert validate.validation_errors(report) == []
    assert [result["ruleId"] for result in report["runs"][0]["results"]] == [
        row["finding"] for row in rows
    ]
