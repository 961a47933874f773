"""``mockserver explore``: a command under every single failure at each of its calls
(docs/explore.md).

Here the options are read and refused, one of five ways is taken (a whole exploration, ``--resume``
of one, ``--replay`` of a run, ``--fixed`` of a cell, seeds), and the reports are written. The ways
of one run are ``explore_once.py``. What is tried is ``explore/exploration.py``, how a run is judged
``explore/verdicts.py``.

Whatever goes wrong before a verdict has an exit code of its own: CI must be able to tell "your
client is unsafe" from "your tests do not pass at all".
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.ending import stop
from mockserver.commands.explore_once import is_fixed_now, replay_once
from mockserver.commands.options import given_again, options
from mockserver.commands.reports import REPORTS, explored
from mockserver.commands.servers import words_of
from mockserver.commands.trial_runner import MOST_NAMED, lab_of, stopping, trial_runner
from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.invariants import Invariant
from mockserver.explore import exploration, report
from mockserver.explore.aftermath import Aftermath
from mockserver.explore.exploration import Exploration
from mockserver.explore.failures import CRASH, FAULTS, OWN_AXES, TWICE, Fault
from mockserver.explore.fault_table import faults_of
from mockserver.explore.kept import Before, ExplorationFolder, NoReport, OtherExploration
from mockserver.explore.lab import Lab, Plan
from mockserver.explore.verdicts import Verdict

_DECIDING = {
    *("url", "scenario", "profile", "restart", "timeout", "client_timeout", "seed"),
    *("books", "books_state", "settle", "reconcile", "told", "invariant"),
}
"""Parameters that decide what a run does and how it is judged: a report tells the user to give the
same again."""

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
    "command does not pass twice in the same way without faults, 5 no server, 130 interrupted "
    "before anything was found.",
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
    # That level means this verdict, or any finding of that severity, which is asked for at the end.
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
                is_fixed = is_fixed_now(runner, fixed, plan, before)
            sys.exit(Exit.OK if is_fixed else Exit.FOUND)
        if replay is not None:
            with open_runner() as runner:
                verdict = replay_once(runner, replay, plan)
            sys.exit(Exit.FOUND if verdict.reaches(least) else Exit.OK)
        folder = ExplorationFolder(out, command, seed, duration_text(plan.client_timeout), serve)
        again = [*given_again(click.get_current_context(), _DECIDING)]
        with folder.claimed(), open_runner() as runner:
            made = _explore(lab_of(runner, plan), folder, resume=resume)
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


def _explore(lab: Lab, folder: ExplorationFolder, *, resume: bool) -> Exploration:
    """Try all that there is to try, but for what an earlier run has tried with ``resume``. Ends the
    command when there is nothing."""
    if not (lab.matrix() or lab.swarm()):
        calls = ", ".join(str(point) for point in lab.base.points[:MOST_NAMED])
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
