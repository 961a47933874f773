"""Two sandboxes side by side: what differs, object by object (``/__admin/compare``)."""

from __future__ import annotations

from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_start
from mockserver.engine.sandbox import Sandbox, sandbox_id_of
from mockserver.engine.state_diff import KindDiff, differences
from mockserver.web.control.call import ControlCall
from mockserver.web.long_work import with_pauses
from mockserver.wire.dates import moment

_EARLIEST_SHOWN = 10**15
"""Whole numbers from here on are instants, in microseconds."""


async def compare(call: ControlCall) -> tuple[int, object]:
    """What differs between this sandbox (``here``) and the one of the id ``with`` (``there``): clock, scenarios, and
    objects by kind. Card numbers and ccv are compared as an export without secrets shows them.

    Raises ``Invalid`` (90) for an id that no open sandbox has.
    """
    here, wanted = call.sandbox(), call.query.with_
    for key in call.world.sandboxes.keys_of({"x-sandbox": wanted}):
        await call.fetch(key)
    there = call.world.sandboxes.with_id(wanted)
    if there is None:
        known = ", ".join(sandbox_id_of(one.key) for one in list(call.world.sandboxes)[-5:])
        raise invalid({"With": f"got '{mask_start(wanted, 40)}', wanted the id of an open sandbox, such as {known}"})
    # Of the instant at which the comparison begins.
    facts = {name: {"here": one, "there": other} for name, one, other in _facts(here, there) if one != other}
    kinds = await with_pauses(differences(here, there))
    return 200, {
        "equal": not kinds and not facts,
        "facts": facts,
        "kinds": {kind: _shown(diff) for kind, diff in kinds.items()},
    }


def _facts(here: Sandbox, there: Sandbox) -> list[tuple[str, object, object]]:
    return [
        ("now", moment(here.now), moment(there.now)),
        ("clock", here.clock.mode.value, there.clock.mode.value),
        ("profile", here.assumed.profile.value, there.assumed.profile.value),
        ("seed", here.config.seed, there.config.seed),
        ("pending", len(here.schedule.entries), len(there.schedule.entries)),
        ("scenarios", _names(here), _names(there)),
    ]


def _names(sandbox: Sandbox) -> list[str]:
    return [scenario.name for scenario in sandbox.config.scenarios]


def _shown(diff: KindDiff) -> dict[str, object]:
    return {
        **diff.counts,
        "onlyHereIds": diff.only_here,
        "onlyThereIds": diff.only_there,
        "changedFields": {
            row_id: {path: {"here": _value(one), "there": _value(other)} for path, (one, other) in fields.items()}
            for row_id, fields in diff.changed.items()
        },
    }


def _value(value: object) -> object:
    return moment(value) if type(value) is int and value >= _EARLIEST_SHOWN else value
