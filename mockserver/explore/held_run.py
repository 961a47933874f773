"""A run that is held at one of its calls: the command is killed there, or run a second time.

What is held, and until when, is said by a rule of its scenario (``held_until``), and the sandbox
holds it, as only it knows when that call has come. Here somebody waits beside the command until
that has happened, and acts (``HeldRun``). A command is held once in a run, and nothing stays held
when it has ended.

Source: docs/explore.md, Crashes, Two at once.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TypedDict

from mockserver.domain.record import mutable
from mockserver.explore.command import Ended, Running
from mockserver.explore.scenario_data import outcomes_of, part_of
from mockserver.remote import RemoteSandbox

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
