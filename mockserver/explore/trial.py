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

A run may be held at one of its calls: it is killed there, or run a second time meanwhile. What is
held, and until when, is said by the rule too; here somebody only waits until that has happened, and
acts (``HeldRun``). A command is held once in a run, and nothing stays held when it has ended.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict, cast

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.domain.figures import OrderKey
from mockserver.domain.ids import digest
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import mutable, record
from mockserver.explore.aftermath import Aftermath, AfterRun
from mockserver.explore.command import Commands, Ended, Running
from mockserver.explore.failures import InjectionPoint
from mockserver.explore.run_answers import CallRow, EntryRow
from mockserver.explore.run_end import RunEnd, operations_of
from mockserver.explore.run_money import shown_key
from mockserver.explore.scenario_data import outcomes_of, part_of
from mockserver.explore.telling import ending_of
from mockserver.remote import ControlLine, ControlRefused, RemoteSandbox
from mockserver.scenario.operations import OPERATIONS, READS
from mockserver.scenario.webhook_plan import NO_CHARGE, NO_ORDER

_ROWS, _RENEWAL = "clock.batch_rows", "clock.subscription_renewal"
"""Operations of the journal under which rows of batches and renewals come due."""


def points_of(calls: Iterable[CallRow]) -> list[InjectionPoint]:
    """The calls of a run (``calls`` of ``POST /__admin/run``) that can fail, in their order, and
    what came due: rules know both by their number, which is counted here as the sandbox does.
    Requests that are not operations of the service, and those refused unread, are
    left out."""
    calls = list(calls)
    points: list[InjectionPoint] = []
    rows = webhooks = renewals = 0
    # Rows that are not taken before the command ends cannot fail.
    have_rows_run = any(call["op"] == _ROWS for call in calls)
    for call in calls:
        point = _point_of(call)
        if point is not None:
            points.append(point)
            if have_rows_run:
                # Rows are numbered through all batches of a sandbox.
                points += [InjectionPoint("batch.row", rows + row) for row in _telling_rows(point)]
            rows += point.rows
        elif call["webhooks"] and call["call"] is None:
            # Webhooks are numbered too; those of a call fail at the call.
            points.append(InjectionPoint("webhook.deliver", webhooks + 1, notifies=True))
        if call["op"] == _RENEWAL:
            renewals += 1
            points.append(InjectionPoint("subscription.renew", renewals))
        webhooks += call["webhooks"]
    return points


def _point_of(call: CallRow) -> InjectionPoint | None:
    """A call as it can fail; None for what is no call of an operation of the service."""
    if call["call"] is None or call["op"] not in OPERATIONS:
        return None
    return InjectionPoint(
        call["op"],
        call["call"],
        notifies=call["webhooks"] > 0,
        uses=_needed(call),
        card=call["card"],
        rows=call["rows"],
    )


