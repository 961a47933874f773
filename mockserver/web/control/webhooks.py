"""Webhooks of a sandbox: the log of deliveries, sending again, sending data of one's own
(``/__admin/webhooks``, ``/__admin/events``); and the built-in receiver (``/__inbox/<name>``), which
keeps what arrives (``/__admin/inbox``).

The receiver is for tests whose client has none: it is an address like any other, to which webhooks
are really sent, so that signature, retries and order are those that a shop would meet. Anybody may
send anything there. So what has arrived is only kept, bounded in number and size, and shown masked.

Source: docs/webhooks.md.
"""

from functools import partial
from typing import Annotated

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
    data: dict[str, object] | None = Field(None, description="the data of the webhook")
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


def _fits(delivery: Delivery, query: DeliveryQuery) -> bool:
    """Whether a delivery is one that a query asks for. A field that is not given asks nothing; the
    case of words counts for nothing, that of ids and addresses does."""
    message = delivery.message
    return (
        delivery.changed > query.changed
        and _is_word(delivery.state.value, query.state)
        and _is_word(message.type, query.type)
        and _is_word(message.event_type, query.event_type)
        and query.subject in (None, message.subject_id)
        and query.url in (None, delivery.url)
        and query.message_id in (None, delivery.message_id)
    )


def _is_word(word: str, wanted: str | None) -> bool:
    """Whether a word is the wanted one, in any letter case; any word is where none is wanted."""
    return wanted is None or word.lower() == wanted.lower()


async def listing(call: ControlCall[ControlBody, DeliveryQuery]) -> object:
    """Deliveries, oldest first. ``count`` fit of the ``kept`` ones; ``dropped`` were pushed out,
    ``refused`` found no room; ``changes`` have happened to all of them."""
    log, query = call.sandbox().deliveries, call.query
    wanted = [delivery for delivery in log if _fits(delivery, query)]
    # All of one instant: others are served while the page is written.
    summary = {
        "count": len(wanted),
        "kept": len(log),
        "dropped": log.dropped,
        "refused": log.refused,
        "changes": log.changes,
    }
    end = max(len(wanted) - query.skip, 0)
    page = wanted[max(end - query.limit, 0) : end]
    webhooks = await for_each(page, partial(delivery_reply, bodies=query.bodies))
    return {**summary, "webhooks": webhooks}


def get(call: AnyCall) -> object:
    """One delivery. Raises ``NotFound`` (61) also for one that was pushed out of the log."""
    delivery_id = call.path["delivery_id"]
    delivery = call.sandbox().deliveries.get(delivery_id)
    if delivery is None:
        reason = f"no webhook '{mask_start(delivery_id, 64)}' is kept in this sandbox"
        raise NotFound(Code.INVALID_REFERENCE_ID, {"Id": reason})
    return delivery_reply(delivery)


def resend(call: AnyCall) -> object:
    """Send a delivery again, now. Raises ``NotFound``, ``WrongState`` while it is being sent: its
    state is that of one try."""
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
    # A webhook that no entry of the journal has caused counts as caused before the first.
    after, last = -1, sandbox.journal.last + 1
    if body.since is not None:
        after = call.entry_number(sandbox, body.since)
    if body.until is not None:
        last = call.entry_number(sandbox, body.until, "Until")
    wanted: list[Delivery] = []
    for delivery in sandbox.deliveries:
        is_about_subject = body.subject in (None, delivery.message.subject_id)
        was_caused_then = after < (delivery.entry or 0) <= last
        # One that is still tried comes by itself.
        if delivery.state in ENDED and is_about_subject and was_caused_then:
            wanted.append(delivery)
    if not wanted:
        raise missing("Webhooks", "none that has ended and is still kept is about that")
    if len(wanted) > deliveries.MOST_OF_STEP:
        most = (
            f"at most {deliveries.MOST_OF_STEP} are sent again at once: narrow them by since "
            "and until"
        )
        raise invalid({"Since": f"got {len(wanted)} webhooks, {most}"})
    if body.url is None:
        sent = [deliveries.resend(sandbox, delivery.delivery_id) for delivery in wanted]
    else:
        # It may rightly refuse them: what the log says of the first receiver stays.
        sent = [deliveries.replay(sandbox, delivery, body.url) for delivery in wanted]
    call.world.runner.acted(sandbox)
    return {"webhooks": list(map(delivery_reply, sent))}


