"""From a chaotic run to the smallest scenario that still fails."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.explore.command import Ended
from mockserver.explore.shrink import NoFailure, NotRepeated, Shrinking, Stopped
from mockserver.explore.trial import Observed
from tests.explore.after import after

STORM: dict[str, Any] = {
    "version": 1,
    "name": "storm",
    "seed": 7,
    "rules": [
        {
            "id": "odd",
            "when": {"op": "charge.create"},
            "chance": [
                {"weight": 9, "then": {"approve": {}}},
                {"weight": 1, "then": {"decline": "lost_card"}},
            ],
        }
    ],
}
STRUCK = frozenset({2, 3, 5, 8, 13})
"""The charges, of twenty, that are declined under the storm."""

DOUBLE = {"finding": "double-charge", "severity": "error"}
RETRY = {"finding": "blind-retry", "severity": "warning"}
Client = Callable[[frozenset[int]], tuple[int | None, list[dict[str, str]]]]


@dataclass
class Shop:
    """A runner whose command takes twenty charges: ``client`` says how it ends when some are
    declined."""

    client: Client
    argv: tuple[str, ...] = ("python", "shop.py")
    struck: frozenset[int] = STRUCK
    calls: bool = True
    dropped: int = 0
    is_aimed: bool = True
    tried: list[frozenset[int]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)

    def try_out(
        self,
        name: str,
        scenario: Mapping[str, Any],
        timeout: float,
        key: str | None = None,
        *,
        wants_journal: bool = False,
    ) -> Observed:
        declined, decisions = self._declined(scenario)
        self.tried.append(declined)
        self.limits.append(timeout)
        self.keys.add(key)
        code, findings = self.client(declined)
        entries = [
            {
                "id": number + self.dropped,
                "op": "charge.create",
                "call": number if self.is_aimed or number == 1 else None,
                "decisions": decisions.get(number, []) if self.is_aimed or number > 1 else [],
            }
            for number in (range(1, 21) if self.calls else ())
        ]
        return Observed(
            Ended(code, 0.1),
            entries,
            after(findings),
            "",
            Path("/dev/null"),
            is_manual=False,
            journal=entries if wants_journal else (),
        )

    def _declined(
        self, scenario: Mapping[str, Any]
    ) -> tuple[frozenset[int], dict[int, list[dict[str, Any]]]]:
        rules = {rule["when"].get("call"): rule for rule in scenario["rules"]}
        if None in rules:
            chosen = {number: 2 if number in self.struck else 1 for number in range(1, 21)}
        else:
            chosen = {
                number: 2 if "decline" in rule["then"] else 1 for number, rule in rules.items()
            }
        decisions = {
            number: [
                {"stage": "provider", "rule": "odd", "choice": choice, "delay": "0s", "lost": []}
            ]
            for number, choice in chosen.items()
        }
        return frozenset(number for number, choice in chosen.items() if choice == 2), decisions


def ignore(line: str) -> None:
    """Nobody reads what is reported."""


def shrink(client: Client, **more: Any) -> tuple[dict[str, Any], Shop]:
    lab: Any = Shop(client)
    return Shrinking(lab, STORM, **{"report": ignore, **more}).shrink(), lab


def needs(*calls: int, code: int = 1) -> Client:
    return lambda declined: (code if declined.issuperset(calls) else 0, [])


@pytest.mark.parametrize("calls", [(5,), (2, 13), (3, 5, 8), tuple(sorted(STRUCK))])
def test_the_faults_that_are_needed_are_left(calls: tuple[int, ...]) -> None:
    made, lab = shrink(needs(*calls))
    assert [rule["when"] for rule in made["rules"]] == [
        {"op": "charge.create", "call": call, "attempt": 1} for call in calls
    ]
    assert made["name"] == "storm-exit-1"
    assert "at 5 calls" in made["description"]
    # Three runs confirm it.
    assert lab.tried[-3:] == [frozenset(calls)] * 3


def test_the_file_tells_its_story_and_is_a_scenario_like_any() -> None:
    made, _ = shrink(needs(2, 13))
    assert made["name"] == "storm-exit-1"
    assert made["seed"] == 7
    assert made["description"] == (
        "Of the faults of storm with seed 7 at 5 calls, these are enough (charge.create#2, "
        "charge.create#13): "
        "`python shop.py` ends with exit code 1; confirmed in 3 runs"
    )
    assert len(read_text(scenario_text(made), "small.yaml").rules) == 2


def test_each_run_is_reported() -> None:
    told: list[str] = []
    shrink(needs(5), report=told.append)
    one = "decline at charge.create#5"
    assert told == [
        "without any fault: passes",
        "under storm, with 5 faults at 5 calls: ends with exit code 1",
        "5 faults at 5 calls, one rule for each call: still fails",
        "3 faults at 3 calls: still fails",
        "2 faults at 2 calls: passes",
        f"{one}: still fails",
        *(f"{one}: confirmed {turn} of 3" for turn in (1, 2, 3)),
    ]


@pytest.mark.parametrize(("timeout", "first", "others"), [(None, 600, 11), (5.0, 5, 5)])
def test_a_run_may_take_ten_times_as_long_as_without_faults(
    timeout: float | None, first: float, others: float
) -> None:
    _, lab = shrink(needs(5), timeout=timeout)
    assert lab.limits[0] == first
    assert set(lab.limits[1:]) == {others}


def test_every_run_has_the_same_key() -> None:
    _, lab = shrink(needs(5), key="sk_mine")
    assert lab.keys == {"sk_mine"}


def test_a_finding_counts_where_the_exit_code_is_0() -> None:
    made, _ = shrink(lambda declined: (0, [RETRY, DOUBLE] if 8 in declined else []))
    assert made["name"] == "storm-double-charge"
    assert made["name"] == "storm-double-charge"


def test_the_finding_that_is_named_counts_whatever_the_exit_code() -> None:
    def client(declined: frozenset[int]) -> tuple[int, list[dict[str, str]]]:
        return 1 if 2 in declined else 0, [RETRY] if {3, 5} <= declined else []

    made, _ = shrink(client, finding="blind-retry")
    assert [rule["when"]["call"] for rule in made["rules"]] == [3, 5]


def test_another_exit_code_is_another_failure() -> None:
    made, _ = shrink(lambda declined: (2 if {3, 8} <= declined else 1 if declined else 0, []))
    assert [rule["when"]["call"] for rule in made["rules"]] == [3, 8]


def test_what_hangs_is_a_failure_of_its_own() -> None:
    made, _ = shrink(lambda declined: (None if 8 in declined else 1 if declined else 0, []))
    assert made["name"] == "storm-hung"
    assert "`python shop.py` is not done in time" in made["description"]
    assert "this one is enough (charge.create#8)" in made["description"]
    assert made["name"] == "storm-hung"


def test_a_command_that_does_not_fail_is_reported() -> None:
    with pytest.raises(
        NoFailure, match="does not fail under storm: exit code 0, no finding of severity error"
    ):
        shrink(lambda declined: (0, [RETRY]))
    with pytest.raises(NoFailure, match="does not fail under storm: double-charge is not found"):
        shrink(lambda declined: (1 if declined else 0, []), finding="double-charge")


def test_a_command_that_fails_anyway_is_reported() -> None:
    with pytest.raises(
        NotRepeated, match="without any fault the command ends with exit code 4 too"
    ):
        shrink(lambda declined: (4, []))


def test_a_command_that_does_not_use_the_sandbox_is_reported() -> None:
    lab: Any = Shop(needs(5), calls=False)
    with pytest.raises(
        NotRepeated, match="no call arrived in the sandbox: the command does not use MOCKSERVER_URL"
    ):
        Shrinking(lab, STORM, ignore).shrink()


@pytest.mark.parametrize(
    ("seen", "rules", "words"),
    [
        ({"struck": frozenset()}, [], ""),
        (
            {"struck": frozenset(), "dropped": 1},
            [],
            "; the journal of the server has dropped its first entries",
        ),
        (
            {"is_aimed": False},
            STORM["rules"],
            "; rules that struck where none can be aimed at one call: odd",
        ),
    ],
    ids=["nothing", "dropped", "beyond"],
)
def test_a_failure_that_struck_nothing_is_reported(
    seen: dict[str, Any], rules: list[Any], words: str
) -> None:
    lab: Any = Shop(lambda declined: (len(lab.tried) > 1, []), **seen)
    with pytest.raises(NotRepeated) as refused:
        Shrinking(lab, {**STORM, "rules": rules}, ignore).shrink()
    assert f"and no fault had struck a call{words}" in str(refused.value)
    assert words or str(refused.value).endswith("struck a call")


def test_a_failure_of_a_mood_is_reported() -> None:
    lab: Any = Shop(lambda declined: (len(lab.tried) == 2, []))
    with pytest.raises(NotRepeated, match="it does not make the same calls every time"):
        Shrinking(lab, STORM, ignore).shrink()


def test_a_result_that_is_not_confirmed_is_reported() -> None:
    turns: list[int] = []

    def client(declined: frozenset[int]) -> tuple[int, list[dict[str, str]]]:
        turns.append(1)
        return int(5 in declined and (len(declined) > 1 or turns.count(1) % 2 == 0)), []

    with pytest.raises(
        NotRepeated, match="that were to confirm it: the command does not do the same every time"
    ):
        shrink(client)


def test_what_was_found_until_an_interruption_is_kept() -> None:
    lab: Any = Shop(needs(2, 3))

    def client(declined: frozenset[int]) -> tuple[int, list[dict[str, str]]]:
        if len(lab.tried) == 7:
            raise KeyboardInterrupt
        return needs(2, 3)(declined)

    lab.client = client
    with pytest.raises(Stopped) as stopped:
        Shrinking(lab, STORM, ignore).shrink()
    left = {rule["when"]["call"] for rule in stopped.value.made["rules"]}
    assert left == {2, 3}
    assert "interrupted, so there may be a smaller one" in stopped.value.made["description"]
