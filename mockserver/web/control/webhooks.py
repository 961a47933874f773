"""Webhooks of a sandbox: the log of deliveries, sending again, sending data of one's own
(``/__admin/webhooks``, ``/__admin/events``); and the built-in receiver (``/__inbox/<name>``), which
keeps what arrives (``/__admin/inbox``).

Source: docs/webhooks.md.
"""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from mockserver.domain.charge import WebhookTarget
from mockserver.domain.codes import Code
from mockserver.domain.delivery import Delivery, MediaType, WebhookMessage
from mockserver.domain.errors import NotFound, invalid
from mockserver.domain.masking import LONGEST_TEXT, mask_headers, mask_query, mask_start, mask_text
from mockserver.domain.reading import whole_of
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.engine import deliveries
from mockserver.engine.delivery_log import ENDED
from mockserver.engine.inboxes import MOST_INBOXES, InboxMessage
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.engine.webhook_content import word_of
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.request import IN_ONE_PIECE, JSON_TYPE, NO_STORE, NOSNIFF, Reply, Request
from mockserver.web.runner import for_each
from mockserver.web.shell import Endpoint
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import HeaderValue, Switch, WebAddress, digits, one_of
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.replies import reply_of
from mockserver.wire.webhooks import about_of, as_sent, delivery_reply, members_of, read_body


class DeliveryQuery(ControlBody):
    """Which deliveries of webhooks."""

    state: str | None = Field(None, description="held, waiting, sending, delivered or given_up")
    type: str | None = Field(None, description="meta.type, such as transaction")
    event_type: str | None = Field(
        None,
        description="meta.eventType, such as transaction.status.changed",
    )
    subject: str | None = Field(None, description="id of the object that it is about")
    url: str | None = Field(None, description="receiver")
    message_id: str | None = Field(None, description="meta.messageId")
    limit: Annotated[int, digits(1, 1000)] = Field(
        100,
        description="at most this many, the newest ones",
    )
    skip: Annotated[int, digits(0)] = Field(0, description="leave out this many of the newest")
    changed: Annotated[int, digits(0)] = Field(
        0,
        description="to which something has happened since: the field changes of an earlier answer",
    )
    bodies: Switch = Field(True, description="whether bodies are shown")


class WebhookReplay(ControlBody):
    """Which webhooks are sent again."""

    subject: str | None = Field(None, description="id of the object that they are about")
    since: str | None = Field(
        None, description="those caused after this mark, or after the journal entry of this number"
    )
    until: str | None = Field(
        None, description="those caused up to this mark, or up to the journal entry of this number"
    )
    url: WebAddress | None = Field(
        None,
        description="a receiver that gets them instead of those that had them",
    )


class EmittedEvent(ControlBody):
    """A webhook with data of the caller's own."""

    type: Annotated[WebhookType, one_of(WebhookType)] = Field(description="what it is about")
    event_type: str | None = Field(
        None,
        description="meta.eventType; <type>.status.changed by default",
    )
    data: dict[str, Any] | None = Field(None, description="the data of the webhook")
    url: WebAddress | None = Field(
        None,
        description="receiver; without it every webhook subscription of the type",
    )
    authorization: HeaderValue | None = Field(
        None,
        description="Authorization header for that receiver",
    )


class InboxQuery(ControlBody):
    """Which messages of an inbox."""

    after: Annotated[int, digits(0)] = Field(0, description="messages after the one of this id")
    limit: Annotated[int, digits(1, 100000)] = Field(
        100000,
        description="at most this many, the newest ones",
    )
    bodies: Switch = Field(True, description="whether bodies and headers are shown")


