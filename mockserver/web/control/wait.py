"""Waiting until something is so (``/__admin/wait``): in real time, or by moving the sandbox's clock."""

from __future__ import annotations

import asyncio

from mockserver.domain.clock import MINUTE, SECOND, ClockMode, Micros, duration_text, parse_duration
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.domain.masking import mask_text
from mockserver.engine import conditions
from mockserver.engine.conditions import Condition
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import HungUp
from mockserver.web.control.call import ControlCall
from mockserver.web.host import Host
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
    begun = box.now
    box, why = await (_moving if advance else _watching)(call, box, wanted, timeout)
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
    call: ControlCall, box: Sandbox, wanted: list[Condition], timeout: Micros
) -> tuple[Sandbox, dict[str, str]]:
    """Wait in real time, woken by whatever happens and by whatever comes due.

    Raises ``HungUp`` when the caller leaves: whoever waits is looked after at every request of everybody.
    """
    why = _unmet(box, wanted)
    if not why:
        return box, why
    host, loop = call.host, asyncio.get_running_loop()
    end = loop.time() + timeout / SECOND
    leaving = loop.create_task(_leave(call, host))
    try:
        while why := _unmet(box, wanted):
            left = round((end - loop.time()) * SECOND)
            if left <= 0 or host.stopping:
                break
            await host.activity.wait(min(left, _until_due(host, box)))
            if leaving.done():
                raise HungUp
            box = host.sandboxes.present(box)
            if await host.catch_up(box, host.real_clock()):
                # Of nothing else: two who wait would wake one another without end.
                host.noticed(box)
    finally:
        leaving.cancel()
    return box, why


async def _leave(call: ControlCall, host: Host) -> None:
    """End when the caller has gone, and wake the wait for that."""
    while (await call.receive())["type"] != "http.disconnect":
        await asyncio.sleep(1)
    host.activity.stir()


async def _moving(
    call: ControlCall, box: Sandbox, wanted: list[Condition], timeout: Micros
) -> tuple[Sandbox, dict[str, str]]:
    """Move the clock from one thing that comes due to the next."""
    host, end = call.host, box.now + timeout
    while why := _unmet(box, wanted):
        real = host.real_clock()
        now = box.clock.read(real)
        entries = box.schedule.entries
        if now >= end or host.stopping:
            break
        box.clock.move_to(max(now, min(entries[0].at, end) if entries else end), real)
        # Thousands of moves may be needed, and not one of them waits for anything.
        await asyncio.sleep(0)
        await host.catch_up(box, real)
        await host.settle(box, real)
        host.noticed(box)
        present = host.sandboxes.present(box)
        if present is not box:
            # What is left of the time counts on, or resets without end would keep the wait from ending.
            box, end = present, present.now + end - box.now
    return box, why


def _unmet(box: Sandbox, wanted: list[Condition]) -> dict[str, str]:
    found = ((one.kind, one.unmet(box)) for one in wanted)
    return {kind: mask_text(why) for kind, why in found if why is not None}


def _until_due(host: Host, box: Sandbox) -> Micros:
    """How long, in real time, until something may come due here."""
    entries, clock = box.schedule.entries, box.clock
    if not entries or clock.mode is ClockMode.MANUAL:
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
