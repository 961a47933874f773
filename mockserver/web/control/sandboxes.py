"""Sandboxes as a whole: list and reset (``/__admin/sandboxes``, ``/__admin/reset``)."""

from __future__ import annotations

from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.snapshot import table_rows
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment


async def listing(call: ControlCall) -> tuple[int, object]:
    """Every sandbox, the last used first: masked key, public key, clock, scenarios, number of objects."""
    boxes = sorted(await call.host.catch_up_all(), key=lambda box: box.used)[::-1]
    return 200, {"sandboxes": [_shown(box) for box in boxes]}


def one(call: ControlCall) -> tuple[int, object]:
    """The sandbox of the call's key, opened on first use."""
    return 200, _shown(call.box())


def reset(call: ControlCall) -> tuple[int, object]:
    """Empty this sandbox, or with ``all=true`` every one; scenarios and overrides stay unless ``scenario=true``."""
    host, real = call.host, call.host.real_clock()
    boxes, anew = list(host.sandboxes) if call.switch("all") else [call.box()], call.switch("scenario")
    for box in boxes:
        if anew:
            host.sandboxes.reopen(box, host.charter, real)
        else:
            host.sandboxes.reopen(box, box.charter, real, own=box.own)
    return 200, {"reset": len(boxes)}


def _shown(box: Sandbox) -> dict[str, object]:
    return {
        "key": masked_key(box.key),
        "publicKey": box.public_key,
        "now": moment(box.now),
        "clock": box.clock.mode.value,
        "profile": box.assumed.profile.value,
        "scenarios": [scenario.name for scenario in box.charter.scenarios],
        "requests": box.journal.last,
        "pending": len(box.schedule.entries),
        "objects": object_counts(box),
    }


def object_counts(box: Sandbox) -> dict[str, int]:
    """How many objects of each kind a sandbox holds, whatever state they are in."""
    return {_camel(name): len(getattr(box, name)) for name in table_rows()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
