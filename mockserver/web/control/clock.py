"""The clock of a sandbox: read, set, advance (``/__admin/clock``)."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.clock import (
    FAST,
    FASTEST,
    MINUTE,
    ClockMode,
    Micros,
    parse_duration,
    parse_instant,
)
from mockserver.domain.codes import Code
from mockserver.domain.delivery import DeliveryState
from mockserver.domain.errors import Invalid, nearest
from mockserver.engine.sandbox import Sandbox
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
    sandbox, body = call.sandbox(), call.known("mode", "rate", "now", "timeout")
    mode = _mode(body.get("mode", sandbox.clock.mode))
    rate = body.get("rate", sandbox.clock.rate if sandbox.clock.mode is ClockMode.FAST else FAST)
    if type(rate) is not int or not 1 <= rate <= FASTEST:
        raise Invalid(Code.VALIDATION_ERROR, {"Rate": f"wanted a whole number from 1 to {FASTEST}"})
    now = _instant(body["now"], "Now") if "now" in body else None
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
    sandbox, body = call.sandbox(), call.known("by", "to", "timeout")
    if ("by" in body) == ("to" in body):
        raise Invalid(Code.VALIDATION_ERROR, {"By": "give one of by (such as 1h) and to (an ISO date-time)"})
    if "to" in body:
        to = _instant(body["to"], "To")
        return await _move(call, sandbox, "clock.advance", "To", lambda: to)
    by = read_duration(body["by"], "By")
    return await _move(call, sandbox, "clock.advance", "By", lambda: sandbox.now + by)


async def _move(
    call: ControlCall,
    sandbox: Sandbox,
    op: str,
    field: str,
    destination: Callable[[], Micros] | None,
    arrive: Callable[[], None] = lambda: None,
) -> tuple[int, object]:
    world, until = call.world, call.world.real_clock() + min(read_timeout(call.body(), LONGEST), LONGEST)
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
                    f"the time-out was over on the way to {moment(to)}, while {answer['waiting']} webhooks were being "
                    "sent: another call goes on from here"
                )
            journal_move(call, sandbox, op, answer)
    world.runner.used(sandbox)
    return 200, answer


def journal_move(call: ControlCall, sandbox: Sandbox, op: str, answer: object) -> None:
    """Keep a move of the clock as an entry of the journal, after all that came due on the way."""
    step = Step(op, headers=call.headers)
    step.request = call.body()
    route = call.route
    sandbox.journal.note(sandbox.now, step, route.method, None, route.path, b"", call.raw, 200, dumps(answer), None)


def read_timeout(body: dict[str, object], default: Micros) -> Micros:
    """The ``timeout`` of a body, in real time. Raises ``Invalid`` (90)."""
    return read_duration(body["timeout"], "Timeout") if body.get("timeout") is not None else default


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


def _mode(given: object) -> ClockMode:
    try:
        return ClockMode(str(given).lower())
    except ValueError:
        allowed = ", ".join(mode.value for mode in ClockMode)
        raise Invalid(
            Code.VALIDATION_ERROR,
            {"Mode": f"wanted one of {allowed}{nearest(str(given), [m.value for m in ClockMode])}"},
        ) from None


def _instant(given: object, field: str) -> Micros:
    try:
        return parse_instant(str(given))
    except ValueError as problem:
        raise Invalid(Code.VALIDATION_ERROR, {field: str(problem)}) from None


def read_duration(given: object, field: str) -> Micros:
    """A duration of a body. Raises ``Invalid`` (90), naming the ``field``."""
    try:
        return parse_duration(str(given))
    except ValueError as problem:
        raise Invalid(Code.VALIDATION_ERROR, {field: str(problem)}) from None
