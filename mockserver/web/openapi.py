"""The payments API as an OpenAPI 3.1 document, made from the route table and the models: never written by hand."""

from __future__ import annotations

from functools import lru_cache
from inspect import getdoc
from pathlib import Path
from typing import Any

from mockserver.assumptions import Assumed
from mockserver.assumptions.table import CREATED_STATUS, NOT_FOUND_STATUS, WRONG_STATE_STATUS
from mockserver.domain.problem import Problem
from mockserver.domain.reading import camel
from mockserver.web.event_documents import webhooks
from mockserver.web.routes import ROUTES, Auth, Route, Success
from mockserver.wire.profile import profile_of
from mockserver.wire.schemas import PLACEHOLDER, Schemas

INTERFACE = "1.17.1.0"
"""Version of the interface that is imitated (published facts, 10: the version header of webhooks)."""

_JSON = "application/json"
_INTRODUCTION = Path(__file__).with_suffix(".md").read_text("utf-8")
_ERRORS: dict[int, str] = {
    400: "A field is wrong, or a provider declined: `code` and `details` say which and why.",
    401: "No key, or a key that opens no sandbox (code 40).",
    404: "The id names nothing in this sandbox.",
    405: "The path is known, the verb is not allowed; the header `Allow` lists those that are.",
    409: "The state of the object forbids the operation (code 54).",
    413: "The body is over the limit: 1 MB, of a payment link 2 MB, of a batch 10 MB (`--max-body`).",
}
_PROBLEM = {"$ref": "#/components/schemas/Problem"}


@lru_cache(maxsize=8)
def document(assumed: Assumed, url: str) -> dict[str, Any]:
    """The document for a set of assumptions and the address of a server. The answer is shared: do not change it."""
    bodies = [model for row in ROUTES for model in (row.body, row.query) if model is not None]
    schemas = Schemas(bodies)
    schemas.reply(Problem)
    paths: dict[str, dict[str, Any]] = {}
    for row in ROUTES:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schemas, assumed)
    described = webhooks(schemas)
    for name in ("Charge", "Transaction"):
        schemas.named[name]["properties"]["status"]["enum"] = list(profile_of(assumed).status.values())
    queries = {row.query.__name__ for row in ROUTES if row.query is not None}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Payments service sandbox",
            "version": INTERFACE,
            "summary": "Vault, charges, customers, payment methods, payment links, batches and their neighbours",
            "description": f"{_INTRODUCTION}\nProfile: `{assumed.profile.value}`.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": url}],
        "security": [{"secretKey": []}],
        "tags": [{"name": name} for name in dict.fromkeys(_tag(row) for row in ROUTES)],
        "paths": paths,
        "webhooks": described,
        "components": {
            "schemas": {name: schema for name, schema in sorted(schemas.named.items()) if name not in queries},
            "responses": {
                str(status): {"description": text, "content": {_JSON: {"schema": _PROBLEM}}}
                for status, text in _ERRORS.items()
            },
            "securitySchemes": {
                "secretKey": {"type": "apiKey", "in": "header", "name": "x-secretkey", "description": "For servers."},
                "publicKey": {"type": "apiKey", "in": "header", "name": "x-publickey", "description": "For browsers."},
            },
        },
    }


def _operation(row: Route, schemas: Schemas, assumed: Assumed) -> dict[str, Any]:
    status = assumed[CREATED_STATUS] if row.success is Success.CREATED else 200
    words = getdoc(row.handle) or row.summary
    shown: dict[str, Any] = {
        "operationId": _name(row),
        "tags": [_tag(row)],
        "summary": row.summary,
        "description": f"{words}\n\nRule name: `{row.op}`. Source: {row.source}.",
        "parameters": [*schemas.parameters(row.path, row.query), *_header_parameters(row)],
        "responses": {
            str(status): {
                "description": "Created" if row.success is Success.CREATED else "Done",
                "content": {_JSON: {"schema": schemas.reply(row.reply)}},
                **({"links": links} if (links := _links(row)) else {}),
            },
            **{str(code): {"$ref": f"#/components/responses/{code}"} for code in sorted(_refusals(row, assumed))},
            "default": {"description": "Whatever else a scenario answers.", "content": {_JSON: {"schema": {}}}},
        },
    }
    if row.auth is Auth.PUBLIC:
        shown["security"] = [{"publicKey": []}, {"secretKey": []}]
    if row.body is not None:
        schema = schemas.body(row.body)
        required = bool(schemas.named[row.body.__name__].get("required"))
        content = {_JSON: {"schema": schema, "example": schemas.example(schema)}}
        shown["requestBody"] = {"required": required, "content": content}
    return shown


def _links(row: Route) -> dict[str, Any]:
    """Where the id of what was created leads: the operations on that one object."""
    if row.success is not Success.CREATED:
        return {}
    return {
        _name(other): {
            "operationId": _name(other),
            "parameters": {placeholder: f"$response.body#/{camel(placeholder)}"},
        }
        for other in ROUTES
        for placeholder in PLACEHOLDER.findall(other.path)
        if camel(placeholder) in getattr(row.reply, "__annotations__", ()) and other.path.count("{") == 1
    }


def _refusals(row: Route, assumed: Assumed) -> set[int]:
    found = {400, 401, 405}
    if row.body is not None:
        found.add(413)
    if "{" in row.path:
        found.add(assumed[NOT_FOUND_STATUS])
        if row.method != "GET":
            found.add(assumed[WRONG_STATE_STATUS])
    return found


def _header_parameters(row: Route) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in row.headers]


def _tag(row: Route) -> str:
    return row.path.split("/")[1].replace("_", " ")


def _name(row: Route) -> str:
    """``postChargeCardLeastCost``: unique, because method and path are."""
    words = PLACEHOLDER.sub(r"by_\1", row.path).replace("/", "_").strip("_").split("_")
    return row.method.lower() + "".join(word.capitalize() for word in words)
