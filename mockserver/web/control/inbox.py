"""The built-in receiver of webhooks: what it takes (``/__inbox/<name>``) and what has arrived (``/__admin/inbox``)."""

from __future__ import annotations

from mockserver.domain.clock import iso
from mockserver.domain.delivery import MediaType
from mockserver.domain.masking import LONGEST_TEXT, mask_headers, mask_query, mask_start, mask_text
from mockserver.domain.reading import whole_of
from mockserver.engine.inboxes import MOST_INBOXES, InboxMessage
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import IN_ONE_PIECE, JSON_TYPE, NO_STORE, NOSNIFF
from mockserver.web.control.call import ControlCall, missing
from mockserver.web.request import Reply, Request
from mockserver.web.runner import for_each
from mockserver.web.shell import Endpoint
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masked_bodies import mask_body

INBOX_PATH = "/__inbox/{name}"
INBOX_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class InboxEndpoint(Endpoint):
    """The receiver. The sandbox is named by a key in the headers, or by ``?publicKey=``."""

    op = "inbox"
    largest = IN_ONE_PIECE
    headers = (JSON_TYPE, NOSNIFF, NO_STORE)

    async def fetch(self, request: Request) -> None:
        """Have the sandbox of either key in memory. Raises ``NotKept`` (43)."""
        await super().fetch(request)
        if self.world.store is not None and (public_key := request.parameters.get("publicKey")) is not None:
            await self.world.store.fetch(self.world.sandboxes.keys_of({"x-publickey": public_key}))

    def authenticate(self, request: Request) -> Sandbox:
        """The sandbox of an arrival. Raises ``Unauthorised`` (40)."""
        return self.world.directory.of_inbox(request.headers, request.parameters.get("publicKey"))

    async def act(self, request: Request) -> Reply:
        """Keep what has arrived."""
        sandbox = request.sandbox
        kept = sandbox.inboxes.put(
            key=sandbox.config.webhook_key,
            at=sandbox.now,
            name=request.path["name"],
            body=request.raw,
            headers=request.headers,
            method=request.method,
            path=request.resource,
            query=request.query.decode("utf-8", "replace"),
        )
        self.world.runner.used(sandbox)
        if kept is None:
            words = (
                f"this sandbox has {MOST_INBOXES} inboxes, its limit; DELETE /__admin/inbox/<name> makes room for one"
            )
            return Reply(507, {"received": False, "signature": None, "reason": words})
        return Reply(200, {"received": True, "signature": kept.signature.value})


def listing(call: ControlCall) -> tuple[int, object]:
    """Every inbox that has messages."""
    counts = call.sandbox().inboxes.counts()
    return 200, {"inboxes": [{"name": mask_text(name), "count": count} for name, count in counts.items()]}


async def read(call: ControlCall) -> tuple[int, object]:
    """What has arrived at an inbox, oldest first: after the message ``after``, the newest ``limit``; with
    ``bodies=false`` a line of each. An inbox that nothing reached is empty; ``dropped`` counts arrivals at all inboxes
    that are no longer kept."""
    sandbox, name, query = call.sandbox(), call.path["name"], call.query
    kept = sandbox.inboxes.arrivals(name)
    found = [arrival for arrival in kept if arrival.number > query.after][-query.limit :]
    return 200, {
        "name": mask_text(name),
        "count": len(kept),
        "dropped": sandbox.inboxes.dropped,
        "messages": await for_each(found, shown if query.bodies else _line),
    }


def one(call: ControlCall) -> tuple[int, object]:
    """One arrival. Raises ``NotFound`` (1)."""
    number = whole_of(call.path["message_id"])
    found = next((one for one in call.sandbox().inboxes.arrivals(call.path["name"]) if one.number == number), None)
    if found is None:
        raise missing("Id", f"no message '{mask_start(call.path['message_id'], 20)}' is kept in this inbox")
    return 200, shown(found)


def clear(call: ControlCall) -> tuple[int, object]:
    """Delete the messages of an inbox."""
    return 200, {"cleared": call.sandbox().inboxes.clear(call.path["name"])}


def _line(arrival: InboxMessage) -> dict[str, object]:
    """An arrival without its body; ``eventType`` is that of a webhook."""
    try:
        body = loads(arrival.body)
    except MalformedJson:
        body = None
    meta = body.get("meta") if isinstance(body, dict) else None
    kind = meta.get("eventType") if isinstance(meta, dict) else None
    return {
        "id": arrival.number,
        "at": iso(arrival.at),
        "method": arrival.method,
        "path": mask_text(arrival.path),
        "signature": arrival.signature.value,
        "eventType": mask_start(kind, 100) if isinstance(kind, str) else None,
    }


def _body(arrival: InboxMessage) -> object:
    """A body as it may be shown: of a form, whose values have names, no more is masked than of JSON."""
    body, shown = arrival.body, mask_body(arrival.body)
    is_form = arrival.headers.get("content-type", "").startswith(MediaType.FORM) and len(body) <= LONGEST_TEXT
    if not is_form or not isinstance(shown, str) or not all(b"=" in pair for pair in body.split(b"&")):
        return shown
    pairs = (pair for one in body.split(b"&") for pair in mask_query(one).items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def shown(arrival: InboxMessage) -> dict[str, object]:
    """An arrival, keys and card numbers masked; ``Authorization`` is what the test came to see, so it is shown."""
    headers = mask_headers(arrival.headers)
    if "authorization" in headers:
        headers["authorization"] = mask_text(arrival.headers["authorization"])
    return {
        "id": arrival.number,
        "at": iso(arrival.at),
        "method": arrival.method,
        "path": mask_text(arrival.path),
        "query": mask_query(arrival.query.encode()),
        "headers": headers,
        "body": _body(arrival),
        "signature": arrival.signature.value,
    }
