"""Runs with several faults, drawn by a seed."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml

from mockserver.explore.failures import InjectionPoint, fault
from mockserver.explore.fault_table import BEYOND, Trial, drawn, faults_of
from mockserver.explore.kept import Cell, ExplorationFolder
from mockserver.explore.verdicts import Verdict
from tests.explore.test_exploration import DOUBLE, PAY, READ, RETRY, explored, prepared

POINTS = [READ, PAY]
NAMED = ("declined_soft", "lost_answer")


def test_a_seed_draws_the_same_each_time_and_seeds_differ() -> None:
    faults = faults_of(None)
    found = [drawn(seed, POINTS, faults) for seed in range(300)]
    assert found == [drawn(seed, POINTS, faults) for seed in range(300)]
    assert len({str(one.rules) for one in found}) > 200
    known = [[pair for pair in one.injections if pair[0] in POINTS] for one in found]
    # There are two calls that are made for sure.
    assert {len(one) for one in known} == {1, 2}
    assert {point.nth for one in found for point, _ in one.injections} == set(range(1, 2 + BEYOND))
    # Each strikes at least one call that is made for sure, and no call twice.
    for one in found:
        points = [point for point, _ in one.injections]
        assert len(set(map(str, points))) == len(points)
        assert all(row.fits(point) for point, row in one.injections)


def struck(trial: Trial, op: str) -> dict[int, str]:
    return {point.nth: row.name for point, row in trial.injections if point.op == op}


def test_calls_that_only_a_recovery_makes_are_struck_each_by_its_own_draw() -> None:
    faults = faults_of(None)
    trials = [drawn(seed, POINTS, faults) for seed in range(300)]
    refunds = [struck(trial, "charge.refund") for trial in trials]
    assert {nth for one in refunds for nth in one} == {1, 2, 3}
    assert 60 < sum(1 in one for one in refunds) < 140
    # What else the command calls, and which other operations may fail, changes none of them.
    more = [*POINTS, InjectionPoint("charge.capture", 1), InjectionPoint("charge.create", 2)]
    assert [struck(drawn(seed, more, faults), "charge.refund") for seed in range(300)] == refunds
    only = [drawn(seed, POINTS, faults, {"charge.refund", PAY.op}) for seed in range(300)]
    assert [struck(trial, "charge.refund") for trial in only] == refunds
    assert not any(struck(trial, "charge.void") for trial in only)
    # Of other kinds of objects, nothing is known that could recover.
    assert not any(struck(trial, "customer.create") for trial in trials)


def test_what_takes_money_itself_strikes_no_call_that_may_not_come() -> None:
    for seed in range(100):
        trial = drawn(seed, POINTS, faults_of("all"))
        ours = [point for point, row in trial.injections if row.moves_money]
        assert all(point in POINTS for point in ours)


def test_slow_faults_are_drawn_where_the_client_does_not_wait_long() -> None:
    rows = [fault("too_slow"), fault("lost_request")]
    slow = {
        row.name
        for seed in range(50)
        for _, row in drawn(seed, POINTS, [one.timed() for one in rows]).injections
    }
    assert slow == {"lost_request"}
    quick = [one.timed(1_000_000) for one in rows]
    assert {row.name for seed in range(50) for _, row in drawn(seed, POINTS, quick).injections} == {
        "lost_request",
        "too_slow",
    }


def swarm(folder: Path, red: str, **asked: Any) -> tuple[list[Cell], int, str]:
    """A swarm on a shop that pays twice whenever a fault of a name strikes a payment."""
    lab = prepared(folder)

    def client(name: str) -> dict[str, object]:
        rules = [rule["id"] for rule in lab.tried[name][0]["rules"]]
        return {"findings": [DOUBLE] if any(rule.startswith(red) for rule in rules) else []}

    lab.client = client
    made = explored(lab, faults=[fault(name) for name in NAMED], seeds=60, **asked)
    return made.cells, len(made.left_out), made.why


def test_the_first_red_run_ends_it_with_as_few_faults_as_do(tmp_path: Path) -> None:
    cells, left, why = swarm(tmp_path, "lost_answer-charge.create-3")
    assert [cell.verdict for cell in cells] == [Verdict.SURVIVED] * (len(cells) - 1) + [
        Verdict.UNSAFE
    ]
    assert (len(cells) + left, why) == (60, "first red")
    red = cells[-1]
    assert (red.point, red.fault, red.name) == (
        "charge.create#3",
        "lost_answer",
        f"seed-{red.seed}",
    )
    assert [rule["id"] for rule in yaml.safe_load(red.scenario)["rules"]] == [
        "lost_answer-charge.create-3"
    ]
    assert yaml.safe_load(red.scenario)["seed"] == red.seed


def test_as_many_at_once_find_the_same(tmp_path_factory: object) -> None:
    made = [
        swarm(tmp_path_factory.mktemp("lab"), "lost_answer-charge.create-3", jobs=jobs)
        for jobs in (1, 4)
    ]  # type: ignore[attr-defined]
    alone, beside = (
        [(cell.name, cell.point, cell.fault, cell.verdict) for cell in cells]
        for cells, _, _ in made
    )
    assert alone == beside


@pytest.mark.parametrize("late", [(8, 9, 10), (11, 13)], ids=str)
def test_what_is_kept_does_not_depend_on_the_machine(
    tmp_path_factory: pytest.TempPathFactory, late: tuple[int, ...]
) -> None:
    """Runs of some seeds take longer where several run at once, and those beyond the first red have
    come before it."""
    kept = []
    for jobs in (1, 4):
        folder, others = tmp_path_factory.mktemp("lab"), Event()
        lab = prepared(folder)

        def client(
            name: str, lab: Any = lab, jobs: int = jobs, others: Event = others
        ) -> dict[str, object]:
            if jobs > 1 and int(name.removeprefix("seed-")) in late:
                others.wait(0.2)
            rules = [rule["id"] for rule in lab.tried[name][0]["rules"]]
            return {
                "findings": [DOUBLE]
                if any("charge.create-3" in rule for rule in rules)
                else [RETRY],
                "exit": 1,
            }

        lab.client = client
        there = ExplorationFolder(folder / "explored", lab.argv, lab.seed, "30s")
        there.begin()
        made = explored(
            lab, faults=[fault(name) for name in NAMED], seeds=60, jobs=jobs, keep=there.keep
        )
        assert (made.why, made.cells[-1].verdict) == ("first red", Verdict.UNSAFE)
        there.settle(made.dropped)
        kept.append({file.name: file.read_text() for file in sorted(there.folder.iterdir())})
        assert [cell.name for cell in there.resume()] == [cell.name for cell in made.cells]
    assert kept[0] == kept[1]


def test_a_swarm_goes_on_where_it_was_ended(tmp_path: Path) -> None:
    cells, _, _ = swarm(tmp_path, "lost_answer-charge.create-3")
    again = swarm(tmp_path, "lost_answer-charge.create-3", known=cells)
    assert again[0] == cells
    assert again[2] == "first red"


def test_all_are_tried_where_that_is_asked_for(tmp_path: Path) -> None:
    cells, left, _ = swarm(tmp_path, "lost_answer-charge.create-3", has_all=True)
    assert (len(cells), left) == (60, 0)
    assert [cell.seed for cell in cells] == list(range(7, 67))
    assert sum(cell.verdict is Verdict.UNSAFE for cell in cells) > 1


def test_nothing_is_run_where_no_fault_fits(tmp_path: Path) -> None:
    lab = prepared(tmp_path)
    made = explored(lab, faults=[fault("row_failed")], seeds=5)
    assert (made.cells, made.left_out, lab.tried) == ([], [], {})
