"""``mockserver coverage``: which failures the tests have met, for people and for CI (docs/explore.md)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.explore import stop
from mockserver.commands.findings import served
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.scenario.failures import UNSAFE, Coverage


@click.command()
@options("coverage")
def coverage(url: str, admin_token: str | None, report: str | None, fail_under: int, form: str) -> None:
    """Print which failures struck, of all that there are for the operations that were used.

    Exit code 1 below --fail-under, 2 when the report cannot be read, 5 when no server answers.
    """
    found = _asked(url, admin_token) if report is None else _read(report)
    if form == "json":
        click.echo(json.dumps(found.shown(), indent=2))
    else:
        rows = [{"operation": op, **_parted(found, op, names)} for op, names in found.rows.items()]
        if rows:
            show(rows)
        click.echo(found.words)
    if found.percent < fail_under:
        click.echo(f"below --fail-under {fail_under}", err=True)
        sys.exit(Exit.FOUND)


def _parted(found: Coverage, op: str, names: list[str]) -> dict[str, str]:
    """How many failures struck an operation, those under which it was unsafe, and those that never struck."""
    states = {name: found.states.get((op, name)) for name in names}
    never, unsafe = ([name for name in names if states[name] == state] or ["-"] for state in (None, UNSAFE))
    met = sum(state is not None for state in states.values())
    return {"met": f"{met} of {len(names)}", "unsafe": ", ".join(unsafe), "never tried": ", ".join(never)}


def _asked(url: str, admin_token: str | None) -> Coverage:
    with served(url, "sk_coverage", Exit.USAGE, admin_token) as sandbox:
        return Coverage.read(sandbox.call("GET", "/__admin/coverage"))


def _read(name: str) -> Coverage:
    try:
        return Coverage.read(json.loads(Path(name).read_text("utf-8"))["coverage"])
    except OSError as problem:
        stop(Exit.USAGE, f"cannot read {name}: {problem.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError):
        stop(Exit.USAGE, f"{name} is no report of `mockserver explore` or of `pytest --mockserver-coverage`")
