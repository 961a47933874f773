"""What reads bodies: validators of pydantic's core, made from the annotations of their fields.

Models of pydantic would do the same, and take a tenth of the time to a first answer to load, 5 MiB, and a fifth more
for each body. ``tests/wire/test_validators.py`` compares the two.
"""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable
from typing import Any, get_args, get_origin

from pydantic_core import SchemaValidator

from mockserver.domain.bounded_cache import by_type
from mockserver.domain.field_metadata import Schema, after, wrapped
from mockserver.wire.base import REQUIRED, Body, BodyField, Extra, fields_of


@by_type
def of_any_spelling(body: type[Body]) -> SchemaValidator:
    """What reads the canonical names of a body, and reports every fault."""
    return SchemaValidator(_Typing().fields(body))


@by_type
def of_one_spelling(body: type[Body], capitals: bool) -> SchemaValidator:
    """What reads a body whose names are all canonical, or with ``capitals`` all begin with one, and refuses others."""
    return SchemaValidator(_Typing("forbid", capitalised if capitals else str).fields(body))


def capitalised(name: str) -> str:
    """A name that begins with a capital."""
    return name[:1].upper() + name[1:]


class _Typing:
    """How annotations become schemas: which other fields bodies may have, and how names are spelt."""

    def __init__(
        self,
        extra: Extra | None = None,
        spell: Callable[[str], str] = str,
    ) -> None:
        self._extra = extra
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
                return wrapped(self._schema, (one.__get_pydantic_core_schema__ for one in parts[1:]))(parts[0])
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
