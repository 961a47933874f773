"""Waits for what another process or thread does.

A test waits for the thing itself, never for a time in which it should have happened: a machine
under load takes ten times as long.
"""

from collections.abc import Callable
from time import monotonic, sleep

PATIENCE = 60.0
"""After so many seconds nothing comes any more, however busy the machine is."""

POLL = 0.02


def until(holds: Callable[[], object], wanted: str = "what was awaited") -> None:
    """Wait until something holds; fail when it never does."""
    end = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < end, f"{wanted} has not come in {PATIENCE:.0f} s"
        sleep(POLL)
