"""``mockserver shrink``: from a chaotic run to the smallest scenario that still fails
(docs/explore.md).

A run under chance that fails shows a dozen faults, of which one or two matter. This command leaves
out one after the other, and keeps what the failure needs: a scenario to debug with, and for a test.
The search itself is ``explore/shrink.py``.
"""

import shlex
import sys
from functools import partial
from http.client import BAD_REQUEST
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.scenario_files import load
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.commands.ending import stop
from mockserver.commands.options import options
from mockserver.commands.trial_runner import stopping, trial_runner
from mockserver.domain.masking import mask_text
from mockserver.explore.shrink import NoFailure, Shrinking, Stopped
from mockserver.remote import ControlRefused
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import Scenario
from mockserver.settings import Settings


@click.command(
    epilog="Exit codes: 0 a scenario was written, 1 the command does not fail under the scenario, "
    "2 wrong usage or a bad scenario, 3 it fails without any fault too, or the failure does not "
    "repeat, 5 no server, 130 interrupted.",
)
@options("shrink")
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
    """Find the fewest faults of a scenario that still make COMMAND fail, and write them as a
    scenario.

    COMMAND finds the sandbox as with `mockserver explore`. It runs once without any fault, once
    under the scenario, then with fewer and fewer of the faults that struck, each aimed at its call.
    """
    loaded = _load_one(scenario)
    source = {**loaded.source, "name": loaded.name}
    # The faults of a scenario are drawn by the seed: with another they strike elsewhere, and the
    # failure does not come again.
    if seed is not None:
        source["seed"] = seed
    elif loaded.said.seed is not None:
        seed = loaded.said.seed
    else:
        seed = Settings().seed
    code = Exit.OK.value
    with stopping(url, command[0]):
        out.mkdir(parents=True, exist_ok=True)
        try:
            with trial_runner(url, admin_token, command, seed) as runner:
                report = partial(click.echo, err=True)
                shrinking = Shrinking(
                    runner, source, key=key, finding=finding, timeout=timeout, report=report
                )
                smallest = shrinking.shrink()
        except Stopped as stopped:
            # The smallest so far is written all the same.
            smallest = stopped.made
            code = Exit.INTERRUPTED
        except NoFailure as problem:
            stop(Exit.FOUND, str(problem))
        except ControlRefused as refused:
            if refused.status != BAD_REQUEST:
                raise
            # Some parts of a scenario are for a whole server, and a sandbox refuses them; the file
            # is at fault, not the server.
            stop(Exit.USAGE, f"--scenario: {scenario}: {refused}")
        file = out / f"{smallest['name']}.yaml"
        text = scenario_text(smallest)
        file.write_text(text, "utf-8")
    # It may end in the log of CI: a word of the command may be a key.
    command_words = mask_text(shlex.join(command))
    again = f"mockserver explore --replay {shlex.quote(str(file))} -- {command_words}"
    click.echo(f"{text}\nwritten to {file}\nTo see it: {again}")
    sys.exit(code)


def _load_one(name: str) -> Scenario:
    """The scenario of a file or a shipped name. Ends the command when it is refused."""
    try:
        [scenario] = load([name], test_values=False)
    except ScenarioRefused as refused:
        stop(Exit.USAGE, str(refused))
    except ValueError:
        # Of a folder there may be any number.
        raise click.UsageError(
            f"--scenario: {name} is a folder, and one scenario is wanted"
        ) from None
    return scenario
