"""Webhooks of a sandbox: the log of deliveries, sending again, telling anything (``/__admin/webhooks``,
``/__admin/events``)."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.charge import WebhookTarget
from mockserver.domain.codes import Code
from mockserver.domain.delivery import Delivery, WebhookMessage, header_fault
from mockserver.domain.errors import Invalid, NotFound, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.engine import deliveries
from mockserver.web.control.call import ControlCall
from mockserver.web.slices import one_by_one
from mockserver.wire.webhooks import DeliveriesReply, DeliveryReply, delivery_reply

_PAGE = 100
_LARGEST_PAGE = 1_000

FILTERS: dict[str, Callable[[Delivery, str], bool]] = {
    "state": lambda one, wanted: one.state.value == wanted.lower(),
    "type": lambda one, wanted: one.message.type.lower() == wanted.lower(),
    "eventType": lambda one, wanted: one.message.event_type.lower() == wanted.lower(),
    "subject": lambda one, wanted: one.message.subject_id == wanted,
    "url": lambda one, wanted: one.url == wanted,
    "messageId": lambda one, wanted: one.message_id == wanted,
}
"""Filters of the list: the query parameter, and whether a delivery fits it."""


async def listing(call: ControlCall) -> tuple[int, DeliveriesReply]:
    """Deliveries, oldest first; ``limit`` shows the newest only, ``changed`` those to which something has happened
    since, ``bodies=false`` none of their bodies."""
    limit, changed = call.whole("limit", _PAGE, 1, _LARGEST_PAGE), call.whole("changed", 0)
    skip, bodies = call.whole("skip", 0), call.switch("bodies", default=True)
    log = call.sandbox().deliveries
    found = [
        one
        for one in log
        if one.changed > changed
        and all(FILTERS[name](one, value) for name, value in call.query.items() if name in FILTERS)
    ]
    changes, last = log.changes, len(found) - skip
    page = found[max(last - limit, 0) : max(last, 0)]
    return 200, {
        "count": len(found),
        "kept": len(log),
        "dropped": log.dropped,
        "refused": log.refused,
        "changes": changes,
        "webhooks": await one_by_one(delivery_reply(one, bodies=bodies) for one in page),
    }


def one(call: ControlCall) -> tuple[int, DeliveryReply]:
    """One delivery. Raises ``NotFound`` (61)."""
    delivery_id = call.path["delivery_id"]
    found = call.sandbox().deliveries.get(delivery_id)
    if found is None:
        told = f"no webhook '{mask_start(delivery_id, 64)}' is kept in this sandbox"
        raise NotFound(Code.INVALID_REFERENCE_ID, {"Id": told})
    return 200, delivery_reply(found)


def resend(call: ControlCall) -> tuple[int, DeliveryReply]:
    """Send a delivery again, now. Raises ``NotFound``, ``WrongState`` while it is being sent."""
    sandbox = call.sandbox()
    delivery = deliveries.resend(sandbox, call.path["delivery_id"])
    call.world.runner.run(sandbox)
    call.world.runner.used(sandbox)
    return 200, delivery_reply(delivery)


def emit(call: ControlCall) -> tuple[int, object]:
    """Tell anything: to ``url``, or without it to every subscription of the type. Raises ``Invalid`` (90)."""
    sandbox = call.sandbox()
    body = call.known("type", "eventType", "data", "url", "authorization")
    faults: dict[str, str] = {}
    words = [deliveries.word_of(kind) for kind in WebhookType]
    for name in ("type", "eventType", "url", "authorization"):
        if body.get(name) is not None and not isinstance(body[name], str):
            faults[name[:1].upper() + name[1:]] = "wanted a text"
    word = next((one for one in words if one.lower() == str(body.get("type", "")).lower()), None)
    if word is None:
        faults.setdefault("Type", f"wanted one of {', '.join(words)}{nearest(str(body.get('type', '')), words)}")
    if not isinstance(body.get("data", {}), dict):
        faults["Data"] = "wanted an object"
    url = body.get("url")
    if isinstance(url, str):
        why = never_called(url) if is_web_address(url) else "wanted an absolute http or https address"
        if why is not None:
            faults["Url"] = why
    if isinstance(body.get("authorization"), str) and (why := header_fault(body["authorization"])) is not None:
        faults["Authorization"] = why
    if faults or word is None:
        raise Invalid(Code.VALIDATION_ERROR, faults)
    message = WebhookMessage(word, body.get("eventType") or f"{word}.status.changed")
    target = WebhookTarget(url, body.get("authorization")) if url is not None else None
    made = deliveries.emit(sandbox, message, body.get("data", {}), target)
    if not made:
        told = f"no url given, and no webhook subscription for {word} in this sandbox"
        raise Invalid(Code.VALIDATION_ERROR, {"Url": told})
    call.world.runner.run(sandbox)
    call.world.runner.used(sandbox)
    return 201, {"webhooks": [delivery_reply(one) for one in made]}
