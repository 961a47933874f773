"""``mockserver explore``: a command under every single failure at each of its calls
(docs/explore.md)."""

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.client import BAD_REQUEST
from pathlib import Path
from typing import Any

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
from mockserver.explore.shrink import NotRepeated
from mockserver.explore.trial import FIRST_TIMEOUT, Observed, TrialRunner, held_until, isolated
from mockserver.explore.verdicts import Judged, Reference, Verdict, judged
from mockserver.remote import ControlLine, ControlRefused
from mockserver.scenario.operations import TAKING
from mockserver.scenario.problems import ScenarioRefused


@contextmanager
def stopping(url: str | None, program: str) -> Iterator[None]:
    """End the command, with the reason, when no server answers, a file or the program cannot be
    used, or the command does not do the same twice."""
    try:
        yield
    except (NoBaseline, NotRepeated) as problem:
        stop(Exit.BASELINE, str(problem))
    except OSError as problem:
        stop(Exit.USAGE, f"{problem.filename or program}: {problem.strerror}")
    except (HTTPError, ControlRefused) as problem:
        stop(Exit.NOT_READY, f"the server at {url or 'hand'} fails: {problem}")


_SAME = {"url", "scenario", "profile", "restart", "timeout", "client_timeout", "seed"}
_SAME |= {"books", "books_state", "settle", "reconcile", "told", "invariant"}
"""Parameters on which it depends what a run does and how it is judged."""

_WARNING = "warning"
"""A level of --fail-on that is no verdict: a finding of that severity."""


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
    **asked: Any,
) -> None:
    """Run COMMAND under every single failure at each of its calls, and show which ones move money
    wrongly.

    COMMAND finds the sandbox by MOCKSERVER_URL, MOCKSERVER_SECRET_KEY and MOCKSERVER_PUBLIC_KEY in
    its environment; {url}, {secret_key} and {public_key} in its words are filled in. It runs twice
    without a fault, then once for each fault at each call, every time in a fresh sandbox.
    """
    aftermath = Aftermath(books or (), books_state, settle, reconcile or (), invariant, told)
    _refuse_beside(
        "--replay", replay, {"--seeds": asked["seeds"], "--fixed": fixed, "--baseline": baseline}
    )
    _refuse_beside("--seeds", asked["seeds"], {"--fixed": fixed})
    _refuse_beside("--url", url, {"--scenario": scenario, "--profile": profile})
    least = Verdict.UNSAFE if fail_on == _WARNING else Verdict(fail_on)
    plan = _plan(
        restarts=restart is not None, is_alone=aftermath.url is not None, least=least, **asked
    )
    serve = [*words_of({"scenario": scenario, "profile": profile})]
    way = {"aftermath": aftermath, "restart": restart or ()}
    with_runner = partial(trial_runner, url, admin_token, command, seed, serve, **way)
    with stopping(url, command[0]):
        try:
            # Before the folder is touched.
            before = (
                Before.read(baseline or out / "report.json")
                if baseline is not None or fixed is not None
                else None
            )
            if fixed is not None and before is not None:
                with with_runner() as runner:
                    sys.exit(Exit.OK if _is_fixed(runner, fixed, plan, before) else Exit.FOUND)
            if replay is not None:
                with with_runner() as runner:
                    sys.exit(
                        Exit.FOUND if _replay(runner, replay, plan).reaches(least) else Exit.OK
                    )
            kept = ExplorationFolder(out, command, seed, duration_text(plan.client_timeout), serve)
            with kept.claimed(), with_runner() as runner:
                made = _explore(_lab(runner, plan), kept, resume=resume)
                made.before = before
                _report(made, kept, form, least, [*given_again(click.get_current_context(), _SAME)])
        except NoReport as problem:
            stop(Exit.USAGE, f"--baseline: {problem}")
        except OtherExploration as problem:
            stop(Exit.USAGE, f"{'--resume' if resume else '--out'}: {problem}")
    if made.reaches(least) or (fail_on == _WARNING and report.warnings(made)):
        sys.exit(Exit.FOUND)
    if made.why == "interrupted":
        sys.exit(Exit.INTERRUPTED)