FILTERS: dict[str, Callable[[Delivery, str], bool]] = {
    "state": lambda one, wanted: one.state.value == wanted.lower(),
    "type": lambda one, wanted: one.message.type.lower() == wanted.lower(),
    "event_type": lambda one, wanted: one.message.event_type.lower() == wanted.lower(),
    "subject": lambda one, wanted: one.message.subject_id == wanted,
    "url": lambda one, wanted: one.url == wanted,
    "message_id": lambda one, wanted: one.message_id == wanted,
}
"""Filters of the list: the field of the query, and whether a delivery fits it."""


async def listing(call: ControlCall[ControlBody, DeliveryQuery]) -> object:
    """Deliveries, oldest first. ``count`` fit of the ``kept`` ones; ``dropped`` were pushed out,
    ``refused`` found no room; ``changes`` have happened to all of them."""
    log, query = call.sandbox().deliveries, call.query
    wanted = [
        (fits, value)
        for name, fits in FILTERS.items()
        if (value := getattr(query, name)) is not None
    ]
    found = [
        one
        for one in log
        if one.changed > query.changed and all(fits(one, value) for fits, value in wanted)
    ]
    changes, last = log.changes, len(found) - query.skip
    page = found[max(last - query.limit, 0) : max(last, 0)]
    counts = {"count": len(found), "kept": len(log), "dropped": log.dropped, "refused": log.refused}
    shown = await for_each(page, lambda one: delivery_reply(one, bodies=query.bodies))
    return {**counts, "changes": changes, "webhooks": shown}


def one(call: AnyCall) -> object:
    """One delivery. Raises ``NotFound`` (61)."""
    delivery_id = call.path["delivery_id"]
    if (found := call.sandbox().deliveries.get(delivery_id)) is None:
        reason = f"no webhook '{mask_start(delivery_id, 64)}' is kept in this sandbox"
        raise NotFound(Code.INVALID_REFERENCE_ID, {"Id": reason})
    return delivery_reply(found)


def resend(call: AnyCall) -> object:
    """Send a delivery again, now. Raises ``NotFound``, ``WrongState`` while it is being sent."""
    sandbox = call.sandbox()
    delivery = deliveries.resend(sandbox, call.path["delivery_id"])
    call.world.runner.acted(sandbox)
    return delivery_reply(delivery)


def replay(call: ControlCall[WebhookReplay, ControlBody]) -> object:
    """Send again what has been sent, oldest first: to the receivers that had it, or to ``url`` as
    deliveries of their own. Raises ``Invalid`` (90) when neither says which, or they are too many,
    ``NotFound`` (1) when there are none."""
    sandbox, body = call.sandbox(), call.body
    if body.subject is None and body.since is None:
        raise invalid({"Since": "wanted subject, since or both: which webhooks are sent again"})
    after = -1 if body.since is None else call.entry_of(sandbox, body.since)
    last = (
        sandbox.journal.last + 1
        if body.until is None
        else call.entry_of(sandbox, body.until, "Until")
    )
    found = [
        one
        for one in sandbox.deliveries
        if one.state in ENDED
        and body.subject in (None, one.message.subject_id)
        and after < (one.entry or 0) <= last
    ]
    if not found:
        raise missing("Webhooks", "none that has ended and is still kept is about that")
    if len(found) > deliveries.MOST_OF_STEP:
        most = (
            f"at most {deliveries.MOST_OF_STEP} are sent again at once: narrow them by since "
            "and until"
        )
        raise invalid({"Since": f"got {len(found)} webhooks, {most}"})
    made = [
        deliveries.resend(sandbox, one.delivery_id)
        if body.url is None
        else deliveries.replay(sandbox, one, body.url)
        for one in found
    ]
    call.world.runner.acted(sandbox)
    return {"webhooks": [delivery_reply(one) for one in made]}


