"""The documents that describe the API to machines: the payments API in OpenAPI 3.1, and its
webhooks in AsyncAPI 3.0 too.

People generate clients from them and check their requests against them, so a document that differs
from what the server does is worse than none. So they are made of what the server itself goes by:
the table of routes, the classes of bodies, the table of replies, the kinds of webhooks, the
assumptions in force. Written by hand are only the parts that never change (``openapi.json``,
``openapi.md``, ``asyncapi.json``).

Source: docs/spec/published-facts.md, 6; settled fact ``webhook.events``.
"""

import json
from functools import lru_cache
from inspect import getdoc, isfunction
from pathlib import Path

from mockserver.assumptions import Assumed
from mockserver.domain.reading import camel
from mockserver.domain.record import read_table, record
from mockserver.web.operations.charges import charge_wallet
from mockserver.web.operations.route import AnyRoute
from mockserver.web.routes import ROUTES
from mockserver.wire.profile import profile_of
from mockserver.wire.replies import reply_type
from mockserver.wire.schemas import PLACEHOLDER, Schema, Schemas

INTERFACE = "1.17.1.0"
"""Version of the interface that is imitated (published facts, 10: the version header of
webhooks)."""

JSON = "application/json"
_CONSTANT = Path(__file__).with_name("openapi.json").read_text("utf-8")
_CONSTANT_OF_WEBHOOKS = Path(__file__).with_name("asyncapi.json").read_text("utf-8")
_INTRODUCTION = Path(__file__).with_name("openapi.md").read_text("utf-8")
PROBLEM = {"$ref": "#/components/schemas/Problem"}


@record
class WebhookKind:
    """Webhooks about one kind of object: ``meta.type``, every ``meta.eventType``, when they are
    sent, and the name of the reply that is their ``data``."""

    word: str
    event_types: tuple[str, ...]
    reply: str
    summary: str


def _webhook_kind(word: str, event_types: str, reply: str, summary: str) -> WebhookKind:
    return WebhookKind(word, tuple(event_types.split()), reply, summary)


META = ("messageId", "timestamp", "type", "eventType")
"""What each webhook says of itself."""

WEBHOOKS = read_table("webhooks", _webhook_kind, Path(__file__).parent)
"""Everything that is sent without a scenario's asking. A scenario and ``POST /__admin/events`` may
send any other."""

HEADERS: dict[str, str] = {
    "x-payfurl-signature": "Base64 of the HMAC-SHA256 of the body under the signing key "
    "(--webhook-key)",
    "authorization": "What the receiver was registered with, when it was",
}


@lru_cache(maxsize=8)
def document(assumed: Assumed, url: str) -> Schema:
    """The document for a set of assumptions and the address of a server. It takes a tenth of a
    second to make, so the newest few are kept. The answer is shared: do not change it."""
    bodies = [row.body for row in ROUTES if row.body is not None]
    queries = [row.query for row in ROUTES if row.query is not None]
    schemas = Schemas([*bodies, *queries])
    schemas.reply("Problem")
    api: Schema = json.loads(_CONSTANT)
    api["info"]["version"] = INTERFACE
    api["info"]["description"] = f"{_INTRODUCTION}\nProfile: `{assumed.profile.value}`."
    api["servers"] = [{"url": url}]
    api["tags"] = [{"name": name} for name in dict.fromkeys(map(_tag, ROUTES))]
    api["paths"] = {row.path: {} for row in ROUTES}
    for row in ROUTES:
        api["paths"][row.path][row.method.lower()] = _operation(row, schemas, assumed)
    api["webhooks"] = _webhooks(schemas)
    _word_statuses(schemas, assumed, "Charge", "Transaction")
    # The fields of a query are parameters of its operation already.
    query_names = {query.__name__ for query in queries}
    parts = api["components"]
    parts["schemas"] = {
        name: schema for name, schema in sorted(schemas.named.items()) if name not in query_names
    }
    parts["responses"] = {
        status: {"description": text, "content": {JSON: {"schema": PROBLEM}}}
        for status, text in parts["responses"].items()
    }
    return api