def _plan(
    *,
    faults: list[Fault] | None,
    crash: bool,
    restarts: bool,
    twice: bool,
    seeds: int,
    all_: bool,
    **asked: Any,
) -> Plan:
    """What is asked for. Raises ``click.UsageError``."""
    if all_ and not seeds:
        raise click.UsageError(
            "--all needs --seeds: it says that a swarm goes on after the first red run"
        )
    chosen = faults or faults_of(None)
    _refuse_beside("--seeds", seeds, {one.name: True for one in chosen if one.at in OWN_AXES})
    axes = [*([CRASH] if crash or restarts else []), *([TWICE] if twice else [])]
    chosen = [*chosen, *(one for one in FAULTS.values() if one.at in axes and one not in chosen)]
    plan = Plan(faults=chosen, seeds=seeds, has_all=all_, **asked)
    if seeds and plan.has_matrix:
        click.echo(
            "the seeds come after all that is asked for beside them, and draw neither crashes nor "
            "second runs",
            err=True,
        )
    return plan


def _refuse_beside(name: str, value: object, others: Mapping[str, object]) -> None:
    """Refuse an option beside others that it would ignore."""
    lost = [other for other, given in others.items() if given]
    if value and lost:
        raise click.UsageError(f"got {name} and {lost[0]}, only one of them is allowed")


@contextmanager
def trial_runner(
    url: str | None,
    admin_token: str | None,
    argv: tuple[str, ...],
    seed: int,
    serve: Sequence[str] = (),
    **way: Any,
) -> Iterator[TrialRunner]:
    """A server, started here with the options ``serve`` unless one is given, and all that the
    command is run with; ``way`` is given on to the runner."""
    with tempfile.TemporaryDirectory(prefix="mockserver-") as name:
        folder = Path(name)
        at = partial(
            TrialRunner,
            argv=argv,
            commands=Commands(environment()),
            folder=folder,
            seed=seed,
            **way,
        )
        if url is None:
            with started(serve, folder) as own:
                yield at(url=own, run=process_name(), is_shared=False, line=ControlLine(own))
            return
        with isolated(at(url=url, run=process_name(), admin_token=admin_token)) as runner:
            if runner.salt:
                click.echo(
                    f"another run of seed {seed} is under way at {url}, or was killed there: this "
                    "one takes other "
                    "sandboxes, so ids differ from those of a run alone",
                    err=True,
                )
            yield runner


def _lab(runner: TrialRunner, plan: Plan) -> Lab:
    """Run the command without a fault, and say what it calls then."""
    base = plain_baseline(runner, plan.timeout)
    if plan.crashes:
        base = crash_baseline(runner, base, plan.timeout)
    calls = ", ".join(str(point) for point in base.points[:8]) + (
        ", ..." if len(base.calls) > 8 else ""
    )
    click.echo(
        f"without faults: {len(base.calls)} call{'s' * (len(base.calls) != 1)} in "
        f"{base.seconds:.2f} s: {calls}",
        err=True,
    )
    asked = [(point, status) for point, status in base.calls if point.op in TAKING]
    if asked and all((status or BAD_REQUEST) >= BAD_REQUEST for _, status in asked):
        told = ", ".join(
            f"{point} was answered {status or 'nothing'}" for point, status in asked[:3]
        )
        click.echo(
            "warning: without faults no payment succeeded, so few faults can show anything: "
            f"{told}",
            err=True,
        )
    return Lab(runner, plan, base)


def _explore(lab: Lab, kept: ExplorationFolder, *, resume: bool) -> Exploration:
    if not (lab.matrix() or lab.swarm()):
        calls = ", ".join(str(point) for point in lab.base.points[:8])
        stop(
            Exit.USAGE,
            "nothing to try: no fault of --faults and --ops makes sense at a call of the command "
            f"({calls})",
        )
    if not resume:
        kept.begin()
    known = kept.resume()
    with _progress() as progress:
        made = exploration.explore(lab, known=known, keep=kept.keep, progress=progress)
    kept.settle(made.dropped)
    return made


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """What shows on a terminal how far it is, with the time left."""
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(
        length=1, label="faults", file=sys.stderr, show_pos=True, hidden=is_hidden
    ) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield progress