def emit(call: ControlCall[EmittedEvent, ControlBody]) -> object:
    """Send any event: to ``url``, or without it to every subscription of the type. Raises
    ``Invalid`` (90)."""
    sandbox, body = call.sandbox(), call.body
    word = word_of(body.type)
    message = WebhookMessage(word, body.event_type or f"{word}.status.changed")
    target = WebhookTarget(body.url, body.authorization) if body.url is not None else None
    made, is_cut = deliveries.emit(
        Step(sandbox, Asked("webhook.emit")), message, body.data or {}, target
    )
    if not made:
        raise invalid(
            {"Url": f"no url given, and no webhook subscription for {word} in this sandbox"}
        )
    call.world.runner.acted(sandbox)
    answer: dict[str, object] = {"webhooks": [delivery_reply(one) for one in made]}
    if is_cut:
        answer["hint"] = (
            f"{deliveries.MOST_OF_STEP} webhooks are sent at once at most: younger subscriptions "
            "get none"
        )
    return answer


class InboxEndpoint(Endpoint):
    """The receiver. The sandbox is named by a key in the headers, or by ``?publicKey=``."""

    op = "inbox"
    largest = IN_ONE_PIECE
    headers = (JSON_TYPE, NOSNIFF, NO_STORE)

    async def fetch(self, request: Request) -> None:
        await super().fetch(request)
        if (public_key := request.parameters.get("publicKey")) is not None:
            await self.world.sandboxes.fetch_named({"x-publickey": public_key})

    def authenticate(self, request: Request) -> Sandbox:
        return self.world.directory.of_inbox(request.headers, request.parameters.get("publicKey"))

    async def act(self, request: Request) -> Reply:
        sandbox = request.sandbox
        where, query = request.resource, request.query.decode("utf-8", "replace")
        came = InboxMessage(
            0, sandbox.now, request.method, where, query, headers=request.headers, body=request.raw
        )
        kept = sandbox.inboxes.put(sandbox.config.webhook_key, request.path["name"], came)
        self.world.runner.used(sandbox)
        if kept is None:
            room = "DELETE /__admin/inbox/<name> makes room for one"
            words = f"this sandbox has {MOST_INBOXES} inboxes, its limit; {room}"
            return Reply(507, {"received": False, "signature": None, "reason": words})
        return Reply(200, {"received": True, "signature": kept.signature.value})


def inboxes(call: AnyCall) -> object:
    counts = call.sandbox().inboxes.counts()
    return {
        "inboxes": [{"name": mask_text(name), "count": count} for name, count in counts.items()]
    }


async def messages(call: ControlCall[ControlBody, InboxQuery]) -> object:
    """What has arrived at an inbox, oldest first; ``dropped`` counts arrivals at all inboxes that
    are no longer kept. An inbox that nothing reached is empty."""
    sandbox, name, query = call.sandbox(), call.path["name"], call.query
    kept = sandbox.inboxes.arrivals(name)
    found = [arrival for arrival in kept if arrival.number > query.after][-query.limit :]
    return {
        "name": mask_text(name),
        "count": len(kept),
        "dropped": sandbox.inboxes.dropped,
        "messages": await for_each(found, _shown if query.bodies else _line),
    }


def message(call: AnyCall) -> object:
    """One arrival. Raises ``NotFound`` (1)."""
    number = whole_of(call.path["message_id"])
    found = next(
        (one for one in call.sandbox().inboxes.arrivals(call.path["name"]) if one.number == number),
        None,
    )
    if found is None:
        raise missing(
            "Id", f"no message '{mask_start(call.path['message_id'], 20)}' is kept in this inbox"
        )
    return _shown(found)


def clear_inbox(call: AnyCall) -> object:
    return {"cleared": call.sandbox().inboxes.clear(call.path["name"])}


def _line(arrival: InboxMessage) -> dict[str, object]:
    """An arrival without its body; ``eventType`` is that of a webhook, ``about`` what its data
    say."""
    body = read_body(arrival.body)
    kind = members_of(members_of(body).get("meta")).get("eventType")
    return reply_of(
        "InboxMessageAnswer",
        arrival,
        eventType=mask_start(kind, 100) if isinstance(kind, str) else None,
        about=about_of(body),
    )