def _word_statuses(schemas: Schemas, assumed: Assumed, *names: str) -> None:
    """List the statuses of a charge in the schemas of these names: an authorised charge is spelt in
    one of several ways (assumption ``charge.status.authorised``), and a generated client knows
    only the words that it was made with."""
    words = list(profile_of(assumed).status.values())
    for name in names:
        schemas.named[name]["properties"]["status"]["enum"] = words


def _operation(row: AnyRoute, schemas: Schemas, assumed: Assumed) -> Schema:
    """One operation: what it takes, and what it may answer."""
    # A list is an object that can be called, and has no words of its own.
    words: str | None = row.summary
    if isfunction(row.handle):
        words = getdoc(row.handle)
    headers = [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
        for name in row.headers
    ]
    operation: Schema = {
        "operationId": _name(row),
        "tags": [_tag(row)],
        "summary": row.summary,
        "description": f"{words}\n\nRule name: `{row.op}`. Source: {row.source}.",
        "parameters": [*schemas.parameters(row.path, row.query), *headers],
        "responses": _responses(row, schemas, assumed),
    }
    if row.is_public:
        operation["security"] = _security(row, assumed)
    if row.body is not None:
        example = schemas.example(schemas.body(row.body))
        operation["requestBody"] = schemas.request(row.body, example, [JSON])
    return operation


def _security(row: AnyRoute, assumed: Assumed) -> list[dict[str, list[str]]]:
    """The keys that open an operation of browsers, each alone: the public key, and the secret key
    of the shop's server, unless the assumption ``charge.wallet_key`` keeps that from a wallet.
    (All other operations take the secret key, as ``openapi.json`` says of the whole API.)"""
    public, secret = {"publicKey": list[str]()}, {"secretKey": list[str]()}
    if row.handle is charge_wallet and assumed["charge.wallet_key"] == "public_key":
        return [public]
    return [public, secret]


def _responses(row: AnyRoute, schemas: Schemas, assumed: Assumed) -> Schema:
    """The answers of an operation: the one that it gives when all goes well, the refusals that it
    may give by itself, and anything else, as scenarios answer what they like."""
    status, description = 200, "Done"
    if row.creates:
        status, description = assumed["response.created_status"], "Created"
    success: Schema = {"description": description}
    success["content"] = {JSON: {"schema": schemas.reply(row.reply)}}
    links = _links(row)
    if links:
        success["links"] = links
    responses: Schema = {str(status): success}
    for refusal in sorted(_refusals(row, assumed)):
        responses[str(refusal)] = {"$ref": f"#/components/responses/{refusal}"}
    responses["default"] = {
        "description": "Whatever else a scenario answers.",
        "content": {JSON: {"schema": {}}},
    }
    return responses


def _links(row: AnyRoute) -> Schema:
    """Where the id of what was created leads: the operations on that one object. By these links a
    tester such as Schemathesis asks for charges that there are, where an id that it makes up is
    answered with 404."""
    if not row.creates or row.reply.startswith("list of "):
        return {}
    reply_fields = reply_type(row.reply).fields
    links = {}
    for other in ROUTES:
        placeholders = PLACEHOLDER.findall(other.path)
        # The answer has one id of its own; a path with two names a second object.
        if len(placeholders) == 1 and camel(placeholders[0]) in reply_fields:
            [placeholder] = placeholders
            links[_name(other)] = {
                "operationId": _name(other),
                "parameters": {placeholder: f"$response.body#/{camel(placeholder)}"},
            }
    return links


def _refusals(row: AnyRoute, assumed: Assumed) -> set[int]:
    """The statuses of refusals that an operation may answer: of faulty fields, keys and methods
    everywhere, of a body where it takes one, and of an object where its path names one, which may
    be missing or in no state for a change."""
    statuses = {400, 401, 405}
    if row.body is not None:
        statuses |= {413, 415}
    if "{" in row.path:
        statuses.add(assumed["error.not_found"])
        if row.method != "GET":
            statuses.add(assumed["error.wrong_state"])
    return statuses


