"""Webhooks of a sandbox: the log of deliveries, sending again, sending data of one's own (``/__admin/webhooks``,
``/__admin/events``)."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.charge import WebhookTarget
from mockserver.domain.codes import Code
from mockserver.domain.delivery import Delivery, WebhookMessage
from mockserver.domain.errors import NotFound, invalid
from mockserver.domain.masking import mask_start
from mockserver.engine import deliveries
from mockserver.engine.result import Asked
from mockserver.engine.step import Step
from mockserver.engine.webhook_content import word_of
from mockserver.web.control.call import ControlCall
from mockserver.web.runner import for_each
from mockserver.wire.webhooks import delivery_reply

FILTERS: dict[str, Callable[[Delivery, str], bool]] = {
    "state": lambda one, wanted: one.state.value == wanted.lower(),
    "type": lambda one, wanted: one.message.type.lower() == wanted.lower(),
    "event_type": lambda one, wanted: one.message.event_type.lower() == wanted.lower(),
    "subject": lambda one, wanted: one.message.subject_id == wanted,
    "url": lambda one, wanted: one.url == wanted,
    "message_id": lambda one, wanted: one.message_id == wanted,
}
"""Filters of the list: the field of the query, and whether a delivery fits it."""


async def listing(call: ControlCall) -> tuple[int, object]:
    """Deliveries, oldest first; ``limit`` shows the newest only, ``changed`` those to which something has happened
    since, ``bodies=false`` none of their bodies. ``count`` fit of the ``kept`` ones; ``dropped`` were pushed out,
    ``refused`` found no room; ``changes`` have happened to all of them."""
    log, query = call.sandbox().deliveries, call.query
    wanted = [(fits, value) for name, fits in FILTERS.items() if (value := getattr(query, name)) is not None]
    found = [one for one in log if one.changed > query.changed and all(fits(one, value) for fits, value in wanted)]
    changes, last = log.changes, len(found) - query.skip
    page = found[max(last - query.limit, 0) : max(last, 0)]
    return 200, {
        "count": len(found),
        "kept": len(log),
        "dropped": log.dropped,
        "refused": log.refused,
        "changes": changes,
        "webhooks": await for_each(page, lambda one: delivery_reply(one, bodies=query.bodies)),
    }


def one(call: ControlCall) -> tuple[int, object]:
    """One delivery. Raises ``NotFound`` (61)."""
    delivery_id = call.path["delivery_id"]
    found = call.sandbox().deliveries.get(delivery_id)
    if found is None:
        reason = f"no webhook '{mask_start(delivery_id, 64)}' is kept in this sandbox"
        raise NotFound(Code.INVALID_REFERENCE_ID, {"Id": reason})
    return 200, delivery_reply(found)


def resend(call: ControlCall) -> tuple[int, object]:
    """Send a delivery again, now. Raises ``NotFound``, ``WrongState`` while it is being sent."""
    sandbox = call.sandbox()
    delivery = deliveries.resend(sandbox, call.path["delivery_id"])
    call.world.runner.run(sandbox)
    call.world.runner.used(sandbox)
    return 200, delivery_reply(delivery)


def emit(call: ControlCall) -> tuple[int, object]:
    """Send any event: to ``url``, or without it to every subscription of the type. Raises ``Invalid`` (90)."""
    sandbox, body = call.sandbox(), call.body
    word = word_of(body.type)
    message = WebhookMessage(word, body.event_type or f"{word}.status.changed")
    target = WebhookTarget(body.url, body.authorization) if body.url is not None else None
    made, is_cut = deliveries.emit(Step(sandbox, Asked("webhook.emit")), message, body.data or {}, target)
    if not made:
        raise invalid({"Url": f"no url given, and no webhook subscription for {word} in this sandbox"})
    call.world.runner.run(sandbox)
    call.world.runner.used(sandbox)
    answer: dict[str, object] = {"webhooks": [delivery_reply(one) for one in made]}
    if is_cut:
        answer["hint"] = f"{deliveries.MOST_OF_STEP} webhooks are sent at once at most: younger subscriptions get none"
    return 201, answer
