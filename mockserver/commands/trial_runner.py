"""With what ``mockserver explore`` and ``mockserver shrink`` run a command: a server, a fresh
sandbox for each run, and a run without a fault that the others are compared with."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from http.client import BAD_REQUEST
from pathlib import Path

import click
from httpx import HTTPError

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import environment, process_name
from mockserver.commands.ending import stop
from mockserver.commands.servers import started
from mockserver.explore.aftermath import Aftermath
from mockserver.explore.baseline import NoBaseline, crash_baseline, plain_baseline
from mockserver.explore.command import Commands
from mockserver.explore.lab import Lab, Plan
from mockserver.explore.shrink import NotRepeated
from mockserver.explore.trial import TrialRunner, isolated
from mockserver.remote import ControlLine, ControlRefused
from mockserver.scenario.operations import TAKING

MOST_NAMED = 8
"""Calls of the command that are named in a line."""

_NO_AFTERMATH = Aftermath()


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
    with (
        tempfile.TemporaryDirectory(prefix="mockserver-") as name,
        closing(Commands(environment())) as commands,
    ):
        folder = Path(name)
        runner_at = partial(
            TrialRunner,
            argv=argv,
            commands=commands,
            folder=folder,
            seed=seed,
            run=process_name(),
            aftermath=aftermath,
            restart=restart,
        )
        if url is None:
            # Nobody else uses it: its sandboxes need no names of their own.
            with started(serve, folder) as own_url:
                yield runner_at(url=own_url, is_shared=False, line=ControlLine(own_url))
            return
        with (
            closing(ControlLine(url)) as line,
            isolated(runner_at(url=url, admin_token=admin_token, line=line)) as runner,
        ):
            if runner.salt:
                click.echo(
                    f"another run of seed {seed} is under way at {url}, or was killed there: this "
                    "one takes other sandboxes, so ids differ from those of a run alone",
                    err=True,
                )
            yield runner


def lab_of(runner: TrialRunner, plan: Plan) -> Lab:
    """Run the command without a fault, and say what it calls then: faults are tried at these calls,
    and each run is compared with this one."""
    base = plain_baseline(runner, plan.timeout)
    if plan.crashes:
        base = crash_baseline(runner, base, plan.timeout)
    count = len(base.calls)
    points = [str(point) for point in base.points[:MOST_NAMED]]
    if count > MOST_NAMED:
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
