"""One trial of a command, tried and judged.

A ``Lab`` knows what the command does without a fault, and what was asked for (``Plan``): by both it
says what there is to try, and how long a run may take. It runs one trial, looks at the findings
again beside runs that are known to be right (``review``), and comes to a verdict (``verdicts``). A
run knows nothing of those beside it: in which order trials are tried, and what follows from them,
is not decided here (``exploration``).

Two kinds of trials take a second run. A forged webhook that was answered 2xx is judged beside a run
with the same decline and no forgery: only what differs was believed. And where two runs race, one
that is unsafe is tried again, as chance has a part in it.

Source: docs/explore.md, What it runs, Verdicts by money.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.clock import Micros
from mockserver.domain.record import record, replace
from mockserver.explore.baseline import Baseline, scenario_of
from mockserver.explore.failures import CRASH, OWN_AXES, Fault, InjectionPoint
from mockserver.explore.fault_table import Trial, drawn, trials
from mockserver.explore.kept import Cell
from mockserver.explore.review import (
    FORGED,
    beside_fault,
    beside_shop,
    beside_unforged,
    beside_usual,
    moves_of,
)
from mockserver.explore.run_answers import FindingRow
from mockserver.explore.run_end import RunEnd
from mockserver.explore.run_money import invariants_of
from mockserver.explore.scenario_data import ScenarioData
from mockserver.explore.trial import Observed, TrialRunner
from mockserver.explore.verdicts import Judged, Verdict, judged


@record
class Plan:
    """What is asked for. ``operations`` and ``faults`` are those to try, ``timeout`` and ``budget``
    seconds of real time for one run and for all, None for the usual and for as long as it takes.
    With ``seeds`` a swarm of so many runs is tried, until the first that is at least as bad as
    ``least`` unless it ``has_all``. ``is_alone``: all runs use the same books, so that only one
    goes on at a time."""

    operations: frozenset[str]
    faults: Sequence[Fault]
    client_timeout: Micros
    jobs: int
    is_alone: bool = False
    timeout: float | None = None
    budget: float | None = None
    pairs: bool = False
    seeds: int = 0
    has_all: bool = False
    least: Verdict = Verdict.UNSAFE

    @property
    def crashes(self) -> bool:
        """Whether the command is killed too."""
        return any(fault.at == CRASH for fault in self.faults)

    @property
    def has_matrix(self) -> bool:
        """Whether each fault is tried at each call. A swarm is tried instead, unless something is
        asked for that it does not have: pairs, crashes or second runs."""
        if not self.seeds:
            return True
        return self.pairs or any(fault.at in OWN_AXES for fault in self.faults)


@record
class Lab:
    """What a command does without a fault, and what is to be tried with it."""

    runner: TrialRunner
    plan: Plan
    base: Baseline

    @property
    def has_books(self) -> bool:
        """Whether the shop's books judge each run."""
        return bool(self.runner.aftermath.books)

    def wanted(self, points: Iterable[InjectionPoint]) -> list[InjectionPoint]:
        """Those of some calls that may fail."""
        return [point for point in points if point.op in self.plan.operations]

    def timed(self, faults: Iterable[Fault]) -> list[Fault]:
        """Faults as this client meets them, which waits so long for an answer."""
        return [
            fault.timed(self.plan.client_timeout, is_manual=self.base.is_manual) for fault in faults
        ]

    def matrix(self) -> list[Trial]:
        """Each fault at each call, as far as that is asked for, in the order in which it is
        tried."""
        if not self.plan.has_matrix:
            return []
        return trials(self.wanted(self.base.points), self.timed(self.plan.faults))

    def swarm(self) -> list[Trial]:
        """What the seeds try, in their order; without those that have found nothing to strike."""
        first = self.runner.seed
        of_seeds = [self.of_seed(seed) for seed in range(first, first + self.plan.seeds)]
        return [trial for trial in of_seeds if trial.injections]

    def of_seed(self, seed: int) -> Trial:
        """What a seed tries."""
        points, faults = self.wanted(self.base.points), self.timed(self.plan.faults)
        return drawn(seed, points, faults, self.plan.operations)

    def try_one(self, trial: Trial) -> Tried:
        """Run the command under what is tried, once; a race that is red a second time, whose
        verdict counts. Raises what ``TrialRunner.try_out`` raises."""
        tried = self._try_once(trial)
        if trial.is_race and tried.judged.verdict is Verdict.UNSAFE:
            return self._try_once(trial)
        return tried

    def _try_once(self, trial: Trial) -> Tried:
        """Run the command under what is tried, and judge what came of it: its findings beside runs
        that are known to be right, then the money."""
        runner = self.runner
        if trial.seed is not None:
            # A seed decides all chance of its run, so that it alone repeats it.
            runner = replace(runner, seed=trial.seed)
        scenario = self._scenario_of(trial, runner)
        seen = self._run(runner, trial.file, scenario, trial)
        was_forgery_taken = any(row["finding"] == FORGED for row in seen.after.findings)
        if trial.unforged is not None and was_forgery_taken:
            seen = self._beside_unforged(trial, trial.unforged, seen, runner)
        seen = replace(seen, after=self._reviewed(trial, seen))
        judgement = judged(
            seen.ended.exit,
            seen.after,
            self.base.reference_of(trial),
            has_books=self.has_books,
            has_fired=_has_struck(trial, seen),
            fault_moves_money=trial.moves_money,
        )
        if trial.unforged is not None and not was_forgery_taken:
            judgement = _beside_refused_forgery(judgement)
        if seen.why_not and judgement.verdict is Verdict.NOT_REACHED:
            judgement = replace(judgement, words=[seen.why_not])
        if trial.seed is not None:
            # What was drawn for calls that have not come says nothing.
            trial = trial.struck_by(seen.fired)
            scenario = {**scenario, "rules": trial.rules}
        return Tried(trial, seen, judgement, scenario, self.has_books)

    def _reviewed(self, trial: Trial, seen: Observed) -> RunEnd:
        """The end of a run with its findings as they are beside what the shop says, beside what the
        faults bring on any client, and beside the run without a fault."""
        reference = self.base.reference_of(trial)
        faults = [fault.name for _, fault in trial.injections]
        after = beside_shop(seen.after, seen.end_of_output(), seen.last_entry)
        after = beside_fault(after, faults, of_two=reference.of_two)
        return beside_usual(after, reference, fault_moves_money=trial.moves_money)

    def _scenario_of(self, trial: Trial, runner: TrialRunner) -> ScenarioData:
        """The scenario of a trial, with the money of the run without a fault as sentences that must
        hold, so that the file judges alone when it is replayed. A fault that moves money itself
        would break them whatever the client does."""
        scenario = scenario_of(trial.file, runner.seed, trial)
        reference = self.base.reference_of(trial)
        if reference.money is None or trial.moves_money:
            return scenario
        lines = invariants_of(reference.money, reference.shared, has_books=self.has_books)
        if self.has_books and not lines:
            # The books say it all, and those who replay the file give them too.
            return scenario
        return {**scenario, "money": lines}

    def _run(
        self, runner: TrialRunner, name: str, scenario: ScenarioData, trial: Trial
    ) -> Observed:
        """One run under a scenario. It may take as long as its faults keep it waiting, and so much
        longer than without any that only a command that does not end is hung."""
        timeout = self.plan.timeout
        if timeout is None:
            timeout = 10 * self.base.seconds + 10
        return runner.try_out(name, scenario, timeout + trial.waits, ignored=self.base.ignored)

    def _beside_unforged(
        self, trial: Trial, control: Trial, seen: Observed, runner: TrialRunner
    ) -> Observed:
        """A run in which a forged webhook was answered 2xx, judged beside one that has the same
        decline and no forgery (``control``): only what the forgery has changed was believed."""
        name = f"{trial.file}-unforged"
        unforged = self._run(runner, name, scenario_of(name, runner.seed, control), trial)
        unforged.output.unlink()
        has_moved = _moves_of_struck(trial, seen) != _moves_of_struck(trial, unforged)
        after = beside_unforged(
            seen.after, unforged.after, has_moved=has_moved, has_books=self.has_books
        )
        return replace(seen, after=after)


