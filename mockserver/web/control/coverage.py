"""Which failures the operations of a server have met (``/__admin/coverage``): where the control API
meets the room of explorations, whose table says what there is to meet. Source: docs/explore.md,
Failure coverage.
"""

from mockserver.explore.failure_coverage import TRIED, Coverage, Struck, met
from mockserver.scenario.operations import OPERATIONS
from mockserver.web.control.call import AnyCall, ControlRoute


def coverage(call: AnyCall) -> object:
    """Since the server began, in all sandboxes: how many failures struck, of all that there are for
    the operations that were used; a map of both."""
    counts = call.world.directory.config.counts
    used = set(counts.operations)
    struck = []
    for (op, _), outcome in counts.struck.items():
        # Also one that nobody requests, such as a renewal.
        used.add(op)
        struck += [Struck(op, failure, TRIED) for failure in met(op, outcome)]
    return Coverage.of(used & OPERATIONS.keys(), struck).shown()


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/coverage",
        coverage,
        reply="CoverageAnswer",
        example={},
        summary="Which failures struck since the server began, of all for the operations used",
    ),
)
