"""``mockserver explore``: a command under every single failure at each of its calls
(docs/explore.md).

Here the options are read and refused, one of five ways is taken (a whole exploration, ``--resume``
of one, ``--replay`` of a run, ``--fixed`` of a cell, seeds), and the reports are written. What is
tried is ``explore/exploration.py``, how a run is judged ``explore/verdicts.py``.

Whatever goes wrong before a verdict has an exit code of its own: CI must be able to tell "your
client is unsafe" from "your tests do not pass at all".
"""

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.client import BAD_REQUEST
from pathlib import Path
from typing import TypedDict, Unpack

import click
from httpx import HTTPError

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import environment, process_name
from mockserver.adapters.scenario_files import read_file
from mockserver.commands.ending import stop
from mockserver.commands.options import given_again, options
from mockserver.commands.reports import REPORTS, explored, text
from mockserver.commands.servers import started, words_of
from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_text
from mockserver.explore import exploration, report
from mockserver.explore.aftermath import Aftermath
from mockserver.explore.baseline import NoBaseline, crash_baseline, plain_baseline
from mockserver.explore.command import Commands
from mockserver.explore.exploration import Exploration, Lab, Plan, Tried
from mockserver.explore.failures import CRASH, FAULTS, OWN_AXES, TWICE, Fault
from mockserver.explore.fault_table import SEED, Trial, faults_of, named
from mockserver.explore.kept import Before, ExplorationFolder, NoReport, OtherExploration
from mockserver.explore.run_end import Reference
from mockserver.explore.shrink import NotRepeated
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, held_until, isolated
from mockserver.explore.verdicts import Judged, Verdict, judged
from mockserver.remote import ControlLine, ControlRefused
from mockserver.scenario.operations import TAKING
from mockserver.scenario.problems import ScenarioRefused


@contextmanager
def stopping(url: str | None, program: str) -> Iterator[None]:
    """End the command, with the reason, when no server answers, a file or the program cannot be
    used, or the command does not do the same twice: where it does not, what a fault has changed
    cannot be told from what changes anyway."""
    try:
        yield
    except (NoBaseline, NotRepeated) as problem:
        stop(Exit.BASELINE, str(problem))
    except OSError as problem:
        stop(Exit.USAGE, f"{problem.filename or program}: {problem.strerror}")
    except (HTTPError, ControlRefused) as problem:
        stop(Exit.NOT_READY, f"the server at {url or 'hand'} fails: {problem}")


_DECIDING = {
    *("url", "scenario", "profile", "restart", "timeout", "client_timeout", "seed"),
    *("books", "books_state", "settle", "reconcile", "told", "invariant"),
}
"""Parameters that decide what a run does and how it is judged: a report tells the user to give the
same again."""

_NO_AFTERMATH = Aftermath()

_MOST_NAMED = 8
"""Calls of the command that are named in a line."""

_WARNING = "warning"
"""A level of --fail-on that is no verdict: a finding of that severity."""


class _PlanOptions(TypedDict):
    """The options that say what is tried, and for how long."""

    operations: frozenset[str]
    faults: list[Fault] | None
    pairs: bool
    crash: bool
    twice: bool
    seeds: int
    all_: bool
    jobs: int
    budget: float | None
    timeout: float | None
    client_timeout: Micros


