"""Waiting that ends early: a request or an answer is held until something happens, until it is
released, or until its client has left.

So a test can show what a slow answer does, without waiting for real: a refund is held until the
second one has come, an answer until the client has given up. And a test, or a person at the control
page, can hold everything in a sandbox (``holding.is_all``), look at what is under way, and let it
go. Nothing is held for ever: a test that has died must leave a server that answers.

Source: docs/scenario-language.md, transport.
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
        # Whoever waits for a request to be held hears of it.
        world.runner.activity.notify(sandbox.key)
        return await waited(world, request, is_over)
    came_before = holding.came

    def another_came() -> bool:
        return holding.came > came_before

    holding.waiting += 1
    try:
        # Until another call moves money, for a time at most.
        is_watched = fault.at is At.ANSWER
        return await waited(world, request, another_came, until or 0, is_watched=is_watched)
    finally:
        holding.waiting -= 1


def _never() -> bool:
    return False


async def waited(
    world: World,
    request: Request,
    is_over: Callable[[], bool] = _never,
    within: Micros = LONGEST,
    is_watched: bool = True,
) -> bool:
    """Wait until something is over, so long at most; False when the client, if it ``is_watched``,
    has left meanwhile. In process nobody can leave."""
    loop = asyncio.get_running_loop()
    leaving: asyncio.Future[None]
    if is_watched and not request.is_in_process:
        leaving = loop.create_task(hung_up(request.receive))
    else:
        leaving = loop.create_future()
    try:
        await passed(world, request.sandbox, is_over, within, leaving)
        return not leaving.done()
    finally:
        leaving.cancel()


async def released(world: World, request: Request) -> bool:
    """Wait while everything in a sandbox is held; False when the client has left meanwhile. When it
    was held for the longest time, or the server stops, everything goes on."""
    holding = request.sandbox.holding
    if not holding.is_all:
        return True

    def is_released() -> bool:
        return not holding.is_all

    stays = await waited(world, request, is_released)
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
    end = loop.time() + within / SECOND
    if leaving is None:
        leaving = loop.create_future()

    def may_go_on() -> bool:
        # A reset lets go of everything.
        return is_over() or world.sandboxes.present(sandbox) is not sandbox

    while not may_go_on():
        left = end - loop.time()
        nobody_waits = world.runner.stopping or leaving.done()
        if nobody_waits or left <= 0:
            return
        await world.runner.activity.wait(sandbox.key, round(left * SECOND), may_go_on, leaving)