def _beside_refused_forgery(judgement: Judged) -> Judged:
    """A verdict on a run whose forged webhook nobody has taken: what is wrong comes of what the
    forgery denies, a decline or a pending payment, and that is said."""
    if judgement.verdict not in (Verdict.UNSAFE, Verdict.DOUBTFUL):
        return judgement
    words = "the forged webhook was refused, as it should be: this comes of the payment it denies"
    return replace(judgement, words=[*judgement.words, words])


def _moves_of_struck(trial: Trial, run: Observed) -> Mapping[str, int]:
    """How often a run moved the money of the charges that the calls of a trial have made, moved or
    named, by operation."""
    struck = {point.number for point, _ in trial.injections}
    charges = set[str]()
    for call in run.calls:
        if (call["op"], call["call"]) in struck:
            charges.update(call["charges"])
    return moves_of(charges, run.calls)


def _has_struck(trial: Trial, seen: Observed) -> bool:
    """Whether all that was to happen has; of what a seed has drawn, anything. A rule that plans
    something for later has fired before that comes: it has struck when that came due."""
    rules = trial.rule_ids
    if trial.seed is not None:
        return not seen.fired.isdisjoint(rules)
    for _, fault in trial.injections:
        if fault.comes_due and f"came due: {fault.comes_due}" not in seen.timeline:
            return False
    return seen.has_struck(rules)


