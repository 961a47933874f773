"""Waiting until something is so (``/__admin/wait``): in real time, or by moving the sandbox's clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mockserver.domain.clock import MINUTE, SECOND, ClockMode, Micros, duration_text, parse_duration
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.domain.masking import mask_text
from mockserver.domain.slices import Slices
from mockserver.engine import conditions
from mockserver.engine.conditions import Condition
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import HungUp
from mockserver.web.control.call import ControlCall
from mockserver.web.host import Host
from mockserver.web.slices import with_pauses
from mockserver.wire.dates import moment

LONGEST = 10 * MINUTE
"""The longest wait in real time; a wait that moves the clock may be of any length."""

_DEFAULT = 5 * SECOND
_NAP = 5_000
"""The shortest nap, in real time: what comes due in quick succession is looked at together."""


async def wait(call: ControlCall) -> tuple[int, object]:
    """Answer when all conditions hold, or with ``held`` false and why not when the time is over or the server stops."""
    box, body = call.box(), call.known("for", "timeout", "advance")
    timeout, advance = _duration(body.get("timeout")), body.get("advance", False)
    if not isinstance(advance, bool):
        raise Invalid(Code.VALIDATION_ERROR, {"Advance": "wanted true or false"})
    if timeout > LONGEST and not advance:
        told = f"wanted at most {duration_text(LONGEST)}, or advance: true to move the clock"
        raise Invalid(Code.VALIDATION_ERROR, {"Timeout": told})
    wanted = conditions.read(box, body.get("for"))
    begun, why = box.now, await _unmet(box, wanted)
    if why:
        async with _leaving(call) as leaving:
            box, why = await (_moving if advance else _watching)(call, box, wanted, timeout, why, leaving)
    answer: dict[str, object] = {
        "held": not why,
        "now": moment(box.now),
        "waited": duration_text(max(box.now - begun, 0)),
        "why": why,
    }
    if why and not advance and box.clock.mode is ClockMode.MANUAL:
        answer["hint"] = "this sandbox's clock stands still: with advance: true the wait moves it"
    return 200, answer


async def _watching(
    call: ControlCall,
    box: Sandbox,
    wanted: list[Condition],
    timeout: Micros,
    why: dict[str, str],
    leaving: asyncio.Task[None],
) -> tuple[Sandbox, dict[str, str]]:
    """Wait in real time, woken by whatever happens that makes the conditions hold, and by whatever comes due."""
    host, loop = call.host, asyncio.get_running_loop()
    end = loop.time() + timeout / SECOND

    def look() -> Slices[bool]:
        return _hold(host.sandboxes.present(box), wanted)

    while why:
        left = round((end - loop.time()) * SECOND)
        if left <= 0 or host.stopping:
            break
        await host.activity.wait(box.key, min(left, _until_due(host, box)), look, leaving)
        _stay(leaving)
        box = host.sandboxes.present(box)
        if await host.catch_up(box, host.real_clock()):
            # Of nothing else: two who wait would wake one another without end.
            host.noticed(box)
        why = await _unmet(box, wanted)
    return box, why


async def _moving(
    call: ControlCall,
    box: Sandbox,
    wanted: list[Condition],
    timeout: Micros,
    why: dict[str, str],
    leaving: asyncio.Task[None],
) -> tuple[Sandbox, dict[str, str]]:
    """Move the clock from one thing that comes due to the next."""
    host, end = call.host, box.now + timeout
    while why:
        real = host.real_clock()
        now = box.clock.read(real)
        entries = box.schedule.entries
        if now >= end or host.stopping:
            break
        box.clock.move_to(max(now, min(entries[0].at, end) if entries else end), real)
        # Thousands of moves may be needed, and not one of them waits for anything.
        await asyncio.sleep(0)
        _stay(leaving)
        await host.catch_up(box, real)
        await host.settle(box, real)
        host.noticed(box)
        present = host.sandboxes.present(box)
        if present is not box:
            # What is left of the time counts on, or resets without end would keep the wait from ending.
            box, end = present, present.now + end - box.now
        why = await _unmet(box, wanted)
    return box, why


@asynccontextmanager
async def _leaving(call: ControlCall) -> AsyncIterator[asyncio.Task[None]]:
    """A task that ends when the caller has gone."""
    leaving = asyncio.get_running_loop().create_task(_leave(call))
    try:
        yield leaving
    finally:
        leaving.cancel()


async def _leave(call: ControlCall) -> None:
    while (await call.receive())["type"] != "http.disconnect":
        await asyncio.sleep(1)


def _stay(leaving: asyncio.Task[None]) -> None:
    """Raise ``HungUp`` when the caller has gone: nobody is waited for, and no clock moved, on behalf of one who
    left."""
    if leaving.done():
        raise HungUp


async def _unmet(box: Sandbox, wanted: list[Condition]) -> dict[str, str]:
    found = {one.kind: await with_pauses(one.unmet(box)) for one in wanted}
    return {kind: mask_text(why) for kind, why in found.items() if why is not None}


def _hold(box: Sandbox, wanted: list[Condition]) -> Slices[bool]:
    for one in wanted:
        if (yield from one.unmet(box)) is not None:
            return False
    return True


def _until_due(host: Host, box: Sandbox) -> Micros:
    """How long, in real time, until something may come due here that nobody else runs."""
    entries, clock = box.schedule.entries, box.clock
    if host.courier is not None or not entries or clock.mode is ClockMode.MANUAL:
        return LONGEST
    left = entries[0].at - clock.read(host.real_clock())
    return max(left // clock.rate if clock.mode is ClockMode.FAST else left, _NAP)


def _duration(given: object) -> Micros:
    if given is None:
        return _DEFAULT
    try:
        return parse_duration(str(given))
    except ValueError as problem:
        raise Invalid(Code.VALIDATION_ERROR, {"Timeout": str(problem)}) from None