def _tag(row: AnyRoute) -> str:
    """By what a page groups the operations: ``payment method`` for ``/payment_method/card``."""
    return row.path.split("/")[1].replace("_", " ")


def _name(row: AnyRoute) -> str:
    """``postChargeCardLeastCost``: what a generated client calls its method. Unique, because method
    and path are; the name that rules use, ``charge.create``, has several paths."""
    words = PLACEHOLDER.sub(r"by_\1", row.path).replace("/", "_").strip("_").split("_")
    return row.method.lower() + "".join(word.capitalize() for word in words)


def _webhooks(schemas: Schemas) -> Schema:
    """Every event with the request that a receiver gets, as OpenAPI describes webhooks."""
    text = {"type": "string"}
    headers = [
        {"name": name, "in": "header", "description": description, "schema": text}
        for name, description in HEADERS.items()
    ]
    responses = {
        "2XX": {"description": "Taken"},
        "default": {"description": "Not taken: it is sent again, later each time."},
    }
    webhooks = {}
    for kind in WEBHOOKS:
        for event_type in kind.event_types:
            body = {
                "required": True,
                "content": {JSON: {"schema": _envelope(kind, event_type, schemas)}},
            }
            post = {
                "summary": kind.summary,
                "parameters": headers,
                "requestBody": body,
                "responses": responses,
            }
            webhooks[event_type] = {"post": post}
    return webhooks


def asyncapi(assumed: Assumed) -> Schema:
    """The document of webhooks for a set of assumptions: the same events as in the other document,
    for tools that generate receivers."""
    schemas = Schemas(())
    api: Schema = json.loads(_CONSTANT_OF_WEBHOOKS)
    api["info"]["version"] = INTERFACE
    api["channels"] = {kind.word: _channel(kind) for kind in WEBHOOKS}
    api["operations"] = {f"send_{kind.word}": _sending(kind) for kind in WEBHOOKS}
    messages = {
        name: _message(kind, name, schemas) for kind in WEBHOOKS for name in kind.event_types
    }
    # The schemas of replies are known once the messages have been made of them.
    _word_statuses(schemas, assumed, "Transaction")
    api["components"] = {"messages": messages, "schemas": dict(sorted(schemas.named.items()))}
    return api


def _channel(kind: WebhookKind) -> Schema:
    """Where the events of one kind of object are sent to."""
    messages = {name: {"$ref": f"#/components/messages/{name}"} for name in kind.event_types}
    return {
        # The receiver chooses it.
        "address": None,
        "summary": kind.summary,
        "messages": messages,
        "bindings": {"http": {}},
    }


def _sending(kind: WebhookKind) -> Schema:
    """That the service posts the events of one kind of object to its channel."""
    channel = f"#/channels/{kind.word}"
    return {
        "action": "send",
        "summary": kind.summary,
        "channel": {"$ref": channel},
        "messages": [{"$ref": f"{channel}/messages/{name}"} for name in kind.event_types],
        "bindings": {"http": {"method": "POST"}},
    }


def _message(kind: WebhookKind, event_type: str, schemas: Schemas) -> Schema:
    """What one event sends: headers and body."""
    headers = {name: {"type": "string", "description": text} for name, text in HEADERS.items()}
    return {
        "name": event_type,
        "summary": kind.summary,
        "contentType": JSON,
        "headers": {"type": "object", "properties": headers},
        "payload": _envelope(kind, event_type, schemas),
    }


def _envelope(kind: WebhookKind, event_type: str, schemas: Schemas) -> Schema:
    """What a webhook holds: ``meta`` about itself, ``data`` about the object."""
    text = {"type": "string"}
    meta = {
        "messageId": {**text, "description": "the same for each try"},
        "timestamp": {**text, "format": "date-time"},
        "type": {"const": kind.word},
        "eventType": {"const": event_type},
    }
    return {
        "type": "object",
        "required": ["meta", "data"],
        "properties": {
            "meta": {"type": "object", "required": list(META), "properties": meta},
            "data": schemas.reply(kind.reply),
        },
    }
