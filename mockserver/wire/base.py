"""Bodies and queries: any letter case in, exact numbers, every fault at once.

Sources: assumption ``request.letter_case``; published facts, 0 (rules 3 and 5), 1.0 (``[]`` as an empty object), 8
(rows 7-16).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainValidator,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, PydanticCustomError

from mockserver.domain.addresses import never_called
from mockserver.domain.clock import Instant
from mockserver.domain.codes import Code
from mockserver.domain.delivery import header_fault
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.reading import choice_of, flag_of, number_of
from mockserver.domain.record import record
from mockserver.wire.dates import read_moment

MOST_NAMED = 100
"""Unknown fields that a refusal names: the nearest names of half a million would hold everybody up."""
_SHORT = 10
"""Digits that any 32-bit number has fewer of."""

_COMMA = r"(?a)\s*[+-]?\d{1,18},\d{1,18}\s*"
_WORDS: Mapping[str, str] = {
    "missing": "required",
    "string_type": "wanted a text",
    "dict_type": "wanted an object",
    "model_type": "wanted an object",
    "model_attributes_type": "wanted an object",
    "list_type": "wanted a list",
}


def refuse(text: str) -> PydanticCustomError:
    """What a reader of a field raises: the words of its refusal."""
    return PydanticCustomError("wanted", "{text}", {"text": text})


def read_number(value: object) -> Decimal:
    """An exact number from a JSON number or a numeric text. Refuses anything else, booleans included."""
    number = number_of(value)
    if number is not None:
        return number
    if isinstance(value, str) and re.fullmatch(_COMMA, value):
        raise refuse("got a decimal comma, wanted a point as in 1.5 (the assumption request.decimal_comma reads both)")
    raise refuse("wanted a number")


def _read_whole(value: object) -> int:
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < _SHORT:
        return int(value)
    number = read_number(value)
    if number != number.to_integral_value() or not -(2**31) <= number < 2**31:
        raise refuse("wanted a whole number of 32 bits")
    return int(number)


def _read_flag(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise refuse("wanted true or false")
    return flag


def _read_moment(value: object) -> Instant:
    try:
        return read_moment(value)
    except ValueError as problem:
        raise refuse(str(problem)) from None


def read_map(value: object) -> dict[str, str]:
    """A map of texts; numbers and flags become texts, and what is null is left out."""
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise refuse("wanted an object of texts")
    return {key: _scalar(key, item) for key, item in value.items() if item is not None}


def _without(fault_of: Callable[[str], str | None]) -> AfterValidator:
    """Refuses a text in which something finds a fault, in its words."""

    def read(value: str) -> str:
        if (words := fault_of(value)) is not None:
            raise refuse(words)
        return value

    return AfterValidator(read)


def _scalar(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    raise refuse(f"wanted a text under '{key[:40]}', not an object or a list")


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
    PlainValidator(_read_moment),
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

Required = Annotated[str, StringConstraints(min_length=1)]
Text40 = Annotated[str, StringConstraints(max_length=40)]
HeaderText = Annotated[str, _without(header_fault)]
"""What is presented to a receiver."""

Receiver = Annotated[Required, _without(never_called)]
"""Where a webhook goes."""

Callback = Annotated[str, _without(never_called)]
"""The same, where an empty text means nowhere."""

En = TypeVar("En", bound=Enum)
T = TypeVar("T")


def one_of(choices: type[En]) -> Any:
    """An annotation for an enum given by name in any letter case, or by its index (published facts, 8, row 12)."""
    names = [member.value for member in choices]
    chosen = choice_of(choices)

    def read(value: object) -> En:
        found = chosen(value)
        if found is None:
            hint = nearest(value.lower(), [name.lower() for name in names]) if isinstance(value, str) else ""
            raise refuse(f"wanted one of {', '.join(names)}{hint}")
        return found

    schema = {
        "anyOf": [{"type": "string", "enum": names}, {"type": "integer", "minimum": 0, "maximum": len(names) - 1}]
    }
    return Annotated[choices, PlainValidator(read), WithJsonSchema(schema)]


class Body(BaseModel):
    """Base of what callers send. Fields are camelCase on the wire; null means absent for every optional field.

    ``makes`` is the value of the domain that a body of the same fields is a command for.
    """

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, defer_build=True, hide_input_in_errors=True)
    makes: ClassVar[Any] = None

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


B = TypeVar("B", bound=Body)


@record
class Spelling:
    alias: str
    nested: type[Body] | None
    many: bool
    number: bool


@record
class Folded:
    """A body with canonical keys, the keys that no field knows, and those given twice in different letter case."""

    values: dict[str, Any]
    unknown: list[str]
    twice: list[str]


@cache
def spellings_of(model: type[Body]) -> Mapping[str, Spelling]:
    """The fields of a model by every name that is read."""
    table: dict[str, Spelling] = {}
    for name, info in model.model_fields.items():
        alias = info.alias or name
        many = any(word in str(info.annotation) for word in ("list[", "tuple["))
        spelling = Spelling(alias, nested_body(info.annotation), many, Decimal in parts_of(info.annotation))
        others = info.json_schema_extra.get("also", ()) if isinstance(info.json_schema_extra, dict) else ()
        for word in (alias, *(others if isinstance(others, Sequence) else ())):
            text = str(word)
            for form in (text, text[:1].upper() + text[1:], text.lower()):
                table[form] = spelling
    return table


def nested_body(annotation: Any) -> type[Body] | None:
    """The kind of body inside a field, however it is wrapped; None for any other field."""
    if isinstance(annotation, type) and issubclass(annotation, Body):
        return annotation
    return next((found for part in get_args(annotation) if (found := nested_body(part))), None)


def parts_of(annotation: Any) -> Iterator[Any]:
    """An annotation and everything inside it."""
    yield annotation
    for part in get_args(annotation):
        yield from parts_of(part)


def fold(model: type[Body], raw: Mapping[str, Any], *, commas: bool = False) -> Folded:
    """Give every known key its canonical spelling, at every level; with ``commas`` also every numeric text that has a
    decimal comma."""
    folded = Folded({}, [], [])
    _fold_into(folded.values, model, raw, "", folded)
    if commas:
        _write_points(model, folded.values)
    return folded


def _write_points(model: type[Body], values: dict[str, Any]) -> None:
    spellings = spellings_of(model)
    for name, value in values.items():
        spelling = spellings[name]
        if spelling.number and isinstance(value, str) and re.fullmatch(_COMMA, value):
            values[name] = value.replace(",", ".")
        for inner in value if isinstance(value, list) else [value]:
            if spelling.nested is not None and isinstance(inner, dict):
                _write_points(spelling.nested, inner)


def _fold_into(out: dict[str, Any], model: type[Body], raw: Mapping[str, Any], path: str, folded: Folded) -> None:
    spelt = spellings_of(model).get
    known = 0
    for key, value in raw.items():
        spelling = spelt(key) or spelt(key.lower())
        if spelling is None:
            folded.unknown.append(path + key)
            continue
        known += 1
        nested = spelling.nested
        if nested is None:
            out[spelling.alias] = value
        else:
            out[spelling.alias] = _folded_value(spelling, nested, value, path, folded)
    if len(out) != known:
        _note_twice(model, raw, path, folded)


def _folded_value(spelling: Spelling, nested: type[Body], value: Any, path: str, folded: Folded) -> Any:
    if type(value) is dict:
        inner: dict[str, Any] = {}
        _fold_into(inner, nested, value, f"{path}{spelling.alias}.", folded)
        return inner
    if type(value) is not list:
        return value
    if not spelling.many:
        return value or {}
    items: list[Any] = []
    for place, item in enumerate(value):
        inner = item
        if type(item) is dict:
            inner = {}
            _fold_into(inner, nested, item, f"{path}{spelling.alias}.{place}.", folded)
        items.append(inner)
    return items


def _note_twice(model: type[Body], raw: Mapping[str, Any], path: str, folded: Folded) -> None:
    spellings, seen = spellings_of(model), set()
    for key in raw:
        spelling = spellings.get(key) or spellings.get(key.lower())
        if spelling is not None:
            if spelling.alias in seen:
                folded.twice.append(path + spelling.alias)
            seen.add(spelling.alias)


def _names_beside(model: type[Body], parts: Sequence[str]) -> list[str]:
    """The names that could have stood where ``parts`` lead to: those of the object they are in."""
    for part in parts:
        spelling = spellings_of(model).get(part)
        if spelling is not None and spelling.nested is not None:
            model = spelling.nested
    return [spelling.alias for spelling in spellings_of(model).values()]


def validate(model: type[B], folded: Folded, *, strict: bool = False) -> B:
    """The typed body. Raises ``Invalid`` (90) with every fault by PascalCase field; ``strict`` refuses unknown
    fields too, and names ``MOST_NAMED`` of them."""
    details = {pascal(name.split(".")): "given twice in different letter case" for name in folded.twice}
    if strict:
        for name in folded.unknown[:MOST_NAMED]:
            parts = name.split(".")
            details[pascal(parts)] = f"unknown field{nearest(parts[-1], _names_beside(model, parts))}"
    try:
        body = model.model_validate(folded.values)
    except ValidationError as problem:
        for fault in problem.errors(include_url=False, include_input=False):
            details.setdefault(pascal([str(part) for part in fault["loc"] or ("body",)]), _words(fault))
        raise Invalid(Code.VALIDATION_ERROR, details) from None
    if details:
        raise Invalid(Code.VALIDATION_ERROR, details)
    return body


def pascal(parts: Sequence[str]) -> str:
    """``PaymentInformation.CardNumber``: a field's place as error details write it (published facts, 10)."""
    return ".".join(part[:1].upper() + part[1:] for part in parts)


def _words(fault: ErrorDetails) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "string_too_long":
        return f"wanted at most {context['max_length']} characters"
    if kind == "string_too_short":
        return "wanted a text that is not empty"
    if kind == "string_pattern_mismatch":
        return f"wanted a text matching {context['pattern']}"
    return _WORDS.get(kind, fault["msg"])
