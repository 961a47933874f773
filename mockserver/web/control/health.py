"""Whether the server is alive, and whether it is ready."""

from __future__ import annotations

from mockserver.web.control.call import ControlCall


def alive(call: ControlCall) -> tuple[int, object]:
    """The process answers."""
    return 200, {"status": "alive"}


def ready(call: ControlCall) -> tuple[int, object]:
    """The scenarios are loaded; 503 with the reasons when they are not."""
    problems = call.world.directory.ready_problems
    return (503, {"status": "not ready", "reasons": problems}) if problems else (200, {"status": "ready"})
