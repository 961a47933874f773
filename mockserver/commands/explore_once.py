"""One run of an exploration: ``mockserver explore --replay`` repeats a scenario file, a cell or a
seed, and ``--fixed`` a cell that was unsafe (docs/explore.md)."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from http.client import BAD_REQUEST
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.scenario_files import read_file
from mockserver.commands.ending import stop
from mockserver.commands.reports import text
from mockserver.commands.trial_runner import lab_of
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_text
from mockserver.explore.baseline import crash_baseline
from mockserver.explore.failures import CRASH, FAULTS
from mockserver.explore.fault_table import SEED, Trial, named
from mockserver.explore.held_run import held_until
from mockserver.explore.kept import Before
from mockserver.explore.lab import Lab, Plan, Tried
from mockserver.explore.run_end import Reference
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner
from mockserver.explore.verdicts import Judged, Verdict, judged
from mockserver.remote import ControlRefused
from mockserver.scenario.problems import ScenarioRefused


def replay_once(runner: TrialRunner, file_or_name: str, plan: Plan) -> Verdict:
    """Run once under a scenario file, or as the name of a cell or a seed says, and print what
    happened; the verdict."""
    # A path may look like the name of a cell: where there is such a file, that is meant.
    file = Path(file_or_name)
    looks_like_cell = "/" in file_or_name and "#" in file_or_name
    if not file.exists() and (looks_like_cell or file_or_name.startswith(SEED)):
        tried = _try_named(runner, file_or_name, plan, "--replay")
        rules = [str(rule["id"]) for rule in tried.trial.rules]
        return _print_run(tried.seen, tried.judged, tried.trial.story, rules)
    try:
        scenario = read_file(file)
    except ScenarioRefused as refused:
        stop(Exit.USAGE, "\n".join(map(str, refused.problems)))
    if scenario.said.seed is not None:
        # What was found with another seed comes again with that.
        runner = replace(runner, seed=scenario.said.seed)
    # A scenario that an exploration has written has the sentences that it was judged by.
    invariants = [*runner.aftermath.invariants, *map(Invariant, scenario.said.money)]
    runner = replace(runner, aftermath=replace(runner.aftermath, invariants=invariants))
    try:
        seen = runner.try_out(scenario.name, dict(scenario.source), plan.timeout or FIRST_TIMEOUT)
    except ControlRefused as refused:
        if refused.status != BAD_REQUEST:
            raise
        stop(Exit.USAGE, f"--replay: {file}: {refused}")
    rules = [rule.id for rule in scenario.rules]
    # A file has no run without a fault beside it, so the money is judged by itself. One that holds
    # a call until it is released has the command run twice, whose money counts together.
    reference = Reference(of_two=held_until(scenario.source) == "released")
    judgement = judged(
        seen.ended.exit,
        seen.after,
        reference,
        has_books=bool(runner.aftermath.books),
        has_fired=seen.has_struck(rules),
    )
    return _print_run(seen, judgement, scenario.said.description, rules)


def is_fixed_now(runner: TrialRunner, name: str, plan: Plan, before: Before) -> bool:
    """Run once what was unsafe before, and print the receipt; whether it survives. What was not
    unsafe is refused: surviving it would prove no fix."""
    verdict_before = before.verdict(name)
    if verdict_before is not Verdict.UNSAFE:
        unsafe = [cell for cell in before.cells if before.verdict(cell) is Verdict.UNSAFE]
        words = (
            f"got '{name[:100]}', which was {verdict_before or 'not tried'} in {before.file}; "
            f"unsafe there: {', '.join(unsafe) or 'none'}"
        )
        raise click.UsageError(f"--fixed: {words}")
    now = _try_named(runner, name, plan, "--fixed")
    is_fixed = now.judged.verdict is Verdict.SURVIVED
    findings = dict.fromkeys(row["finding"] for row in now.seen.after.findings)
    reasons = ", ".join([*findings, *now.judged.words])
    result = f"{now.judged.verdict}, {now.seen.ended}"
    if reasons:
        result += f": {reasons}"
    verdict = "fixed" if is_fixed else "not fixed"
    click.echo(
        f"{verdict}: {name}\n"
        f"tried:  {now.trial.story}\n"
        f"before: {before.words(name)} ({before.file})\n"
        f"now:    {result}\n"
        f"with:   {mask_text(shlex.join(runner.argv))}, seed {runner.seed}"
    )
    return is_fixed


def _try_named(runner: TrialRunner, name: str, plan: Plan, option: str) -> Tried:
    """Run once what a name says, as in a whole exploration: compared with a run without a fault."""
    lab = lab_of(runner, plan)
    try:
        trial = _named(name, lab)
    except ValueError as problem:
        raise click.UsageError(f"{option}: {problem}") from None
    if trial.own_option == CRASH and not plan.crashes:
        # A crash is compared with a run that was restarted too, which the plan did not ask for.
        lab = replace(lab, base=crash_baseline(runner, lab.base, plan.timeout))
    return lab.try_one(trial)


def _named(name: str, lab: Lab) -> Trial:
    """What a name tries: a cell such as ``charge.create#1/lost_answer``, or ``seed-17``, whose
    faults are drawn again. Raises ``ValueError``."""
    if not name.startswith(SEED):
        return named(name, lab.base.points, lab.timed(FAULTS.values()))
    if not name.removeprefix(SEED).isdecimal():
        raise ValueError(f"got '{name[:60]}', wanted the seed of a run, such as seed-17")
    trial = lab.of_seed(int(name.removeprefix(SEED)))
    if not trial.injections:
        raise ValueError(f"got '{name[:60]}', and no fault makes sense at any call of the command")
    return trial


def _print_run(seen: Observed, judgement: Judged, story: str, rules: Sequence[str]) -> Verdict:
    """Print what happened in one run under some rules, first of all whether each of them struck:
    otherwise the run says little about the client. Gives the run's verdict."""
    lines = [f"{judgement.verdict}: {seen.ended} in {seen.ended.seconds:.2f} s", *judgement.words]
    if story:
        lines.append(story)
    missed = [rule for rule in rules if rule not in seen.fired]
    if missed:
        lines.append(f"did not strike: {', '.join(missed)}")
    elif seen.why_not:
        lines.append(seen.why_not)
    if seen.after.findings:
        lines += ["", text(seen.after.findings)]
    lines += ["", seen.timeline]
    output = seen.printed().rstrip()
    if output:
        lines += ["", "the command printed:", output]
    click.echo("\n".join(lines))
    return judgement.verdict
