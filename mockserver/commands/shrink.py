"""``mockserver shrink``: from a chaotic run to the smallest scenario that still fails (docs/explore.md)."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from http.client import BAD_REQUEST
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.scenario_files import load
from mockserver.adapters.scenario_text import scenario_text
from mockserver.commands.explore import (
    admin_token,
    header_text,
    interruptions,
    laboratory,
    read_by,
    seconds,
    server_url,
    stop,
    stopping,
)
from mockserver.domain.masking import mask_text
from mockserver.explore.shrink import NoFailure, NotRepeated, Shrinking, Stopped
from mockserver.findings.catalogue import kind_of
from mockserver.remote import ControlRefused
from mockserver.scenario.problems import ScenarioRefused
from mockserver.settings import Settings


def _finding(name: str) -> str:
    return kind_of(name).name


@click.command(
    epilog="Exit codes: 0 a scenario was written, 1 the command does not fail under the scenario, 2 wrong usage or a "
    "bad scenario, 3 it fails without any fault too, or the failure does not repeat, 5 no server, 130 interrupted.",
)
@click.option("--scenario", metavar="FILE", required=True, help="File or shipped name of the scenario, such as chaos.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of chance and ids, instead of the scenario's.")
@click.option(
    "--key",
    metavar="KEY",
    callback=read_by(header_text),
    help="Secret key of the sandbox, which chance may depend on; default: a new one.",
)
@click.option("--finding", metavar="NAME", callback=read_by(_finding),
              help="Finding to reproduce; default: the exit code of COMMAND, or with 0 its first finding of severity "
              "error.")  # fmt: skip
@click.option(
    "--timeout",
    metavar="TIME",
    callback=read_by(seconds),
    help="Time limit of one run; default: 10 x without faults + 10s.",
)
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), default="explored",
              show_default=True, help="Folder for the scenario file.")  # fmt: skip
@server_url
@admin_token
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def shrink(
    *,
    scenario: str,
    seed: int | None,
    key: str | None,
    finding: str | None,
    timeout: float | None,
    out: Path,
    url: str | None,
    admin_token: str | None,
    command: tuple[str, ...],
) -> None:
    """Find the fewest faults of a scenario that still make COMMAND fail, and write them as a scenario.

    COMMAND finds the sandbox as with `mockserver explore`. It runs once without any fault, once under the scenario,
    then with fewer and fewer of the faults that struck, each aimed at its call.
    """
    try:
        [read] = load([scenario], test_values=False)
    except ScenarioRefused as refused:
        stop(Exit.USAGE, str(refused))
    except ValueError:
        raise click.UsageError(f"--scenario: {scenario} is a folder, and one scenario is wanted") from None
    source = {**read.source, "name": read.name, **({} if seed is None else {"seed": seed})}
    click.get_current_context().with_resource(interruptions())
    code = Exit.STOPPED.value
    with stopping(url, command[0]):
        out.mkdir(parents=True, exist_ok=True)
        ids = seed if seed is not None else read.seed or Settings().seed
        try:
            with laboratory(url, admin_token, command, ids) as lab:
                report = partial(click.echo, err=True)
                made = Shrinking(lab, source, key=key, finding=finding, timeout=timeout, report=report).shrink()
        except Stopped as stopped:
            made, code = stopped.made, Exit.INTERRUPTED
        except NoFailure as problem:
            stop(Exit.FOUND, str(problem))
        except NotRepeated as problem:
            stop(Exit.BASELINE, str(problem))
        except ControlRefused as refused:
            if refused.status != BAD_REQUEST:
                raise
            # Some parts of a scenario are for a whole server, as a sandbox says.
            stop(Exit.USAGE, f"--scenario: {scenario}: {refused}")
    file = out / f"{made.scenario['name']}.yaml"
    text = scenario_text(made.scenario)
    try:
        file.write_text(text, "utf-8")
    except OSError as problem:
        stop(Exit.USAGE, f"{file}: {problem.strerror}")
    again = f"mockserver explore --replay {shlex.quote(str(file))} -- {mask_text(shlex.join(command))}"
    click.echo(f"{text}\nwritten to {file}\nTo see it: {again}")
    sys.exit(code)
