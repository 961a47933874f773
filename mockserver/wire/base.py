"""Bodies and queries: any letter case in, exact numbers, every fault at once.

Sources: assumption ``request.letter_case``; docs/spec/published-facts.md, 0 (rules 3 and 5), 1.0 (``[]`` as an empty
object), 8 (rows 7-16).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)

from mockserver.domain.addresses import never_called
from mockserver.domain.clock import Instant
from mockserver.domain.delivery import header_fault
from mockserver.domain.errors import nearest
from mockserver.domain.reading import camel, capitalised, choice_of, flag_of, number_of
from mockserver.wire.dates import read_moment

_SHORT = 10
"""Digits that any 32-bit number has fewer of."""

_BOTH = "the assumption request.decimal_comma reads both"
COMMA = r"(?a)\s*[+-]?\d{1,18},\d{1,18}\s*"
"""A number that has a decimal comma."""


def read_number(value: object) -> Decimal:
    """An exact number from a JSON number or a numeric text. Raises ``ValueError`` for anything else, booleans too."""
    number = Decimal(value) if type(value) is int or type(value) is Decimal else number_of(value)
    if number is not None:
        return number
    if isinstance(value, str) and re.fullmatch(COMMA, value):
        raise ValueError(f"got a decimal comma, wanted a point as in 1.5 ({_BOTH})")
    raise ValueError("wanted a number")


def _read_whole(value: object) -> int:
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < _SHORT:
        return int(value)
    number = read_number(value)
    if number != number.to_integral_value() or not -(2**31) <= number < 2**31:
        raise ValueError("wanted a whole number of 32 bits")
    return int(number)


def _read_flag(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise ValueError("wanted true or false")
    return flag


def read_map(value: object) -> dict[str, str]:
    """A map of texts; numbers and flags become texts, and what is null is left out."""
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise ValueError("wanted an object of texts")
    return {key: _scalar(key, item) for key, item in value.items() if item is not None}


def _without(fault_of: Callable[[str], str | None]) -> AfterValidator:
    """Refuses a text in which something finds a fault, in its words."""

    def read(value: str) -> str:
        if (words := fault_of(value)) is not None:
            raise ValueError(words)
        return value

    return AfterValidator(read)


def _scalar(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    raise ValueError(f"wanted a text under '{key[:40]}', not an object or a list")


Number = Annotated[
    Decimal,
    PlainValidator(read_number),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9]{1,18}(\.[0-9]{1,18})?$"}]}
    ),
]
"""An exact number, given as a JSON number or as a numeric text."""

Whole = Annotated[
    int,
    PlainValidator(_read_whole),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1},
                {"type": "string", "pattern": "^-?[0-9]{1,9}$"},
            ]
        }
    ),
]
"""A whole number of 32 bits."""

Flag = Annotated[
    bool,
    PlainValidator(_read_flag),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["true", "false", "True", "False"]}]}),
]
"""True or false, as JSON or as the word."""

Moment = Annotated[
    Instant,
    PlainValidator(read_moment),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "description": "epoch ms"}]}
    ),
]
"""An instant in microseconds, in any of the accepted forms."""

Map = Annotated[
    dict[str, str],
    PlainValidator(read_map),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
"""String keys, string values; keys keep their case, numbers and booleans become texts."""

Required = Annotated[str, Field(min_length=1)]
Text40 = Annotated[str, Field(max_length=40)]
HeaderText = Annotated[str, _without(header_fault)]
"""What is presented to a receiver."""

Receiver = Annotated[Required, _without(never_called)]
"""Where a webhook goes."""

Callback = Annotated[str, _without(never_called)]
"""The same, where an empty text means nowhere."""

En = TypeVar("En", bound=Enum)
T = TypeVar("T")


MOST_ITEMS = 1_000
"""Objects in a list of a body: one step reads and performs them all, and serves no other request meanwhile."""

MOST_CHOICES = 100
"""Names of a small set in a list of a body: to find the nearest known one of each wrong name takes long."""

Objects = Annotated[list[T], Field(max_length=MOST_ITEMS)]
Choices = Annotated[list[T], Field(max_length=MOST_CHOICES)]


def one_of(choices: type[En]) -> Any:
    """An annotation for an enum given by name in any letter case, or by its index (published facts, 8, row 12)."""
    names = [member.value for member in choices]
    chosen = choice_of(choices)

    def read(value: object) -> En:
        found = chosen(value)
        if found is None:
            hint = nearest(value.lower(), [name.lower() for name in names]) if isinstance(value, str) else ""
            raise ValueError(f"wanted one of {', '.join(names)}{hint}")
        return found

    schema = {
        "anyOf": [{"type": "string", "enum": names}, {"type": "integer", "minimum": 0, "maximum": len(names) - 1}]
    }
    return Annotated[choices, PlainValidator(read), WithJsonSchema(schema)]


def _spellings(name: str) -> AliasChoices:
    """The two usual spellings of a field."""
    return AliasChoices(camel(name), capitalised(camel(name)))


class Body(BaseModel):
    """Base of what callers send. Fields are camelCase on the wire; null means absent for every optional field.

    ``makes`` is the value of the domain that a body is a command for: its fields have the same names, or those that
    ``named`` gives them. ``also`` has other names by which fields are read, with the usual ones.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(alias=camel, validation_alias=_spellings), defer_build=True, frozen=True
    )

    makes: ClassVar[Any] = None
    named: ClassVar[Mapping[str, str]] = {}
    also: ClassVar[Mapping[str, str]] = {}

    def made(self, kind: type[T], /, **others: Any) -> T:
        """A value of the domain from the fields that its own are named after, what they hold as commands too, and from
        ``others``. What is null or not given is left to the value's default."""
        wanted = {one.name for one in fields(cast(Any, kind))} - others.keys()
        given = {self.named.get(name, name): value for name, value in self if value is not None}
        return kind(**{name: _command(value) for name, value in given.items() if name in wanted}, **others)

    def command(self) -> Any:
        """What is asked for, as the domain has it."""
        return self.made(self.makes)


def _command(value: object) -> object:
    if isinstance(value, Body):
        return value.command()
    if isinstance(value, list) and all(isinstance(one, Body) for one in value):
        return tuple(map(_command, value))
    return value


def names_of(body: type[Body]) -> list[str]:
    """The names of the fields of a body on the wire."""
    return [str(field.alias) for field in body.model_fields.values()]


class ListQuery(Body):
    """What every list takes: bounds of the time of adding, the page, and the field to sort by."""

    added_after: Moment | None = None
    added_before: Moment | None = None
    limit: Whole | None = None
    skip: Whole | None = None
    sort_by: str | None = None
    sort_order: str | None = None
