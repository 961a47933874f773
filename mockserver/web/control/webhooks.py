"""Webhooks of a sandbox: the log of deliveries, sending again, telling anything (``/__admin/webhooks``,
``/__admin/events``)."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.charge import WebhookTarget
from mockserver.domain.codes import Code
from mockserver.domain.delivery import Delivery, Message, header_fault
from mockserver.domain.errors import Invalid, nearest
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
    """Deliveries, oldest first; ``limit`` shows the newest only."""
    limit = call.whole("limit", _PAGE, 1, _LARGEST_PAGE)
    log = call.sandbox().deliveries
    found = [
        one for one in log if all(FILTERS[name](one, value) for name, value in call.query.items() if name in FILTERS)
    ]
    return 200, {
        "count": len(found),
        "dropped": log.dropped,
        "refused": log.refused,
        "webhooks": await one_by_one(delivery_reply(one) for one in found[-limit:]),
    }


def resend(call: ControlCall) -> tuple[int, DeliveryReply]:
    """Send a delivery again, now. Raises ``NotFound``, ``WrongState`` while it is being sent."""
    sandbox = call.sandbox()
    delivery = deliveries.resend(sandbox, call.path["delivery_id"])
    call.host.run(sandbox)
    call.host.on_change(sandbox)
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
    message = Message(word, body.get("eventType") or f"{word}.status.changed")
    target = WebhookTarget(url, body.get("authorization")) if url is not None else None
    made = deliveries.emit(sandbox, message, body.get("data", {}), target)
    if not made:
        told = f"no url given, and no webhook subscription for {word} in this sandbox"
        raise Invalid(Code.VALIDATION_ERROR, {"Url": told})
    call.host.run(sandbox)
    call.host.on_change(sandbox)
    return 201, {"webhooks": [delivery_reply(one) for one in made]}
