"""Which failures the calls of this server's clients have met (``/__admin/coverage``). Source: docs/explore.md, Failure
coverage."""

from __future__ import annotations

from mockserver.scenario.failures import TRIED, Coverage, met
from mockserver.scenario.operations import OPERATIONS
from mockserver.web.control.call import ControlCall


def read(call: ControlCall) -> tuple[int, object]:
    """Since the server began, in all sandboxes: how many failures struck, of all that there are for the operations that
    were used; a map of both."""
    counts = call.world.directory.config.counts
    struck = [(op, name, TRIED) for (op, _), outcome in counts.struck.items() for name in met(op, outcome)]
    used = counts.operations | {op for op, _ in counts.struck}
    return 200, Coverage.of(used & OPERATIONS.keys(), struck).shown()
