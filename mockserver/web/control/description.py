"""The control API as an OpenAPI 3.1 document, made from its tables: never written by hand
(``/__admin/openapi.json``). Its examples were answered when ``examples.json`` was printed
(``tools/derived.py``). And the calls that describe the payments API (``/openapi.json``,
``/asyncapi.json``), and its operations as rules name them (``/__admin/operations``): what each is,
the calls that ask for it, and what ``when`` and ``key`` may use there.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from mockserver.domain.reading import camel
from mockserver.scenario.operations import OPERATIONS, PROVIDER_OPERATIONS, UNREQUESTED
from mockserver.scenario.paths import CARD_FACTS, has_age, stored_in, testable
from mockserver.web import routes
from mockserver.web.control.call import LINES, AnyCall, ControlRoute
from mockserver.web.openapi import JSON, PROBLEM, WEBHOOKS, asyncapi, document
from mockserver.wire.jsonio import dumps
from mockserver.wire.schemas import PLACEHOLDER, Schemas

_CONSTANT, _INTRODUCTION = (
    Path(__file__).with_suffix(kind).read_text("utf-8") for kind in (".json", ".md")
)
_REFUSED: dict[str, str] = {
    "400": "The call is wrong: `details` says what was got and what is allowed.",
    "401": "No key or one that opens nothing (code 40), or no admin token.",
    "403": "The Host is not this server's, or the page that calls is another site's.",
    "413": "The body is over the limit.",
    "415": "The body is neither JSON nor YAML by its content type, or is encoded.",
}


_AS_LINES: dict[str, Any] = {
    "schema": {
        "type": "string",
        "description": "A header, then a row a line, each a JSON object with its `part`",
    },
    "example": '{"format":"mockserver-sandbox","version":2}\n{"part":"charges"}\n',
}
"""A state document that is lines."""


async def payments(call: AnyCall) -> bytes:
    """The payments API as an OpenAPI document; with a secret key, in the profile of that
    sandbox."""
    assumed, url = call.assumed(), call.world.directory.config.public_url
    return await call.world.runner.aside(lambda: _text(document, assumed, url))


async def webhooks(call: AnyCall) -> bytes:
    """The webhooks as an AsyncAPI document; with a secret key, in the profile of that sandbox."""
    assumed = call.assumed()
    return await call.world.runner.aside(lambda: _text(asyncapi, assumed))


@lru_cache(maxsize=16)
def _text(make: Callable[..., dict[str, Any]], *of: Hashable) -> bytes:
    """The text of a document, which takes a while to make."""
    return dumps(make(*of))


def control_text(routes: Sequence[ControlRoute[Any, Any]], url: str) -> bytes:
    """The text of that document."""
    return _text(control, routes, url)


def control(routes: Sequence[ControlRoute[Any, Any]], url: str) -> dict[str, Any]:
    """The control API with these routes, for the address of a server."""
    schemas = Schemas(
        model for row in routes for model in (row.body, row.query) if model is not None
    )
    schemas.reply("Problem")
    paths: dict[str, dict[str, Any]] = {}
    for row in routes:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schemas)
    queries = {row.query.__name__ for row in routes if row.query is not None}
    made: dict[str, Any] = json.loads(_CONSTANT)
    made["info"]["description"] = _INTRODUCTION
    made |= {"servers": [{"url": url}], "paths": paths}
    made["tags"] = [{"name": name} for name in dict.fromkeys(map(_tag, routes))]
    made["components"]["schemas"] = {
        name: one for name, one in schemas.named.items() if name not in queries
    }
    return made


@cache
def examples() -> Mapping[str, Any]:
    """What was answered to the example of each call, by method and path."""
    found: Mapping[str, Any] = json.loads(
        Path(__file__).with_name("examples.json").read_text("utf-8")
    )
    return found


def _operation(row: ControlRoute[Any, Any], schemas: Schemas) -> dict[str, Any]:
    shown = examples().get(f"{row.method} {row.path}", {})
    operation: dict[str, Any] = {
        "operationId": _name(row),
        "summary": row.summary,
        "tags": [_tag(row)],
        "security": _security(row),
        "responses": _responses(row, schemas, shown.get("answer")),
    }
    asked = shown.get("parameters", {})
    if parameters := schemas.parameters(row.path, row.query):
        operation["parameters"] = parameters
        for one in parameters:
            if one["name"] in asked:
                one["example"] = asked[one["name"]]
    if row.body is not None:
        media = [JSON, "application/yaml"] if row.path.startswith("/__admin/scenarios") else [JSON]
        operation["requestBody"] = schemas.request(row.body, shown.get("body", {}), media)
        if row.lines:
            operation["requestBody"]["content"][LINES] = _AS_LINES
    return operation


def _responses(row: ControlRoute[Any, Any], schemas: Schemas, example: object) -> dict[str, Any]:
    content = {row.media: {"schema": schemas.reply(row.reply), "example": example}}
    if row.lines and row.method == "GET":
        content[LINES] = _AS_LINES
    found: dict[str, Any] = {str(row.success): {"description": "Done", "content": content}}
    for status, words in row.answers.items():
        schema = PROBLEM if status == 404 else {"anyOf": [schemas.reply(row.reply), PROBLEM]}
        found[str(status)] = {"description": words, "content": {JSON: {"schema": schema}}}
    for refused, words in _REFUSED.items():
        if row.method != "GET" or refused not in ("413", "415"):
            found[refused] = {"description": words, "content": {JSON: {"schema": PROBLEM}}}
    return found


def _security(row: ControlRoute[Any, Any]) -> list[dict[str, list[str]]]:
    """Each entry is one way in: the key or id of a sandbox, and where a token is set that too, in
    either header."""
    if not row.path.startswith(("/__admin", "/metrics")):
        return []
    ways: list[dict[str, list[str]]] = [{"secretKey": []}, {"sandbox": []}] if row.keyed else [{}]
    tokens: list[dict[str, list[str]]] = [{}, {"adminToken": []}, {"adminBearer": []}]
    return [{**way, **token} for way in ways for token in tokens]


def _tag(row: ControlRoute[Any, Any]) -> str:
    """What a call is about, by which a reference groups it: the first word after ``/__admin``."""
    first, *further = row.path.strip("/").split("/")
    return further[0] if first == "__admin" else "server"


def _name(row: ControlRoute[Any, Any]) -> str:
    words = PLACEHOLDER.sub(r"by_\1", row.path).replace("__admin", "admin").replace(".", "_")
    return "_".join([row.method.lower(), *filter(None, words.split("/"))])


_DELIVERY = "webhook.deliver"
_OF_PROVIDERS = (
    *("provider", "source", "attempt", "bank_account.accountNumber"),
    *(f"card.{fact}" for fact in CARD_FACTS),
)


def named_operation(op: str) -> dict[str, Any]:
    """One operation; ``state`` has the kinds of objects that it is about, that its request names,
    or that it makes, ``events`` what a rule for webhooks sees."""
    calls = [f"{row.method} {row.path}" for row in routes.ROUTES if row.op == op]
    state = [f"state.{camel(kind)}" for kind in stored_in({op})]
    also: list[str] = []
    if op in PROVIDER_OPERATIONS:
        also += _OF_PROVIDERS
    if op == "batch.row":
        also.append(op)
    if op not in UNREQUESTED:
        also += ("header.<name>", "call", "in_flight")
    if state and op != _DELIVERY:
        also.append("overlaps")
    if has_age({op}):
        also.append("age")
    return {
        "op": op,
        "means": OPERATIONS[op].meaning,
        "asksProvider": op in PROVIDER_OPERATIONS,
        "calls": calls,
        "request": [f"request.{name}" for name in testable(op)],
        "state": state,
        "also": [*also, "idle", "nth", "clock"],
        "events": [name for kind in WEBHOOKS for name in kind.event_types]
        if op == _DELIVERY
        else [],
    }


def operations(call: AnyCall) -> object:
    return {"operations": [named_operation(op) for op in OPERATIONS]}


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
