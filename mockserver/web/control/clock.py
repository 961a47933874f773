"""The clock of a sandbox: read, set, advance (``/__admin/clock``)."""

from __future__ import annotations

from mockserver.domain.clock import FASTEST, ClockMode, Micros, parse_duration, parse_instant
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.engine.sandbox import Sandbox
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment


def read(call: ControlCall) -> tuple[int, object]:
    """The clock as it stands."""
    return 200, _shown(call.box())


async def change(call: ControlCall) -> tuple[int, object]:
    """Set ``mode`` (real, manual, fast), ``rate`` (of fast) and ``now`` (not in the past)."""
    box, body, real = call.box(), call.body(), call.host.real_clock()
    _known(body, "mode", "rate", "now")
    mode = _mode(body.get("mode", box.clock.mode))
    rate = body.get("rate", box.clock.rate)
    if type(rate) is not int or not 1 <= rate <= FASTEST:
        raise Invalid(Code.VALIDATION_ERROR, {"Rate": f"wanted a whole number from 1 to {FASTEST}"})
    if "now" in body:
        box.clock.move_to(_instant(body["now"], "Now"), real, "Now")
    box.clock.run(mode, rate, real)
    await call.host.catch_up(box, real)
    call.host.noticed(box)
    return 200, _shown(box)


async def advance(call: ControlCall) -> tuple[int, object]:
    """Move forward ``by`` a duration or ``to`` a date-time, running everything that comes due on the way.

    Webhooks that are sent on the way get a second of real time to arrive, so that their next tries keep their place.
    """
    box, body, real = call.box(), call.body(), call.host.real_clock()
    _known(body, "by", "to")
    if ("by" in body) == ("to" in body):
        raise Invalid(Code.VALIDATION_ERROR, {"By": "give one of by (such as 1h) and to (an ISO date-time)"})
    if "by" in body:
        box.clock.move_to(box.now + _duration(body["by"]), real, "By")
    else:
        box.clock.move_to(_instant(body["to"], "To"), real)
    ran = await call.host.catch_up(box, real)
    ran += await call.host.settle(box, real)
    call.host.noticed(box)
    return 200, {**_shown(box), "ran": ran}


def _shown(box: Sandbox) -> dict[str, object]:
    return {
        "now": moment(box.now),
        "mode": box.clock.mode.value,
        "rate": box.clock.rate,
        "pending": len(box.schedule.entries),
    }


def _known(body: dict[str, object], *names: str) -> None:
    unknown = {name.capitalize(): f"unknown field{nearest(name, names)}" for name in body if name not in names}
    if unknown:
        raise Invalid(Code.VALIDATION_ERROR, unknown)


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


def _duration(given: object) -> Micros:
    try:
        return parse_duration(str(given))
    except ValueError as problem:
        raise Invalid(Code.VALIDATION_ERROR, {"By": str(problem)}) from None
