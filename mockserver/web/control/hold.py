"""What a scenario holds in a sandbox, and its release (``/__admin/hold``). Source: docs/control-api.md."""

from __future__ import annotations

import asyncio

from mockserver.web.control.call import ControlCall
from mockserver.web.control.clock import within_longest
from mockserver.web.holds import waited

_LOOK_SECONDS = 0.005


async def read(call: ControlCall) -> tuple[int, object]:
    """What is held; with ``until`` when something is (``held``), or when no client waits for an answer any more
    (``gone``), or after ``timeout``, of real time."""
    sandbox, query = call.sandbox(), call.query
    timeout = within_longest(query.timeout, 0)
    if query.until == "held":
        await waited(call.world, call.request, lambda: sandbox.holding.held > 0, timeout)
    elif query.until == "gone":
        end = call.world.real_clock() + timeout
        # Nobody says that a client has left.
        while sandbox.under_way > 1 and call.world.real_clock() < end:
            await asyncio.sleep(_LOOK_SECONDS)
    return 200, {
        "held": sandbox.holding.held,
        "all": sandbox.holding.is_all,
        # This call waits for its answer itself.
        "underWay": sandbox.under_way - 1,
        "calls": sum(sandbox.director.tallies.calls.values()),
    }


async def release(call: ControlCall) -> tuple[int, object]:
    """Let everything go on that is held."""
    sandbox = call.sandbox()
    released = sandbox.holding.release()
    await call.world.runner.catch_up(sandbox)
    return 200, {"released": released}
