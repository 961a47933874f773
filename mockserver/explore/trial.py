"""One run of the command in a fresh sandbox, under a scenario or none: its calls, each of which can
fail, and what became of it. Source: docs/explore.md, What it runs, Crashes, Two at once.

Each run has a sandbox and a folder of its own, and shares nothing with those beside it but the
server and the processors. The key of the sandbox is made of the name of the run and the seed, and
of a key follow all ids and all chance: so a run comes to the same whenever it is repeated, alone or
among others, and ``--jobs`` decides only how long all of them take.

The fault is a rule of the sandbox's scenario. The command is not touched, so it may be written in
anything, and the scenario that was used is the file that repeats the run. Three control calls frame
it: one opens the sandbox under the scenario, one looks at what came of it (``aftermath``), one
deletes it. All else that a run costs is the command's own.

A run may be held at one of its calls: it is killed there, or run a second time meanwhile
(``held_run``).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.figures import OrderKey
from mockserver.domain.ids import digest
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record
from mockserver.explore.aftermath import Aftermath, AfterRun
from mockserver.explore.command import Commands, Ended
from mockserver.explore.failures import InjectionPoint
from mockserver.explore.held_run import HeldRun, held_until
from mockserver.explore.run_answers import CallRow, EntryRow
from mockserver.explore.run_calls import RENEWAL_DUE, points_of
from mockserver.explore.run_end import RunEnd, operations_of
from mockserver.explore.run_money import shown_key
from mockserver.explore.scenario_data import outcomes_of, part_of
from mockserver.explore.telling import ending_of
from mockserver.remote import ControlLine, ControlRefused, RemoteSandbox
from mockserver.scenario.webhook_plan import NO_CHARGE, NO_ORDER

_LONGEST_OUTPUT = 20_000
"""Characters of a command's output, the last ones, that a report shows."""

_CLAIM = "exploring-"
"""How the scenarios begin that say who is at work on a server; they hold no rules."""

_READ = 4 * _LONGEST_OUTPUT + 1_000
"""Bytes that are read for them: what is cut in two is masked no more, so the cut comes long
before."""


FIRST_TIMEOUT = 600.0
"""Seconds that the command may take without any fault, unless given."""


def no_call(argv: Sequence[str]) -> str:
    """What is said of a command that has called nothing. Fixtures of the plugin start a server of
    their own, which an exploration of the whole command does not see."""
    words = (
        "no call arrived in the sandbox: the command does not use MOCKSERVER_URL and "
        "MOCKSERVER_SECRET_KEY of its environment, nor {url} and {secret_key} in its arguments"
    )
    is_pytest = any(Path(word).name in ("pytest", "py.test") for word in argv)
    if is_pytest:
        return f"{words}; tests with the fixtures are explored by: pytest --mockserver-explore"
    return words


@record
class Observed:
    """What was seen of one run. ``calls`` are those of the command in short, ``after`` is what came
    of it once the command had ended; ``is_manual`` says that its clock was set by hand, ``why_not``
    why the command was not killed, or not run twice, though that was asked for. ``journal`` has the
    entries in full, where they were asked for."""

    ended: Ended
    calls: Sequence[CallRow]
    after: RunEnd
    timeline: str
    output: Path
    is_manual: bool
    why_not: str = ""
    journal: Sequence[EntryRow] = ()

    @property
    def fired(self) -> frozenset[str]:
        """The rules that fired."""
        return self.after.fired

    def has_struck(self, rules: Collection[str]) -> bool:
        """Whether all that was to happen has: a fault that never struck says nothing of the
        command."""
        return bool(rules) and not self.why_not and self.fired.issuperset(rules)

    @property
    def points(self) -> list[InjectionPoint]:
        """The calls that it made, and what came due, in the time that passed afterwards too: its
        calls are those before that, and only the timeline goes on."""
        points = points_of(self.calls)
        for place in range(self.timeline.count(f"came due: {RENEWAL_DUE}")):
            renewal = InjectionPoint("subscription.renew", place + 1)
            if renewal not in points:
                points.append(renewal)
        return points

    @property
    def has_called(self) -> bool:
        """Whether any call of the service came in."""
        return any(call["call"] is not None for call in self.calls)

    def printed(self) -> str:
        """The end of what it printed, card numbers, ccv and keys masked."""
        return mask_printed(self.end_of_output().decode("utf-8", "replace"))[-_LONGEST_OUTPUT:]

    def end_of_output(self) -> bytes:
        """The end of what it printed, as it is: for no report, as it may hold card numbers."""
        with self.output.open("rb") as file:
            length = file.seek(0, SEEK_END)
            file.seek(max(length - _READ, 0))
            return file.read()

    @property
    def last_entry(self) -> int:
        """The journal entry of the last call that the command made itself."""
        return max((call["id"] for call in self.calls), default=0)

    @property
    def words(self) -> str:
        """What it printed, to be added to a sentence."""
        said = self.printed().strip()
        if not said:
            return ""
        return f"; it printed:\n{said}"


