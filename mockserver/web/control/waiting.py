"""Waiting until conditions hold, in real time or by moving the clock (``/__admin/wait``); what a
scenario holds, and its release (``/__admin/hold``).

A test that sleeps is slow, and fails on a slow machine. So it says what it waits for. On a clock
that runs, the wait is woken by whatever happens in the sandbox, and by what comes due. Where time
stands, as in most tests, nothing would ever come: then the wait itself moves the clock from one
instant at which something is due to the next (``Mover`` in ``mockserver/web/control/clock.py``),
and no further than the first at which all conditions hold.

What always holds: no wait is longer than ``holds.LONGEST`` of real time. One that ends in vain is
an answer, which says what does not hold and what its caller can change. And a reset while it lasts
puts another sandbox in the place of the one that was named: the wait goes on in that one.

Source: docs/control-api.md.
"""

import asyncio
from time import perf_counter

from pydantic import Field

from mockserver.domain.clock import DAY, SECOND, ClockMode, Micros, duration_text, iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_text
from mockserver.engine import conditions
from mockserver.engine.conditions import WaitCondition
from mockserver.engine.sandbox import Sandbox
from mockserver.web import holds
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.control.clock import Mover, being_sent, journal_move, within_longest
from mockserver.web.runner import SHORTEST_WAIT
from mockserver.web.world import World
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import Duration, EndOfHold, Switch
from mockserver.wire.replies import reply_of


class WaitFor(ControlBody):
    """What to wait for, and how long."""

    for_: object = Field(
        None,
        description=(
            "{charge: {id, status}}, {batch: ...}, {webhook: {state, subject}}, {inbox: {name, "
            "count}} or {inbox: name}; all must hold"
        ),
    )
    timeout: Duration | None = Field(
        None,
        description="in real time, such as 5s (the default; with advance 30s), 10m at the longest",
    )
    advance: Switch = Field(
        False,
        description="move the clock to what is due next, and so on, instead of waiting for it",
    )
    within: Duration | None = Field(
        None,
        description="how far to move the clock, such as 31d (the default)",
    )


class HoldQuery(ControlBody):
    """What is waited for, and how long."""

    until: EndOfHold | None = Field(
        None, description="held: something is held; gone: no client waits for an answer any more"
    )
    timeout: Duration | None = Field(
        None,
        description="in real time, such as 5s; without it nothing is waited for",
    )


async def wait(call: ControlCall[WaitFor, ControlBody]) -> object:
    """Answer when all conditions hold, or with ``held`` false and why not when the time is over or
    the server stops. With ``advance`` the clock moves, as far as ``within``; ``timeout`` is real
    time either way."""
    sandbox, body = call.sandbox(), call.body
    if not body.advance:
        _check_standing(body)
    usual_timeout = 5 * SECOND
    if body.advance:
        # It has work to do, such as a month of webhooks.
        usual_timeout = 30 * SECOND
    timeout = within_longest(body.timeout, usual_timeout)
    within = body.within
    if within is None:
        # Long enough for a monthly renewal.
        within = 31 * DAY
    wanted = conditions.read(body.for_)
    begun = sandbox.now
    mover = Mover(call, call.world.real_clock() + timeout)
    if body.advance:
        sandbox, why = await _moving(mover, sandbox, wanted, within)
    else:
        sandbox, why = await _watching(call, sandbox, wanted, timeout)
    waited = duration_text(max(sandbox.now - begun, 0))
    answer = reply_of("WaitAnswer", sandbox, held=not why, waited=waited, why=why)
    if body.advance:
        answer |= {"ran": mover.ran, "waiting": being_sent(sandbox)}
        if why:
            answer["hint"] = _why_it_waits(mover, sandbox, timeout, within)
        if sandbox.now > begun or mover.ran:
            journal_move(call, sandbox, "clock.advance", answer)
            call.world.runner.used(sandbox)
    elif why and sandbox.clock.mode is ClockMode.MANUAL:
        answer["hint"] = "this sandbox's clock stands still: with advance: true the wait moves it"
    return answer


def _check_standing(body: WaitFor) -> None:
    """Refuse what a wait that moves no clock cannot do, rather than wait for another thing than was
    meant. Raises ``Invalid`` (90)."""
    if body.within is not None:
        raise invalid(
            {"Within": "it limits how far advance: true moves the clock, and that is not given"}
        )
    if (body.timeout or 0) > holds.LONGEST:
        raise invalid(
            {
                "Timeout": f"wanted at most {duration_text(holds.LONGEST)}, or advance: true to "
                "move the clock"
            }
        )


async def _watching(
    call: AnyCall, sandbox: Sandbox, wanted: list[WaitCondition], timeout: Micros
) -> tuple[Sandbox, dict[str, str]]:
    """Wait in real time, woken by whatever happens that makes the conditions hold, and by whatever
    comes due. The sandbox as it is then, which may be another after a reset, and what does not hold
    in it. Raises ``HungUp``."""
    world = call.world

    def all_hold() -> bool:
        present = world.sandboxes.present(sandbox)
        return all(condition.unmet(present) is None for condition in wanted)

    end = perf_counter() + timeout / SECOND
    while True:
        why = _unmet(sandbox, wanted)
        left = round((end - perf_counter()) * SECOND)
        has_time = left > 0 and not world.runner.stopping
        if not why or not has_time:
            return sandbox, why
        within = min(left, _until_due(world, sandbox))
        await world.runner.activity.wait(sandbox.key, within, all_hold, call.leaving)
        call.check_caller()
        sandbox = world.sandboxes.present(sandbox)
        await world.runner.catch_up(sandbox)


