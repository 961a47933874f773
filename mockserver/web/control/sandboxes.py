"""Sandboxes as a whole: list and reset (``/__admin/sandboxes``, ``/__admin/reset``)."""

from __future__ import annotations

from mockserver.engine.sandbox import Sandbox, masked_key, sandbox_id_of
from mockserver.engine.tables import row_classes
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment


async def listing(call: ControlCall) -> tuple[int, object]:
    """Every sandbox, the last used first: id, masked keys, clock, scenarios, number of objects."""
    boxes = sorted(await call.host.catch_up_all(), key=lambda box: box.used)[::-1]
    return 200, {"sandboxes": [_shown(box, masked_key(box.public_key)) for box in boxes]}


def one(call: ControlCall) -> tuple[int, object]:
    """The sandbox of the call's key, opened on first use; the public key in full for those who have a key."""
    box = call.box()
    is_known = box.key == call.headers.get("x-secretkey") or box.public_key == call.headers.get("x-publickey")
    return 200, _shown(box, box.public_key if is_known else masked_key(box.public_key))


def reset(call: ControlCall) -> tuple[int, object]:
    """Empty this sandbox, or with ``all=true`` every one; scenarios and overrides stay unless ``scenario=true``."""
    host, real = call.host, call.host.real_clock()
    boxes, anew = list(host.sandboxes) if call.switch("all") else [call.box()], call.switch("scenario")
    for box in boxes:
        if anew:
            host.sandboxes.reopen(box, host.charter, real)
        else:
            host.sandboxes.reopen(box, box.charter, real, own=box.own)
        host.activity.stir(box.key)
    return 200, {"reset": len(boxes)}


def _shown(box: Sandbox, public_key: str) -> dict[str, object]:
    # A public key shown in full would tell the secret one: pk_X pairs with sk_X.
    return {
        "id": sandbox_id_of(box.key),
        "key": masked_key(box.key),
        "publicKey": public_key,
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
    return {_camel(name): len(getattr(box, name)) for name in row_classes()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
