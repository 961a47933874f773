"""What bodies and queries hold: rows of tables. ``bodies.csv`` has the bodies of the payments API, ``queries.csv`` its
queries, ``control_bodies.csv`` what control calls carry.

Of control calls names are taken as they are documented, and none that is unknown: a misspelt one must not change what
a call does. Sources: docs/spec/service.md; docs/spec/published-facts.md, 1.0 (``[]`` as an empty object), 1.2, 1.3, 2,
8 (rows 7-16); docs/control-api.md.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache, partial, partialmethod
from itertools import islice
from keyword import iskeyword
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, create_model

from mockserver.assumptions import Profile
from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.clock import FASTEST, Instant, parse_duration, parse_instant
from mockserver.domain.delivery import header_fault
from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import camel, choice_of, flag_of, number_of, snake, whole_of
from mockserver.domain.record import read_grouped, record
from mockserver.wire.dates import read_moment
from mockserver.wire.fields import COMMA, Body, Folded, made, names_of, pascal, refuse_many, validate

B = TypeVar("B", bound=Body)
En = TypeVar("En", bound=Enum)

MOST_ITEMS = 1_000
"""Objects in a list of a body: one step reads and performs them all, and serves no other request meanwhile."""

MOST_CHOICES = 100
"""Names of a small set in a list of a body: to find the nearest known one of each wrong name takes long."""

_LONGEST_NAME, _LONGEST_SHOWN = 100, 20
_BOTH = "the assumption request.decimal_comma reads both"
_PLAIN = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"


@record
class _Row:
    """A field, with other names by which it is read after ``or``: its default is null, ``required`` for none, or JSON;
    ``becomes`` is its name in the domain, where that is another. In the row without a field, the body itself: the
    bodies whose fields it ``holds`` too, and what it ``becomes``: a class of the domain, or a function of ``bodies``,
    which may be told what else to make of it."""

    body: str
    field: str
    holds: str
    default: str
    meaning: str
    becomes: str = ""


class ControlBody(Body):
    """Base of what control calls carry, in bodies and in queries: by itself, nothing."""

    model_config = ConfigDict(extra="forbid", alias_generator=camel)


class OpenBody(ControlBody):
    """Base of bodies with fields that are not known beforehand."""

    model_config = ConfigDict(extra="allow")


def read_exactly(model: type[B], given: Mapping[str, Any], what: str = "field") -> B:
    """The typed body or query. Raises ``Invalid`` (90) naming those that are unknown, ``MOST_FAULTS`` at most, else
    every other fault."""
    names = names_of(model)
    unknown = list(islice((name for name in given if name not in names), MOST_FAULTS))
    if unknown and not issubclass(model, OpenBody):
        allowed = ", ".join(names) or "none"
        faults = {mask_start(name, 40): f"unknown {what}{nearest(name, names)}, allowed: {allowed}" for name in unknown}
        raise invalid({pascal([name]): words for name, words in faults.items()})
    folded = Folded(dict(given), [], [])
    refuse_many(folded)
    return validate(model, folded)


def _reads(kind: Any, read: Callable[[Any], object], schema: Mapping[str, object]) -> Any:
    return Annotated[kind, PlainValidator(read), WithJsonSchema(dict(schema))]


def _either(*schemas: Mapping[str, object]) -> Mapping[str, object]:
    return {"anyOf": [dict(schema) for schema in schemas]}


def _read_number(value: object) -> Decimal:
    """An exact number from a JSON number or a numeric text. Raises ``ValueError`` for anything else, booleans too."""
    number = Decimal(value) if type(value) is int or type(value) is Decimal else number_of(value)
    if number is not None:
        return number
    if isinstance(value, str) and re.fullmatch(COMMA, value):
        raise ValueError(f"got a decimal comma, wanted a point as in 1.5 ({_BOTH})")
    raise ValueError("wanted a number")


def _read_whole(value: object) -> int:
    """A whole number of 32 bits."""
    number = _read_number(value)
    if number != number.to_integral_value() or not -(2**31) <= number < 2**31:
        raise ValueError("wanted a whole number of 32 bits")
    return int(number)


def _read_payer_amount(value: object) -> Decimal:
    """An amount as a payer types it: ``1e3`` is a slip of the finger, not a thousand."""
    if isinstance(value, str) and re.fullmatch(_PLAIN, value):
        return Decimal(value)
    raise ValueError("wanted an amount in plain digits, such as 12.50")


def _read_flag(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise ValueError("wanted true or false")
    return flag


def _read_map(value: object) -> dict[str, str]:
    """A map of texts; keys keep their case, numbers and flags become texts, and what is null is left out."""
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise ValueError("wanted an object of texts")
    return {key: _scalar(key, item) for key, item in value.items() if item is not None}


def _scalar(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    raise ValueError(f"wanted a text under '{key[:40]}', not an object or a list")


def _without(fault_of: Callable[[str], str | None]) -> AfterValidator:
    """Refuses a text in which something finds a fault, in its words."""

    def read(value: str) -> str:
        if (words := fault_of(value)) is not None:
            raise ValueError(words)
        return value

    return AfterValidator(read)


def _one_of(choices: type[En]) -> Any:
    """An enum given by name in any letter case, or by its index (published facts, 8, row 12)."""
    names = [member.value for member in choices]
    chosen = choice_of(choices)

    def read(value: object) -> En:
        found = chosen(value)
        if found is None:
            hint = nearest(value.lower(), [name.lower() for name in names]) if isinstance(value, str) else ""
            raise ValueError(f"wanted one of {', '.join(names)}{hint}")
        return found

    words, index = {"type": "string", "enum": names}, {"type": "integer", "minimum": 0, "maximum": len(names) - 1}
    return _reads(choices, read, _either(words, index))


def _whole(least: int = 0, most: int | None = None, *, digits: bool = False) -> Any:
    """A whole number: a JSON number, or in a query one written in ``digits``."""
    allowed = f"{least} or more" if most is None else f"{least} to {most}"

    def read(value: object) -> int:
        number = whole_of(value, least, 10**18 if most is None else most) if digits or type(value) is int else None
        if number is None:
            raise ValueError(f"got '{_shown(value)}', wanted a whole number, {allowed}")
        return number

    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return _reads(int, read, {"type": "integer", **bounds})


def _word_of(*words: str) -> Any:
    """One of some words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"got '{_shown(value)}'{nearest(_shown(value), words)}, allowed: {', '.join(words)}")
        return value

    return _reads(str, read, {"type": "string", "enum": list(words)})


