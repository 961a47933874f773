"""``mockserver run``: a server for one command, which is judged when it has ended (docs/run.md).

It stands in CI before a test suite that passes, and says what the suite cannot see: whether the
client pays twice, or leaves money behind. The command's output and exit code stay the command's
own; what is found comes after, on standard error, and counts only where the command succeeded.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

import click
from httpx import HTTPError

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import environment
from mockserver.commands.ending import heeded_signals, stop
from mockserver.commands.job_summary import add_to_summary
from mockserver.commands.options import options
from mockserver.commands.reports import REPORTS, text
from mockserver.commands.servers import is_reached, started, used_keys, words_of
from mockserver.domain.clock import Micros
from mockserver.domain.invariants import Invariant
from mockserver.explore.aftermath import Aftermath, AfterRun
from mockserver.explore.command import MARK, Commands, Running, filled, processes, variables_of
from mockserver.explore.run_answers import FindingRow
from mockserver.explore.telling import Ending
from mockserver.explore.trial import placeholders_of
from mockserver.findings.catalogue import reaches
from mockserver.remote import ControlRefused, RemoteSandbox, VerificationFailed

KEY = "sk_mockserver_run"
"""Secret key of the command's sandbox: nothing else uses its server."""

SHOP_SECONDS = 60.0
"""How long the command that prints the shop's books may take: one that hangs must not hang CI."""


@click.command(
    epilog="Exit codes: that of COMMAND when it is not 0; else 0, 1 for findings, books that "
    "differ or what else is wrong, such as no request at all; 2 wrong usage or a bad scenario, 3 "
    "port in use, 5 no server.",
)
@options("run")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    *,
    command: tuple[str, ...],
    books: list[str] | None,
    books_state: Mapping[str, str],
    settle: Micros | None,
    invariant: list[Invariant],
    fail_on: str,
    form: str,
    out: Path | None,
    **serve: object,
) -> None:
    """Start a server, run COMMAND with it, and judge what COMMAND did: findings, books,
    expectations of rules.

    COMMAND finds its sandbox by MOCKSERVER_URL, MOCKSERVER_SECRET_KEY and MOCKSERVER_PUBLIC_KEY in
    its environment; {url}, {secret_key} and {public_key} in its words are filled in. When something
    is wrong the timeline is printed. The server ends with the command.
    """
    aftermath = Aftermath(books or (), books_state, settle, invariants=invariant)
    with ExitStack() as open_until_judged:
        folder = Path(
            open_until_judged.enter_context(tempfile.TemporaryDirectory(prefix="mockserver-"))
        )
        url = open_until_judged.enter_context(started(words_of(serve), folder))
        sandbox = open_until_judged.enter_context(closing(RemoteSandbox(url, KEY)))
        placeholders = placeholders_of(sandbox, folder)
        argv = [filled(word, placeholders) for word in command]
        # What it has left running, as a receiver of webhooks, goes on until all is judged.
        running = open_until_judged.enter_context(
            _started_command(argv, variables_of(placeholders), folder)
        )
        code = _wait_for_end(running)
        try:
            findings, faults = _judge(sandbox, aftermath, placeholders, folder)
            story = sandbox.report("timeline")
            money = sandbox.money()
        except (HTTPError, ControlRefused) as problem:
            # Its folder is removed with the block, and the log with it.
            log = (folder / "log").read_text("utf-8", "replace").strip()
            words = f"mockserver: the server is gone or refuses: {problem}\n{log}"
            stop(code or Exit.NOT_READY, words)
    has_findings = any(reaches(row, fail_on) for row in findings)
    is_wrong = bool(faults) or has_findings
    paragraphs = list(faults)
    if findings:
        paragraphs.append(text(findings))
    if code or is_wrong:
        # What to look at, whether it was noticed here or by the command itself.
        paragraphs.append(f"timeline\n{story}")
    words = "\n\n".join(paragraphs)
    if words:
        click.echo(f"mockserver: {words}", err=True)
    if form == "github":
        add_to_summary(words, money)
    _write_report(findings, form, out)
    # A command that fails says so, whatever else is wrong.
    if code:
        sys.exit(code)
    sys.exit(Exit.FOUND if is_wrong else Exit.OK)


def _write_report(findings: Sequence[FindingRow], form: str, out: Path | None) -> None:
    """Write the findings in a form into a file, or print them."""
    report = REPORTS[form](findings)
    if out is not None:
        out.write_text(report + "\n", "utf-8")
    elif form != "text" and report:
        # As text they have been told already.
        click.echo(report)


@contextmanager
def _started_command(
    argv: Sequence[str], variables: Mapping[str, str], folder: Path
) -> Iterator[Running]:
    """The command, which ends with the block, and with it all that it has started. What it prints
    goes where this goes. Ends this command (exit code 2) when there is no such program."""
    # By both, processes that have left its session are found: new ones, with the mark.
    before = processes()
    mark = str(folder)
    environ = {**environment(), **variables, MARK: mark}
    try:
        process = subprocess.Popen(argv, env=environ, start_new_session=True)
    except OSError as problem:
        stop(Exit.USAGE, f"{argv[0]}: {problem.strerror}")
    running = Running(process, mark, before)
    try:
        yield running
    finally:
        running.kill()


def _wait_for_end(running: Running) -> int:
    """The exit code of the command once it has ended, that of a shell when a signal ended it.
    Signals are passed on to all that it has started: the command decides how it ends, and this one
    goes on to judge what it did until then."""

    def pass_on(number: int, _: FrameType | None) -> None:
        with suppress(OSError):
            os.killpg(running.process.pid, number)

    for number in heeded_signals():
        signal.signal(number, pass_on)
    code = running.process.wait()
    if code < 0:
        # Python gives a signal as its negative number, shells as 128 and the number.
        return 128 - code
    return code


def _judge(
    sandbox: RemoteSandbox, aftermath: Aftermath, placeholders: Mapping[str, str], folder: Path
) -> tuple[Sequence[FindingRow], Sequence[str]]:
    """What is wrong after the run: findings of any severity, and sentences about money, books and
    expectations. Raises ``HTTPError`` and ``ControlRefused`` when the server cannot be asked."""
    if not is_reached(sandbox):
        used = used_keys(sandbox).others
        if not used:
            return (), ["no request has reached the server: does the command call MOCKSERVER_URL?"]
        if not aftermath.books:
            # Clients with a sandbox for each test judge these themselves. With the shop's books the
            # run is judged all the same: an order of theirs that nobody has paid is wrong.
            click.echo(
                "mockserver: other sandboxes alone were used, and are not judged here: "
                f"{', '.join(used)}",
                err=True,
            )
            return (), ()
    run_command = partial(
        Commands(environment()).done, placeholders=placeholders, timeout=SHOP_SECONDS
    )
    # ``verify`` reads below how often rules have fired; one that was added to close the sandbox
    # would be among them.
    after, _ = AfterRun(sandbox, aftermath, run_command, folder, closes=False).end(Ending())
    faults = [words for words in (after.failed, after.unread) if words]
    faults += after.broken
    try:
        sandbox.verify()
    except VerificationFailed as unmet:
        faults.append(str(unmet))
    return after.findings, faults
