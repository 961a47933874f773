"""Bodies and queries that say no more than what their fields hold: rows of a table. ``queries.csv`` has the queries of
the payments API but those of charges, ``control_bodies.csv`` what control calls carry.

Of control calls names are taken as they are documented, and none that is unknown: a misspelt one must not change what
a call does. Source: docs/spec/published-facts.md, 1.3; docs/control-api.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from keyword import iskeyword
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema, create_model

from mockserver.assumptions import Profile
from mockserver.domain.addresses import is_web_address, never_called
from mockserver.domain.clock import FASTEST, ClockMode, parse_duration, parse_instant
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import flag_of, snake, whole_of
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_grouped
from mockserver.domain.states import SubscriptionState
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.base import Body, Flag, HeaderText, ListQuery, Moment, Number, Whole, names_of, one_of
from mockserver.wire.fields import MOST_NAMED, Folded, pascal, refuse_many, validate


@record
class _Row:
    """A field, with other names by which it is read after ``or``: its default is null, ``required`` for none, or JSON.
    In the row without a field, the body itself, which holds more: see ``_BASES``."""

    body: str
    field: str
    holds: str
    default: str
    meaning: str


def query_type(name: str) -> type[Body]:
    """The query of a name in the table, or in a module of this package as ``charge_bodies.ChargeQuery``. Raises
    ``KeyError`` or ``AttributeError`` for an unknown one."""
    found: type[Body] = (
        resolve_name(f"mockserver.wire.{name.replace('.', ':')}") if "." in name else _body("queries", name)
    )
    return found


B = TypeVar("B", bound=Body)

_LONGEST_NAME, _LONGEST_SHOWN = 100, 20


class ControlBody(Body):
    """Base of what control calls carry, in bodies and in queries: by itself, nothing."""

    model_config = ConfigDict(extra="forbid")


class OpenBody(Body):
    """Base of bodies with fields that are not known beforehand."""

    model_config = ConfigDict(extra="allow")


def read_exactly(model: type[B], given: Mapping[str, Any], what: str = "field") -> B:
    """The typed body or query. Raises ``Invalid`` (90) naming those that are unknown, ``MOST_NAMED`` at most, else
    every other fault."""
    names = names_of(model)
    unknown = list(islice((name for name in given if name not in names), MOST_NAMED))
    if unknown and not issubclass(model, OpenBody):
        allowed = ", ".join(names) or "none"
        faults = {mask_start(name, 40): f"unknown {what}{nearest(name, names)}, allowed: {allowed}" for name in unknown}
        raise invalid({pascal([name]): words for name, words in faults.items()})
    folded = Folded(dict(given), [], [])
    refuse_many(folded)
    return validate(model, folded)


def _reads(read: Callable[[Any], object], schema: Mapping[str, object]) -> Any:
    return Annotated[Any, PlainValidator(read), WithJsonSchema(dict(schema))]


def _whole(least: int = 0, most: int | None = None, *, digits: bool = False) -> Any:
    """A whole number: a JSON number, or in a query one written in ``digits``."""
    allowed = f"{least} or more" if most is None else f"{least} to {most}"

    def read(value: object) -> int:
        number = whole_of(value, least, 10**18 if most is None else most) if digits or type(value) is int else None
        if number is None:
            raise ValueError(f"got '{_shown(value)}', wanted a whole number, {allowed}")
        return number

    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return _reads(read, {"type": "integer", **bounds})


def _word_of(*words: str) -> Any:
    """One of some words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"got '{_shown(value)}'{nearest(_shown(value), words)}, allowed: {', '.join(words)}")
        return value

    return _reads(read, {"type": "string", "enum": list(words)})


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


_HELD: Mapping[str, Any] = {
    "text": str,
    "number": Number,
    "whole": Whole,
    "flag": Flag,
    "moment": Moment,
    "subscription status": one_of(SubscriptionState),
    "any": Any,
    "list": list[Any],
    "object": dict[str, Any],
    "switch": _reads(_read_switch, {"type": "boolean"}),
    "duration": _reads(lambda value: parse_duration(str(value)), {"type": "string"}),
    "date-time": _reads(lambda value: parse_instant(str(value)), {"type": "string", "format": "date-time"}),
    "name": _reads(_read_name, {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME}),
    "key": _reads(_read_key, {"type": "string"}),
    "address": _reads(_read_address, {"type": "string", "format": "uri"}),
    "header": HeaderText,
    "severity": _word_of("none", "warning", "error"),
    "end of hold": _word_of("held", "gone"),
    "rate": _whole(1, FASTEST),
    "clock mode": one_of(ClockMode),
    "profile": one_of(Profile),
    "webhook type": one_of(WebhookType),
}
"""What fields hold, by the words of the table; instants and durations in microseconds."""

_NUMBER = re.compile(r"(whole|digits) (\d+) (?:to (\d+)|or more)")
"""A whole number of JSON, or of a query in digits, from and up to others."""


def _type_of(holds: str) -> Any:
    number = _NUMBER.fullmatch(holds)
    if number is None:
        return _HELD[holds]
    kind, least, most = number.groups()
    return _whole(int(least), None if most is None else int(most), digits=kind == "digits")


_BASES: Mapping[str, Mapping[str, type[Body]]] = {
    "queries": {"": Body, "list": ListQuery},
    "control_bodies": {"": ControlBody, "any": OpenBody},
}
"""What the bodies of a table are made of, by what they hold besides their fields."""


@cache
def _bodies(table: str) -> Mapping[str, Sequence[_Row]]:
    """The rows of the bodies of a table by name: the body itself, and its fields."""
    return read_grouped(table, _Row, Path(__file__).parent)


@cache
def _body(table: str, name: str) -> type[Body]:
    """A body that holds what the rows of its name say. Raises ``KeyError`` for an unknown one."""
    whole, *rows = _bodies(table)[name]
    fields: dict[str, Any] = {}
    also: dict[str, str] = {}
    for row in rows:
        alias, *others = row.field.split(" or ")
        held, default = _type_of(row.holds), ... if row.default == "required" else json.loads(row.default or "null")
        said = Field(default, alias=alias, description=row.meaning or None)
        fields[snake(alias) + "_" * iskeyword(alias)] = held if row.default or held is Any else held | None, said
        also |= dict.fromkeys(others, alias)
    made = create_model(name, __base__=_BASES[table][whole.holds], __doc__=whole.meaning, **fields)
    made.also = also
    return made


def control_body(name: str) -> type[Body] | None:
    """The body or query of a name in the table; None for no name. Raises ``KeyError`` for an unknown one."""
    return _body("control_bodies", name) if name else None
