"""The built-in receiver of webhooks: what it takes (``/__inbox/<name>``) and what has arrived (``/__admin/inbox``)."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import parse_qsl

from mockserver.domain.codes import Code
from mockserver.domain.errors import NotFound, Refused, Unauthorised
from mockserver.domain.masking import mask_headers, mask_query, mask_start, mask_text
from mockserver.domain.reading import whole_of
from mockserver.engine.inboxes import InboxMessage
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import HungUp, Receive, Scope, Send, TooLarge, headers_of, read_body, send_json
from mockserver.web.control.call import ControlCall
from mockserver.web.host import Host
from mockserver.web.slices import one_by_one
from mockserver.wire import problems
from mockserver.wire.dates import moment
from mockserver.wire.jsonio import MalformedJson, loads
from mockserver.wire.masking import mask_body

_PAGE = 100_000
"""Messages of one answer; an inbox keeps far fewer."""

INBOX_PATH = "/__inbox/{name}"
INBOX_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class ArrivalReply(TypedDict):
    """One arrival; ``signature`` is valid, invalid or missing."""

    id: int
    at: str
    method: str
    path: str
    query: dict[str, object]
    headers: dict[str, object]
    body: object
    signature: str


class LineReply(TypedDict):
    """One arrival without its body; ``eventType`` is that of a webhook."""

    id: int
    at: str
    method: str
    path: str
    signature: str
    eventType: str | None


class InboxReply(TypedDict):
    """What has arrived, oldest first; ``dropped`` counts arrivals at all inboxes that are no longer kept."""

    name: str
    count: int
    dropped: int
    messages: list[ArrivalReply | LineReply]


class InboxEndpoint:
    """The receiver as an ASGI application. The sandbox is named by a key in the headers, or by ``?publicKey=``."""

    def __init__(self, host: Host) -> None:
        self.host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host, headers = self.host, headers_of(scope)
        query = scope["query_string"].decode("utf-8", "replace")
        try:
            raw = await read_body(receive, scope, host.settings.max_body)
            sandbox = self._box(headers, dict(parse_qsl(query, errors="replace")).get("publicKey"))
            await host.catch_up(sandbox)
        except HungUp:
            return
        except TooLarge:
            body = problems.problem(413, Code.VALIDATION_ERROR, Code.VALIDATION_ERROR.message, scope["path"])
            await send_json(send, 413, body)
            return
        except Refused as refused:
            status, told = problems.refusal(refused, scope["path"], host.assumed)
            await send_json(send, status, told)
            return
        key = sandbox.config.webhook_key
        name: str = scope["path_params"]["name"]
        kept = sandbox.inboxes.put(key, sandbox.now, name, raw, headers, scope["method"], scope["path"], query)
        host.on_change(sandbox)
        status = 507 if kept is None else 200
        await send_json(send, status, {"received": kept is not None, "signature": kept and kept.signature.value})

    def _box(self, headers: dict[str, str], public_key: str | None) -> Sandbox:
        """The sandbox of an arrival; a public key, which anybody may know, opens none. Raises ``Unauthorised`` (40)."""
        public_key = public_key if public_key is not None else headers.get("x-publickey")
        known = self.host.sandboxes.named({"x-publickey": public_key}) if public_key is not None else None
        if known is not None:
            return known
        if "x-secretkey" in headers:
            return self.host.known(headers)
        told = "say whose inbox this is: header x-secretkey or x-publickey, or ?publicKey="
        if public_key is not None:
            told = "no sandbox with this public key is open; the first call with its secret key opens it"
        raise Unauthorised(Code.INVALID_AUTHENTICATION, {"PublicKey" if public_key is not None else "XSecretkey": told})


def listing(call: ControlCall) -> tuple[int, object]:
    """Every inbox that something has arrived at."""
    counts = call.sandbox().inboxes.counts()
    return 200, {"inboxes": [{"name": mask_text(name), "count": count} for name, count in counts.items()]}


async def read(call: ControlCall) -> tuple[int, InboxReply]:
    """What has arrived at an inbox, oldest first: after the message ``after``, the newest ``limit``; with
    ``bodies=false`` a line of each. An inbox that nothing reached is empty."""
    sandbox, name, after = call.sandbox(), call.path["name"], call.whole("after", 0)
    limit, bodies = call.whole("limit", _PAGE, 1, _PAGE), call.switch("bodies", default=True)
    kept = sandbox.inboxes.arrivals(name)
    found = [arrival for arrival in kept if arrival.number > after]
    return 200, {
        "name": mask_text(name),
        "count": len(kept),
        "dropped": sandbox.inboxes.dropped,
        "messages": await one_by_one(shown(arrival) if bodies else _line(arrival) for arrival in found[-limit:]),
    }


def one(call: ControlCall) -> tuple[int, ArrivalReply]:
    """One arrival. Raises ``NotFound`` (1)."""
    number = whole_of(call.path["message_id"])
    found = next((one for one in call.sandbox().inboxes.arrivals(call.path["name"]) if one.number == number), None)
    if found is None:
        told = f"no message '{mask_start(call.path['message_id'], 20)}' is kept in this inbox"
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": told}, message="Not Found")
    return 200, shown(found)


def clear(call: ControlCall) -> tuple[int, object]:
    """Forget what has arrived at an inbox."""
    return 200, {"cleared": call.sandbox().inboxes.clear(call.path["name"])}


def _line(arrival: InboxMessage) -> LineReply:
    try:
        body = loads(arrival.body)
    except MalformedJson:
        body = None
    meta = body.get("meta") if isinstance(body, dict) else None
    kind = meta.get("eventType") if isinstance(meta, dict) else None
    return {
        "id": arrival.number,
        "at": moment(arrival.at),
        "method": arrival.method,
        "path": mask_text(arrival.path),
        "signature": arrival.signature.value,
        "eventType": mask_start(kind, 100) if isinstance(kind, str) else None,
    }


def shown(arrival: InboxMessage) -> ArrivalReply:
    """An arrival, keys and card numbers masked; ``Authorization`` is what the test came to see, so it is shown."""
    headers = mask_headers(arrival.headers)
    if "authorization" in headers:
        headers["authorization"] = mask_text(arrival.headers["authorization"])
    return {
        "id": arrival.number,
        "at": moment(arrival.at),
        "method": arrival.method,
        "path": mask_text(arrival.path),
        "query": mask_query(arrival.query.encode()),
        "headers": headers,
        "body": mask_body(arrival.body),
        "signature": arrival.signature.value,
    }