def invented_orders(scenario: Mapping[str, object]) -> set[OrderKey]:
    """The orders of which webhooks of a scenario tell and that nobody has, as books may name them:
    a shop that books what the service has signed is not to blame for them."""
    orders = set[OrderKey]()
    for outcome in outcomes_of(scenario):
        webhook = part_of(outcome, "webhook")
        if webhook.get("foreign"):
            orders |= {OrderKey("reference", NO_ORDER), OrderKey("charge", NO_CHARGE)}
        edit = part_of(webhook, "edit")
        if "data.reference" in edit:
            orders.add(shown_key(OrderKey("reference", str(edit["data.reference"]))))
        if "data.chargeId" in edit:
            orders.add(shown_key(OrderKey("charge", str(edit["data.chargeId"]))))
    return orders


@record
class TrialRunner:
    """Where a command is run: a server at ``url``, with its ``admin_token``, and a temporary
    ``folder`` for its output, unmasked. ``run`` names the program for ``isolated``, which shares a
    server with others; ``salt`` is part of the names of sandboxes while another uses the same
    server with the same seed. ``restart`` is what the shop runs after a reboot, the command itself
    when it is empty; ``aftermath`` follows each run. ``is_shared``: the server was there before;
    ``line`` are connections to it for all runs."""

    url: str
    argv: Sequence[str]
    commands: Commands
    folder: Path
    seed: int
    run: str
    admin_token: str | None = None
    salt: str = ""
    aftermath: Aftermath = Aftermath()
    restart: Sequence[str] = ()
    is_shared: bool = True
    line: ControlLine | None = None

    def try_out(
        self,
        name: str,
        scenario: Mapping[str, object],
        timeout: float,
        key: str | None = None,
        *,
        ignored: Collection[OrderKey] = (),
        restarts: bool = False,
        wants_journal: bool = False,
    ) -> Observed:
        """Run the command once in a fresh sandbox, for ``timeout`` seconds at most. ``name``
        decides the sandbox's ``key``, unless that is given, and with the seed all that happens in
        it; ``ignored`` as in ``AfterRun``; ``wants_journal`` where the calls in short are not
        enough. Where the scenario holds all, the command is killed and the restart follows, which
        ``restarts`` wants in any case; where it holds one call until it is released, the command is
        run twice.

        All that the command and its restart have started goes on until the run has been judged, as
        a webhook may still reach it: so everything is ended together, with ``until_judged``.

        Raises ``OSError`` for an unknown command, ``Interrupted`` when it was ended from outside,
        ``ControlRefused`` and ``httpx.HTTPError`` when the server refuses the scenario or is gone.
        """
        output = self.folder / f"{name}.log"
        with ExitStack() as until_judged:
            # What was started may still write there when it goes.
            scratch = TemporaryDirectory(
                prefix=f"{name}-", dir=self.folder, ignore_cleanup_errors=True
            )
            folder = Path(until_judged.enter_context(scratch))
            sandbox = until_judged.enter_context(
                self._fresh(key or _key(self.seed, name, self.salt), scenario)
            )
            placeholders = placeholders_of(sandbox, folder)
            run_to_end = partial(self.commands.done, placeholders=placeholders, timeout=timeout)
            second, restart = folder / "second", folder / "restart"
            held = HeldRun(
                sandbox,
                held_until(scenario),
                second=partial(run_to_end, self.argv, output=second),
            )
            command = self.commands.run(self.argv, placeholders, output, timeout, beside=held.go)
            ended = until_judged.enter_context(command)
            if restarts or held.was_killed:
                after_reboot = self.restart or self.argv
                ended = until_judged.enter_context(
                    self.commands.run(after_reboot, placeholders, restart, timeout)
                )
            held.let_go()
            ended = held.end_of(ended)
            _append(output, second, restart)
            # After a crash it is the restart that tells, or not.
            last_output = restart if restart.exists() else output
            printed = last_output.read_bytes()
            ending = ending_of(ended.exit, printed, self.argv, self.aftermath.told)
            journal: Sequence[EntryRow] = ()
            if wants_journal:
                journal = cast(list[EntryRow], sandbox.journal())
            after_run = AfterRun(
                sandbox,
                self.aftermath,
                run_to_end,
                folder,
                {*ignored, *invented_orders(scenario)},
                # The nightly job is not the command's: no fault is aimed at it.
                before_reconcile=partial(_tell, sandbox, {**scenario, "rules": []}),
            )
            after, looks = after_run.end(ending)
            # What came later was called by the nightly job, or by nobody.
            calls = looks[0].calls
            return Observed(
                ended,
                calls=calls,
                after=replace(after, operations=operations_of(calls)),
                timeline=looks[-1].timeline,
                output=output,
                is_manual=looks[0].is_manual,
                why_not=held.why_not,
                journal=journal,
            )

    @contextmanager
    def _fresh(self, key: str, scenario: Mapping[str, object]) -> Iterator[RemoteSandbox]:
        """An empty sandbox under a scenario, which goes with the block."""
        with closing(
            RemoteSandbox(self.url, key, admin_token=self.admin_token, line=self.line)
        ) as sandbox:
            if self.is_shared:
                # Another exploration may have used the server before, under the same name.
                sandbox.call("DELETE", "/__admin/sandbox")
            _tell(sandbox, scenario)
            try:
                yield sandbox
            finally:
                sandbox.call("DELETE", "/__admin/sandbox")


