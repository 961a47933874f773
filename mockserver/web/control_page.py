"""The control page ``/__admin/`` and the stream of events that keeps it up to date.

The page is static and holds nothing of any sandbox; its script asks the control API, with the key that was entered or
the id of the sandbox that was chosen. The stream only says that something changed, so a slow page never falls behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from mockserver.domain.clock import SECOND
from mockserver.domain.errors import Refused
from mockserver.engine.sandbox import Sandbox
from mockserver.web.activity import SERVER
from mockserver.web.control.sandboxes import object_counts
from mockserver.web.host import Host
from mockserver.web.page import Page, PageCall, Stream, policy, redirect
from mockserver.web.templating import render
from mockserver.web.unrouted import keep, sandbox_of, unknown_path
from mockserver.wire import problems
from mockserver.wire.dates import moment
from mockserver.wire.jsonio import dumps

MOST_STREAMS = 32
"""Open streams of one server: more would be a leak, not people looking at pages."""

_PAUSE_SECONDS = 0.2
"""Between two pieces of news: a page need not be told more often."""

_PATIENCE = SECOND
"""How long the stream waits to be woken before it looks for itself."""

_QUIET_ROUNDS = 10
"""Rounds without news after which a comment keeps the connection alive."""

_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_JSON = [(b"content-type", b"application/json; charset=utf-8")]


def front(call: PageCall) -> Page:
    """Where a browser is led that knows only the address of the ready line; to all others there is nothing here."""
    if "text/html" in call.headers.get("accept", ""):
        return redirect("/__admin")
    body = unknown_path("/")
    if (sandbox := sandbox_of(call.host, call.headers)) is not None:
        keep(call.host, sandbox, call.scope, call.headers, b"", 404, body)
    return Page(404, body, _JSON)


def page(call: PageCall) -> Page:
    """The control page."""
    return Page(200, render("admin.html"), policy(scripts=True, framed=False))


def stream(call: PageCall) -> Page | Stream:
    """News of one sandbox, or of the list of sandboxes where no key is given."""
    host = call.host
    if host.streams >= MOST_STREAMS:
        body = problems.problem(503, 1, "Too many event streams", call.scope["path"], is_retryable=True)
        return Page(503, dumps(body), _JSON)
    if not {"x-secretkey", "x-sandbox", "x-publickey"} & call.headers.keys():
        return Stream(_STREAM_HEADERS, _news(host, SERVER, lambda: _of_server(host)))
    try:
        key = host.known_to_control(call.headers, changes=False).key
    except Refused as refused:
        status, body = problems.refusal(refused, call.scope["path"], host.assumed)
        return Page(status, dumps(body), _JSON)
    return Stream(
        _STREAM_HEADERS,
        _news(host, key, lambda: _of_sandbox(host, host.known_to_control(call.headers, changes=False))),
    )


async def _news(host: Host, key: str, look: Callable[[], dict[str, object]]) -> AsyncGenerator[bytes, None]:
    """Something to say whenever what ``look`` sees has changed."""
    host.streams += 1
    try:
        before: dict[str, object] | None = None
        quiet = 0
        while not host.stopping:
            now = look()
            quiet += 1
            if before is None or {**now, "now": 0} != {**before, "now": 0}:
                before, quiet = now, 0
                yield b"event: news\ndata: " + dumps(now) + b"\n\n"
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if quiet >= _QUIET_ROUNDS:
                quiet = 0
                yield b": still here\n\n"
            await host.activity.wait(key, _PATIENCE)
    finally:
        host.streams -= 1


def _of_server(host: Host) -> dict[str, object]:
    return {"sandboxes": len(host.sandboxes), "named": host.sandboxes.named_times}


def _of_sandbox(host: Host, sandbox: Sandbox) -> dict[str, object]:
    """``stood`` is when the clock was last set: a clock that runs is no news, one that was moved is.

    The sandbox is not brought to the present here: looking at it must not cost those who use it anything.
    """
    return {
        "sandboxes": 0,
        "last": sandbox.journal.last,
        "now": moment(sandbox.clock.read(host.real_clock())),
        "stood": str(sandbox.clock.virtual),
        "mode": sandbox.clock.mode.value,
        "rate": sandbox.clock.rate,
        "pending": len(sandbox.schedule.entries),
        "scenarios": [scenario.name for scenario in sandbox.config.scenarios],
        "objects": object_counts(sandbox),
        "tries": sandbox.deliveries.changes,
        "arrivals": sandbox.inboxes.number,
        "findings": _of_findings(sandbox),
    }


def _of_findings(sandbox: Sandbox) -> dict[str, object] | None:
    """How often findings were raised and all of them cleared; None where nothing is judged."""
    if sandbox.watch is None:
        return None
    return {"raised": sandbox.watch.ledger.raised, "cleared": sandbox.watch.ledger.cleared}
