"""``mockserver findings``: what the client of a sandbox did wrong (docs/findings.md); ``mockserver coverage``: which
failures the tests have met (docs/explore.md). Both for people and for CI."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click
import httpx

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.explore import stop
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.commands.reports import REPORTS
from mockserver.engine.sandbox import masked_key
from mockserver.findings.catalogue import reaches
from mockserver.remote import ControlRefused, RemoteSandbox
from mockserver.scenario.failures import UNSAFE, Coverage


@contextmanager
def served(url: str, key: str, refused: Exit, admin_token: str | None = None) -> Iterator[RemoteSandbox]:
    """A sandbox of a running server. Ends the command when none answers, with ``refused`` when it refuses a call."""
    try:
        with closing(RemoteSandbox(url, key, admin_token=admin_token)) as sandbox:
            yield sandbox
    except ControlRefused as problem:
        stop(refused, str(problem))
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        stop(Exit.NOT_READY, f"no server at {url}: {problem}; `mockserver` starts one")


@click.command()
@options("findings")
def findings(
    *, url: str, admin_token: str | None, key: str, finish: bool, since: str | None, fail_on: str, form: str
) -> None:
    """Print what the client of a sandbox did wrong, with evidence and advice.

    Exit code 1 when a finding is at or above --fail-on, 2 when no request has reached the sandbox or the server refuses
    the call, 5 when none answers.
    """
    params = {"since": since} if since is not None else None
    method, path = ("POST", "/__admin/findings/finish") if finish else ("GET", "/__admin/findings")
    with served(url, key, Exit.USAGE, admin_token) as sandbox:
        check_reached(sandbox)
        page: dict[str, Any] = sandbox.call(method, path, params=params)
    rows = page["findings"]
    click.echo(json.dumps(page, indent=2) if form == "json" else REPORTS[form](rows))
    for sentence in page["idle"]:
        click.echo(sentence, err=form != "text")
    if any(reaches(row, fail_on) for row in rows):
        sys.exit(Exit.FOUND)


def check_reached(sandbox: RemoteSandbox) -> None:
    """End the command (exit code 2) when no request has reached the sandbox that it is to judge, as with a key that is
    misspelt: an unused sandbox has no findings. Raises as ``RemoteSandbox.call``."""
    if not is_reached(sandbox):
        used = ", ".join(others(sandbox)) or "none"
        stop(Exit.USAGE, f"no request has reached this sandbox ({masked_key(sandbox.secret_key)}); keys in use: {used}")


def is_reached(sandbox: RemoteSandbox) -> bool:
    # A test that moves the clock of the wrong sandbox has asked nothing of it.
    page = sandbox.call("GET", "/__admin/journal", params={"q": "-op:clock.* -is:due", "limit": 1})
    return bool(page["count"] or page["dropped"])


def others(sandbox: RemoteSandbox) -> list[str]:
    """The masked keys of the other sandboxes of its server that were used."""
    own, rows = masked_key(sandbox.secret_key), sandbox.rows("/__admin/sandboxes", "sandboxes")
    return [row["key"] for row in rows if row["requests"] and row["key"] != own]


@click.command()
@options("coverage")
def coverage(url: str, admin_token: str | None, report: str | None, fail_under: int, form: str) -> None:
    """Print which failures struck, of all that there are for the operations that were used.

    Exit code 1 below --fail-under, 2 when the report cannot be read, 5 when no server answers.
    """
    if report is not None:
        found = _read(report)
    else:
        with served(url, "sk_coverage", Exit.USAGE, admin_token) as sandbox:
            found = Coverage.read(sandbox.call("GET", "/__admin/coverage"))
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


def _read(name: str) -> Coverage:
    try:
        return Coverage.read(json.loads(Path(name).read_text("utf-8"))["coverage"])
    except OSError as problem:
        stop(Exit.USAGE, f"cannot read {name}: {problem.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError):
        stop(Exit.USAGE, f"{name} is no report of `mockserver explore` or of `pytest --mockserver-coverage`")