def _append(output: Path, *others: Path) -> None:
    """Add other outputs to one, as far as there are any: a report shows one text for a run."""
    with output.open("ab") as file:
        file.writelines(other.read_bytes() for other in others if other.exists())


def _tell(sandbox: RemoteSandbox, scenario: Mapping[str, object]) -> None:
    """Put a scenario in force, in the place of one with its name: as JSON, which is read and
    written fastest."""
    try:
        sandbox.call("POST", "/__admin/scenarios", json=scenario)
    except TypeError:
        # Numbers and dates of a file that JSON does not know.
        sandbox.call("POST", "/__admin/scenarios", content=scenario_text(scenario))


@contextmanager
def isolated(runner: TrialRunner) -> Iterator[TrialRunner]:
    """A runner whose sandboxes no one else uses. Alone with its seed on its server it stays as it
    is, so that the same run gives the same ids; beside another, its sandboxes have names of their
    own. Who is at work is written down where all can read it: as scenarios without rules, in a
    sandbox that the seed names.

    Raises ``ControlRefused`` and ``httpx.HTTPError`` when the server refuses or is gone.
    """
    from httpx import HTTPError

    here = RemoteSandbox(runner.url, _key(runner.seed), admin_token=runner.admin_token)
    claim = f"{_CLAIM}{digest(runner.run).hex()[:16]}"
    # Of two that come at once the server takes one after the other: each sees all that came before
    # it.
    named = here.call(
        "POST", "/__admin/scenarios", content=scenario_text({"version": 1, "name": claim})
    )["scenarios"]
    try:
        claims = {scenario["name"] for scenario in named if scenario["name"].startswith(_CLAIM)}
        if claims - {claim}:
            # Another is at work: the sandboxes of this one have names of their own.
            runner = replace(runner, salt=runner.run)
        yield runner
    finally:
        with suppress(HTTPError, ControlRefused):
            here.call("DELETE", "/__admin/scenarios", params={"name": claim})
        here.close()


def _key(*parts: object) -> str:
    """The key of the sandbox that is known by these; empty ones do not count."""
    said = [part for part in parts if part != ""]
    return f"sk_explore_{digest('explore', *said).hex()[:24]}"


def placeholders_of(sandbox: RemoteSandbox, folder: Path) -> dict[str, str]:
    """Make the folder of a run in another, and say what its command is told of that and of its
    sandbox. A shop keeps its database there: what one run has booked is none of the next."""
    own = folder / "run"
    own.mkdir()
    names = {"url": sandbox.url, "secret_key": sandbox.secret_key, "public_key": sandbox.public_key}
    return {**names, "run_dir": str(own)}