async def _moving(
    mover: Mover, sandbox: Sandbox, wanted: list[WaitCondition], within: Micros
) -> tuple[Sandbox, dict[str, str]]:
    """Move the clock until the conditions hold, no further than ``within``: as ``_watching``.
    Raises ``HungUp``."""
    end = sandbox.now + within
    while True:
        why = _unmet(sandbox, wanted)
        if not why or not await mover.step(sandbox, end):
            return sandbox, why
        present = mover.call.world.sandboxes.present(sandbox)
        if present is not sandbox:
            # What is left of the time counts on, or resets without end would keep the wait from
            # ending.
            sandbox, end = present, present.now + end - sandbox.now


def _why_it_waits(mover: Mover, sandbox: Sandbox, timeout: Micros, within: Micros) -> str:
    """Why a wait that moved the clock has ended with conditions unmet: what its caller can change,
    the timeout, ``within`` or what it waits for."""
    if mover.call.world.runner.stopping:
        return "the server was asked to stop, and the clock stays where it was then"
    if mover.is_over:
        return (
            f"the timeout of {duration_text(timeout)} of real time has passed, and the clock "
            "stays where it was then"
        )
    entries = sandbox.schedule.entries
    if entries:
        return (
            f"what is due next, at {iso(entries[0].at)}, lies beyond within: "
            f"{duration_text(within)}"
        )
    return "nothing more is due in this sandbox, so the clock was moved no further"


def _unmet(sandbox: Sandbox, wanted: list[WaitCondition]) -> dict[str, str]:
    """The conditions that do not hold, with the reason of each; empty once all hold."""
    reasons: dict[str, str] = {}
    for condition in wanted:
        why = condition.unmet(sandbox)
        if why is not None:
            # It repeats values of the sandbox, and what the caller has written.
            reasons[condition.kind] = mask_text(why)
    return reasons


def _until_due(world: World, sandbox: Sandbox) -> Micros:
    """How long, in real time, until something may come due here that only this call runs: an
    application that nobody serves has no ticker, which else does that."""
    entries, clock = sandbox.schedule.entries, sandbox.clock
    has_ticker = world.runner.ticker is not None
    comes_due = bool(entries) and clock.mode is not ClockMode.MANUAL
    if has_ticker or not comes_due:
        return holds.LONGEST
    left = entries[0].at - clock.read(world.real_clock())
    if clock.mode is ClockMode.FAST:
        # Its hour is a minute of real time, at the usual rate.
        left //= clock.rate
    return max(left, SHORTEST_WAIT)


async def held(call: ControlCall[ControlBody, HoldQuery]) -> object:
    """What is held, now or when what is waited for has come. By ``calls``, all that have come so
    far, who holds a client sees whether it does anything meanwhile."""
    sandbox = call.sandbox()
    if call.query.until is not None:
        await _wait_for_hold(call, sandbox)
        sandbox = call.world.sandboxes.present(sandbox)
    calls = sum(sandbox.director.tallies.calls.values())
    return reply_of("HoldAnswer", sandbox, underWay=_under_way(call, sandbox), calls=calls)


def _under_way(call: AnyCall, sandbox: Sandbox) -> int:
    """How many clients wait for an answer, but for who asks this."""
    # A call counts in a sandbox that was open when it came.
    if sandbox is call.request.known:
        return sandbox.under_way - 1
    return sandbox.under_way


async def _wait_for_hold(call: ControlCall[ControlBody, HoldQuery], sandbox: Sandbox) -> None:
    """Wait until something is held, or no client waits any more, or the time for that is over."""
    world, loop = call.world, asyncio.get_running_loop()
    end = loop.time() + within_longest(call.query.timeout, 0) / SECOND

    def is_held() -> bool:
        return world.sandboxes.present(sandbox).holding.held > 0

    def has_time() -> bool:
        return loop.time() < end and not world.runner.stopping

    if call.query.until == "gone":
        while _under_way(call, sandbox) and loop.time() < end:
            # Nobody says that a client has left.
            await asyncio.sleep(0.005)
        return
    while not is_held() and has_time():
        left = round((end - loop.time()) * SECOND)
        await holds.passed(world, world.sandboxes.present(sandbox), is_held, left)


async def release(call: AnyCall) -> object:
    """Let everything go on that is held, and bring the sandbox to the present: time has gone on
    meanwhile, and what came due was held too."""
    sandbox = call.sandbox()
    released = sandbox.holding.release()
    await call.world.runner.catch_up(sandbox)
    return {"released": released}


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/hold",
        held,
        query=HoldQuery,
        keyed=True,
        reply="HoldAnswer",
        example={"until": "gone", "timeout": "1s"},
        summary="What a scenario holds here; with until, when something is held or no client "
        "waits any more",
    ),
    ControlRoute(
        "DELETE",
        "/__admin/hold",
        release,
        keyed=True,
        reply="ReleasedAnswer",
        example={"body": {}},
        summary="Let everything go on that a scenario holds",
    ),
    ControlRoute(
        "POST",
        "/__admin/wait",
        wait,
        body=WaitFor,
        keyed=True,
        reply="WaitAnswer",
        example={"body": {"for": {"inbox": "shop"}, "timeout": "2s"}},
        summary="Wait until conditions hold, or say why they did not in time",
    ),
)
