"""What reads bodies: validators of pydantic's core, made from the annotations of their fields.

Models of pydantic would do the same, and take a tenth of the time to a first answer to load, 5 MiB, and a fifth more
for each body. ``tests/wire/test_validators.py`` compares the two.
"""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, get_args, get_origin

from pydantic_core import SchemaValidator

from mockserver.domain.marks import Schema, after, plain, wrapped
from mockserver.domain.remembered import Remembered, by_type
from mockserver.wire.base import REQUIRED, Body, BodyField, Extra, fields_of, read_map, read_number


@by_type
def of_any_spelling(body: type[Body]) -> SchemaValidator:
    """What reads the canonical names of a body, and reports every fault."""
    return SchemaValidator(_Typing().fields(body))


@by_type
def of_one_spelling(body: type[Body], capitals: bool) -> SchemaValidator:
    """What reads a text that is spelt as most clients spell it, with ``capitals`` or without, and refuses all others.
    What a function would have to change is refused, too."""
    return SchemaValidator(_Typing("forbid", _USUAL, capitalised if capitals else str).fields(body))


def capitalised(name: str) -> str:
    """A name that begins with a capital."""
    return name[:1].upper() + name[1:]


class _Typing:
    """How annotations become schemas: which other fields bodies may have, how a field is read that a function reads,
    and how names are spelt."""

    def __init__(
        self,
        extra: Extra | None = None,
        instead: Mapping[object, Schema] | None = None,
        spell: Callable[[str], str] = str,
    ) -> None:
        self._extra = extra
        self._instead = instead or {}
        self._spell = spell

    def fields(self, body: type[Body]) -> Schema:
        """The schema of the fields of a body."""
        named = {name: self._field(field) for name, field in fields_of(body).items()}
        return {"type": "typed-dict", "fields": named, "extra_behavior": self._extra or body.extra}

    def _field(self, field: BodyField) -> Schema:
        schema, required = self._schema(field.annotation), field.default is REQUIRED
        spelt = self._spell(field.alias)
        return {"type": "typed-dict-field", "schema": schema, "required": required, "validation_alias": spelt}

    def _schema(self, annotation: Any) -> Schema:
        origin, parts = get_origin(annotation), get_args(annotation)
        match origin:
            case typing.Annotated:
                schema = wrapped(self._schema, (one.__get_pydantic_core_schema__ for one in parts[1:]))(parts[0])
                return self._instead.get(schema["function"]["function"], schema) if "function" in schema else schema
            case typing.Union | types.UnionType:
                (inner,) = (part for part in parts if part is not types.NoneType)
                return {"type": "nullable", "schema": self._schema(inner)}
            case builtins.list:
                return {"type": "list", "items_schema": self._schema(parts[0])}
            case builtins.dict:
                return {"type": "dict", "keys_schema": self._schema(parts[0]), "values_schema": self._schema(parts[1])}
            case _:
                pass
        if annotation is str or annotation is Any:
            return {"type": "str" if annotation is str else "any"}
        return after(annotation, self.fields(annotation))


MOST = 10**9
"""Numbers that are read at once are below this: a float has all their digits."""


def _decimal(number: float) -> Decimal:
    """A number that was read as a float, which has all its digits: 15 of them at most."""
    return Decimal(int(number)) if number.is_integer() else Decimal(repr(number))


_DECIMALS = Remembered[float, Decimal](4_096, _decimal)
"""Amounts come back: to find the digits of one takes half of the way."""

_TEXT: Schema = {"type": "str", "strict": True}
_USUAL: Mapping[object, Schema] = {
    read_number: {
        "type": "json-or-python",
        "json_schema": after(_DECIMALS.__getitem__, {"type": "float", "strict": True, "gt": -MOST, "lt": MOST}),
        "python_schema": plain(read_number),
    },
    read_map: {"type": "dict", "keys_schema": _TEXT, "values_schema": _TEXT, "strict": True},
}
"""How a field is read at once that a function reads: what it would change is left to the longer way."""