def _body(arrival: InboxMessage) -> object:
    """A body as it may be shown: of a form, whose values have names, no more is masked than of
    JSON."""
    body, shown = arrival.body, mask_body(arrival.body)
    is_form = (
        arrival.headers.get("content-type", "").startswith(MediaType.FORM)
        and len(body) <= LONGEST_TEXT
    )
    if (
        not is_form
        or not isinstance(shown, str)
        or not all(b"=" in pair for pair in body.split(b"&"))
    ):
        return shown
    pairs = (pair for one in body.split(b"&") for pair in mask_query(one).items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def _shown(arrival: InboxMessage) -> dict[str, object]:
    """An arrival, keys and card numbers masked; ``Authorization`` is what the test came to see, so
    it is shown."""
    headers, query = mask_headers(arrival.headers), mask_query(arrival.query.encode())
    if "authorization" in headers:
        headers["authorization"] = mask_text(arrival.headers["authorization"])
    return reply_of(
        "InboxMessageAnswer", arrival, query=query, headers=headers, body=as_sent(_body(arrival))
    )


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/webhooks",
        listing,
        query=DeliveryQuery,
        keyed=True,
        reply="DeliveriesAnswer",
        summary="Deliveries of webhooks with every try, oldest first",
    ),
    ControlRoute(
        "GET",
        "/__admin/webhooks/{delivery_id}",
        one,
        keyed=True,
        reply="WebhookDeliveryAnswer",
        answers={404: "No such webhook"},
        example={"delivery_id": "$webhook"},
        summary="One webhook with every try",
    ),
    ControlRoute(
        "POST",
        "/__admin/webhooks/{delivery_id}/resend",
        resend,
        keyed=True,
        reply="WebhookDeliveryAnswer",
        answers={404: "No such webhook", 409: "It is being sent"},
        example={"delivery_id": "$webhook", "body": {}},
        summary="Send a webhook again, now",
    ),
    ControlRoute(
        "POST",
        "/__admin/webhooks/replay",
        replay,
        body=WebhookReplay,
        keyed=True,
        reply="EmittedAnswer",
        answers={404: "No such webhooks"},
        example={
            "body": {"since": "0", "url": "http://127.0.0.1:4111/__inbox/again?publicKey=pk_demo"}
        },
        summary="Send again the webhooks of an object, or of a part of the journal, there or to "
        "another receiver",
    ),
    ControlRoute(
        "POST",
        "/__admin/events",
        emit,
        body=EmittedEvent,
        keyed=True,
        reply="EmittedAnswer",
        success=201,
        example={
            "body": {
                "type": "Transaction",
                "data": {"transactionId": "t-1"},
                "url": "http://127.0.0.1:4111/__inbox/shop?publicKey=pk_demo",
            }
        },
        summary="Emit any webhook with data of your own",
    ),
    ControlRoute(
        "GET",
        "/__admin/inbox",
        inboxes,
        keyed=True,
        reply="InboxesAnswer",
        summary="Every inbox that has messages",
    ),
    ControlRoute(
        "GET",
        "/__admin/inbox/{name}",
        messages,
        query=InboxQuery,
        keyed=True,
        reply="InboxAnswer",
        example={"name": "shop"},
        summary="Messages of an inbox, signatures checked",
    ),
    ControlRoute(
        "GET",
        "/__admin/inbox/{name}/{message_id}",
        message,
        keyed=True,
        reply="InboxMessageAnswer",
        answers={404: "No such message"},
        example={"name": "shop", "message_id": "1"},
        summary="One message of an inbox",
    ),
    ControlRoute(
        "DELETE",
        "/__admin/inbox/{name}",
        clear_inbox,
        keyed=True,
        reply="ClearedAnswer",
        example={"name": "shop", "body": {}},
        summary="Delete the messages of an inbox",
    ),
)
