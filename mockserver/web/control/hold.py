"""What a scenario holds in a sandbox, and its release (``/__admin/hold``). Source: docs/control-api.md."""

from __future__ import annotations

import asyncio

from mockserver.domain.clock import SECOND
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import ControlCall
from mockserver.web.control.clock import within_longest
from mockserver.web.holds import passed

_LOOK_SECONDS = 0.005


async def read(call: ControlCall) -> tuple[int, object]:
    """What is held; with ``until`` when something is (``held``), or when no client waits for an answer any more
    (``gone``), or after ``timeout``, of real time."""
    world, asked = call.world, call.sandbox()
    if call.query.until is not None:
        await _wait(call, asked)
    sandbox = world.sandboxes.present(asked)
    return 200, {
        "held": sandbox.holding.held,
        "all": sandbox.holding.is_all,
        "underWay": _under_way(call, sandbox),
        "calls": sum(sandbox.director.tallies.calls.values()),
    }


def _under_way(call: ControlCall, sandbox: Sandbox) -> int:
    # This call waits for its answer itself, where its sandbox is open.
    return sandbox.under_way - (sandbox is call.request.known)


async def _wait(call: ControlCall, sandbox: Sandbox) -> None:
    """Wait for what is asked for, or until its time is over."""
    world, loop = call.world, asyncio.get_running_loop()
    end = loop.time() + within_longest(call.query.timeout, 0) / SECOND

    def is_held() -> bool:
        return world.sandboxes.present(sandbox).holding.held > 0

    if call.query.until == "gone":
        while _under_way(call, sandbox) and loop.time() < end:
            # Nobody says that a client has left.
            await asyncio.sleep(_LOOK_SECONDS)
        return
    while not is_held() and loop.time() < end and not world.runner.stopping:
        await passed(world, world.sandboxes.present(sandbox), is_held, round((end - loop.time()) * SECOND))


async def release(call: ControlCall) -> tuple[int, object]:
    """Let everything go on that is held."""
    sandbox = call.sandbox()
    released = sandbox.holding.release()
    await call.world.runner.catch_up(sandbox)
    return 200, {"released": released}