def emit(call: ControlCall[EmittedEvent, ControlBody]) -> object:
    """Send any event, also one that the sandbox would never send, to see what a receiver makes of
    it: to ``url``, or without it to every subscription of the type. Raises ``Invalid`` (90)."""
    sandbox, body = call.sandbox(), call.body
    word = word_of(body.type)
    message = WebhookMessage(word, body.event_type or f"{word}.status.changed")
    target = None
    if body.url is not None:
        target = WebhookTarget(body.url, body.authorization)
    step = Step(sandbox, Asked("webhook.emit"))
    planned, is_cut = deliveries.emit(step, message, body.data or {}, target)
    if not planned:
        raise invalid(
            {"Url": f"no url given, and no webhook subscription for {word} in this sandbox"}
        )
    call.world.runner.acted(sandbox)
    answer: dict[str, object] = {"webhooks": list(map(delivery_reply, planned))}
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
        """Bring the sandbox from the store into memory, as for any request; also the one that the
        address names, as webhooks carry no key in their headers."""
        await super().fetch(request)
        public_key = request.parameters.get("publicKey")
        if public_key is not None:
            await self.world.sandboxes.fetch_named({"x-publickey": public_key})

    def authenticate(self, request: Request) -> Sandbox:
        return self.world.directory.of_inbox(request.headers, request.parameters.get("publicKey"))

    async def act(self, request: Request) -> Reply:
        """Keep what has arrived, and say whether its signature is right; 507 when there is no room
        for another inbox. A wrong signature is answered 200 too: a test wants to see what came, and
        an error would have the webhook sent again."""
        sandbox = request.sandbox
        arrival = InboxMessage(
            0,
            sandbox.now,
            request.method,
            request.resource,
            request.query.decode("utf-8", "replace"),
            headers=request.headers,
            body=request.raw,
        )
        stored = sandbox.inboxes.put(sandbox.config.webhook_key, request.path["name"], arrival)
        self.world.runner.used(sandbox)
        if stored is None:
            room = "DELETE /__admin/inbox/<name> makes room for one"
            words = f"this sandbox has {MOST_INBOXES} inboxes, its limit; {room}"
            return Reply(507, {"received": False, "signature": None, "reason": words})
        return Reply(200, {"received": True, "signature": stored.signature.value})


def inboxes(call: AnyCall) -> object:
    """Every inbox that has messages, and how many."""
    counts = call.sandbox().inboxes.counts()
    return {
        "inboxes": [{"name": mask_text(name), "count": count} for name, count in counts.items()]
    }


async def messages(call: ControlCall[ControlBody, InboxQuery]) -> object:
    """What has arrived at an inbox, oldest first; ``dropped`` counts arrivals at all inboxes that
    are no longer kept. An inbox that nothing reached is empty, and no error: a test asks before the
    first webhook has come."""
    sandbox, name, query = call.sandbox(), call.path["name"], call.query
    arrivals = sandbox.inboxes.arrivals(name)
    new_arrivals = [arrival for arrival in arrivals if arrival.number > query.after]
    page = new_arrivals[-query.limit :]
    reply = _message_reply if query.bodies else _short_message_reply
    return {
        "name": mask_text(name),
        "count": len(arrivals),
        "dropped": sandbox.inboxes.dropped,
        "messages": await for_each(page, reply),
    }


def message(call: AnyCall) -> object:
    """One arrival, by the number that the list shows as its id. Raises ``NotFound`` (1)."""
    name, message_id = call.path["name"], call.path["message_id"]
    number = whole_of(message_id)
    for arrival in call.sandbox().inboxes.arrivals(name):
        if arrival.number == number:
            return _message_reply(arrival)
    raise missing("Id", f"no message '{mask_start(message_id, 20)}' is kept in this inbox")


def clear_inbox(call: AnyCall) -> object:
    """Delete the messages of an inbox, and with them the inbox."""
    return {"cleared": call.sandbox().inboxes.clear(call.path["name"])}


def _short_message_reply(arrival: InboxMessage) -> dict[str, object]:
    """An arrival without headers and body; ``eventType`` is that of a webhook, ``about`` what its
    data say."""
    body = read_body(arrival.body)
    meta = members_of(members_of(body).get("meta"))
    event_type = None
    # Anybody may send anything here, so a webhook may have anything in this place.
    told_type = meta.get("eventType")
    if isinstance(told_type, str):
        event_type = mask_start(told_type, 100)
    return reply_of("InboxMessageAnswer", arrival, eventType=event_type, about=about_of(body))


def _masked_body(arrival: InboxMessage) -> object:
    """A body as it may be shown: of a form, whose values have names, no more is masked than of
    JSON."""
    masked = mask_body(arrival.body)
    is_form = arrival.headers.get("content-type", "").startswith(MediaType.FORM)
    # Anything but a text has been read as JSON, whatever its type says.
    is_text = isinstance(masked, str)
    if not (is_form and is_text) or len(arrival.body) > LONGEST_TEXT:
        return masked
    fields = arrival.body.split(b"&")
    if not all(b"=" in field for field in fields):
        return masked
    # One by one, as a name may come twice.
    masked_fields: list[str] = []
    for field in fields:
        masked_fields += [f"{name}={value}" for name, value in mask_query(field).items()]
    return "&".join(masked_fields)


def _message_reply(arrival: InboxMessage) -> dict[str, object]:
    """An arrival, keys and card numbers masked; ``Authorization`` is what the test came to see, so
    it is shown."""
    headers, query = mask_headers(arrival.headers), mask_query(arrival.query.encode())
    if "authorization" in headers:
        headers["authorization"] = mask_text(arrival.headers["authorization"])
    body = as_sent(_masked_body(arrival))
    return reply_of("InboxMessageAnswer", arrival, query=query, headers=headers, body=body)


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
        get,
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
