"""Webhooks described for machines: a part of the OpenAPI document, and an AsyncAPI 3.0 document of their own.

Source: docs/spec/published-facts.md, 6; assumption ``webhook.events``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mockserver.assumptions import Assumed
from mockserver.domain.marks import Schema
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table
from mockserver.wire.profile import profile_of
from mockserver.wire.replies import reply_type
from mockserver.wire.schemas import Schemas

_JSON = "application/json"


@record
class WebhookKind:
    """Webhooks about one kind of object: ``meta.type``, every ``meta.eventType``, when they are sent, and the name of
    the reply that is their ``data``."""

    word: str
    event_types: tuple[str, ...]
    reply: str
    summary: str


def _row(word: str, event_types: str, reply: str, summary: str) -> WebhookKind:
    return WebhookKind(word, tuple(event_types.split()), reply, summary)


WEBHOOKS = read_table("webhooks", _row, Path(__file__).parent)
"""Everything that is sent without a scenario's asking. A scenario and ``POST /__admin/events`` may send any other."""

HEADERS: dict[str, str] = {
    "x-payfurl-signature": "Base64 of the HMAC-SHA256 of the body under the signing key (--webhook-key)",
    "authorization": "What the receiver was registered with, when it was",
}


def webhooks(schemas: Schemas) -> dict[str, Any]:
    """The ``webhooks`` of an OpenAPI document, by event type."""
    return {
        event_type: {
            "post": {
                "summary": kind.summary,
                "parameters": [
                    {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
                    for name, text in HEADERS.items()
                ],
                "requestBody": {"required": True, "content": {_JSON: {"schema": _envelope(kind, event_type, schemas)}}},
                "responses": {
                    "2XX": {"description": "Taken"},
                    "default": {"description": "Not taken: it is sent again, later each time."},
                },
            }
        }
        for kind in WEBHOOKS
        for event_type in kind.event_types
    }


def asyncapi(assumed: Assumed, version: str) -> dict[str, Any]:
    """The webhooks as an AsyncAPI 3.0 document, for a set of assumptions."""
    schemas = Schemas(())
    messages = {
        event_type: {
            "name": event_type,
            "summary": kind.summary,
            "contentType": _JSON,
            "headers": {
                "type": "object",
                "properties": {name: {"type": "string", "description": text} for name, text in HEADERS.items()},
            },
            "payload": _envelope(kind, event_type, schemas),
        }
        for kind in WEBHOOKS
        for event_type in kind.event_types
    }
    # A charge's statuses are words of the profile.
    schemas.named["Transaction"]["properties"]["status"]["enum"] = list(profile_of(assumed).status.values())
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Webhooks of the payments service sandbox",
            "version": version,
            "description": "Posted to the `webhook.url` of an object, and to every webhook subscription of its type.",
            "license": {"name": "MIT"},
        },
        "defaultContentType": _JSON,
        "channels": {
            kind.word: {
                # The receiver chooses the address.
                "address": None,
                "summary": kind.summary,
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in kind.event_types},
                "bindings": {"http": {}},
            }
            for kind in WEBHOOKS
        },
        "operations": {
            f"send_{kind.word}": {
                "action": "send",
                "summary": kind.summary,
                "channel": {"$ref": f"#/channels/{kind.word}"},
                "messages": [{"$ref": f"#/channels/{kind.word}/messages/{name}"} for name in kind.event_types],
                "bindings": {"http": {"method": "POST"}},
            }
            for kind in WEBHOOKS
        },
        "components": {"messages": messages, "schemas": dict(sorted(schemas.named.items()))},
    }


def envelopes(schemas: Schemas) -> list[Schema]:
    """The body of each kind of webhook."""
    return [_envelope(kind, kind.event_types[0], schemas) for kind in WEBHOOKS]


def _envelope(kind: WebhookKind, event_type: str, schemas: Schemas) -> Schema:
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
            "meta": {"type": "object", "required": list(meta), "properties": meta},
            "data": schemas.reply(reply_type(kind.reply)),
        },
    }
