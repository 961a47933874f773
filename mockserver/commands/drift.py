"""``mockserver drift``: this product beside another server, such as the service's own sandbox;
``mockserver import``: recorded traffic as a scenario (docs/drift.md).

A walk makes real objects at somebody's account. So it is interrupted only where what was made can
still be taken back (``run_interruptible``), and its key is read from the environment.
"""

import asyncio
import re
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import environment, machine_now
from mockserver.adapters.strict_yaml import scenario_text
from mockserver.commands.ending import run_interruptible, stop
from mockserver.commands.options import options
from mockserver.drift.differences import Run
from mockserver.drift.importing import commented, scenario_of
from mockserver.drift.judging import DriftReport, judge
from mockserver.drift.peers import NotCompared, remote
from mockserver.drift.playing import play
from mockserver.drift.recordings import Recording, read_all, written
from mockserver.drift.traffic import read_har, read_postman
from mockserver.drift.walk import printed, steps, unseen

_READ = {"har": read_har, "postman": read_postman}
_MARKED = re.compile(r"(?<=<!-- drift -->\n).*?(?=<!-- end -->)", re.DOTALL)


@click.command(
    epilog="Exit codes: 0 equal, 1 differences, 2 wrong usage, a refused key or a bad file, 5 not "
    "reached or broken off, 130 interrupted; what was made is taken back then too."
)
@options("drift")
def drift(
    *,
    against: str | None,
    key_env: str | None,
    replay: Path | None,
    ops: Set[str] | None,
    profile: str,
    record: Path | None,
    write: Path | None,
    page: Path | None,
    dry_run: bool,
) -> None:
    """Play a harmless walk against another server and this product, and print what differs.

    Nothing is sent unless --against names a host. The walk sends test cards only, and is voided,
    refunded and deleted when it ends. Each difference names the assumption that settles it.
    """
    if dry_run:
        lines = [*printed(steps(ops)), *unseen()]
        click.echo("\n".join(lines))
        return
    if (against is None) == (replay is None):
        raise click.UsageError("wanted one of --against URL and --replay DIR")
    with _stopping():
        if replay is not None:
            recordings = read_all(replay)
        else:
            recordings = [_record_walk(str(against), key_env, ops)]
        # Kept before it is judged, as a walk makes real objects and is not to be repeated.
        if record is not None:
            record.mkdir(parents=True, exist_ok=True)
            (record / "drift.har").write_text(written(recordings[-1]), "utf-8")
        reports = [run_interruptible(judge(recording, profile)) for recording in recordings]
        click.echo("\n\n".join(map(str, reports)))
        if write is not None:
            write.write_text(reports[-1].written(), "utf-8")
        if page is not None:
            page.write_text(_page_with(page.read_text("utf-8"), reports), "utf-8")
    # What was not asked cannot be equal.
    if any(report.recording.played.broken for report in reports):
        sys.exit(Exit.NOT_READY)
    are_equal = all(report.is_equal for report in reports)
    sys.exit(Exit.OK if are_equal else Exit.FOUND)


@contextmanager
def _stopping() -> Iterator[None]:
    """End the command, with the reason, when nothing is compared or a file cannot be used."""
    try:
        yield
    except NotCompared as refused:
        stop(refused.code, str(refused))
    except OSError as problem:
        stop(Exit.USAGE, f"{problem.filename}: {problem.strerror}")


def _record_walk(url: str, key_env: str | None, ops: Set[str] | None) -> Recording:
    """Play the calls of the walk against a server, and keep its answers to be compared with ours.
    The key is in a variable of the environment, since a command line can be read by others. Raises
    ``NotCompared``."""
    key = environment().get(key_env or "", "")
    if not key:
        wanted = "the name of a variable of the environment that holds the key"
        raise click.UsageError(f"--key-env: got {key_env or 'nothing'}, wanted {wanted}")
    # A name of its own: what earlier walks made is still there, a search must not find it, and some
    # references are taken only once.
    now = machine_now()
    run = Run(f"drift-{now // 1_000:x}", now)
    server = remote(url, key, machine_now)
    try:
        played = run_interruptible(play(steps(ops), server, run.name))
    except NotCompared as refused:
        raise NotCompared(f"{url}: {refused}", refused.code) from None
    return Recording(url, run, played)


def _page_with(text: str, reports: list[DriftReport]) -> str:
    """A page with the reports between its marks, indented, which Markdown shows as they are. Raises
    ``NotCompared``."""
    if not _MARKED.search(text):
        raise NotCompared("--page: wanted a file with the lines <!-- drift --> and <!-- end -->")
    words = "\n\n".join(map(str, reports)).splitlines()
    block = "".join(f"    {line}".rstrip() + "\n" for line in words)

    def block_instead(_: re.Match[str]) -> str:
        # A function, as ``sub`` would read the backslashes of a text.
        return f"\n{block}\n"

    return _MARKED.sub(block_instead, text)


@click.command("import")
@click.argument("form", type=click.Choice(tuple(_READ)))
@click.argument("file", type=click.Path(path_type=Path))
@options("import")
def import_traffic(*, form: str, file: Path, out: Path | None) -> None:
    """Make a scenario of recorded traffic, a HAR file or a Postman collection: examples that
    `mockserver check` runs.

    Card numbers become test cards, keys and ccvs are left out. Exit code 1 when a call failed there
    and not here, or the other way round: a comment says what was recorded. Exit code 2 when the
    file cannot be read or has no call of the service.
    """
    with _stopping():
        exchanges = _READ[form](file)
        imported = asyncio.run(scenario_of(exchanges, "recorded", machine_now()))
        if not any(exchange.path for exchange in exchanges):
            raise NotCompared(
                f"{file}: none of its {len(exchanges)} exchanges is a call of the service"
            )
        text = commented(scenario_text(imported.scenario), imported.unlike)
        if out is None:
            click.echo(text, nl=False)
        else:
            out.write_text(text, "utf-8")
    for note in imported.notes:
        click.echo(note, err=True)
    if imported.unlike:
        sys.exit(Exit.FOUND)
