"""Bodies and queries: any letter case in, exact numbers, every fault at once.

Sources: assumption ``request.letter_case``; docs/spec/published-facts.md, 0 (rules 3 and 5), 1.0 (``[]`` as an empty
object), 8 (rows 7-16).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from enum import Enum
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, cast, get_origin, get_type_hints

from mockserver.domain.addresses import never_called
from mockserver.domain.bounded_cache import by_type
from mockserver.domain.clock import Instant
from mockserver.domain.delivery import header_fault
from mockserver.domain.errors import nearest
from mockserver.domain.field_metadata import After, Bounds, Reads
from mockserver.domain.reading import camel, choice_of, flag_of, number_of
from mockserver.domain.record import record
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


def _without(fault_of: Callable[[str], str | None]) -> After:
    """Refuses a text in which something finds a fault, in its words."""

    def read(value: str) -> str:
        if (words := fault_of(value)) is not None:
            raise ValueError(words)
        return value

    return After(read)


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
    Reads(
        read_number,
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9]{1,18}(\.[0-9]{1,18})?$"}]},
    ),
]
"""An exact number, given as a JSON number or as a numeric text."""

Whole = Annotated[
    int,
    Reads(
        _read_whole,
        {
            "anyOf": [
                {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1},
                {"type": "string", "pattern": "^-?[0-9]{1,9}$"},
            ]
        },
    ),
]
"""A whole number of 32 bits."""

Flag = Annotated[
    bool,
    Reads(_read_flag, {"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["true", "false", "True", "False"]}]}),
]
"""True or false, as JSON or as the word."""

Moment = Annotated[
    Instant,
    Reads(
        read_moment,
        {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "description": "epoch ms"}]},
    ),
]
"""An instant in microseconds, in any of the accepted forms."""

Map = Annotated[
    dict[str, str],
    Reads(read_map, {"type": "object", "additionalProperties": {"type": "string"}}),
]
"""String keys, string values; keys keep their case, numbers and booleans become texts."""

Required = Annotated[str, Bounds(min_length=1)]
Text40 = Annotated[str, Bounds(max_length=40)]
HeaderText = Annotated[str, _without(header_fault)]
"""What is presented to a receiver."""

Receiver = Annotated[Required, _without(never_called)]
"""Where a webhook goes."""

Callback = Annotated[str, _without(never_called)]
"""The same, where an empty text means nowhere."""

En = TypeVar("En", bound=Enum)
T = TypeVar("T")


MOST_ITEMS = 1_000
"""Objects in a list of a body: they are read and carried out in one step, which keeps everybody else waiting."""

MOST_CHOICES = 100
"""The same of names that are chosen from a handful: what is nearest to a wrong one takes long to find."""

Objects = Annotated[list[T], Bounds(max_length=MOST_ITEMS)]
Choices = Annotated[list[T], Bounds(max_length=MOST_CHOICES)]


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
    return Annotated[choices, Reads(read, schema)]


Extra: TypeAlias = Literal["ignore", "forbid", "allow"]
REQUIRED = object()
"""The default of a field that has none."""


@record
class BodyField:
    """What is said of a field of a body beside its type: its default, the ``alias`` by which it goes over the wire, and
    ``also``, another name by which it is read. Without a default it is required."""

    default: Any = REQUIRED
    alias: str = ""
    description: str = ""
    also: str = ""
    annotation: Any = None


def field(default: Any = REQUIRED, *, alias: str = "", description: str = "", also: str = "") -> Any:
    """What a body says of one of its fields."""
    return BodyField(default, alias, description, also)


class Body:
    """Base of what callers send. Fields are camelCase on the wire; null means absent for every optional field, and one
    that is not given has its default.

    ``makes`` is the value of the domain that a body of the same fields is a command for; ``extra`` what becomes of
    names that no field has, in the words of pydantic's core.
    """

    makes: ClassVar[Any] = None
    extra: ClassVar[Extra] = "ignore"
    _said: ClassVar[dict[str, BodyField]] = {}

    def __init__(self, given: dict[str, Any] | None = None) -> None:
        self.__dict__ = given or {}

    def __init_subclass__(cls) -> None:
        cls._said = {name: value for name, value in vars(cls).items() if type(value) is BodyField}
        for name, said in cls._said.items():
            if said.default is REQUIRED:
                delattr(cls, name)
            else:
                setattr(cls, name, said.default)

    def present(self) -> dict[str, Any]:
        """The fields that are given, by name."""
        return {name: value for name, value in self.__dict__.items() if value is not None}

    def made(self, kind: type[T], /, **others: Any) -> T:
        """A value of the domain from the fields that its own are named after, what they hold as commands too, and from
        ``others``. What is not given is left to the value's default."""
        names = {one.name for one in fields(cast(Any, kind))} - others.keys()
        return kind(**{name: _command(value) for name, value in self.present().items() if name in names}, **others)

    def command(self) -> Any:
        """What is asked for, as the domain has it."""
        return self.made(self.makes)


def _command(value: object) -> object:
    if isinstance(value, Body):
        return value.command()
    return tuple(map(_command, value)) if isinstance(value, list) and value and isinstance(value[0], Body) else value


@by_type
def fields_of(body: type[Body]) -> Mapping[str, BodyField]:
    """The fields of a body by name, those of its bases first."""
    found = {}
    for name, annotation in get_type_hints(body, include_extras=True).items():
        if get_origin(annotation) is not ClassVar:
            owner: Any = next(base for base in body.__mro__ if name in get_annotations(base))
            said = owner._said.get(name) or BodyField(getattr(body, name, REQUIRED))
            found[name] = replace(said, annotation=annotation, alias=said.alias or camel(name))
    return found
