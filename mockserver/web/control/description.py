"""The control API as an OpenAPI 3.1 document, made from its tables: never written by hand
(``/__admin/openapi.json``), so that it cannot say what the server does not do. Its examples were
answered by a server when ``examples.json`` was printed (``tools/derived.py``): while one runs, they
cost nothing. And the calls that describe the payments API (``/openapi.json``,
``/asyncapi.json``), and its operations as rules name them (``/__admin/operations``): what each is,
the calls that ask for it, and what ``when`` and ``key`` may use there.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TypedDict

from mockserver.assumptions import Assumed
from mockserver.domain.reading import camel
from mockserver.scenario.operations import OPERATIONS, PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.paths import CARD_FACTS, has_age, stored_in
from mockserver.scenario.request_fields import testable
from mockserver.web import routes
from mockserver.web.control.call import LINES, AnyCall, AnyControlRoute, ControlRoute
from mockserver.web.openapi import JSON, PROBLEM, WEBHOOKS, asyncapi, document
from mockserver.wire.jsonio import dumps
from mockserver.wire.schemas import PLACEHOLDER, Schema, Schemas

_CONSTANT = Path(__file__).with_suffix(".json").read_text("utf-8")
_INTRODUCTION = Path(__file__).with_suffix(".md").read_text("utf-8")
_REFUSED: dict[str, str] = {
    "400": "The call is wrong: `details` says what was got and what is allowed.",
    "401": "No key or one that opens nothing (code 40), or no admin token.",
    "403": "The Host is not this server's, or the page that calls is another site's.",
    "413": "The body is over the limit.",
    "415": "The body is neither JSON nor YAML by its content type, or is encoded.",
}


_AS_LINES: Schema = {
    "schema": {
        "type": "string",
        "description": "A header, then a row a line, each a JSON object with its `part`",
    },
    "example": '{"format":"mockserver-sandbox","version":2}\n{"part":"charges"}\n',
}
"""A state document that is lines."""


async def payments(call: AnyCall) -> bytes:
    """The payments API as an OpenAPI document; with a secret key, in the profile of that sandbox,
    whose states and fields have other names."""
    assumed, url = call.assumed(), call.world.directory.config.public_url
    return await call.world.runner.aside(partial(_payments_text, assumed, url))


async def webhooks(call: AnyCall) -> bytes:
    """The webhooks as an AsyncAPI document; with a secret key, in the profile of that sandbox."""
    assumed = call.assumed()
    return await call.world.runner.aside(partial(_webhooks_text, assumed))


# A document takes a while to make, and asks for little memory.
@lru_cache(maxsize=8)
def _payments_text(assumed: Assumed, url: str) -> bytes:
    return dumps(document(assumed, url))


@lru_cache(maxsize=8)
def _webhooks_text(assumed: Assumed) -> bytes:
    return dumps(asyncapi(assumed))


@lru_cache(maxsize=2)
def control_text(routes: Sequence[AnyControlRoute], url: str) -> bytes:
    """The document of the control API, as it is served."""
    return dumps(control(routes, url))


def control(routes: Sequence[AnyControlRoute], url: str) -> Schema:
    """The control API with these routes, for the address of a server."""
    bodies = [row.body for row in routes if row.body is not None]
    queries = [row.query for row in routes if row.query is not None]
    schemas = Schemas([*bodies, *queries])
    schemas.reply("Problem")
    paths: dict[str, Schema] = {}
    for row in routes:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schemas)
    described: Schema = json.loads(_CONSTANT)
    described["info"]["description"] = _INTRODUCTION
    described["servers"] = [{"url": url}]
    described["paths"] = paths
    described["tags"] = [{"name": name} for name in dict.fromkeys(map(_tag, routes))]
    # The fields of a query are parameters of its call already.
    query_names = {query.__name__ for query in queries}
    described["components"]["schemas"] = {
        name: schema for name, schema in schemas.named.items() if name not in query_names
    }
    return described


@cache
def examples() -> Mapping[str, Schema]:
    """What was answered to the example of each call, by method and path; read when a document is
    first asked for."""
    text = Path(__file__).with_name("examples.json").read_text("utf-8")
    answers: Mapping[str, Schema] = json.loads(text)
    return answers


def _operation(row: AnyControlRoute, schemas: Schemas) -> Schema:
    """A call as OpenAPI describes it. Where an example is printed, what it sends stands with each
    parameter and the body, and what came of it with the answer: a reader can try it as it is."""
    example = examples().get(f"{row.method} {row.path}", {})
    operation: Schema = {
        "operationId": _name(row),
        "summary": row.summary,
        "tags": [_tag(row)],
        "security": _security(row),
        "responses": _responses(row, schemas, example.get("answer")),
    }
    values = example.get("parameters", {})
    parameters = schemas.parameters(row.path, row.query)
    for parameter in parameters:
        if parameter["name"] in values:
            parameter["example"] = values[parameter["name"]]
    if parameters:
        operation["parameters"] = parameters
    if row.body is not None:
        media = [JSON]
        # Only a scenario may be YAML, as its files are.
        if row.path.startswith("/__admin/scenarios"):
            media.append("application/yaml")
        operation["requestBody"] = schemas.request(row.body, example.get("body", {}), media)
        if row.lines:
            operation["requestBody"]["content"][LINES] = _AS_LINES
    return operation


def _responses(row: AnyControlRoute, schemas: Schemas, example: object) -> Schema:
    """The answers of a call by status: its own, and those that any call may have."""
    content = {row.media: {"schema": schemas.reply(row.reply), "example": example}}
    if row.lines and row.method == "GET":
        content[LINES] = _AS_LINES
    responses: Schema = {str(row.success): {"description": "Done", "content": content}}
    for status, words in row.answers.items():
        schema: Schema = PROBLEM
        # What is not there is a refusal; any other status of a call's own has its answer as well,
        # such as the differences of a verification (409).
        if status != 404:
            schema = {"anyOf": [schemas.reply(row.reply), PROBLEM]}
        responses[str(status)] = {"description": words, "content": {JSON: {"schema": schema}}}
    for refused, words in _REFUSED.items():
        # These two are faults of a body, which a GET has not.
        if row.method != "GET" or refused not in ("413", "415"):
            responses[refused] = {"description": words, "content": {JSON: {"schema": PROBLEM}}}
    return responses


def _security(row: AnyControlRoute) -> list[dict[str, list[str]]]:
    """Each entry is one way in: the key or id of a sandbox, and where a token is set that too, in
    either header."""
    if not row.path.startswith(("/__admin", "/metrics")):
        return []
    ways: list[dict[str, list[str]]] = [{}]
    if row.keyed:
        ways = [{"secretKey": []}, {"sandbox": []}]
    tokens: list[dict[str, list[str]]] = [{}, {"adminToken": []}, {"adminBearer": []}]
    return [{**way, **token} for way in ways for token in tokens]


def _tag(row: AnyControlRoute) -> str:
    """What a call is about, by which a reference groups it: the first word after ``/__admin``."""
    first, *further = row.path.strip("/").split("/")
    if first == "__admin":
        return further[0]
    # The documents of the payments API, and what an orchestrator or a collector asks.
    return "server"


def _name(row: AnyControlRoute) -> str:
    """The ``operationId`` of a call, by which generated clients name their methods."""
    words = PLACEHOLDER.sub(r"by_\1", row.path).replace("__admin", "admin").replace(".", "_")
    return "_".join([row.method.lower(), *filter(None, words.split("/"))])


_DELIVERY = "webhook.deliver"
"""The operation of a webhook that is sent."""

_OF_PROVIDERS = (
    *("provider", "source", "attempt", "bank_account.accountNumber"),
    *(f"card.{fact}" for fact in CARD_FACTS),
)


class DescribedOperation(TypedDict):
    """What a rule may name and test, as ``GET /__admin/operations`` answers: ``calls`` ask for the
    operation; ``request``, ``state`` and ``also`` are paths that ``when`` and ``key`` may use
    there. ``state`` has the kinds of objects that it is about, that its request names, or that it
    makes; ``events`` are those that a rule for the delivery of webhooks may test."""

    op: str
    means: str
    asksProvider: bool
    calls: list[str]
    request: list[str]
    state: list[str]
    also: list[str]
    events: list[str]


def operation_description(op: str) -> DescribedOperation:
    """The operation that rules call ``op``, from the tables by which rules are read: what stands
    here is what a rule is not refused for."""
    state = [f"state.{camel(kind)}" for kind in stored_in({op})]
    events = _event_types() if op == _DELIVERY else []
    return {
        "op": op,
        "means": OPERATIONS[op].meaning,
        "asksProvider": op in PROVIDER_OPERATIONS,
        "calls": [f"{row.method} {row.path}" for row in routes.ROUTES if row.op == op],
        "request": [f"request.{name}" for name in testable(op)],
        "state": state,
        "also": _other_paths(op, is_about_objects=bool(state)),
        "events": events,
    }


def _other_paths(op: str, *, is_about_objects: bool) -> list[str]:
    """What ``when`` and ``key`` may use of an operation besides its request and the state."""
    paths: list[str] = []
    if op in PROVIDER_OPERATIONS:
        paths += _OF_PROVIDERS
    if op == "batch.row":
        # The number of the row in its batch.
        paths.append(op)
    if op not in UNREQUESTED:
        # Due work has no headers, and nobody waits for its answer.
        paths += ("header.<name>", "call", "in_flight")
    if is_about_objects and op != _DELIVERY:
        paths.append("overlaps")
    if has_age({op}):
        paths.append("age")
    return [*paths, "idle", "nth", "clock"]


def _event_types() -> list[str]:
    """The types of all events that a webhook may tell."""
    return [event_type for kind in WEBHOOKS for event_type in kind.event_types]


def operations(call: AnyCall) -> object:
    """Every operation that a rule may name."""
    return {"operations": [operation_description(op) for op in OPERATIONS]}


ROUTES = (
    ControlRoute(
        "GET",
        "/openapi.json",
        payments,
        reply="DocumentAnswer",
        summary="The payments API as an OpenAPI document, profile applied",
    ),
    ControlRoute(
        "GET",
        "/asyncapi.json",
        webhooks,
        reply="DocumentAnswer",
        summary="The webhooks as an AsyncAPI 3.0 document, profile applied",
    ),
    ControlRoute(
        "GET",
        "/__admin/operations",
        operations,
        reply="OperationsAnswer",
        summary="Every operation that a rule may name, and what it may use there",
    ),
)