def _read_name(value: object) -> str:
    """A name that people read: printable, and not blank."""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST_NAME or not value.isprintable():
        raise ValueError(f"wanted a text of 1 to {_LONGEST_NAME} printable characters")
    return value


def _shown(value: object) -> str:
    return mask_start(str(value), _LONGEST_SHOWN)


def _read_switch(value: object) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise ValueError(f"got '{_shown(value)}', wanted true or false")
    return flag


def _read_key(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        raise ValueError("wanted a secret key, as it is sent in x-secretkey")
    if value != value.strip():
        raise ValueError("wanted a secret key without blanks around it")
    return value


def _read_address(value: object) -> str:
    if not isinstance(value, str) or not is_web_address(value):
        raise ValueError("wanted an absolute http or https address")
    if (why := never_called(value)) is not None:
        raise ValueError(why)
    return value


_TEXT = {"type": "string"}
_DATE_TIME = {"type": "string", "format": "date-time"}
_SIGNED = {"type": "string", "pattern": r"^[+-]?[0-9]{1,18}(\.[0-9]{1,18})?$"}
_INT32 = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
_DIGITS = {"type": "string", "pattern": "^-?[0-9]{1,9}$"}
_FLAG_WORD = {"type": "string", "enum": ["true", "false", "True", "False"]}

_HELD: Mapping[str, Any] = {
    "text": str,
    "number": _reads(Decimal, _read_number, _either({"type": "number"}, _SIGNED)),
    "whole": _reads(int, _read_whole, _either(_INT32, _DIGITS)),
    "payer amount": _reads(Decimal, _read_payer_amount, {"type": "string", "pattern": f"^{_PLAIN}$"}),
    "flag": _reads(bool, _read_flag, _either({"type": "boolean"}, _FLAG_WORD)),
    "moment": _reads(Instant, read_moment, _either(_DATE_TIME, {"type": "integer", "description": "epoch ms"})),
    "map": _reads(dict[str, str], _read_map, {"type": "object", "additionalProperties": _TEXT}),
    "header": Annotated[str, _without(header_fault)],
    "receiver": Annotated[str, Field(min_length=1), _without(never_called)],
    "receiver or nowhere": Annotated[str, _without(never_called)],
    "profile": _one_of(Profile),
    "any": Any,
    "list": list[Any],
    "object": dict[str, Any],
    "switch": _reads(bool, _read_switch, {"type": "boolean"}),
    "duration": _reads(int, lambda value: parse_duration(str(value)), _TEXT),
    "date-time": _reads(int, lambda value: parse_instant(str(value)), _DATE_TIME),
    "name": _reads(str, _read_name, {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME}),
    "key": _reads(str, _read_key, _TEXT),
    "address": _reads(str, _read_address, {"type": "string", "format": "uri"}),
    "severity": _word_of("none", "warning", "error"),
    "end of hold": _word_of("held", "gone"),
    "rate": _whole(1, FASTEST),
}
"""What fields hold, by the words of the tables; instants and durations in microseconds."""

_BOUNDED = re.compile(r"(text|whole|digits) (\d+) (?:to (\d+)|or more)")
"""A text of so many characters; a whole number of JSON, or of a query in digits, from and up to others."""


def _type_of(holds: str) -> Any:
    """What a field holds by a word, a bounded word, the name of a body, ``one of`` an enumeration of the domain, or
    ``list of`` any of these. Raises ``KeyError`` or ``AttributeError`` for an unknown one."""
    if (bounded := _BOUNDED.fullmatch(holds)) is not None:
        kind, least, most = bounded[1], int(bounded[2]), int(bounded[3]) if bounded[3] else None
        if kind == "text":
            return Annotated[str, Field(min_length=least or None, max_length=most)]
        return _whole(least, most, digits=kind == "digits")
    if (each := holds.removeprefix("list of ")) != holds:
        most = MOST_ITEMS if each[0].isupper() else MOST_CHOICES
        return Annotated[list[_type_of(each)], Field(max_length=most)]  # type: ignore[misc]
    if (place := holds.removeprefix("one of ")) != holds:
        return _one_of(_in_domain(place))
    return body_type(holds) if holds[0].isupper() else _HELD[holds]


_TABLES: Mapping[str, type[Body]] = {"bodies": Body, "queries": Body, "control_bodies": ControlBody}
"""The tables, and what their bodies are made of when they say nothing else."""


@cache
def _rows(table: str) -> Mapping[str, Sequence[_Row]]:
    """The rows of the bodies of a table by name: the body itself, and its fields."""
    return read_grouped(table, _Row, Path(__file__).parent)


@cache
def body_type(name: str) -> type[Body]:
    """The body or query of a name in the tables. Raises ``KeyError`` for an unknown one."""
    table = next((table for table in _TABLES if name in _rows(table)), "bodies")
    whole, *rows = _rows(table)[name]
    bases = tuple(OpenBody if base == "any" else body_type(base) for base in whole.holds.split()) or (_TABLES[table],)
    fields: dict[str, Any] = {}
    named: dict[str, str] = {}
    also: dict[str, str] = {}
    for base in bases:
        named |= base.named
        also |= base.also
    for row in rows:
        alias, *others = row.field.split(" or ")
        # 3DS is one word.
        field = snake(alias.replace("DS", "Ds")) + "_" * iskeyword(alias)
        held, default = _type_of(row.holds), ... if row.default == "required" else json.loads(row.default or "null")
        said: dict[str, Any] = {"description": row.meaning or None, "validate_default": default not in (..., None)}
        if camel(field) != alias:
            said["alias"] = alias
        fields[field] = held if row.default or held is Any else held | None, Field(default, **said)
        named |= {field: row.becomes} if row.becomes else {}
        also |= dict.fromkeys(others, alias)
    model = create_model(name, __base__=bases, __doc__=whole.meaning, **fields)
    model.named, model.also = named, also
    if whole.becomes:
        model.command = _command(whole.becomes)
    return model


def _command(words: str) -> partialmethod[Any]:
    make, *others = map(_named, words.split())
    return partialmethod(make, *others)


def _in_domain(place: str) -> Any:
    return resolve_name(f"mockserver.domain.{place.replace('.', ':')}")


def _named(word: str) -> Callable[..., Any]:
    """What makes a class of the domain of a body, or a function of ``bodies``. Raises ``AttributeError`` for an unknown
    one."""
    if "." in word:
        return partial(made, kind=_in_domain(word))
    function: Callable[..., Any] = resolve_name(f"mockserver.wire.bodies:{word}")
    return function
