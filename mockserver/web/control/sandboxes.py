"""Sandboxes as a whole: list and reset (``/__admin/sandboxes``, ``/__admin/reset``)."""

from __future__ import annotations

from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.web.control.call import ControlCall
from mockserver.wire.dates import moment


def listing(call: ControlCall) -> tuple[int, object]:
    """Every sandbox: masked key, public key, clock, number of objects."""
    return 200, {"sandboxes": [_shown(call.host.present(box)) for box in call.host.sandboxes]}


def reset(call: ControlCall) -> tuple[int, object]:
    """Empty this sandbox, or with ``all=true`` every one; scenarios stay in force unless ``scenario=true``."""
    host, real = call.host, call.host.real_clock()
    boxes = list(host.sandboxes) if call.query.get("all") == "true" else [call.box()]
    for box in boxes:
        host.sandboxes.reopen(box, host.charter if call.query.get("scenario") == "true" else box.charter, real)
    return 200, {"reset": len(boxes)}


def _shown(box: Sandbox) -> dict[str, object]:
    return {
        "key": masked_key(box.key),
        "publicKey": box.public_key,
        "now": moment(box.now),
        "clock": box.clock.mode.value,
        "objects": {
            "charges": len(box.charges),
            "paymentMethods": len(box.payment_methods),
            "vault": len(box.vault),
            "providers": len(box.providers),
        },
    }
