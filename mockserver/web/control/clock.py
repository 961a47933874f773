"""The clock of a sandbox: read, set, advance, and what time will cause next (``/__admin/clock``)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import nsmallest

from mockserver.domain.clock import FAST, MINUTE, ClockMode, Micros, duration_text
from mockserver.domain.codes import Code
from mockserver.domain.delivery import DeliveryState
from mockserver.domain.errors import Invalid
from mockserver.engine.facts import KINDS
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.step import Step
from mockserver.web.control.call import ControlCall
from mockserver.web.control.clock_moves import Mover, standing
from mockserver.wire.dates import moment
from mockserver.wire.jsonio import dumps

LONGEST = 10 * MINUTE
"""The longest time that a call waits, by the machine; a move of the clock that may take longer takes no longer."""


def read(call: ControlCall) -> tuple[int, object]:
    """The clock as it stands."""
    return 200, _shown(call.sandbox())


async def change(call: ControlCall) -> tuple[int, object]:
    """Set ``mode`` (real, manual, fast), ``rate`` (of fast) and ``now``, to which the clock moves as by ``advance``."""
    sandbox, body = call.sandbox(), call.body
    mode, now = body.mode or sandbox.clock.mode, body.now
    rate = body.rate or (sandbox.clock.rate if sandbox.clock.mode is ClockMode.FAST else FAST)
    return await _move(
        call,
        sandbox,
        "clock.set",
        "Now",
        None if now is None else lambda: now,
        lambda: sandbox.clock.run(mode, rate if mode is ClockMode.FAST else 1, call.world.real_clock()),
    )


async def advance(call: ControlCall) -> tuple[int, object]:
    """Move forward ``by`` a duration or ``to`` a date-time, running everything that comes due on the way.

    Time stands while webhooks are being sent. When the move takes longer than ``timeout`` in real time, it ends at the
    instant of those that are still being sent, which ``waiting`` counts.
    """
    sandbox, body = call.sandbox(), call.body
    if (body.by is None) == (body.to is None):
        raise Invalid(Code.VALIDATION_ERROR, {"By": "give one of by (such as 1h) and to (an ISO date-time)"})
    if body.to is not None:
        return await _move(call, sandbox, "clock.advance", "To", lambda: body.to)
    return await _move(call, sandbox, "clock.advance", "By", lambda: sandbox.now + body.by)


def due(call: ControlCall) -> tuple[int, object]:
    """What comes due next, the earliest first, at most ``limit``; ``pending`` counts all."""
    sandbox = call.sandbox()
    entries = sandbox.schedule.entries
    now = sandbox.now
    return 200, {
        "now": moment(now),
        "pending": len(entries),
        "due": [
            {
                "at": moment(one.at),
                "in": duration_text(max(one.at - now, 0)),
                "what": one.what.value,
                "words": one.what.words,
                "kind": _kind_of(sandbox, one),
                "id": one.subject,
            }
            for one in nsmallest(call.query.limit, entries)
        ],
    }


async def _move(
    call: ControlCall,
    sandbox: Sandbox,
    op: str,
    field: str,
    destination: Callable[[], Micros] | None,
    arrive: Callable[[], None] = lambda: None,
) -> tuple[int, object]:
    world, until = call.world, call.world.real_clock() + within_longest(call.body.timeout)
    with call.caller() as caller:
        async with standing(world, sandbox):
            to = sandbox.now if destination is None else destination()
            sandbox.clock.check(to, world.real_clock(), field)
            mover = Mover(world, caller, until)
            arrived = destination is None or await mover.advance(sandbox, to)
            arrive()
            answer = {**_shown(sandbox), "ran": mover.ran}
            if not arrived:
                answer["hint"] = (
                    f"timed out on the way to {moment(to)}, while {answer['waiting']} webhooks were being sent: "
                    "another call continues from here"
                )
            journal_move(call, sandbox, op, answer)
    world.runner.used(sandbox)
    return 200, answer


def journal_move(call: ControlCall, sandbox: Sandbox, op: str, answer: object) -> None:
    """Keep a move of the clock as an entry of the journal, after all that came due on the way."""
    step = Step(op, headers=call.headers)
    step.request = call.document
    route = call.route
    sandbox.journal.note(sandbox.now, step, route.method, None, route.path, b"", call.raw, 200, dumps(answer), None)


def within_longest(timeout: Micros | None, default: Micros = LONGEST) -> Micros:
    """How long a call may take in real time."""
    return min(default if timeout is None else timeout, LONGEST)


def being_sent(sandbox: Sandbox) -> int:
    """How many webhooks are being sent."""
    return sum(delivery.state is DeliveryState.SENDING for delivery in sandbox.deliveries)


def _shown(sandbox: Sandbox) -> dict[str, object]:
    return {
        "now": moment(sandbox.now),
        "mode": sandbox.clock.mode.value,
        "rate": sandbox.clock.rate,
        "pending": len(sandbox.schedule.entries),
        "waiting": being_sent(sandbox),
    }


def _kind_of(sandbox: Sandbox, one: ScheduledWork) -> str | None:
    """The kind of the object that it is about, as paths name it; ``webhook`` for a delivery."""
    if one.what in (Due.WEBHOOK, Due.WEBHOOK_HELD):
        return "webhook"
    table = one.what.table
    if table is not None:
        return next((kind for kind in KINDS if table in (kind, f"{kind}s", f"{kind}es")), None)
    return next((kind for kind, (_, rows) in KINDS.items() if rows(sandbox).get(one.subject) is not None), None)