_OF_WEBHOOKS = {
    "charged-but-unpaid": "A webhook may not come, or come late, twice, together with its copy, or "
    "in another spelling: parse it, check its signature on the bytes that came, take each event "
    "once, and look for the charge by its reference before the order is given up."
}
"""Advice of findings whose usual advice is about answers, where a webhook was the fault."""


def _advised(findings: Sequence[FindingRow], trial: Trial) -> Sequence[FindingRow]:
    """The findings of a run, with the advice that fits its fault."""
    is_of_webhook = any(fault.at == "notify" for _, fault in trial.injections)
    if not is_of_webhook:
        return findings
    advised: list[FindingRow] = []
    for row in findings:
        if row["finding"] in _OF_WEBHOOKS:
            row = {**row, "advice": _OF_WEBHOOKS[row["finding"]]}
        advised.append(row)
    return advised


@record
class Tried:
    """What came of a trial: what was seen, the verdict on it, and the plain data of the scenario it
    was run under; ``has_books``: the shop's books have judged it."""

    trial: Trial
    seen: Observed
    judged: Judged
    scenario: ScenarioData
    has_books: bool = False

    @property
    def repeating_file(self) -> str:
        """The scenario file that repeats it: its description says how it went."""
        errors = [row["finding"] for row in self.seen.after.findings if row["severity"] == "error"]
        reasons = [*self.judged.words]
        if errors:
            reasons.insert(0, ", ".join(dict.fromkeys(errors)))
        story = f"{self.trial.story}. {self.judged.verdict.capitalize()}, {self.seen.ended}"
        if reasons:
            story = f"{story}: {'; '.join(reasons)}"
        return scenario_text({**self.scenario, "description": story})

    def cell(self) -> Cell:
        """The same as it is kept."""
        seen, verdict = self.seen, self.judged.verdict
        scenario = output = ""
        if verdict is not Verdict.SURVIVED:
            # Of a run that survived nobody asks for these.
            scenario, output = self.repeating_file, seen.printed()
        taken: dict[str, str] = {}
        if verdict is Verdict.FAILED and not self.has_books:
            # Without books nobody knows whether a shop that failed has booked what it took.
            taken = {currency: str(total) for currency, total in seen.after.money.taken().items()}
        return Cell(
            self.trial.file,
            self.trial.point,
            self.trial.fault,
            verdict=verdict,
            exit=seen.ended.exit,
            seconds=round(seen.ended.seconds, 3),
            findings=_advised(seen.after.findings, self.trial),
            timeline=seen.timeline,
            calls=tuple(point.row for point in seen.points),
            scenario=scenario,
            output=output,
            money=tuple(self.judged.words),
            is_due=seen.after.is_due and not seen.after.is_settled,
            taken=taken,
        )
