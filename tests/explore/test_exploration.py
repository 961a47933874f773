"""What is tried, how long it may take, and what is said of it, with a runner whose command does as
it is told."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pytest
import yaml

from mockserver.adapters.scenario_files import read_text
from mockserver.domain.clock import SECOND
from mockserver.domain.record import replace
from mockserver.explore.aftermath import Aftermath
from mockserver.explore.baseline import Baseline, NoBaseline, plain_baseline
from mockserver.explore.command import Ended
from mockserver.explore.exploration import MOST_MAKING_GOOD, Exploration, explore
from mockserver.explore.failures import InjectionPoint, fault
from mockserver.explore.kept import Cell
from mockserver.explore.lab import Lab, Plan
from mockserver.explore.report import summary
from mockserver.explore.trial import Observed, no_call
from mockserver.explore.verdicts import Verdict
from tests.explore.after import after

PAY, READ = InjectionPoint("charge.create", 1, notifies=True), InjectionPoint("charge.get", 1)
DOUBLE = {
    "finding": "double-charge",
    "severity": "error",
    "title": "The customer was charged twice",
}
RETRY = {"finding": "blind-retry", "severity": "warning", "title": "Repeated"}
NAMES = ("declined_soft", "lost_answer", "too_slow")
CELLS = [
    "charge.create-1-declined_soft",
    *(f"charge.{op}-1-{by}" for op in ("create", "get") for by in NAMES[1:]),
]
Client = Callable[[str], Mapping[str, Any]]


def short(number: int, point: InjectionPoint, status: int) -> dict[str, Any]:
    """A call as a look at a sandbox shows it."""
    return {
        "id": number,
        "op": point.op,
        "call": point.nth,
        "status": status,
        "path": "/",
        "webhooks": int(point.notifies),
        "token": False,
        "card": point.card,
        "rows": point.rows,
        "charges": [],
    }


@dataclass
class Shop:
    """``client`` says what is seen of each run, by its name, where it differs from a run that goes
    well."""

    folder: Path
    client: Client = lambda name: {}
    argv: Sequence[str] = ("python", "shop.py")
    seed: int = 7
    tried: dict[str, tuple[Mapping[str, Any], float]] = field(default_factory=dict)
    is_ended: bool = False
    aftermath: Aftermath = field(default_factory=Aftermath)

    @property
    def commands(self) -> Any:
        return self

    def end_all(self) -> None:
        self.is_ended = True

    def try_out(
        self,
        name: str,
        scenario: Mapping[str, Any],
        timeout: float,
        *,
        ignored: object = (),
        restarts: bool = False,
    ) -> Observed:
        self.tried[name] = dict(scenario), timeout
        seen = {
            "exit": 0,
            "seconds": 0.5,
            "findings": (),
            "calls": ((PAY, 201), (READ, 200)),
            **self.client(name),
        }
        calls = [
            short(number, point, status) for number, (point, status) in enumerate(seen["calls"], 1)
        ]
        # Some request that is no operation, as another tool may send it.
        calls.append(short(0, replace(READ, op="none"), 404) | {"call": None})
        output = self.folder / f"{name}.log"
        output.write_text(f"the words of {name}")
        struck = seen.get("struck", frozenset(rule["id"] for rule in scenario["rules"]))
        ended = Ended(seen["exit"], seen["seconds"])
        return Observed(
            ended,
            calls,
            replace(after(seen["findings"]), broken=seen.get("broken", ()), fired=struck),
            seen.get("story", "its timeline"),
            output,
            seen.get("is_manual", False),
        )


def prepared(folder: Path, client: Client = lambda name: {}) -> Any:
    return Shop(folder, client)


def explored(
    lab: Any,
    *,
    is_manual: bool = False,
    known: Sequence[Cell] = (),
    keep: Callable[[Cell], None] = lambda cell: None,
    **asked: Any,
) -> Exploration:
    faults = tuple(map(fault, NAMES))
    plan = {
        "operations": frozenset({PAY.op, READ.op}),
        "faults": faults,
        "client_timeout": 30 * SECOND,
        "jobs": 1,
    }
    base = Baseline(((PAY, 201), (READ, 200)), 0.5, is_manual)
    lab = Lab(lab, Plan(**{**plan, **asked}), base)
    return explore(lab, known=known, keep=keep, progress=lambda done, total: None)


def verdicts(made: Exploration) -> dict[str, Verdict]:
    return {cell.file: cell.verdict for cell in made.cells}


@pytest.mark.parametrize(("timeout", "limit"), [(None, 600.0), (20.0, 20.0)])
def test_the_command_is_run_twice_without_any_fault(
    tmp_path: Path, timeout: float | None, limit: float
) -> None:
    lab = prepared(
        tmp_path, lambda name: {"seconds": 2 if name == "baseline-1" else 1, "findings": [RETRY]}
    )
    base = plain_baseline(lab, timeout)
    assert (base.calls, base.seconds, base.is_manual) == (((PAY, 201), (READ, 200)), 2, False)
    assert base.points == [PAY, READ]
    assert {name: limit for name, (_, limit) in lab.tried.items()} == {
        "baseline-1": limit,
        "baseline-2": limit,
    }
    assert [scenario["rules"] for scenario, _ in lab.tried.values()] == [[], []]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"exit": None}, "was not done in 0 s (--timeout); it printed:\nthe words of baseline-2"),
        ({"exit": 3}, "ended with exit code 3; it printed:\nthe words of baseline-2"),
        ({"calls": ()}, "no call arrived in the sandbox"),
        (
            {"findings": [RETRY, DOUBLE]},
            "error:\ndouble-charge: The customer was charged twice\nits timeline",
        ),
        (
            {"calls": ((PAY, 201),)},
            "two runs without any fault made different calls:\ncharge.get answered 200: once",
        ),
    ],
)
def test_a_command_that_fails_without_any_fault(
    tmp_path_factory: Any, seen: Any, words: str
) -> None:
    lab = prepared(
        tmp_path_factory.mktemp("lab"), lambda name: seen if name == "baseline-2" else {}
    )
    with pytest.raises(NoBaseline) as refused:
        plain_baseline(lab, None)
    assert words in str(refused.value)
    assert "blind-retry" not in str(refused.value)
    # The first run was right: what comes and goes needs another advice.
    assert "instead of for a time" in str(refused.value)


def test_a_command_that_always_fails_needs_no_advice_against_chance(tmp_path: Path) -> None:
    lab = prepared(tmp_path, lambda name: {"exit": 3})
    with pytest.raises(NoBaseline) as refused:
        plain_baseline(lab, None)
    assert "ended with exit code 3" in str(refused.value)
    assert "instead of for a time" not in str(refused.value)


@pytest.mark.parametrize(("calls", "is_chance"), [(((PAY, 201),), False), (((READ, 200),), True)])
def test_runs_that_differ_in_reads_alone_wait_for_a_time(
    tmp_path: Path, calls: Any, is_chance: bool
) -> None:
    lab = prepared(tmp_path, lambda name: {"calls": calls} if name == "baseline-2" else {})
    with pytest.raises(NoBaseline) as refused:
        plain_baseline(lab, None)
    assert ("fixed seed" in str(refused.value)) is is_chance


@pytest.mark.parametrize(
    ("command", "is_named"), [("pytest -q", True), ("python -m pytest", True), ("sh pay.sh", False)]
)
def test_tests_that_call_nothing_are_told_of_the_option_of_pytest(
    command: str, is_named: bool
) -> None:
    assert no_call(command.split()).endswith("explored by: pytest --mockserver-explore") is is_named


TAKEN = {"finding": "forged-webhook-accepted", "severity": "error", "title": "It was accepted"}


@pytest.mark.parametrize(
    ("name", "findings", "is_said"),
    [
        ("webhook_forged", [DOUBLE], True),
        ("webhook_forged", [], False),
        ("webhook_forged", [DOUBLE, TAKEN], False),
        ("lost_answer", [DOUBLE], False),
    ],
    ids=["refused", "all is well", "taken", "no forgery"],
)
def test_what_is_wrong_beside_a_forgery_that_was_refused_is_not_laid_to_it(
    tmp_path: Path, name: str, findings: Any, is_said: bool
) -> None:
    evidence = {"evidence": [{"line": "charge.create", "entry": 1}], "about": {}}
    rows = [{**row, **evidence} for row in findings]
    lab = prepared(tmp_path, lambda run: {} if "baseline" in run else {"findings": rows})
    made = explored(lab, operations=frozenset({PAY.op}), faults=[fault(name)])
    assert any("was refused, as it should be" in line for line in made.cells[0].money) is is_said


@pytest.mark.parametrize(
    ("seen", "verdict", "story"),
    [
        ({}, Verdict.SURVIVED, None),
        ({"findings": [RETRY]}, Verdict.SURVIVED, None),
        ({"exit": 4, "findings": [RETRY]}, Verdict.FAILED, "Failed, exit code 4"),
        ({"exit": None}, Verdict.HUNG, "Hung, not done in time"),
        ({"findings": [RETRY, DOUBLE]}, Verdict.UNSAFE, "Unsafe, exit code 0: double-charge"),
        ({"struck": frozenset()}, Verdict.NOT_REACHED, "Not reached, exit code 0"),
    ],
)
def test_a_run_under_a_fault(
    tmp_path_factory: Any, seen: Any, verdict: Verdict, story: str | None
) -> None:
    folder = tmp_path_factory.mktemp("lab")
    lab, name = prepared(folder, lambda name: seen), "charge.create-1-lost_answer"
    made = explored(lab, operations=frozenset({PAY.op}), faults=[fault("lost_answer")])
    (cell,) = made.cells
    assert (cell.file, cell.point, cell.fault) == (name, "charge.create#1", "lost_answer")
    assert (cell.verdict, cell.exit, cell.seconds) == (verdict, seen.get("exit", 0), 0.5)
    assert (list(cell.findings), cell.timeline) == (seen.get("findings", []), "its timeline")
    assert [call[:3] for call in cell.calls] == [
        ("charge.create", 1, True),
        ("charge.get", 1, False),
    ]
    assert cell.output == (f"the words of {name}" if story else "")
    assert bool(cell.scenario) is (story is not None)
    if story:
        assert [rule.id for rule in read_text(cell.scenario, "kept.yaml").rules] == [
            "lost_answer-charge.create-1"
        ]
        assert yaml.safe_load(cell.scenario)["description"].endswith(f". {story}")
    # What is kept of its output is kept elsewhere.
    assert list(folder.iterdir()) == []
    assert made.reaches(verdict)
    assert not made.reaches(Verdict.UNSAFE) or verdict is Verdict.UNSAFE


@pytest.mark.parametrize(
    ("name", "asked", "verdict"),
    [
        ("sent_twice", Aftermath(), Verdict.DOUBTFUL),
        ("sent_twice", Aftermath(books=["books"]), Verdict.UNSAFE),
        ("lost_answer", Aftermath(), Verdict.UNSAFE),
    ],
)
def test_what_the_fault_itself_takes_is_not_the_guilt_of_a_client_whose_books_are_not_known(
    tmp_path: Path, name: str, asked: Aftermath, verdict: Verdict
) -> None:
    lab = prepared(tmp_path, lambda name: {"findings": [DOUBLE]})
    lab.aftermath = asked
    (cell,) = explored(lab, operations=frozenset({PAY.op}), faults=[fault(name)]).cells
    assert cell.verdict is verdict


@pytest.mark.parametrize(
    ("story", "verdict"), [("came due: clock.later", "survived"), ("GET /charge", "not reached")]
)
def test_a_fault_has_struck_when_what_it_plans_has_come_due(
    tmp_path: Path, story: str, verdict: str
) -> None:
    lab = prepared(tmp_path, lambda name: {"story": story})
    (cell,) = explored(lab, operations=frozenset({PAY.op}), faults=[fault("bounced")]).cells
    assert cell.verdict == verdict


def test_each_fault_is_tried_where_it_fits_and_shown_in_the_order_of_calls_and_table(
    tmp_path: Path,
) -> None:
    lab = prepared(tmp_path)
    told: list[tuple[int, int]] = []
    kept: list[Cell] = []
    plan = Plan(frozenset({PAY.op, READ.op}), tuple(map(fault, NAMES)), 30 * SECOND, 1)
    # No client waits then, and one job takes all in turn.
    base = Baseline(((PAY, 201), (READ, 200)), 0.5, is_manual=True)
    made = explore(
        Lab(lab, plan, base),
        known=(),
        keep=kept.append,
        progress=lambda done, total: told.append((done, total)),
    )
    assert [cell.file for cell in made.cells] == CELLS
    assert next(iter(lab.tried)) == kept[0].file == "charge.create-1-lost_answer"
    assert len(kept) == 5
    assert told == [(number, 5) for number in range(1, 6)]
    assert made.left_out == []
    assert (
        list(verdicts(explored(prepared(tmp_path), operations=frozenset({READ.op})))) == CELLS[3:]
    )


@pytest.mark.parametrize(
    ("asked", "limits"),
    [
        ({}, {"lost_answer": 15, "too_slow": 46}),
        ({"timeout": 5}, {"lost_answer": 5, "too_slow": 36}),
        ({"is_manual": True}, {"lost_answer": 15, "too_slow": 15}),
        ({"client_timeout": 2 * SECOND}, {"lost_answer": 15, "too_slow": 18}),
    ],
)
def test_a_run_may_take_ten_times_as_long_and_the_patience_of_the_client(
    tmp_path_factory: Any, asked: dict[str, Any], limits: dict[str, float]
) -> None:
    lab = prepared(tmp_path_factory.mktemp("lab"))
    explored(lab, **asked)
    assert {
        name.rpartition("-")[2]: limit for name, (_, limit) in lab.tried.items() if "get" in name
    } == limits


@pytest.mark.parametrize("jobs", [2, 9])
def test_as_many_run_at_once_as_there_are_jobs(tmp_path: Path, jobs: int) -> None:
    at_once, most, lock, met = 0, 0, Lock(), Barrier(min(jobs, 5))

    def count(name: str) -> Mapping[str, Any]:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        if name != CELLS[-1] or jobs > 5:
            met.wait(20)
        with lock:
            at_once -= 1
        return {}

    # By a clock that is set by hand no client waits.
    made = explored(prepared(tmp_path, count), jobs=jobs, budget=60, is_manual=True)
    assert list(verdicts(made)) == CELLS
    assert most == min(jobs, 5)


def test_a_run_whose_client_only_waits_takes_no_job(tmp_path: Path) -> None:
    met = Barrier(2)

    def client(name: str) -> Mapping[str, Any]:
        if name in ("charge.create-1-lost_answer", "charge.create-1-too_slow"):
            met.wait(20)
        return {}

    assert list(verdicts(explored(prepared(tmp_path, client), jobs=1))) == CELLS


@pytest.mark.slow
def test_many_runs_that_wait_go_on_beside_one_that_works(tmp_path: Path) -> None:
    met = Barrier(3)

    def client(name: str) -> Mapping[str, Any]:
        if name == "charge.create-1-lost_answer" or "too_slow" in name:
            met.wait(20)
        return {}

    made = explored(
        prepared(tmp_path, client), jobs=1, faults=(fault("lost_answer"), fault("too_slow"))
    )
    assert len(made.cells) == 4


def test_seeds_come_after_what_is_asked_for_beside_them(tmp_path: Path) -> None:
    def client(name: str) -> Mapping[str, Any]:
        return {"findings": [DOUBLE]} if name == "charge.create-1-lost_answer" else {}

    lab = prepared(tmp_path, client)
    faults = (fault("lost_answer"), fault("crash_between"))
    made = explored(lab, faults=faults, seeds=2)
    # A red cell of the matrix ends no swarm.
    assert list(lab.tried) == [
        "charge.create-1-lost_answer",
        "charge.create-1-crash_between",
        "charge.get-1-lost_answer",
        "seed-7",
        "seed-8",
    ]
    assert [cell.is_drawn for cell in made.cells] == [False] * 3 + [True] * 2
    assert "crash" not in "".join(cell.fault for cell in made.cells if cell.is_drawn)


def test_a_swarm_that_the_budget_does_not_reach_is_left_out(tmp_path: Path) -> None:
    made = explored(prepared(tmp_path), faults=(fault("crash_between"),), seeds=2, budget=0)
    assert [trial.file for trial in made.left_out] == ["charge.create-1-crash_between"]
    faults = (fault("lost_answer"), fault("crash_between"))
    made = explored(prepared(tmp_path), faults=faults, seeds=2, budget=0)
    assert [trial.file for trial in made.left_out][-2:] == ["seed-7", "seed-8"]


def test_where_all_use_the_same_books_one_run_goes_on_at_a_time(tmp_path: Path) -> None:
    alone = Lock()

    def client(name: str) -> Mapping[str, Any]:
        assert alone.acquire(blocking=False)
        time.sleep(0.01)
        alone.release()
        return {}

    assert list(verdicts(explored(prepared(tmp_path, client), jobs=3, is_alone=True))) == CELLS


def test_what_is_known_is_not_tried_again(tmp_path: Path) -> None:
    known = explored(prepared(tmp_path, lambda name: {"exit": 1})).cells[:2]
    lab = prepared(tmp_path)
    made = explored(lab, known=known)
    assert list(verdicts(made).values()) == [Verdict.FAILED] * 2 + [Verdict.SURVIVED] * 3
    assert made.reaches(Verdict.FAILED)
    assert not made.reaches(Verdict.HUNG)
    assert sorted(lab.tried) == sorted(CELLS[2:])


def test_where_all_is_known_nothing_is_left_out(tmp_path: Path) -> None:
    known = explored(prepared(tmp_path)).cells
    made = explored(prepared(tmp_path), known=known)
    assert (list(verdicts(made)), made.left_out) == (CELLS, [])


def test_a_budget_that_is_spent_leaves_the_rest_out(tmp_path: Path) -> None:
    made = explored(prepared(tmp_path), budget=0)
    assert made.cells == []
    assert {(one.point, one.fault) for one in made.left_out} >= {("charge.get#1", "too_slow")}
    assert {made.why} == {"budget"}
    assert made.why != "interrupted"


@pytest.mark.slow
def test_nothing_begins_when_the_budget_is_spent(tmp_path: Path) -> None:
    lab = prepared(tmp_path, lambda name: time.sleep(0.7) or {})
    made = explored(lab, budget=0.5)
    # One that works, and beside it one that waits.
    assert (len(made.cells), len(made.left_out), len(lab.tried)) == (2, 3, 2)


def test_an_interruption_ends_the_commands_and_keeps_what_was_found(tmp_path: Path) -> None:
    def interrupted(name: str) -> Mapping[str, Any]:
        if "too_slow" in name:
            raise KeyboardInterrupt
        return {}

    lab = prepared(tmp_path, interrupted)
    made = explored(lab)
    assert made.why == "interrupted"
    assert lab.is_ended
    assert len(made.cells) + len(made.left_out) == 5
    assert {made.why} == {"interrupted"}
    assert ("charge.create#1", "too_slow") in {(one.point, one.fault) for one in made.left_out}


def test_a_server_that_is_gone_ends_the_commands(tmp_path: Path) -> None:
    def gone(name: str) -> Mapping[str, Any]:
        raise OSError("gone")

    lab = prepared(tmp_path, gone)
    with pytest.raises(OSError, match="gone"):
        explored(lab)
    assert lab.is_ended


@pytest.mark.parametrize(
    ("seen", "has_pairs"),
    [
        ({}, True),
        ({"exit": 1}, True),
        ({"exit": None}, False),
        ({"findings": [DOUBLE]}, False),
        ({"struck": frozenset()}, False),
    ],
)
def test_a_second_fault_strikes_where_the_first_did_no_harm(
    tmp_path_factory: Any, seen: dict[str, Any], has_pairs: bool
) -> None:
    only = {"operations": frozenset({PAY.op}), "faults": [fault("lost_answer")], "pairs": True}
    # It tries again, and reads in between.
    calls = ((PAY, 201), (READ, 200), (InjectionPoint(PAY.op, 2), 201))
    lab = prepared(tmp_path_factory.mktemp("lab"), lambda name: {"calls": calls, **seen})
    made = explored(lab, **only)
    first, pair = (
        "charge.create-1-lost_answer",
        "charge.create-1-lost_answer--charge.create-2-lost_answer",
    )
    assert list(verdicts(made)) == [first, *([pair] if has_pairs else [])]
    if has_pairs:
        assert made.cells[1].injections == [
            ("charge.create#1", "lost_answer"),
            ("charge.create#2", "lost_answer"),
        ]
        assert len(lab.tried[pair][0]["rules"]) == 2
    assert list(verdicts(explored(lab, **{**only, "pairs": False}))) == [first]


def test_a_pair_of_which_one_has_not_struck_is_not_reached(tmp_path: Path) -> None:
    lab = prepared(
        tmp_path,
        lambda name: (
            {"struck": frozenset({"lost_answer-charge.create-1"})} if "create" in name else {}
        ),
    )
    told: list[tuple[int, int]] = []
    faults = [fault("too_slow"), fault("lost_answer")]
    plan = Plan(frozenset({PAY.op, READ.op}), faults, 30 * SECOND, 1, pairs=True)
    base = Baseline(((PAY, 201), (READ, 200)), 0.5, is_manual=True)
    made = explore(
        Lab(lab, plan, base),
        known=(),
        keep=lambda cell: None,
        progress=lambda done, total: told.append((done, total)),
    )
    pairs = [
        f"charge.create-1-lost_answer--charge.get-1-{by}" for by in ("lost_answer", "too_slow")
    ]
    assert [name for name in lab.tried if name.count("--") and "create-1-lost" in name] == pairs
    assert told[-1] == (len(made.cells), len(made.cells))
    assert (
        verdicts(made)["charge.create-1-lost_answer--charge.get-1-lost_answer"]
        is Verdict.NOT_REACHED
    )


REFUND = InjectionPoint("charge.refund", 1)
GIVES_BACK = {"calls": ((PAY, 201), (REFUND, 200))}


def making_good(folder: Path, client: Client = lambda name: GIVES_BACK, **asked: Any) -> Any:
    """What is tried on a shop that gives back what it has taken under any fault."""
    lab = prepared(folder, client)
    wanted = {"operations": frozenset({PAY.op, REFUND.op}), "faults": [fault("lost_answer")]}
    return explored(lab, **{**wanted, **asked})


FIRST = "charge.create-1-lost_answer"


@pytest.mark.parametrize("seen", [{}, {"exit": 1}, {"findings": [RETRY]}])
def test_a_refund_that_makes_good_fails_too(tmp_path_factory: Any, seen: dict[str, Any]) -> None:
    made = making_good(tmp_path_factory.mktemp("lab"), lambda name: {**GIVES_BACK, **seen})
    assert list(verdicts(made)) == [FIRST, f"{FIRST}--charge.refund-1-lost_answer"]
    assert made.beyond_limit == []


@pytest.mark.parametrize(
    "asked",
    [
        {"client": lambda name: {**GIVES_BACK, "findings": [DOUBLE]}},
        {"client": lambda name: {**GIVES_BACK, "exit": None}},
        {"operations": frozenset({PAY.op})},
        {"faults": [fault("declined_soft")], "operations": frozenset({PAY.op})},
    ],
    ids=["harm", "hung", "not-asked-for", "does-not-fit"],
)
def test_no_second_fault_where_there_is_nothing_to_learn(
    tmp_path_factory: Any, asked: dict[str, Any]
) -> None:
    assert len(making_good(tmp_path_factory.mktemp("lab"), **asked).cells) == 1


def test_sixty_second_faults_are_tried_and_the_others_named(tmp_path: Path) -> None:
    refunds = tuple((InjectionPoint(REFUND.op, nth), 200) for nth in range(1, 71))
    lab_seen = {"calls": ((PAY, 201), *refunds), "seconds": 60}
    made = making_good(tmp_path, lambda name: lab_seen)
    assert (len(made.cells), len(made.beyond_limit)) == (1 + MOST_MAKING_GOOD, 10)
    words = "\n".join(summary(made))
    assert "with a second fault where a refund or void makes good: 60" in words
    assert "second faults not tried (--pairs): 10: charge.create#1/lost_answer+" in words


def test_second_faults_take_no_longer_than_all_before(tmp_path: Path) -> None:
    made = making_good(tmp_path, lambda name: {**GIVES_BACK, "seconds": 0}, budget=None)
    assert len(made.cells) + len(made.beyond_limit) == 2


def test_a_race_is_red_only_when_it_is_red_again(tmp_path_factory: Any) -> None:
    for is_red_again in (True, False):
        runs: list[str] = []

        def seen(
            name: str, runs: list[str] = runs, is_red_again: bool = is_red_again
        ) -> Mapping[str, Any]:
            runs.append(name)
            lines = ["customer paid twice"] if len(runs) == 1 or is_red_again else []
            return {"broken": lines}

        lab = prepared(tmp_path_factory.mktemp("lab"), seen)
        (cell,) = explored(
            lab, operations=frozenset({PAY.op}), faults=[fault("twice_at_start")]
        ).cells
        assert (len(runs), cell.verdict) == (2, "unsafe" if is_red_again else "survived")