@click.command(
    context_settings={"ignore_unknown_options": False},
    epilog="Exit codes: 0 no verdict at or above --fail-on, 1 at least one, 2 wrong usage, 3 the "
    "command does not pass "
    "twice in the same way without faults, 5 no server, 130 interrupted before anything was found.",
)
@options("explore")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def explore(
    *,
    command: tuple[str, ...],
    url: str | None,
    admin_token: str | None,
    scenario: tuple[str, ...],
    profile: str | None,
    out: Path,
    seed: int,
    resume: bool,
    replay: str | None,
    baseline: Path | None,
    fixed: str | None,
    fail_on: str,
    form: str,
    books: list[str] | None,
    books_state: Mapping[str, str],
    settle: Micros | None,
    reconcile: list[str] | None,
    told: list[int],
    invariant: list[Invariant],
    restart: list[str] | None,
    **plan_options: Unpack[_PlanOptions],
) -> None:
    """Run COMMAND under every single failure at each of its calls, and show which ones move money
    wrongly.

    COMMAND finds the sandbox by MOCKSERVER_URL, MOCKSERVER_SECRET_KEY and MOCKSERVER_PUBLIC_KEY in
    its environment; {url}, {secret_key} and {public_key} in its words are filled in. It runs twice
    without a fault, then once for each fault at each call, every time in a fresh sandbox.
    """
    aftermath = Aftermath(books or (), books_state, settle, reconcile or (), invariant, told)
    seeds = plan_options["seeds"]
    _refuse_beside("--replay", replay, {"--seeds": seeds, "--fixed": fixed, "--baseline": baseline})
    _refuse_beside("--seeds", seeds, {"--fixed": fixed})
    _refuse_beside("--url", url, {"--scenario": scenario, "--profile": profile})
    least = Verdict.UNSAFE if fail_on == _WARNING else Verdict(fail_on)
    # Books at an address are of all runs together: no two may go on at once.
    is_alone = aftermath.url is not None
    plan = _plan(plan_options, restarts=restart is not None, is_alone=is_alone, least=least)
    serve = words_of({"scenario": scenario, "profile": profile})
    open_runner = partial(
        trial_runner,
        url,
        admin_token,
        command,
        seed,
        serve,
        aftermath=aftermath,
        restart=restart or (),
    )
    with stopping(url, command[0]), _stopping_for_reports("--resume" if resume else "--out"):
        before = None
        if baseline is not None or fixed is not None:
            # Before the folder is touched, which may be the one with this report.
            before = Before.read(baseline or out / "report.json")
        if fixed is not None and before is not None:
            # One cell and its receipt: the folder keeps the report that it is compared with.
            with open_runner() as runner:
                is_fixed = _is_fixed(runner, fixed, plan, before)
            sys.exit(Exit.OK if is_fixed else Exit.FOUND)
        if replay is not None:
            with open_runner() as runner:
                verdict = _replay(runner, replay, plan)
            sys.exit(Exit.FOUND if verdict.reaches(least) else Exit.OK)
        folder = ExplorationFolder(out, command, seed, duration_text(plan.client_timeout), serve)
        again = [*given_again(click.get_current_context(), _DECIDING)]
        with folder.claimed(), open_runner() as runner:
            made = _explore(_lab(runner, plan), folder, resume=resume)
            made.before = before
            _report(made, folder, form, least, again)
    warns = fail_on == _WARNING and bool(report.warnings(made))
    if made.reaches(least) or warns:
        sys.exit(Exit.FOUND)
    # What was found until then counts more.
    if made.why == "interrupted":
        sys.exit(Exit.INTERRUPTED)


@contextmanager
def _stopping_for_reports(folder_option: str) -> Iterator[None]:
    """End the command where the report to compare with cannot be read, or where the folder, which
    an option names, has another exploration in it."""
    try:
        yield
    except NoReport as problem:
        stop(Exit.USAGE, f"--baseline: {problem}")
    except OtherExploration as problem:
        stop(Exit.USAGE, f"{folder_option}: {problem}")


def _plan(options: _PlanOptions, *, restarts: bool, is_alone: bool, least: Verdict) -> Plan:
    """What is tried. Raises ``click.UsageError`` for options that would do nothing beside the
    others."""
    seeds = options["seeds"]
    if options["all_"] and not seeds:
        raise click.UsageError(
            "--all needs --seeds: it says that a swarm goes on after the first red run"
        )
    # Without --faults those that the table has by default.
    chosen = list(options["faults"] or faults_of(None))
    of_own_axes = [fault.name for fault in chosen if fault.at in OWN_AXES]
    # Seeds draw none of these. By --crash and --twice they are tried besides; named in --faults
    # they would take the place of what a swarm draws from.
    _refuse_beside("--seeds", seeds, dict.fromkeys(of_own_axes, True))
    axes = []
    # Who says how to restart wants to know what a crash does.
    if options["crash"] or restarts:
        axes.append(CRASH)
    if options["twice"]:
        axes.append(TWICE)
    for fault in FAULTS.values():
        if fault.at in axes and fault not in chosen:
            chosen.append(fault)
    plan = Plan(
        operations=options["operations"],
        faults=chosen,
        client_timeout=options["client_timeout"],
        jobs=options["jobs"],
        is_alone=is_alone,
        timeout=options["timeout"],
        budget=options["budget"],
        pairs=options["pairs"],
        seeds=seeds,
        has_all=options["all_"],
        least=least,
    )
    if seeds and plan.has_matrix:
        click.echo(
            "the seeds come after all that is asked for beside them, and draw neither crashes nor "
            "second runs",
            err=True,
        )
    return plan


def _refuse_beside(name: str, value: object, others: Mapping[str, object]) -> None:
    """Refuse an option that has a value beside others that it would ignore."""
    if not value:
        return
    for other, other_value in others.items():
        if other_value:
            raise click.UsageError(f"got {name} and {other}, only one of them is allowed")


