"""JSON schemas of everything that goes over the wire, made from the types that say how it is read and written."""

from __future__ import annotations

import builtins
import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from inspect import getdoc
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from mockserver.domain.field_metadata import Schema, wrapped
from mockserver.wire.base import REQUIRED, Body, BodyField, fields_of
from mockserver.wire.folding import nested_body

PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""A part of a path that a request fills in."""

REFERENCE = "#/components/schemas/{model}"
_PREFIX = REFERENCE.format(model="")

_EXAMPLES: Mapping[str, object] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
"""What an example shows for a field of this name; ids and fields that are not named are left out of examples."""

_INTERESTING = frozenset(
    {"paymentInformation", "bankPaymentInformation", "card", "payToAgreement", "payerPayIdDetails"}
)
"""Objects that an example spells out although they are optional."""


class Schemas:
    """Named schemas: those of the bodies and queries at once, those of replies as they are asked for."""

    def __init__(self, bodies: Iterable[type[Body]]) -> None:
        found = {body.__name__: body for body in _with_inner(bodies)}
        self.named: dict[str, Schema] = {name: self._body(found[name]) for name in sorted(found)}
        self._bodies = frozenset(self.named)

    def body(self, model: type[Body]) -> Schema:
        """A reference to the schema of a body."""
        return {"$ref": REFERENCE.format(model=model.__name__)}

    def reply(self, kind: Any) -> Schema:
        """The schema of a reply type; objects that it names are added to ``named``. Raises ``TypeError`` for a type
        that no reply should have."""
        if is_typeddict(kind):
            name = self.name_of(kind)
            if name not in self.named:
                self.named[name] = {}
                self.named[name].update(self._object(kind))
            return {"$ref": REFERENCE.format(model=name)}
        return _schema(kind, self.reply)

    def name_of(self, kind: Any) -> str:
        """The name of a reply: a charge, not a charge reply, unless a body has that name."""
        name: str = kind.__name__
        short = name.removesuffix("Reply")
        return name if short in self._bodies else short

    def parameters(self, path: str, query: type[Body] | None) -> list[Schema]:
        """The placeholders of a path and the fields of a query, as parameters."""
        placed: list[Schema] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in PLACEHOLDER.findall(path)
        ]
        schema = self.named[query.__name__] if query is not None else {}
        required = set(schema.get("required", ()))
        return placed + [
            {
                "name": name,
                "in": "query",
                "required": name in required,
                **({"description": field["description"]} if "description" in field else {}),
                "schema": _without_null(field),
            }
            for name, field in schema.get("properties", {}).items()
        ]

    def example(self, schema: Schema) -> dict[str, Any]:
        """An example of a body: its required fields and the usual ones, all invented."""
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

    def _object(self, kind: Any) -> Schema:
        hints = get_type_hints(kind, include_extras=True)
        required = [
            name for name, hint in hints.items() if kind.__total__ and get_origin(hint) is not typing.NotRequired
        ]
        return _described(kind, {name: self.reply(hint) for name, hint in hints.items()}, required)

    def _body(self, body: type[Body]) -> Schema:
        """The schema of a body, in whatever spelling its names come."""
        fields = fields_of(body).values()
        required = [field.alias for field in fields if field.default is REQUIRED]
        schema = _described(body, {field.alias: self._field(field) for field in fields}, required)
        return schema if body.extra == "ignore" else {**schema, "additionalProperties": body.extra == "allow"}

    def _field(self, field: BodyField) -> Schema:
        schema = self._inner(field.annotation)
        if field.description:
            schema["description"] = field.description
        if field.default is not REQUIRED:
            schema["default"] = field.default
        return schema

    def _inner(self, annotation: Any) -> Schema:
        is_body = isinstance(annotation, type) and issubclass(annotation, Body)
        return self.body(annotation) if is_body else _schema(annotation, self._inner)

    def _resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref", "")
        return self.named[reference.removeprefix(_PREFIX)] if reference else schema


def _with_inner(bodies: Iterable[type[Body]]) -> Iterator[type[Body]]:
    for body in bodies:
        yield body
        yield from _with_inner(filter(None, (nested_body(field.annotation) for field in fields_of(body).values())))


def _described(kind: type, properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    named = {"type": "object", "description": getdoc(kind) or "", "properties": properties}
    return {**named, "required": required} if required else named


def _schema(kind: Any, inner: Callable[[Any], Schema]) -> Schema:
    """The schema of a type that is no object, whose parts have those that ``inner`` gives."""
    origin, parts = get_origin(kind), get_args(kind)
    match origin:
        case typing.Annotated:
            return wrapped(inner, (one.__get_pydantic_json_schema__ for one in parts[1:]))(parts[0])
        case typing.NotRequired | typing.Required:
            return inner(parts[0])
        case typing.Union | types.UnionType:
            found = [inner(part) for part in parts]
            # Alternatives of an alternative stand beside the others.
            return {
                "anyOf": [one for schema in found for one in (schema["anyOf"] if [*schema] == ["anyOf"] else [schema])]
            }
        case builtins.list:
            return {"type": "array", "items": inner(parts[0])}
        case builtins.dict:
            return {"type": "object", "additionalProperties": inner(parts[1])}
        case _:
            pass
    if kind not in _PLAIN:
        raise TypeError(f"no schema for {kind!r}")
    return dict(_PLAIN[kind])


_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


def _without_null(field: Schema) -> Schema:
    plain = {key: value for key, value in field.items() if key not in ("default", "title", "description", "also")}
    options = [option for option in plain.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return {**{key: value for key, value in plain.items() if key != "anyOf"}, **options[0]}
    return {**plain, "anyOf": options} if options else plain


def _any_example(name: str, schema: Schema) -> object:
    options = [schema, *schema.get("anyOf", ())]
    for option in options:
        if "enum" in option:
            return option["enum"][0]
        match option.get("type"):
            case "string":
                return f"a {name}"
            case "number" | "integer":
                return 1
            case "array":
                return []
            case "object":
                return {}
            case _:
                continue
    return None


def _fits(schema: Schema, value: object) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "number": (int, Decimal),
        "integer": int,
        "boolean": bool,
    }
    for option in [schema, *schema.get("anyOf", ())]:
        allowed = kinds.get(str(option.get("type")))
        if allowed is not None and isinstance(value, allowed) and value in option.get("enum", [value]):
            return True
    return False