def _telling_rows(batch: InjectionPoint) -> Iterable[int]:
    """The rows of a batch that are tried, each once: the first, the one in the middle and the last.
    Programs that go wrong at a row do so at an end, or at any."""
    if not batch.rows:
        return ()
    return dict.fromkeys((1, (batch.rows + 1) // 2, batch.rows))


def _needed(call: CallRow) -> str:
    """What must still be there for a call: a hold, a token, or a vault item. Only such a call fails
    when that has lapsed."""
    if call["op"] in ("charge.capture", "charge.void"):
        return "hold"
    if call["token"]:
        return "token"
    # What makes an item needs none.
    if "/vault" in call["path"] and call["op"] != "vault.create":
        return "vault"
    return ""


def differences(first: Iterable[CallRow], second: Iterable[CallRow]) -> list[str]:
    """What two runs did otherwise, in words: calls, by operation and status, that one of them
    lacks. The order does not count: parallel clients have none. Nor does how often a read came: a
    client that polls asks until it has ended."""
    before, after = _times_of_calls(first), _times_of_calls(second)
    found = []
    for what in dict.fromkeys((*before, *after)):
        if before[what] != after[what]:
            times = f"{_times(before[what])} in the first run, {_times(after[what])} in the second"
            found.append(f"{what}: {times}")
    return found


def _times_of_calls(calls: Iterable[CallRow]) -> Counter[str]:
    """How often each call came, a read once at most."""
    times = Counter[str]()
    for call in calls:
        if call["call"] is None:
            continue
        what = f"{call['op']} answered {call['status']}"
        if call["op"] in READS:
            times[what] = 1
        else:
            times[what] += 1
    return times


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


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
        for place in range(self.timeline.count(f"came due: {_RENEWAL}")):
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


STILL_SECONDS = 0.3
"""A second run that calls nothing for so long stands still: it waits for the first."""

_LOOK_AGAIN = 0.02
"""Seconds between two looks at a second run."""

_GONE = "1s"
"""How long the connections of a killed command may take to end."""


def held_until(scenario: Mapping[str, object]) -> str | None:
    """Until when a scenario holds a call: ``released``, or with everything else (``all``); None
    when it holds none."""
    for outcome in outcomes_of(scenario):
        until = part_of(outcome, "transport").get("hold")
        # All else is how long it is held: nobody acts meanwhile.
        if until in ("all", "released"):
            return str(until)
        if part_of(outcome, "webhook").get("hold"):
            return "all"
    return None


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


class _Hold(TypedDict):
    """How a sandbox stands that holds calls (``/__admin/hold``): how many it holds, whether all,
    how many connections are still under way, and how many calls have come."""

    held: int
    all: bool
    underWay: int
    calls: int


@mutable
class HeldRun:
    """What goes on beside a command whose call is held in ``sandbox`` ``until`` then: it is killed
    (``all``), or the ``second`` run begins (``released``). The sandbox holds the call, as only it
    knows when that has come; this waits until it has, and acts. ``other_ended`` is how the second
    run ended, ``why_not`` says why none of this has come about."""

    sandbox: RemoteSandbox
    until: str | None
    second: Callable[[], Ended]
    other_ended: Ended | None = None
    why_not: str = ""

    def go(self, running: Running) -> None:
        """Wait until the call is held, and act."""
        if self.until is None:
            return
        began = time.monotonic()
        self.why_not = "nothing was held before the command had ended"
        # The command may end without the call: so each question is short, and comes again.
        while running.process.poll() is None:
            if not self._look(until="held", timeout="20ms")["held"]:
                continue
            if self.until == "all":
                self._kill(running)
            else:
                self._run_twice(time.monotonic() - began)
            return

    @property
    def was_killed(self) -> bool:
        """Whether the command was killed at the call."""
        return self.until == "all" and not self.why_not

    def end_of(self, ended: Ended) -> Ended:
        """How the command ended, or both runs of it together. Of two runs one may well fail,
        because the other has the lock or the database: together they have failed where both have,
        or where one does not end."""
        if self.other_ended is None:
            return ended
        exits = (ended.exit, self.other_ended.exit)
        if None in exits:
            return replace(ended, exit=None)
        if 0 in exits:
            return replace(ended, exit=0)
        return ended

    def let_go(self) -> None:
        """Let go of what is still held when all has ended, such as a call that its client has given
        up: time would not go on before it."""
        if self.until is not None:
            self._release()

    def _look(self, **asked: str) -> _Hold:
        """How the sandbox stands, at once, or when what was asked for has come."""
        hold: _Hold = self.sandbox.call("GET", "/__admin/hold", params=asked or None)
        return hold

    def _release(self) -> None:
        self.sandbox.call("DELETE", "/__admin/hold")

    def _kill(self, running: Running) -> None:
        """Kill the command, and make sure that nothing of it lives on: what still calls after the
        crash would do what a dead machine cannot."""
        running.kill()
        hold = self._look(until="gone", timeout=_GONE)
        self.why_not = ""
        if hold["underWay"]:
            self.why_not = (
                f"{hold['underWay']} of its connections had not ended {_GONE} after it was killed: "
                "it calls from elsewhere"
            )
        elif not hold["all"]:
            self.why_not = (
                "what was held went on before it was killed: it was released, or the "
                "sandbox was emptied"
            )
        self._release()

    def _run_twice(self, took: float) -> None:
        """Run the command a second time while the first waits at its call, which came there in
        ``took`` seconds; then let the first go on."""
        self.why_not = ""
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self.second)
            self._wait_for(other, took)
            self._release()
        self.other_ended = other.result()

    def _wait_for(self, other: Future[Ended], took: float) -> None:
        """Wait until the second run has ended, is held too or stands still: then it waits for the
        first, as for a lock, and would do so for ever. Until its first call it may take longer than
        the first run has ``took`` to come where it is held."""
        calls = self._look()["calls"]
        end = time.monotonic() + STILL_SECONDS + 3 * took
        while not wait([other], timeout=_LOOK_AGAIN).done:
            if time.monotonic() >= end:
                # It stands still.
                return
            hold = self._look()
            if hold["held"] > 1:
                return
            if hold["calls"] != calls:
                # It goes on: it stands still when nothing more has come for so long.
                calls = hold["calls"]
                end = time.monotonic() + STILL_SECONDS


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
