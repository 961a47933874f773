"""``edit`` and ``omit`` of members that are not there: told when the file is checked, and in the
journal when it happens."""

from typing import Any

import pytest

from mockserver.adapters.scenario_files import load, read_text, shipped
from mockserver.scenario.transport import edited, unfound
from mockserver.web.absent_members import scenario_warnings
from tests.driving import Api, card_charge

HOOK = {"webhook": {"url": "http://127.0.0.1:4111/__inbox/shop"}}


def scenario(op: str, then: str) -> str:
    return f"version: 1\nname: s\nrules:\n  - {{id: r, when: {{op: {op}}}, then: {{{then}}}}}\n"


def told(op: str, then: str) -> list[str]:
    return [one.words for one in scenario_warnings(read_text(scenario(op, then), "s.yaml"))]


@pytest.mark.parametrize(
    ("op", "then", "words"),
    [
        (
            "charge.create",
            "omit: [ammount]",
            "omits 'ammount', and no answer has 'ammount' there - did you mean 'amount'?",
        ),
        ("charge.get", "omit: [zzz]", "omits 'zzz', and no answer has 'zzz' there"),
        (
            "charge.get",
            "edit: {staus: X}",
            "edits 'staus', and no answer has 'staus' there - did you mean 'status'?",
        ),
        ("charge.get", "edit: {no.such: X}", "edits 'no.such', and no answer has 'no' there"),
        ("charge.search", "omit: [charges.0.staus]", "'staus' there - did you mean 'status'?"),
        ("charge.search", "omit: [charges.*.staus]", "'staus' there - did you mean 'status'?"),
        ("charge.get", "omit: ['4111111111111111']", "no answer has '4111********1111' there"),
    ],
)
def test_a_member_that_no_answer_has_is_reported_with_the_nearest(
    op: str, then: str, words: str
) -> None:
    (found,) = told(op, f"transport: {{at: answer, {then}}}")
    assert found.endswith(words)


def test_a_member_that_no_webhook_has_is_reported() -> None:
    (found,) = told("charge.create", "webhook: {omit: [data.ammount]}")
    assert (
        found == "omits 'data.ammount', and no webhook has 'ammount' there - did you mean 'amount'?"
    )


@pytest.mark.parametrize(
    ("op", "then"),
    [
        (
            "charge.create",
            "transport: {at: answer, omit: [amount, paymentInformation.card, code, "
            "details.Amount]}",
        ),
        (
            "charge.create",
            "transport: {at: answer, edit: {riskScore: 1, paymentInformation.card.wallet: {}}}",
        ),
        (
            "charge.search",
            "transport: {at: answer, edit: {charges.0.status: X, charges.*.amount: 1}}",
        ),
        ("charge.*", "transport: {at: answer, omit: [chargeId]}"),
        (
            "charge.create",
            "webhook: {edit: {data.status: X, meta.eventType: y}, omit: [data.amount]}",
        ),
        ("charge.create", "transport: {at: answer, headers: {x-a: b}}"),
    ],
)
def test_members_that_there_are_or_that_are_added_are_not_told(op: str, then: str) -> None:
    assert told(op, then) == []


def test_no_shipped_scenario_is_reported_of() -> None:
    for name, _, _ in shipped():
        for one in load([name], test_values=False):
            assert scenario_warnings(one) == [], name


def test_the_editor_and_the_command_are_reported(api: Api) -> None:
    text = scenario("charge.get", "transport: {at: answer, omit: [ammount]}")
    answer = api.call(
        "POST",
        "/__admin/scenarios/check",
        raw=text.encode(),
        headers={"content-type": "application/yaml"},
    )
    assert [one["message"] for one in answer["warnings"]] == [
        "rule 'r' omits 'ammount', and no answer has 'ammount' there - did you mean 'amount'?"
    ]


def warnings(api: Api) -> list[str]:
    """Those of the last entry of the journal."""
    (entry,) = api.get("/__admin/journal", limit=1)["entries"]
    return entry["warnings"]


def test_the_journal_tells_what_an_answer_had_nothing_for() -> None:
    api = Api(
        scenario=scenario("charge.get", "transport: {at: answer, omit: [refunds.0.amount, amount]}")
    )
    charge = api.charge()["chargeId"]
    assert "amount" not in api.get(f"/charge/{charge}").body
    assert warnings(api) == ["the answer has nothing for omit 'refunds.0.amount'"]


def test_the_journal_tells_what_a_webhook_had_nothing_for_once() -> None:
    then = "webhook: {signature: stale, omit: [data.refunds.0.amount], edit: {data.new: 1}}"
    api = Api(scenario=scenario("charge.create", then))
    api.post("/charge/card", {**card_charge(), **HOOK})
    assert warnings(api) == ["the webhook has nothing for omit 'data.refunds.0.amount'"]


@pytest.mark.parametrize(
    ("edit", "omit", "lost"),
    [
        ({"a": 1, "new": 2, "b.0": 3, "c.x": 4}, ["a"], []),
        ({"no.x": 1}, ["no"], ["edit 'no.x'", "omit 'no'"]),
        ({"b.7": 1, "a.x": 2}, ["b.*.x"], ["edit 'b.7'", "edit 'a.x'", "omit 'b.*.x'"]),
        ({"new": {}, "new.x": 1}, ["new.x"], []),
        ({}, ["a", "a"], ["omit 'a'"]),
    ],
)
def test_what_is_not_found_changes_nothing(
    edit: dict[str, Any], omit: list[str], lost: list[str]
) -> None:
    value = {"a": 1, "b": [1, 2], "c": {}}
    assert unfound(value, edit, omit) == lost
    idle = {path: new for path, new in edit.items() if f"edit '{path}'" in lost}
    assert edited(value, idle, []) == value
