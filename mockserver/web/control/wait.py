"""Waiting until conditions hold (``/__admin/wait``): in real time, or by moving the sandbox's clock."""

from __future__ import annotations

import asyncio

from mockserver.domain.clock import DAY, SECOND, ClockMode, Micros, duration_text, iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_text
from mockserver.engine import conditions
from mockserver.engine.conditions import WaitCondition
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import Caller, ControlCall
from mockserver.web.control.clock import LONGEST, Mover, being_sent, journal_move, within_longest
from mockserver.web.world import World

WITHIN = 31 * DAY
"""How far a wait moves the clock when it does not say: long enough for a monthly renewal."""

_TIMEOUT = 5 * SECOND
_TIMEOUT_OF_MOVE = 30 * SECOND
_SHORTEST_WAIT = 5_000
"""The shortest wait, in real time: work that comes due in quick succession is looked at together."""


async def wait(call: ControlCall) -> tuple[int, object]:
    """Answer when all conditions hold, or with ``held`` false and why not when the time is over or the server stops.

    With ``advance`` the clock moves from one instant at which something is due to the next, as far as ``within``; time
    stands while webhooks are being sent. ``timeout`` is real time either way.
    """
    sandbox, body = call.sandbox(), call.body
    advance: bool = body.advance
    if body.within is not None and not advance:
        raise invalid({"Within": "it limits how far advance: true moves the clock, and that is not given"})
    if (body.timeout or 0) > LONGEST and not advance:
        raise invalid({"Timeout": f"wanted at most {duration_text(LONGEST)}, or advance: true to move the clock"})
    timeout = within_longest(body.timeout, _TIMEOUT_OF_MOVE if advance else _TIMEOUT)
    within = WITHIN if body.within is None else body.within
    wanted = conditions.read(sandbox, body.for_)
    begun, why = sandbox.now, _unmet(sandbox, wanted)
    with call.caller() as caller:
        mover = Mover(call.world, caller, call.world.real_clock() + timeout)
        if why and advance:
            sandbox, why = await _moving(call.world, mover, sandbox, wanted, within, why)
        elif why:
            sandbox, why = await _watching(call.world, caller, sandbox, wanted, timeout, why)
    answer: dict[str, object] = {
        "held": not why,
        "now": iso(sandbox.now),
        "waited": duration_text(max(sandbox.now - begun, 0)),
        "why": why,
    }
    if advance:
        answer |= {"ran": mover.ran, "waiting": being_sent(sandbox)}
        if why:
            answer["hint"] = _why_it_ended(call.world, mover, sandbox, timeout, within)
        if sandbox.now > begun or mover.ran:
            journal_move(call, sandbox, "clock.advance", answer)
            call.world.runner.used(sandbox)
    elif why and sandbox.clock.mode is ClockMode.MANUAL:
        answer["hint"] = "this sandbox's clock stands still: with advance: true the wait moves it"
    return 200, answer


async def _watching(
    world: World, caller: Caller, sandbox: Sandbox, wanted: list[WaitCondition], timeout: Micros, why: dict[str, str]
) -> tuple[Sandbox, dict[str, str]]:
    """Wait in real time, woken by whatever happens that makes the conditions hold, and by whatever comes due. Raises
    ``HungUp``."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout / SECOND

    def look() -> bool:
        return _hold(world.sandboxes.present(sandbox), wanted)

    while why:
        left = round((end - loop.time()) * SECOND)
        if left <= 0 or world.runner.stopping:
            break
        await world.runner.activity.wait(sandbox.key, min(left, _until_due(world, sandbox)), look, caller.leaving)
        caller.stays()
        sandbox = world.sandboxes.present(sandbox)
        await world.runner.catch_up(sandbox)
        why = _unmet(sandbox, wanted)
    return sandbox, why


async def _moving(
    world: World, mover: Mover, sandbox: Sandbox, wanted: list[WaitCondition], within: Micros, why: dict[str, str]
) -> tuple[Sandbox, dict[str, str]]:
    """Move the clock until the conditions hold, no further than ``within``. Raises ``HungUp``."""
    end = sandbox.now + within
    while why and await mover.step(sandbox, end):
        present = world.sandboxes.present(sandbox)
        if present is not sandbox:
            # What is left of the time counts on, or resets without end would keep the wait from ending.
            sandbox, end = present, present.now + end - sandbox.now
        why = _unmet(sandbox, wanted)
    return sandbox, why


def _why_it_ended(world: World, mover: Mover, sandbox: Sandbox, timeout: Micros, within: Micros) -> str:
    if world.runner.stopping:
        return "the server was asked to stop, and the clock stays where it was then"
    if mover.is_over:
        return f"the timeout of {duration_text(timeout)} of real time has passed, and the clock stays where it was then"
    entries = sandbox.schedule.entries
    if entries:
        return f"what is due next, at {iso(entries[0].at)}, lies beyond within: {duration_text(within)}"
    return "nothing more is due in this sandbox, so the clock was moved no further"


def _unmet(sandbox: Sandbox, wanted: list[WaitCondition]) -> dict[str, str]:
    found = {one.kind: one.unmet(sandbox) for one in wanted}
    return {kind: mask_text(why) for kind, why in found.items() if why is not None}


def _hold(sandbox: Sandbox, wanted: list[WaitCondition]) -> bool:
    return all(one.unmet(sandbox) is None for one in wanted)


def _until_due(world: World, sandbox: Sandbox) -> Micros:
    """How long, in real time, until something may come due here that only this call runs."""
    entries, clock = sandbox.schedule.entries, sandbox.clock
    if world.runner.ticker is not None or not entries or clock.mode is ClockMode.MANUAL:
        return LONGEST
    left = entries[0].at - clock.read(world.real_clock())
    return max(left // clock.rate if clock.mode is ClockMode.FAST else left, _SHORTEST_WAIT)
