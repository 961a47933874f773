"""The clock of a sandbox: read, set, advance, and what time will cause next (``/__admin/clock``);
waiting until conditions hold, in real time or by moving it (``/__admin/wait``); what a scenario
holds, and its release (``/__admin/hold``).

A clock moves from one instant at which something is due to the next, and no further before all that
is under way has ended. Time stands while receivers of webhooks are called: what they ask meanwhile
is answered at the instant of their webhook. A try ends with the receiver's answer or with the
time-out of webhooks; what follows from it is planned, and time goes on. So the figures of a move,
and the order in which a receiver is called, follow from the sandbox alone. Source:
docs/control-api.md.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Annotated, Any

from pydantic import Field

from mockserver.domain.clock import DAY, FAST, SECOND, ClockMode, Micros, duration_text, iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_text
from mockserver.domain.record import mutable
from mockserver.domain.states import DeliveryState
from mockserver.engine import conditions
from mockserver.engine.conditions import WaitCondition
from mockserver.engine.due import is_behind, run_slice
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.step import KINDS
from mockserver.web import holds
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.runner import SHORTEST_WAIT
from mockserver.web.world import World
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import (
    ClockModeWord,
    ClockRate,
    DateTime,
    Duration,
    EndOfHold,
    Switch,
    digits,
)
from mockserver.wire.jsonio import kept_text
from mockserver.wire.replies import reply_of


class ClockSetting(ControlBody):
    """How time passes, and where it stands."""

    mode: ClockModeWord | None = Field(None, description="real, manual or fast")
    rate: ClockRate | None = Field(None, description="how fast in mode fast; 60 by default")
    now: DateTime | None = Field(None, description="not in the past of the sandbox")
    timeout: Duration | None = Field(
        None,
        description="how long it may take in real time; 10m by default and at most",
    )


class ClockAdvance(ControlBody):
    """How far time moves: one of ``by`` and ``to``."""

    by: Duration | None = Field(None, description="a duration such as 1h30m")
    to: DateTime | None = Field(None, description="an ISO date-time")
    timeout: Duration | None = Field(
        None,
        description="how long it may take in real time; 10m by default and at most",
    )


class DueQuery(ControlBody):
    """How much of what is to come."""

    limit: Annotated[int, digits(1, 100)] = Field(10, description="at most this many")


class HoldQuery(ControlBody):
    """What is waited for, and how long."""

    until: EndOfHold | None = Field(
        None, description="held: something is held; gone: no client waits for an answer any more"
    )
    timeout: Duration | None = Field(
        None,
        description="in real time, such as 5s; without it nothing is waited for",
    )


class WaitFor(ControlBody):
    """What to wait for, and how long."""

    for_: Any = Field(
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


def read(call: AnyCall) -> object:
    """How time passes in a sandbox, and what it has left to do."""
    return _clock_reply(call.sandbox())


async def change(call: ControlCall[ClockSetting, ControlBody]) -> object:
    """Set ``mode`` (real, manual, fast), ``rate`` (of fast) and ``now``, to which the clock moves
    as by ``advance``."""
    sandbox, body = call.sandbox(), call.body
    mode = body.mode or sandbox.clock.mode
    rate = 1
    if mode is ClockMode.FAST:
        # A clock that is fast already keeps its rate.
        is_fast = sandbox.clock.mode is ClockMode.FAST
        rate = body.rate or (sandbox.clock.rate if is_fast else FAST)

    def arrive() -> None:
        sandbox.clock.run(mode, rate, call.world.real_clock())

    # Time goes on in another way only from there: until then it stands.
    return await _move(call, op="clock.set", field="Now", to=body.now, arrive=arrive)


async def advance(call: ControlCall[ClockAdvance, ControlBody]) -> object:
    """Move forward, running everything that comes due on the way. A move that takes longer than
    ``timeout`` in real time ends at the instant that it has come to, as when the server stops:
    ``hint`` says so, and what is left."""
    call.sandbox()
    to, by = call.body.to, call.body.by
    if (by is None) == (to is None):
        raise invalid({"By": "give one of by (such as 1h) and to (an ISO date-time)"})
    field = "To" if by is None else "By"
    return await _move(call, op="clock.advance", field=field, to=to, by=by)


def due(call: ControlCall[ControlBody, DueQuery]) -> object:
    """What comes due next, the earliest first, at most ``limit``; ``pending`` counts all. What is
    late, as while everything is held, comes due in no time at all, never in a negative one."""
    sandbox = call.sandbox()
    now = sandbox.now
    rows = [
        reply_of(
            "DueWorkAnswer",
            work,
            kind=_kind_of(sandbox, work),
            **{"in": duration_text(max(work.at - now, 0))},
        )
        for work in sandbox.schedule.earliest(call.query.limit)
    ]
    return reply_of("DueAnswer", sandbox, pending=len(sandbox.schedule.entries), due=rows)


async def _move(
    call: ControlCall[ClockSetting | ClockAdvance, ControlBody],
    *,
    op: str,
    field: str,
    to: Micros | None,
    by: Micros | None = None,
    arrive: Callable[[], None] | None = None,
) -> object:
    """Move the clock to an instant, or so much further, or with neither nowhere; then ``arrive``
    changes how it goes on. ``op`` names the entry of the journal, ``field`` what a refusal is
    about."""
    sandbox, world = call.sandbox(), call.world
    mover = Mover(call, world.real_clock() + within_longest(call.body.timeout))
    async with standing(world, sandbox):
        # Only here does time stand still, so that so much further is a certain instant.
        end = to if by is None else sandbox.now + by
        sandbox.clock.check(sandbox.now if end is None else end, world.real_clock(), field)
        has_arrived = end is None or await mover.advance(sandbox, end)
        if arrive is not None:
            arrive()
        answer = {**_clock_reply(sandbox), "ran": mover.ran}
        if end is not None and not has_arrived:
            answer["hint"] = _why_it_ended(world, sandbox, end)
        journal_move(call, sandbox, op, answer)
    world.runner.used(sandbox)
    return answer


def journal_move(call: AnyCall, sandbox: Sandbox, op: str, answer: object) -> None:
    """Keep a move of the clock as an entry of the journal, after all that came due on the way: who
    reads the journal could not tell why days lie between two entries."""
    sandbox.journal.note(
        JournalEntry(
            sandbox.journal.last + 1,
            sandbox.now,
            op,
            call.headers,
            method=call.route.method,
            path=call.route.path,
            raw=call.raw,
            status=200,
            answer=kept_text(answer),
        )
    )


def _why_it_ended(world: World, sandbox: Sandbox, to: Micros) -> str:
    """Why a move of the clock ended before all that is due up to ``to`` had. A test that goes on
    without noticing would look at the wrong time."""
    if not world.sandboxes.is_live(sandbox):
        return f"a reset, an import or a fork put another sandbox here during the move to {iso(to)}"
    why = "the server was asked to stop" if world.runner.stopping else "timed out"
    where = f"on the way to {iso(to)}" if sandbox.now < to else f"at {iso(to)}"
    left = "with work that is due left"
    sending = being_sent(sandbox)
    if sending:
        webhooks_were = "1 webhook was" if sending == 1 else f"{sending} webhooks were"
        left = f"while {webhooks_were} being sent"
    return f"{why} {where}, {left}: another call continues from here"


def within_longest(timeout: Micros | None, default: Micros = holds.LONGEST) -> Micros:
    """How long a call may take in real time: no wait is longer, and a move of the clock that would
    be is cut short."""
    return min(default if timeout is None else timeout, holds.LONGEST)


def being_sent(sandbox: Sandbox) -> int:
    """How many webhooks a receiver has and has not answered yet."""
    return sum(delivery.state is DeliveryState.SENDING for delivery in sandbox.deliveries)


def _clock_reply(sandbox: Sandbox) -> dict[str, object]:
    """How time passes in a sandbox, and what keeps it from having come to rest."""
    pending = len(sandbox.schedule.entries)
    return reply_of("ClockAnswer", sandbox, pending=pending, waiting=being_sent(sandbox))


def _kind_of(sandbox: Sandbox, work: ScheduledWork) -> str | None:
    """The kind of the object that due work is about, as paths name it; ``webhook`` for a delivery.
    None when that object is gone."""
    if work.what in (Due.WEBHOOK, Due.WEBHOOK_HELD):
        return "webhook"
    table_name = work.what.table
    for kind, stored_kind in KINDS.items():
        if table_name is None:
            # What a scenario does later may be about any kind: the id says which.
            is_its_kind = stored_kind.table(sandbox).get(work.subject) is not None
        else:
            # Tables have the plurals of kinds for names: charges, batches, a vault.
            is_its_kind = table_name in (kind, f"{kind}s", f"{kind}es")
        if is_its_kind:
            return kind
    return None


_STEPS_UNSEEN = 100
"""Steps of a move before it looks whether its caller has hung up."""


@mutable
class Mover:
    """Moves clocks for one call, until the machine's time is ``until``. ``ran`` counts what has
    come due."""

    call: AnyCall
    until: Micros
    ran: int = 0

    @property
    def is_over(self) -> bool:
        """Whether there is no time left, or the server stops."""
        return self.call.world.runner.stopping or self.call.world.real_clock() >= self.until

    async def advance(self, sandbox: Sandbox, to: Micros) -> bool:
        """Go to an instant, within ``standing``; whether it was reached and all that came due has
        ended. Else the clock stands where work is left, or webhooks are still being sent. Raises
        ``HungUp``."""
        is_live = self.call.world.sandboxes.is_live
        steps = 0
        has_time = True
        # A reset puts another sandbox in the place of this one.
        while has_time and is_live(sandbox):
            # To look whether the caller has hung up takes a task, and most moves are over sooner.
            if steps >= _STEPS_UNSEEN:
                self.call.check_caller()
            has_time = await self._go(sandbox, to)
            if sandbox.now >= to and not (is_behind(sandbox) or self._waits(sandbox)):
                return is_live(sandbox)
            steps += 1
        return False

    async def step(self, sandbox: Sandbox, end: Micros) -> bool:
        """Let one of the tries end that are being made, or else go to the next instant up to
        ``end`` at which something is due; False when there is neither, or no time. Raises
        ``HungUp``."""
        async with standing(self.call.world, sandbox):
            entries = sandbox.schedule.entries
            has_work = bool(entries) and entries[0].at <= end and not self.is_over
            if not (has_work or self._waits(sandbox)):
                return False
            # What is late comes due now: time never goes back.
            to = max(entries[0].at, sandbox.now) if entries else end
            has_time = await self._go(sandbox, to)
        self.call.check_caller()
        return has_time

    def _waits(self, sandbox: Sandbox) -> bool:
        """Whether time must stand because something is held, or a webhook is being sent."""
        return sandbox.holding.is_all or bool(self.call.world.runner.sending(sandbox))

    async def _go(self, sandbox: Sandbox, to: Micros) -> bool:
        """Let something go that is held, or a try end, or else run a slice of what is due up to an
        instant; False when there is no time left. In this order, as time stands while either is
        there. Raises ``HungUp``."""
        runner = self.call.world.runner
        ran_before = sandbox.schedule.ran
        if sandbox.holding.is_all:
            has_time = await self._let_go(sandbox)
        elif runner.sending(sandbox):
            has_time = await runner.try_ends(sandbox, self.until, self.call.leaving)
            if has_time:
                self.call.check_caller()
        else:
            run_slice(sandbox, to)
            sandbox.clock.move_to(sandbox.now, self.call.world.real_clock())
            runner.changed(sandbox)
            has_time = not self.is_over
        await runner.turn(sandbox)
        self.ran += sandbox.schedule.ran - ran_before
        return has_time

    async def _let_go(self, sandbox: Sandbox) -> bool:
        """Wait until nothing holds a sandbox any more; False when there was no time for that.
        Raises ``HungUp``."""
        world, holding = self.call.world, sandbox.holding
        left = self.until - world.real_clock()
        await holds.passed(world, sandbox, lambda: not holding.is_all, left, self.call.leaving)
        self.call.check_caller()
        # After a reset there is nothing here to wait for.
        is_still_held = holding.is_all and world.sandboxes.is_live(sandbox)
        return not is_still_held


@asynccontextmanager
async def standing(world: World, sandbox: Sandbox) -> AsyncIterator[None]:
    """Let time stand still for all but the holder of this, who may move it. Moves of one sandbox
    follow one another."""
    # Another that has waited may be first when one has ended.
    while sandbox in world.runner.moving:
        await world.runner.moving[sandbox].wait()
    ended = world.runner.moving[sandbox] = asyncio.Event()
    try:
        await world.runner.catch_up(sandbox)
        sandbox.clock.hold(sandbox.now)
        try:
            yield
        finally:
            sandbox.clock.release(world.real_clock())
    finally:
        del world.runner.moving[sandbox]
        ended.set()
        world.runner.changed(sandbox)


async def wait(call: ControlCall[WaitFor, ControlBody]) -> object:
    """Answer when all conditions hold, or with ``held`` false and why not when the time is over or
    the server stops. With ``advance`` the clock moves, as far as ``within``; ``timeout`` is real
    time either way."""
    sandbox, body = call.sandbox(), call.body
    if not body.advance:
        _check_standing(body)
    # A wait that moves the clock has work to do, such as a month of webhooks.
    usual_timeout = 30 * SECOND if body.advance else 5 * SECOND
    timeout = within_longest(body.timeout, usual_timeout)
    # Long enough for a monthly renewal.
    within = 31 * DAY if body.within is None else body.within
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
        if not why or left <= 0 or world.runner.stopping:
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
    reasons = {condition.kind: condition.unmet(sandbox) for condition in wanted}
    return {kind: mask_text(why) for kind, why in reasons.items() if why is not None}


def _until_due(world: World, sandbox: Sandbox) -> Micros:
    """How long, in real time, until something may come due here that only this call runs: an
    application that nobody serves has no ticker, which else does that."""
    entries, clock = sandbox.schedule.entries, sandbox.clock
    if world.runner.ticker is not None or not entries or clock.mode is ClockMode.MANUAL:
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

    if call.query.until == "gone":
        while _under_way(call, sandbox) and loop.time() < end:
            # Nobody says that a client has left.
            await asyncio.sleep(0.005)
        return
    while not is_held() and loop.time() < end and not world.runner.stopping:
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
        "/__admin/clock",
        read,
        keyed=True,
        reply="ClockAnswer",
        summary="The clock of this sandbox",
    ),
    ControlRoute(
        "PUT",
        "/__admin/clock",
        change,
        body=ClockSetting,
        keyed=True,
        reply="ClockAnswer",
        example={"body": {"mode": "manual", "now": "2031-03-02T09:00:00Z"}},
        summary="Set mode, rate and time",
    ),
    ControlRoute(
        "POST",
        "/__admin/clock/advance",
        advance,
        body=ClockAdvance,
        keyed=True,
        reply="ClockAnswer",
        example={"body": {"by": "1h30m"}},
        summary="Move forward by a duration or to a date-time",
    ),
    ControlRoute(
        "GET",
        "/__admin/clock/due",
        due,
        query=DueQuery,
        keyed=True,
        reply="DueAnswer",
        example={"limit": "1"},
        summary="What time will cause next, the earliest first",
    ),
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
