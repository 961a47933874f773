"""The table of faults: each row is a rule of the language that strikes at its call and nowhere else."""

from __future__ import annotations

import re

import pytest
import yaml

from mockserver.adapters.scenario_files import read_text
from mockserver.domain.clock import SECOND
from mockserver.explore.fault_table import FAULTS, Fault, Trial, fault, faults_of, followed, named, trials
from mockserver.explore.trial import InjectionPoint, differences, points_of

CHARGE, SEARCH, BATCH = (
    InjectionPoint("charge.create", 1, notifies=True),
    InjectionPoint("charge.search", 1),
    InjectionPoint("batch.create", 2, True),
)


def fitting(point: InjectionPoint) -> list[str]:
    return [name for name, row in FAULTS.items() if row.fits(point)]


@pytest.mark.parametrize("row", FAULTS.values(), ids=FAULTS)
def test_each_fault_is_a_rule_that_a_scenario_file_may_hold_wherever_it_fits(row: Fault) -> None:
    points = [point for point in (CHARGE, SEARCH, BATCH) if row.fits(point)]
    assert points
    for point in points:
        text = yaml.safe_dump({"version": 1, "name": "story", "rules": [row.timed().rule(point)]})
        [rule] = read_text(text, "story.yaml").rules
        assert rule.operations == {point.op}


def test_a_charge_can_fail_in_every_way_but_that_of_a_batch() -> None:
    assert fitting(CHARGE) == [name for name in FAULTS if FAULTS[name].at != "batch"]


def test_a_read_meets_the_faults_of_the_network_only() -> None:
    assert {FAULTS[name].at for name in fitting(SEARCH)} == {"receive", "answer"}


def test_a_batch_has_rows_that_fail_and_a_webhook_but_no_provider_of_its_own() -> None:
    assert "row_failed" in fitting(BATCH)
    assert "declined_hard" not in fitting(BATCH)


def test_a_webhook_that_was_not_sent_cannot_be_spoilt() -> None:
    assert "webhook_lost" in fitting(CHARGE)
    assert "webhook_lost" not in fitting(InjectionPoint("charge.create", 1))


def test_what_comes_too_late_comes_a_second_after_the_patience_of_the_client() -> None:
    rule = fault("too_slow").timed(2 * SECOND).rule(CHARGE)
    assert rule["then"] == {"transport": {"at": "answer", "delay": "3s"}}


def test_an_unknown_fault_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="got 'lost_anser', which is not a fault - did you mean 'lost_answer'"):
        fault("lost_anser")


def test_the_weightiest_comes_first() -> None:
    names = [one.file for one in trials([SEARCH, CHARGE], faults_of(None))]
    assert names[:2] == ["charge.create-1-lost_answer", "charge.create-1-error_after"]
    assert names.index("charge.create-1-lost_answer") < names.index("charge.create-1-too_slow")
    assert names[-1] == "charge.search-1-too_slow"
    assert len(names) == len(set(names))


def test_a_second_fault_strikes_what_is_called_after_the_first_also_what_recovers() -> None:
    first = Trial(((CHARGE, fault("lost_answer")),))
    retry = InjectionPoint("charge.create", 2)
    found = followed(first, [SEARCH, CHARGE, retry], [fault("lost_answer"), fault("row_failed"), fault("pending")])
    assert [one.file for one in found] == [
        "charge.create-1-lost_answer--charge.create-2-lost_answer",
        "charge.create-1-lost_answer--charge.create-2-pending",
    ]
    assert (found[0].point, found[0].fault) == ("charge.create#1+charge.create#2", "lost_answer+lost_answer")
    assert followed(first, [SEARCH], FAULTS.values()) == []


@pytest.mark.parametrize(
    "name", ["charge.create#1/lost_answer", "charge.create#1/lost_request+charge.create#2/declined_hard"]
)
def test_a_trial_is_known_by_its_name(name: str) -> None:
    assert named(name, [CHARGE, SEARCH], FAULTS.values()).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("charge.create#2/lost_answer", "no call of the command - did you mean 'charge.create#1'?; it makes"),
        ("charge.create#1/lost_anser", "is not a fault - did you mean 'lost_answer'"),
        ("charge.search#1/declined_hard", "declined_hard makes no sense at charge.search#1"),
        ("charge.create#1/lost_answer+charge.crate#2/lost_answer", "got 'charge.crate#2', which is no call"),
    ],
)
def test_a_name_that_says_nothing_to_try_is_refused(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        named(name, [CHARGE, SEARCH], FAULTS.values())


def entry(op: str, call: int | None, status: int = 200, webhooks: tuple[str, ...] = ()) -> dict[str, object]:
    return {"op": op, "call": call, "status": status, "webhooks": list(webhooks)}


def test_points_are_the_calls_of_a_journal_and_nothing_else() -> None:
    journal = [
        entry("charge.create", 1, webhooks=("w",)),
        entry("clock.advance", None),
        entry("charge.search", None, 429),
        entry("charge.create", 2),
    ]
    assert points_of(journal) == [InjectionPoint("charge.create", 1, True), InjectionPoint("charge.create", 2)]
    assert [str(point) for point in points_of(journal)] == ["charge.create#1", "charge.create#2"]


def test_runs_are_the_same_when_the_same_calls_were_answered_alike_in_any_order() -> None:
    first = [entry("charge.create", 1, 201), entry("charge.get", 1)]
    assert differences(first, first[::-1]) == []
    assert differences(first, [*first, entry("none", None, 404)]) == []
    assert differences(first, [entry("charge.create", 1, 400), entry("charge.get", 1), entry("charge.get", 2)]) == [
        "charge.create answered 201: once in the first run, never in the second",
        "charge.get answered 200: once in the first run, twice in the second",
        "charge.create answered 400: never in the first run, once in the second",
    ]
