"""The clock of a sandbox: read, set, advance, and what time will cause next (``/__admin/clock``).

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
from typing import Annotated

from pydantic import Field

from mockserver.domain.clock import FAST, ClockMode, Micros, duration_text, iso
from mockserver.domain.errors import invalid
from mockserver.domain.record import mutable
from mockserver.domain.states import DeliveryState
from mockserver.engine.due import is_behind, run_slice
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.step import KINDS
from mockserver.web import holds
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.world import World
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import (
    ClockModeWord,
    ClockRate,
    DateTime,
    Duration,
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
        usual_rate = FAST
        if sandbox.clock.mode is ClockMode.FAST:
            # A clock that is fast already keeps its rate.
            usual_rate = sandbox.clock.rate
        rate = body.rate or usual_rate

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
        end = to
        if by is not None:
            # Only here does time stand still, so that so much further is a certain instant.
            end = sandbox.now + by
        why_short = None
        if end is not None:
            sandbox.clock.check(end, world.real_clock(), field)
            if not await mover.advance(sandbox, end):
                why_short = _why_it_ended(world, sandbox, end)
        if arrive is not None:
            arrive()
        answer = {**_clock_reply(sandbox), "ran": mover.ran}
        if why_short is not None:
            answer["hint"] = why_short
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
    if timeout is None:
        timeout = default
    return min(timeout, holds.LONGEST)


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
            to = end
            has_work = False
            if sandbox.schedule.entries:
                next_due = sandbox.schedule.entries[0].at
                has_work = next_due <= end and not self.is_over
                # What is late comes due now: time never goes back.
                to = max(next_due, sandbox.now)
            if not (has_work or self._waits(sandbox)):
                return False
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

        def is_released() -> bool:
            return not holding.is_all

        left = self.until - world.real_clock()
        await holds.passed(world, sandbox, is_released, left, self.call.leaving)
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
)
