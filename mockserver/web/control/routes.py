"""The control API: every call, once, and the call that describes them all. Served, printed and
described from here, in this order: a call that is not in this table is in none of the three."""

from collections.abc import Sequence
from functools import partial

from mockserver.web.control import (
    assumptions,
    books,
    clock,
    compare,
    coverage,
    description,
    findings,
    fork,
    journal,
    metrics,
    objects,
    runs,
    sandboxes,
    scenarios,
    state,
    text_report,
    verify,
    waiting,
    webhooks,
)
from mockserver.web.control.call import AnyCall, AnyControlRoute, ControlRoute


async def describe_itself(call: AnyCall) -> bytes:
    """This API as an OpenAPI document. It is made in a thread, once: that takes half a second."""
    url = call.world.directory.config.public_url
    write = partial(description.control_text, CONTROL_ROUTES, url)
    return await call.world.runner.aside(write)


CONTROL_ROUTES: Sequence[AnyControlRoute] = (
    *metrics.ROUTES,
    *description.ROUTES,
    *coverage.ROUTES,
    ControlRoute(
        "GET",
        "/__admin/openapi.json",
        describe_itself,
        reply="DocumentAnswer",
        summary="This API as an OpenAPI document",
    ),
    *sandboxes.ROUTES,
    *state.ROUTES,
    *compare.ROUTES,
    *fork.ROUTES,
    *assumptions.ROUTES,
    *clock.ROUTES,
    *waiting.ROUTES,
    *scenarios.ROUTES,
    *journal.ROUTES,
    *verify.ROUTES,
    *runs.ROUTES,
    *findings.ROUTES,
    *text_report.ROUTES,
    *books.ROUTES,
    *objects.ROUTES,
    *webhooks.ROUTES,
)