@contextmanager
def trial_runner(
    url: str | None,
    admin_token: str | None,
    argv: tuple[str, ...],
    seed: int,
    serve: Sequence[str] = (),
    *,
    aftermath: Aftermath = _NO_AFTERMATH,
    restart: Sequence[str] = (),
) -> Iterator[TrialRunner]:
    """What runs a command at a server, which is started here with the options ``serve`` unless
    ``url`` names one. At a server that others may use too, its sandboxes are kept apart from those
    of another run."""
    with tempfile.TemporaryDirectory(prefix="mockserver-") as name:
        folder = Path(name)
        runner_at = partial(
            TrialRunner,
            argv=argv,
            commands=Commands(environment()),
            folder=folder,
            seed=seed,
            run=process_name(),
            aftermath=aftermath,
            restart=restart,
        )
        if url is None:
            with started(serve, folder) as own_url:
                yield runner_at(url=own_url, is_shared=False, line=ControlLine(own_url))
            return
        with isolated(runner_at(url=url, admin_token=admin_token)) as runner:
            if runner.salt:
                click.echo(
                    f"another run of seed {seed} is under way at {url}, or was killed there: this "
                    "one takes other "
                    "sandboxes, so ids differ from those of a run alone",
                    err=True,
                )
            yield runner


def _lab(runner: TrialRunner, plan: Plan) -> Lab:
    """Run the command without a fault, and say what it calls then: faults are tried at these calls,
    and each run is compared with this one."""
    base = plain_baseline(runner, plan.timeout)
    if plan.crashes:
        base = crash_baseline(runner, base, plan.timeout)
    count = len(base.calls)
    points = [str(point) for point in base.points[:_MOST_NAMED]]
    if count > _MOST_NAMED:
        points.append("...")
    calls = "1 call" if count == 1 else f"{count} calls"
    click.echo(f"without faults: {calls} in {base.seconds:.2f} s: {', '.join(points)}", err=True)
    payments = [(point, status) for point, status in base.calls if point.op in TAKING]
    # A call without an answer has no status.
    succeeded = [status for _, status in payments if status and status < BAD_REQUEST]
    if payments and not succeeded:
        answers = [f"{point} was answered {status or 'nothing'}" for point, status in payments[:3]]
        click.echo(
            "warning: without faults no payment succeeded, so few faults can show anything: "
            f"{', '.join(answers)}",
            err=True,
        )
    return Lab(runner, plan, base)


def _explore(lab: Lab, folder: ExplorationFolder, *, resume: bool) -> Exploration:
    """Try all that there is to try, but for what an earlier run has tried with ``resume``. Ends the
    command when there is nothing."""
    if not (lab.matrix() or lab.swarm()):
        calls = ", ".join(str(point) for point in lab.base.points[:_MOST_NAMED])
        stop(
            Exit.USAGE,
            "nothing to try: no fault of --faults and --ops makes sense at a call of the command "
            f"({calls})",
        )
    if not resume:
        # Without an empty folder, what an earlier version of the client did would count as tried.
        folder.begin()
    known = folder.resume()
    with _progress() as progress:
        made = exploration.explore(lab, known=known, keep=folder.keep, progress=progress)
    folder.settle(made.dropped)
    return made


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """What shows on a terminal how far it is, with the time left: an exploration takes minutes. How
    much there is to do changes on the way, as seeds and pairs come from what was found."""
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(
        length=1, label="faults", file=sys.stderr, show_pos=True, hidden=is_hidden
    ) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield progress


def _replay(runner: TrialRunner, file_or_name: str, plan: Plan) -> Verdict:
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


def _try_named(runner: TrialRunner, name: str, plan: Plan, option: str) -> Tried:
    """Run once what a name says, as in a whole exploration: compared with a run without a fault."""
    lab = _lab(runner, plan)
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


def _is_fixed(runner: TrialRunner, name: str, plan: Plan, before: Before) -> bool:
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


def _report(
    made: Exploration,
    folder: ExplorationFolder,
    form: str,
    least: Verdict,
    options: Sequence[str],
) -> None:
    """Write the reports of an exploration into its folder, and print one in a form; ``options`` are
    those with which its runs can be tried again."""
    scenarios = {}
    for cell in made.cells:
        path = folder.scenario_of(cell)
        if path is not None:
            scenarios[cell.name] = path
    # In each form the folder has both: the page for people, the data for --baseline and --fixed.
    page = report.page(made)
    data = report.as_json(made, scenarios, options)
    file = folder.folder / "report.html"
    file.write_text(page, "utf-8")
    file.with_suffix(".json").write_text(data + "\n", "utf-8")
    match form:
        case "text":
            click.echo(f"{report.text(made, options)}\nfull report: {file}")
        case "junit":
            click.echo(explored(made, scenarios, least))
        case "markdown":
            click.echo(report.markdown(made))
        case "sarif" | "github":
            click.echo(REPORTS[form](report.rows(made)))
        case "html":
            click.echo(page)
        case _:
            click.echo(data)
