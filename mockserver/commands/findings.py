"""``mockserver findings``: what the client of a sandbox did wrong (docs/findings.md); ``mockserver
coverage``: which failures the tests have met (docs/explore.md). Both for people and for CI."""

import json
import sys
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.ending import stop
from mockserver.commands.job_summary import add_to_summary
from mockserver.commands.options import options
from mockserver.commands.printed_tables import show
from mockserver.commands.reports import REPORTS
from mockserver.commands.servers import check_reached, served
from mockserver.explore.failure_coverage import UNSAFE, Coverage
from mockserver.findings.catalogue import reaches
from mockserver.remote import JsonObject


@click.command()
@options("findings")
def findings(
    *,
    url: str,
    admin_token: str | None,
    key: str,
    finish: bool,
    since: str | None,
    fail_on: str,
    form: str,
) -> None:
    """Print what the client of a sandbox did wrong, with evidence and advice.

    Exit code 1 when a finding is at or above --fail-on, 2 when no request has reached the sandbox
    or the server refuses the call, 5 when none answers.
    """
    from_mark = {"since": since} if since is not None else {}
    with served(url, key, Exit.USAGE, admin_token) as sandbox:
        check_reached(sandbox)
        page: JsonObject
        if finish:
            page = sandbox.call("POST", "/__admin/findings/finish", params=from_mark)
        else:
            page = sandbox.call("GET", "/__admin/findings", params=from_mark)
        if form == "github":
            add_to_summary(REPORTS["text"](page["findings"]), sandbox.money(since))
    rows = page["findings"]
    if form == "json":
        click.echo(json.dumps(page, indent=2))
    else:
        click.echo(REPORTS[form](rows))
    for sentence in page["idle"]:
        # A program that reads another form than text must not meet sentences in it.
        click.echo(sentence, err=form != "text")
    if any(reaches(row, fail_on) for row in rows):
        sys.exit(Exit.FOUND)


@click.command()
@options("coverage")
def coverage(
    url: str, admin_token: str | None, report: str | None, fail_under: int, form: str
) -> None:
    """Print which failures struck, of all that there are for the operations that were used.

    Exit code 1 below --fail-under, 2 when the report cannot be read, 5 when no server answers.
    """
    if report is not None:
        covered = _read_report(report)
    else:
        # Coverage is of the server: any key will do.
        with served(url, "sk_coverage", Exit.USAGE, admin_token) as sandbox:
            covered = Coverage.read(sandbox.call("GET", "/__admin/coverage"))
    if form == "json":
        click.echo(json.dumps(covered.shown(), indent=2))
    else:
        rows = [_coverage_row(covered, op, names) for op, names in covered.rows.items()]
        if rows:
            show(rows)
            click.echo(
                "met = struck in some run; unsafe = money moved wrongly, or an error was found"
            )
        click.echo(covered.words)
    if covered.percent < fail_under:
        click.echo(f"below --fail-under {fail_under}", err=True)
        sys.exit(Exit.FOUND)


def _coverage_row(covered: Coverage, op: str, failures: list[str]) -> dict[str, str]:
    """How many of its failures struck an operation, those under which it was unsafe, and those that
    never struck."""
    states = {failure: covered.states.get((op, failure)) for failure in failures}
    never = [failure for failure, state in states.items() if state is None]
    unsafe = [failure for failure, state in states.items() if state == UNSAFE]
    return {
        "operation": op,
        "met": f"{len(states) - len(never)} of {len(failures)}",
        "unsafe": ", ".join(unsafe) or "-",
        "never tried": ", ".join(never) or "-",
    }


def _read_report(name: str) -> Coverage:
    """The coverage in a report, of one command or of the other. Ends the command when there is
    none: anything may stand in a file of that name."""
    try:
        report = json.loads(Path(name).read_text("utf-8"))
        return Coverage.read(report["coverage"])
    except OSError as problem:
        stop(Exit.USAGE, f"cannot read {name}: {problem.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError):
        stop(
            Exit.USAGE,
            f"{name} is no report of `mockserver explore` or of `pytest --mockserver-coverage`",
        )
