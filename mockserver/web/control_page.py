"""The control page ``/__admin/`` and the stream of events that keeps it up to date.

The page is static and holds nothing of any sandbox; its script asks the control API, with the key
that was entered or the id of the sandbox that was chosen. The stream only says that something
changed, so a slow page never falls behind.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

from mockserver.domain.clock import SECOND, iso
from mockserver.domain.errors import problem
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import NAMES_OF_SANDBOX
from mockserver.web.control.raised import finding_counts
from mockserver.web.control.sandboxes import object_counts
from mockserver.web.page import PageCall, html, redirect
from mockserver.web.request import NO_STORE, Reply, Request
from mockserver.web.runner import SERVER
from mockserver.web.shell import Endpoint
from mockserver.web.unrouted import unknown_path
from mockserver.web.world import World
from mockserver.wire.jsonio import dumps

MOST_STREAMS = 128
"""Open streams of one server: more would be a leak, not people looking at pages."""

_STREAM_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    NO_STORE,
    (b"x-accel-buffering", b"no"),
)


def sandbox(world: World, request: Request) -> Sandbox | None:
    """The sandbox of the key that came with a request for the front: a client that asks for ``/``
    has a wrong path, which its journal shows."""
    return world.directory.of_any_key(request.headers)


def front(call: PageCall) -> Reply:
    """Leads a browser to the control page; all other clients get 404, as from the service."""
    if "text/html" in call.headers.get("accept", ""):
        return redirect("/__admin")
    return unknown_path(call.request)


def page(call: PageCall) -> Reply:
    """The page, the same for everybody."""
    return html(200, "admin.html", scripts=True, framed=False)


def stream(call: PageCall) -> Reply:
    """News of one sandbox and of the list of sandboxes, or of the list alone where no key is given:
    a page needs one stream. Raises ``Unauthorised`` (40)."""
    world = call.world
    if world.streams >= MOST_STREAMS:
        body = problem(503, 1, "Too many event streams", call.request.resource, is_retryable=True)
        return Reply(503, body, headers=Endpoint.headers)

    if not NAMES_OF_SANDBOX & call.headers.keys():
        news = _news(world, SERVER, lambda: _state_of_server(world))
        return Reply(200, b"", headers=_STREAM_HEADERS, chunks=news)
    # Whoever only looks opens no sandbox: of a key that has none this is what it would open.
    at_first = world.directory.of_control(call.headers, changes=False)
    was_open = world.sandboxes.is_live(at_first)

    def look() -> dict[str, object] | None:
        sandbox = world.sandboxes.get(at_first.key)
        if sandbox is None and was_open:
            # It was deleted.
            return None
        return _state_of_sandbox(world, sandbox or at_first)

    news = _news(world, at_first.key, look)
    return Reply(200, b"", headers=_STREAM_HEADERS, chunks=news)


async def _news(
    world: World, key: str, look: Callable[[], dict[str, object] | None]
) -> AsyncGenerator[bytes, None]:
    """News whenever the result of ``look`` has changed, until it is None. The time alone, ``now``,
    is no news: it changes with every look, and the page lets its own clock run."""
    world.streams += 1
    try:
        told: dict[str, object] | None = None
        quiet_seconds = 0
        while not world.runner.stopping:
            state = look()
            if state is None:
                return
            if told is None or {**state, "now": 0} != {**told, "now": 0}:
                told = state
                quiet_seconds = 0
                yield b"event: news\ndata: " + dumps(state) + b"\n\n"
                # A page needs no more news than that.
                await asyncio.sleep(0.2)
                continue
            quiet_seconds += 1
            if quiet_seconds >= 10:
                # A comment keeps the connection alive.
                quiet_seconds = 0
                yield b": still here\n\n"
            await world.runner.activity.wait(key, SECOND)
    finally:
        world.streams -= 1


def _state_of_server(world: World) -> dict[str, object]:
    """What changes when a sandbox comes, goes or is named anew: then the page asks for the list."""
    return {"sandboxes": len(world.sandboxes), "named": world.sandboxes.named_times}


def _state_of_sandbox(world: World, sandbox: Sandbox) -> dict[str, object]:
    """Counts that change with whatever the page shows: each part of it asks anew when its own has
    changed. The list of sandboxes is none of them: that has a stream of its own. ``stood`` is when
    the clock was last set: a running clock is not news, a moved one is.

    The sandbox is not brought to the present here: looking at it must not cost those who use it
    anything.
    """
    return {
        **_state_of_server(world),
        "last": sandbox.journal.last,
        "now": iso(sandbox.clock.read(world.real_clock())),
        "stood": str(sandbox.clock.virtual),
        "mode": sandbox.clock.mode.value,
        "rate": sandbox.clock.rate,
        "pending": len(sandbox.schedule.entries),
        "scenarios": [scenario.name for scenario in sandbox.config.scenarios],
        "objects": object_counts(sandbox),
        "webhooks": len(sandbox.deliveries),
        "tries": sandbox.deliveries.changes,
        "messages": sum(sandbox.inboxes.counts().values()),
        "arrivals": sandbox.inboxes.number,
        "findings": finding_counts(sandbox),
    }
