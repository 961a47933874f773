"""Waiting that ends early: a request or an answer is held until something happens, until it is
released, or until its client has left. Source: docs/scenario-language.md, transport.
"""

import asyncio
from collections.abc import Callable

from mockserver.domain.clock import MINUTE, SECOND, Micros
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.transport import At, HoldUntil, Transport
from mockserver.web.request import HungUp, Request, hung_up
from mockserver.web.world import World

LONGEST = 10 * MINUTE
"""How long anything is held at most, in real time."""


async def held(world: World, request: Request, fault: Transport) -> bool:
    """Hold a request, or its answer, as a fault says; False when its client has left meanwhile. A
    request that is held for a time is acted on all the same."""
    sandbox, until = request.sandbox, fault.hold
    holding = sandbox.holding
    if isinstance(until, HoldUntil):
        is_over = holding.begin(until)
        world.runner.activity.notify(sandbox.key)
        return await waited(world, request, is_over)
    came = holding.came
    holding.waiting += 1
    try:
        is_watched = fault.at is At.ANSWER
        return await waited(
            world, request, lambda: holding.came > came, until or 0, is_watched=is_watched
        )
    finally:
        holding.waiting -= 1


async def waited(
    world: World,
    request: Request,
    is_over: Callable[[], bool] = lambda: False,
    within: Micros = LONGEST,
    is_watched: bool = True,
) -> bool:
    """Wait until something is over, so long at most; False when the client, if it ``is_watched``,
    has left meanwhile. In process nobody can leave."""
    loop, watches = asyncio.get_running_loop(), is_watched and not request.is_in_process
    leaving: asyncio.Future[None] = (
        loop.create_task(hung_up(request.receive)) if watches else loop.create_future()
    )
    try:
        await passed(world, request.sandbox, is_over, within, leaving)
        return not leaving.done()
    finally:
        leaving.cancel()


async def released(world: World, request: Request) -> bool:
    """Wait while everything in a sandbox is held; False when the client has left meanwhile. When it
    was held for the longest time, or the server stops, everything goes on."""
    holding = request.sandbox.holding
    stays = not holding.is_all or await waited(world, request, lambda: not holding.is_all)
    if stays and holding.is_all:
        holding.release()
    return stays


async def let_go(world: World, request: Request) -> None:
    """Let a request wait, where it names a sandbox, while everything there is held. Raises
    ``HungUp``."""
    if request.known is not None and request.known.holding.is_all:
        if not await released(world, request):
            raise HungUp
        await world.runner.catch_up(request.known)


async def passed(
    world: World,
    sandbox: Sandbox,
    is_over: Callable[[], bool],
    within: Micros,
    leaving: asyncio.Future[None] | None = None,
) -> None:
    """Wait until something is over in a sandbox, so long in real time at most, and not once
    ``leaving`` is done."""
    loop = asyncio.get_running_loop()
    end, leaving = loop.time() + within / SECOND, leaving or loop.create_future()

    def look() -> bool:
        # A reset lets go of everything.
        return is_over() or world.sandboxes.present(sandbox) is not sandbox

    while (
        not (look() or world.runner.stopping or leaving.done()) and (left := end - loop.time()) > 0
    ):
        await world.runner.activity.wait(sandbox.key, round(left * SECOND), look, leaving)
