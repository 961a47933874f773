"""JSON schemas of everything that goes over the wire, for the OpenAPI documents.

They are made of the types that say how it is read and written, so they cannot say anything else:
schemas of bodies by pydantic from the classes in ``bodies``, schemas of answers from the words of
the table of replies (``replies.csv``). Examples are put together from ``examples.json``, field by
field.
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from mockserver.wire.fields import Body
from mockserver.wire.replies import ReplyType, reply_type

PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""A part of a path that a request fills in."""

Schema = dict[str, Any]
"""A JSON schema."""

REFERENCE = "#/components/schemas/{model}"
_PREFIX = REFERENCE.format(model="")

_EXAMPLES: Mapping[str, object] = json.loads(
    Path(__file__).with_name("examples.json").read_text("utf-8")
)
"""What an example shows for a field of this name; ids and fields that are not named are left out of
examples."""

_INTERESTING = frozenset(
    {"paymentInformation", "bankPaymentInformation", "card", "payToAgreement", "payerPayIdDetails"}
)
"""Objects that an example spells out although they are optional."""


_HELD: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "masked text": {"type": "string"},
    "duration": {"type": "string"},
    "whole": {"type": "integer"},
    "count": {"type": "integer"},
    "flag": {"type": "boolean"},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "object": {"type": "object", "additionalProperties": {}},
    "nothing": {"type": "null"},
    "any": {},
    "amount": {"type": "number"},
    "date-time": {"type": "string", "format": "date-time"},
}
"""The schemas of what fields of replies hold, by the words of the table."""


class _Untitled(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def _of_bodies(bodies: frozenset[type[Body]]) -> Mapping[str, Schema]:
    """The schemas of bodies and of those inside them, by name; in the order of names, as a
    set of classes has none."""
    wanted: Any = [(body, "validation") for body in bodies]
    _, made = models_json_schema(wanted, ref_template=REFERENCE, schema_generator=_Untitled)
    named = sorted(made.get("$defs", {}).items())
    return {
        name: {key: said for key, said in schema.items() if key != "title"}
        for name, schema in named
    }


class Schemas:
    """Named schemas: those of the bodies and queries at once, those of replies as they are asked
    for."""

    def __init__(self, bodies: Iterable[type[Body]]) -> None:
        self.named = dict(_of_bodies(frozenset(bodies)))
        self._bodies = frozenset(self.named)

    def body(self, model: type[Body]) -> Schema:
        """A reference to the schema of a body."""
        return {"$ref": REFERENCE.format(model=model.__name__)}

    def request(self, model: type[Body], example: object, media: Iterable[str]) -> Schema:
        """A body as it is sent, in each of some media types, with an example."""
        sent = {"schema": self.body(model), "example": example}
        required = bool(self.named[model.__name__].get("required"))
        return {"required": required, "content": dict.fromkeys(media, sent)}

    def reply(self, holds: str) -> Schema:
        """The schema of what a field of an answer holds, or an answer as a whole, in the words of
        the table; objects that it names are added to ``named``. Raises ``KeyError`` for an unknown
        word."""
        if holds in _HELD:
            return dict(_HELD[holds])
        if holds.endswith(" if any"):
            # Then it is not required, which the object around it says.
            return self.reply(holds.removesuffix(" if any"))
        if holds.endswith(" or null"):
            return {"anyOf": [self.reply(holds.removesuffix(" or null")), {"type": "null"}]}
        if holds.startswith("list of "):
            return {"type": "array", "items": self.reply(holds.removeprefix("list of "))}
        if holds.startswith("map of "):
            inner = self.reply(holds.removeprefix("map of "))
            return {"type": "object", "additionalProperties": inner}
        name = self.name_of(holds)
        if name not in self.named:
            # The name is there first: a reply may hold another of its kind.
            self.named[name] = {}
            self.named[name].update(self._object(reply_type(holds)))
        return {"$ref": REFERENCE.format(model=name)}

    def name_of(self, reply: str) -> str:
        """The name of a reply: a charge, not a charge reply, unless a body has that name."""
        short = reply.removesuffix("Reply")
        return reply if short in self._bodies else short

    def _object(self, kind: ReplyType) -> Schema:
        """The schema of an object of answers. A client may count on every field, null or not,
        unless the table says ``if any`` of it or ``some`` of the whole."""
        properties = {name: self.reply(holds) for name, holds in kind.fields.items()}
        schema: Schema = {
            "type": "object",
            "description": kind.meaning,
            "properties": properties,
        }
        if not kind.some:
            required = [
                name for name, holds in kind.fields.items() if not holds.endswith(" if any")
            ]
            if required:
                schema["required"] = required
        return schema

    def parameters(self, path: str, query: type[Body] | None) -> list[Schema]:
        """The placeholders of a path and the fields of a query, as parameters."""
        placed: list[Schema] = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
            for name in PLACEHOLDER.findall(path)
        ]
        if query is None:
            return placed
        schema = self.named[query.__name__]
        required = set(schema.get("required", ()))
        for name, field in schema.get("properties", {}).items():
            parameter: Schema = {"name": name, "in": "query", "required": name in required}
            if "description" in field:
                parameter["description"] = field["description"]
            placed.append({**parameter, "schema": _without_null(field)})
        return placed

    def example(self, schema: Schema) -> dict[str, Any]:
        """An example of a body: its required fields and the usual ones, all invented. It is what
        people send first, so it must be accepted as it stands."""
        schema = self._resolved(schema)
        required = set(schema.get("required", ()))
        shown: dict[str, Any] = {}
        for name, field in schema.get("properties", {}).items():
            inner = self._resolved(_without_null(field))
            if "properties" in inner:
                if name in required or name in _INTERESTING:
                    shown[name] = self.example(inner)
            elif name in _EXAMPLES and _fits(inner, _EXAMPLES[name]):
                shown[name] = _EXAMPLES[name]
            elif name in required:
                shown[name] = _any_example(name, inner)
        return shown

    def _resolved(self, schema: Schema) -> Schema:
        """The schema that a reference leads to; any other is itself."""
        reference = schema.get("$ref", "")
        return self.named[reference.removeprefix(_PREFIX)] if reference else schema


def _without_null(field: Schema) -> Schema:
    """The schema of a field where null cannot be written, as in a query, or need not be, as in an
    example: of several options those that remain."""
    plain = {key: value for key, value in field.items() if key not in ("default", "description")}
    options = [option for option in plain.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return {**{key: value for key, value in plain.items() if key != "anyOf"}, **options[0]}
    return {**plain, "anyOf": options} if options else plain


def _any_example(name: str, schema: Schema) -> object:
    """An example of a required field that ``examples.json`` does not name: its first word, or what
    stands for its type; None for any other."""
    options = [schema, *schema.get("anyOf", ())]
    for option in options:
        if "enum" in option:
            return option["enum"][0]
        if option.get("type") in _ANY:
            return _ANY[option["type"]] or f"a {name}"
    return None


_ANY: Mapping[str, Any] = {"string": "", "number": 1, "integer": 1}
"""An example of what has no list of words, by its type; a text says what it stands for."""

_TYPES: Mapping[str, Any] = {
    "string": str,
    "number": (int, Decimal),
    "integer": int,
    "boolean": bool,
}


def _fits(schema: Schema, value: object) -> bool:
    """Whether an example, which is looked up by the name of a field alone, is of the type of this
    field and one of its words: ``type`` is one thing in a provider and another in a list."""
    for option in (schema, *schema.get("anyOf", ())):
        is_of_type = isinstance(value, _TYPES.get(option.get("type", ""), ()))
        if is_of_type and value in option.get("enum", [value]):
            return True
    return False