def _replay(runner: TrialRunner, given: str, plan: Plan) -> Verdict:
    """Run once under a scenario file, or what a name says, and print what happened; the verdict."""
    if not Path(given).exists() and (("/" in given and "#" in given) or given.startswith(SEED)):
        made = _try_named(runner, given, plan, "--replay")
        return _show(
            made.seen, made.judged, made.trial.story, [str(rule["id"]) for rule in made.trial.rules]
        )
    file = Path(given)
    try:
        scenario = read_file(file)
    except ScenarioRefused as refused:
        stop(Exit.USAGE, "\n".join(map(str, refused.problems)))
    if scenario.said.seed is not None:
        # What was found with another seed comes again with that.
        runner = replace(runner, seed=scenario.said.seed)
    also = [*runner.aftermath.invariants, *map(Invariant, scenario.said.money)]
    runner = replace(runner, aftermath=replace(runner.aftermath, invariants=also))
    try:
        seen = runner.try_out(scenario.name, dict(scenario.source), plan.timeout or FIRST_TIMEOUT)
    except ControlRefused as refused:
        if refused.status != BAD_REQUEST:
            raise
        stop(Exit.USAGE, f"--replay: {file}: {refused}")
    rules = [rule.id for rule in scenario.rules]
    reference = Reference(of_two=held_until(scenario.source) == "released")
    has_books, has_fired = bool(runner.aftermath.books), seen.has_struck(rules)
    found = judged(seen.ended.exit, seen.after, reference, has_books=has_books, has_fired=has_fired)
    return _show(seen, found, scenario.said.description, rules)


def _try_named(runner: TrialRunner, name: str, plan: Plan, option: str) -> Tried:
    """Run once what a name says, as in a whole exploration."""
    lab = _lab(runner, plan)
    try:
        trial = _named(name, lab)
    except ValueError as problem:
        raise click.UsageError(f"{option}: {problem}") from None
    if trial.is_of == CRASH and not plan.crashes:
        lab = replace(lab, base=crash_baseline(runner, lab.base, plan.timeout))
    return lab.try_one(trial)


def _named(name: str, lab: Lab) -> Trial:
    """What a name tries. Raises ``ValueError``."""
    if not name.startswith(SEED):
        return named(name, lab.base.points, lab.timed(FAULTS.values()))
    if not name.removeprefix(SEED).isdecimal():
        raise ValueError(f"got '{name[:60]}', wanted the seed of a run, such as seed-17")
    trial = lab.of_seed(int(name.removeprefix(SEED)))
    if not trial.injections:
        raise ValueError(f"got '{name[:60]}', and no fault makes sense at any call of the command")
    return trial


def _is_fixed(runner: TrialRunner, name: str, plan: Plan, before: Before) -> bool:
    """Run once what was unsafe before, and print the receipt; whether it survives."""
    was = before.verdict(name)
    if was is not Verdict.UNSAFE:
        known = (
            ", ".join(one for one in before.cells if before.verdict(one) is Verdict.UNSAFE)
            or "none"
        )
        words = (
            f"got '{name[:100]}', which was {was or 'not tried'} in {before.file}; unsafe "
            f"there: {known}"
        )
        raise click.UsageError(f"--fixed: {words}")
    now = _try_named(runner, name, plan, "--fixed")
    is_fixed = now.judged.verdict is Verdict.SURVIVED
    told = ", ".join(
        [*dict.fromkeys(row["finding"] for row in now.seen.after.findings), *now.judged.words]
    )
    click.echo(
        f"{'fixed' if is_fixed else 'not fixed'}: {name}\n"
        f"tried:  {now.trial.story}\n"
        f"before: {before.words(name)} ({before.file})\n"
        f"now:    {now.judged.verdict}, {now.seen.ended}{f': {told}' if told else ''}\n"
        f"with:   {mask_text(shlex.join(runner.argv))}, seed {runner.seed}"
    )
    return is_fixed


def _show(seen: Observed, found: Judged, story: str, rules: Sequence[str]) -> Verdict:
    """Print what happened in one run; its verdict."""
    missed = [rule for rule in rules if rule not in seen.fired]
    shown = [f"{found.verdict}: {seen.ended} in {seen.ended.seconds:.2f} s", *found.words]
    shown += [story] if story else []
    shown += (
        [f"did not strike: {', '.join(missed)}"]
        if missed
        else [seen.why_not]
        if seen.why_not
        else []
    )
    if seen.after.findings:
        shown += ["", text(seen.after.findings)]
    shown += ["", seen.timeline]
    said = seen.printed().rstrip()
    if said:
        shown += ["", "the command printed:", said]
    click.echo("\n".join(shown))
    return found.verdict


def _report(
    made: Exploration, kept: ExplorationFolder, form: str, least: Any, options: Sequence[str]
) -> None:
    scenarios = {
        cell.name: path for cell in made.cells if (path := kept.scenario_of(cell)) is not None
    }
    page, data, file = (
        report.page(made),
        report.as_json(made, scenarios, options),
        kept.folder / "report.html",
    )
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
        case _:
            click.echo(page if form == "html" else data)
