"""A run that is held at one of its calls: it is killed there, or run a second time meanwhile. Source: docs/explore.md,
Crashes, Two at once.

What is held, and until when, is said by the rule of the scenario: so a file that was written is run in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from mockserver.domain.record import mutable
from mockserver.explore.command import Ended
from mockserver.remote import RemoteSandbox

STILL_SECONDS = 0.3
"""A second run that calls nothing for so long stands still: it waits for the first."""

_GONE = "1s"
"""How long the connections of a killed command may take to end."""

_LOOK = "20ms"
_LOOK_SECONDS = 0.02


def held_until(scenario: Mapping[str, Any]) -> str | None:
    """Until when a scenario holds a call: ``released``, or with everything else (``all``); None when it holds none."""
    for rule in scenario.get("rules", ()):
        then = rule.get("then") or {}
        until = (then.get("transport") or {}).get("hold")
        if until in ("all", "released"):
            return str(until)
        if (then.get("webhook") or {}).get("hold"):
            return "all"
    return None


@mutable
class HeldRun:
    """What goes on beside a command whose call is held in ``sandbox``: it is killed, or the ``second`` run begins.
    ``why_not`` says why that has not come about."""

    sandbox: RemoteSandbox
    second: Callable[[], Ended] | None = None
    ended: Ended | None = None
    why_not: str = "nothing was held before the command had ended"

    def go(self, is_running: Callable[[], bool], kill: Callable[[], object]) -> None:
        """Wait until the call is held, and act."""
        began = time.monotonic()
        while is_running():
            if self._look(until="held", timeout=_LOOK)["held"]:
                if self.second is None:
                    self._kill(kill)
                else:
                    self._run_twice(self.second, time.monotonic() - began)
                return

    def _look(self, **asked: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.sandbox.call("GET", "/__admin/hold", params=asked or None)
        return found

    def _kill(self, kill: Callable[[], object]) -> None:
        kill()
        seen, self.why_not = self._look(until="gone", timeout=_GONE), ""
        if left := seen["underWay"]:
            self.why_not = (
                f"{left} of its connections had not ended {_GONE} after it was killed: it calls from elsewhere"
            )
        elif not seen["all"]:
            self.why_not = "what was held went on before it was killed: it was released, or the sandbox was emptied"
        self.sandbox.call("DELETE", "/__admin/hold")

    def _run_twice(self, second: Callable[[], Ended], took: float) -> None:
        self.why_not = ""
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(second)
            self._wait_for(other, took)
            self.sandbox.call("DELETE", "/__admin/hold")
        self.ended = other.result()

    def _wait_for(self, other: Future[Ended], took: float) -> None:
        """Wait until the second run has ended or stands still. Until its first call it may take longer than the first
        run has ``took`` to come where it is held."""
        calls, since, patience = self._look()["calls"], time.monotonic(), STILL_SECONDS + 3 * took
        while not wait([other], timeout=_LOOK_SECONDS).done and time.monotonic() - since < patience:
            now = self._look()["calls"]
            if now != calls:
                calls, since, patience = now, time.monotonic(), STILL_SECONDS


def worse(first: Ended, second: Ended | None) -> Ended:
    """How two runs ended: as the one that did not end in time or, else, that failed."""
    if second is None or first.exit is None or (first.exit and second.exit is not None):
        return first
    return Ended(second.exit, first.seconds)
