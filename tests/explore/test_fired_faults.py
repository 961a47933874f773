"""What struck in a run becomes rules that strike at the same calls, and at no others."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mockserver.adapters.scenario_files import read_file, read_text
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.explore.fired_faults import (
    FaultPlace,
    FiredFault,
    fired_faults,
    rules_of,
    scenario_of,
)
from mockserver.scenario.operations import CONNECTION
from mockserver.scenario.rule import Named
from tests.driving import SHIPPED

CHAOS: dict[str, Any] = {
    "version": 1,
    "name": "storm",
    "description": "Weather",
    "seed": 7,
    "draws": "seed",
    "providers": [{"id": "p", "cost": {"percent": Decimal("1.50")}}],
    "rules": [
        {
            "id": "always",
            "when": {"op": "charge.search"},
            "then": {"transport": {"at": "answer", "reset": True}},
        },
        {
            "id": "turns",
            "when": {"op": "charge.refund"},
            "sequence": [{"approve": {}}, {"decline": "lost_card", "times": 2}],
            "at_end": "fail",
        },
        {
            "id": "odd",
            "when": {"op": ["charge.create", "batch.row", "subscription.renew"]},
            "chance": [
                {"weight": 1, "then": {"approve": {}}},
                {
                    "weight": 1,
                    "then": {
                        "provider_down": {},
                        "latency": {"min": "1s", "max": "9s"},
                        "webhook": None,
                    },
                },
            ],
        },
        {
            "id": "now and then",
            "when": {"op": "charge.get"},
            "chance": {"p": 1, "then": {"transport": {"at": "answer"}}},
        },
    ],
    "examples": [{"name": "none", "calls": []}],
}


def decided(
    rule: str | None, choice: int | None = 1, stage: str = "provider", delay: str = "0s"
) -> dict[str, Any]:
    return {"stage": stage, "rule": rule, "choice": choice, "delay": delay, "lost": []}


def entry(op: str, call: int | None, *decisions: dict[str, Any]) -> dict[str, Any]:
    return {"op": op, "call": call, "decisions": [decided(None, None, "arrival"), *decisions]}


def strikes(*entries: dict[str, Any]) -> list[tuple[str, FaultPlace, str, object]]:
    return [(one.rule, one.place, one.level, one.what) for one in fired_faults(entries, CHAOS)[0]]


def test_each_part_of_an_outcome_is_found_at_its_call_with_what_was_drawn() -> None:
    found = strikes(
        entry("charge.create", 3, decided("odd", 2, delay="2s"), decided("odd")),
        entry("charge.search", 1, decided("always", 1, "arrival")),
        entry("charge.refund", 2, decided("turns", 2)),
        entry("charge.get", 4, decided("now and then", 1, "arrival")),
    )
    assert found == [
        ("odd", FaultPlace("charge.create", 3, 1), "provider_down", {}),
        ("odd", FaultPlace("charge.create", 3, 1), "latency", "2s"),
        ("odd", FaultPlace("charge.create", 3, 2), "approve", {}),
        ("always", FaultPlace("charge.search", 1), "transport", {"at": "answer", "reset": True}),
        ("turns", FaultPlace("charge.refund", 2, 1), "decline", "lost_card"),
        ("now and then", FaultPlace("charge.get", 4), "transport", {"at": "answer"}),
    ]


def test_rules_of_other_scenarios_struck_too_and_stay() -> None:
    assert strikes(entry("charge.create", 1, decided("test-values-declines"))) == []


def test_renewals_are_counted_by_themselves() -> None:
    found, _ = fired_faults(
        [
            entry("clock.subscription_renewal", None, decided(None, None)),
            entry("clock.subscription_renewal", None, decided("odd", 2)),
            entry("subscription.create", 1, decided("odd", 2)),
        ],
        CHAOS,
    )
    assert {one.place for one in found} == {
        FaultPlace("subscription.renew", 2, 1),
        FaultPlace("subscription.renew", 3, 1),
    }
    # The later one is asked first: a rule does not count what a rule before it decides.
    assert [rule["when"] for rule in rules_of(found)] == [
        {"op": "subscription.renew", "nth": 3, "attempt": 1},
        {"op": "subscription.renew", "nth": 2, "attempt": 1},
    ]


def test_faults_where_no_rule_can_be_aimed_are_named_and_no_others() -> None:
    rows = [entry("batch.row", None, decided("odd", choice)) for choice in (1, 2)]
    assert fired_faults(rows[:1], CHAOS)[1] == ()
    search = entry("charge.search", None, decided("always", 1, "arrival"))
    turns = entry("charge.refund", 3, decided("turns", None))
    assert fired_faults([*rows, search, turns], CHAOS)[1] == ("odd", "always", "turns")
    assert strikes(*rows, search, turns) == []


def test_a_row_of_a_batch_is_aimed_at_by_its_number() -> None:
    found, beyond = fired_faults([{**entry("batch.row", None, decided("odd", 2)), "row": 3}], CHAOS)
    assert beyond == ()
    assert {one.place for one in found} == {FaultPlace("batch.row", 3, 1)}
    [rule] = rules_of(found)
    assert rule["when"] == {"op": "batch.row", "batch.row": 3, "attempt": 1}
    assert read_text(
        scenario_text({"version": 1, "name": "small", "rules": [rule]}), "small.yaml"
    ).rules


def test_a_webhook_that_came_due_is_aimed_at_by_what_it_is_about() -> None:
    chaos = {
        "name": "c",
        "rules": [
            {"id": "lost", "when": {"op": "webhook.deliver"}, "then": {"webhook": {"drop": True}}}
        ],
    }
    settled = {
        **entry("clock.settlement", None, decided("lost", 1, "arrival")),
        "events": [{"id": "c1", "after": "SUCCESS"}],
    }
    found, beyond = fired_faults([settled], chaos)
    assert beyond == ()
    [rule] = rules_of(found)
    assert rule["when"] == {
        "op": "webhook.deliver",
        "request.id": "c1",
        "request.data.status": "SUCCESS",
    }
    assert "key" not in rule
    assert read_text(
        scenario_text({"version": 1, "name": "small", "rules": [rule]}), "small.yaml"
    ).rules


def test_an_answer_that_is_given_again_is_aimed_at_together_with_the_first() -> None:
    transport = {"at": "answer", "reset": True}
    turns = [{"replay": True}, {"replay": True, "transport": transport}]
    known = {
        "id": "known",
        "when": {"op": "charge.create"},
        "key": ["request.reference"],
        "sequence": turns,
    }
    asked = [
        {
            **entry("charge.create", nth, decided("known", choice, "arrival")),
            "answer": {"chargeId": charge},
        }
        for nth, charge, choice in ((1, "a", 1), (2, "b", 1), (4, "a", 2), (5, "b", 2))
    ]
    found, beyond = fired_faults(asked, {"rules": [known]})
    assert beyond == ()
    assert {(one.place.nth, one.level, one.first) for one in found} == {
        *((4, "replay", 1), (4, "transport", 0), (5, "replay", 2), (5, "transport", 0))
    }
    assert all(one.is_fault for one in found)
    again, alone = rules_of(
        [one for one in found if one.place.nth == 4 or one.level == "transport"]
    )
    assert again == {
        "id": "charge.create-1-replay",
        "description": "from known",
        "when": {"op": "charge.create", "call": {"in": [1, 4]}},
        "key": ["op"],
        "sequence": turns,
    }
    assert alone["when"] == {"op": "charge.create", "call": 5}
    assert read_text(
        scenario_text({"version": 1, "name": "small", "rules": [again, alone]}), "small.yaml"
    ).rules


AT = FaultPlace("charge.create", 1)


def test_what_goes_its_ordinary_way_is_no_fault() -> None:
    assert not FiredFault("r", AT, "approve", {}).is_fault
    assert not FiredFault("r", AT, "webhook", {"copies": 1}).is_fault
    assert FiredFault("r", AT, "webhook", {"copies": 2}).is_fault
    assert FiredFault("r", AT, "decline", "lost_card").is_fault
    assert FiredFault("r", AT, "later", [{"after": "1h", "void": {}}]).is_fault


@pytest.fixture
def scenario() -> dict[str, Any]:
    found = (
        FiredFault("odd", FaultPlace("charge.create", 3, 1), "provider_down", {}),
        FiredFault("odd", FaultPlace("charge.create", 3, 1), "latency", "2s"),
        FiredFault(
            "always", FaultPlace("charge.create", 3), "transport", {"at": "answer", "reset": True}
        ),
        FiredFault("odd", FaultPlace("subscription.renew", 2, 2), "decline", "lost_card"),
    )
    return scenario_of(found, CHAOS, name="storm-small", story="Two faults.")


def test_the_file_keeps_all_but_the_rules(scenario: dict[str, Any]) -> None:
    assert list(scenario) == ["version", "name", "description", "seed", "providers", "rules"]
    assert scenario["providers"] == CHAOS["providers"]
    assert scenario["rules"][0] == {
        "id": "charge.create-3-provider-1",
        "description": "from odd",
        "when": {"op": "charge.create", "call": 3, "attempt": 1},
        "then": {"provider_down": {}, "latency": "2s"},
    }


def test_the_file_is_a_scenario_file(scenario: dict[str, Any]) -> None:
    read = read_text(scenario_text(scenario), "small.yaml")
    assert [rule.id for rule in read.rules] == [
        "charge.create-3-provider-1",
        "charge.create-3",
        "subscription.renew-2-provider-2",
    ]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_whatever_strikes_can_be_aimed(file: Path) -> None:
    """Each outcome of each rule that is shipped, at two of the operations where it can strike."""
    scenario = read_file(file)
    for rule in scenario.rules:
        for op in sorted(rule.operations - {"batch.row", "webhook.deliver", CONNECTION})[:2]:
            number = None if op == "subscription.renew" else 2
            for choice, _ in enumerate(rule.plan.outcomes, 1):
                made = decided(rule.id, choice, rule.stage.value, "5ms")
                noted = "clock.subscription_renewal" if number is None else op
                found, beyond = fired_faults(
                    [entry(noted, number, made)], {**scenario.source, "name": scenario.name}
                )
                assert beyond == ()
                if not found:
                    assert {"as_usual", "replay"} & set(re.findall(r"\w+", str(scenario.source)))
                    continue
                small = scenario_of(found, scenario.source, name="small", story="")
                [aimed] = read_text(scenario_text(small), "small.yaml").rules
                assert aimed.stage is rule.stage
                assert aimed.operations == {op}
                if isinstance(rule.plan, Named):
                    break
