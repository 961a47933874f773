"""Kinds of single values in a scenario file: how each is read, what is allowed, and how the schema describes it.

Every reader raises ``ValueError`` with what was got and what is allowed.
"""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from mockserver.domain.clock import DAY, HOUR, MINUTE, SECOND, Micros, Zone, parse_duration, parse_instant, zone
from mockserver.domain.reading import number_of
from mockserver.scenario.matching import shown

N = TypeVar("N", int, Decimal)

_TIME_OF_DAY = r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?"
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_DURATION_PATTERN = r"^\s*([0-9]+(\.[0-9]+)?\s*(us|ms|s|m|h|d|w)\s*)+$"


def _text(value: object, wanted: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"got {shown(value)}, wanted {wanted}")
    return value


def read_duration(value: object) -> Micros:
    """A duration such as 800ms or 1h30m; 0 is allowed."""
    if value == 0 and not isinstance(value, bool):
        return 0
    return parse_duration(_text(value, "a duration with its unit, such as 800ms, 10s or 2d"))


def read_shift(value: object) -> Micros:
    """A duration, with a minus for one into the past: -10m, 5s."""
    if isinstance(value, str) and value.startswith("-"):
        return -read_duration(value[1:])
    return read_duration(value)


def read_instant(value: object) -> Micros:
    """An ISO 8601 date or date-time."""
    return parse_instant(_text(value, "an ISO 8601 date-time such as 2031-03-01T18:00:00Z"))


def read_point(value: object) -> tuple[Micros, bool]:
    """An instant, or a time of day (then True) in microseconds after midnight."""
    if isinstance(value, str) and (found := re.fullmatch(_TIME_OF_DAY, value.strip())):
        hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return hours * HOUR + minutes * MINUTE + seconds * SECOND, True
    try:
        return read_instant(value), False
    except ValueError:
        wanted = "a time of day such as 18:05 or a date-time such as 2031-03-01T18:05:00Z"
        midnight = "; midnight is 00:00" if str(value).startswith("24:") else ""
        raise ValueError(f"got {shown(value)}, wanted {wanted}{midnight}") from None


def read_number(value: object) -> Decimal:
    """A number of 0 or more, digits kept."""
    number = number_of(value)
    if number is None or not number.is_finite() or number < 0 or number.adjusted() > 15:
        raise ValueError(f"got {shown(value)}, wanted a number of 0 or more")
    return number


def read_id(value: object) -> str:
    """A name of up to 100 letters, digits, dots, hyphens and underscores."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not re.fullmatch(_ID, value):
        raise ValueError(
            f"got {shown(value)}, wanted a name of letters, digits, dots, hyphens and underscores (at most 100)"
        )
    return value


def read_text(value: object) -> str:
    """A text; a plain number counts as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value, "a text")


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        hint = " (yes and no are texts here)" if str(value).lower() in {"yes", "no", "on", "off"} else ""
        raise ValueError(f"got {shown(value)}, wanted true or false{hint}")
    return value


def read_zone(value: object) -> Zone | None:
    return None if value is None else zone(_text(value, "a time zone such as Australia/Sydney"))


def read_switch(value: object) -> bool:
    """``true`` or ``{}``: something that is simply switched on."""
    if value is True or value == {}:
        return True
    raise ValueError(f"got {shown(value)}, wanted {{}} or true (leave the key out to switch it off)")


def _only(read: Callable[[object], N], holds: Callable[[N], bool], wanted: str) -> BeforeValidator:
    """What a reader gives, if it lies within bounds."""

    def checked(value: object) -> N:
        found = read(value)
        if not holds(found):
            raise ValueError(f"got {shown(value)}, wanted {wanted}")
        return found

    return BeforeValidator(checked)


def whole(low: int, high: int) -> BeforeValidator:
    """A whole number between two bounds, both included."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"got {shown(value)}, wanted a whole number from {low} to {high}")
        return value

    return BeforeValidator(read, json_schema_input_type=Annotated[int, Field(ge=low, le=high)])


def folded(words: Iterable[str], *others: str) -> str:
    """The pattern of some words in any letter case, which JSON Schema has no flag for, and of others."""
    spelt = ["".join(f"[{one.upper()}{one.lower()}]" if one.isalpha() else one for one in word) for word in words]
    return f"^({'|'.join((*spelt, *others))})$"


# 0 needs no unit. JSON Schema compares only texts with a pattern, and only numbers with bounds.
DURATION_SCHEMA: dict[str, Any] = {
    **{"type": ["string", "integer"], "minimum": 0, "maximum": 0},
    "pattern": _DURATION_PATTERN,
    "description": "a duration: 800ms, 10s, 5m, 1h30m, 2d, 1w",
}
PERIOD_SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": f"^(?=.*[1-9]){_DURATION_PATTERN[1:]}",
    "description": DURATION_SCHEMA["description"],
}

_DATE = r"[0-9]{4}-?([0-9]{2}-?[0-9]{2}|W[0-9]{2}(-?[1-7])?)([^0-9][0-9].*)?"
_INSTANT_SCHEMA: dict[str, Any] = {"type": "string", "format": "date-time", "pattern": rf"^\s*{_DATE}$"}
POINT_SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": rf"^\s*({_TIME_OF_DAY.replace('?:', '')}\s*|{_DATE})$",
    "description": "a time of day (18:05) or an ISO 8601 date-time",
}
ZONE_SCHEMA: dict[str, Any] = {
    "type": ["string", "null"],
    "pattern": "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
    "examples": ["Australia/Sydney"],
}
_NUMBER_SCHEMA: dict[str, Any] = {
    "type": ["number", "string"],
    "minimum": 0,
    "pattern": r"^\s*\+?[0-9]+(\.[0-9]+)?\s*$",
}
_SWITCH_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "object", "maxProperties": 0}, {"const": True}]}

Duration = Annotated[Micros, BeforeValidator(read_duration), WithJsonSchema(DURATION_SCHEMA)]
Period = Annotated[
    Micros,
    _only(read_duration, lambda period: period > 0, "a duration above 0, such as 1s or 1d"),
    WithJsonSchema(PERIOD_SCHEMA),
]
ZoneName = Annotated[Zone | None, PlainValidator(read_zone), WithJsonSchema(ZONE_SCHEMA)]
LAST_MOVE: Micros = -1
"""A lag that ends just before the last change."""

Lag = Annotated[
    Micros,
    # What happened meanwhile is kept to be taken back.
    _only(
        lambda lag: LAST_MOVE if lag == "last_move" else read_duration(lag),
        lambda lag: lag == LAST_MOVE or 0 < lag <= DAY,
        "a duration above 0 and at most 1d, such as 15s, or last_move",
    ),
    WithJsonSchema({"anyOf": [{"const": "last_move"}, PERIOD_SCHEMA]}),
]
Shift = Annotated[
    Micros,
    BeforeValidator(read_shift),
    WithJsonSchema(
        {**DURATION_SCHEMA, "pattern": "^-?" + _DURATION_PATTERN[1:], "description": "-10m: ago; 10m: ahead"}
    ),
]
Instant = Annotated[Micros, BeforeValidator(read_instant), WithJsonSchema(_INSTANT_SCHEMA)]
Point = Annotated[tuple[Micros, bool], BeforeValidator(read_point), WithJsonSchema(POINT_SCHEMA)]
Number = Annotated[Decimal, BeforeValidator(read_number), WithJsonSchema(_NUMBER_SCHEMA)]
Share = Annotated[
    Decimal,
    _only(number_of, lambda share: share is not None and 0 <= share <= 1, "a share from 0 to 1, such as 0.2"),
    WithJsonSchema({**_NUMBER_SCHEMA, "maximum": 1, "pattern": r"^\s*\+?(0+(\.[0-9]+)?|0*1(\.0+)?)\s*$"}),
]
Positive = Annotated[
    Decimal,
    _only(read_number, lambda number: number > 0, "a number above 0"),
    WithJsonSchema(
        {
            "type": ["number", "string"],
            "exclusiveMinimum": 0,
            "pattern": rf"^(?=.*[1-9]){_NUMBER_SCHEMA['pattern'][1:]}",
        }
    ),
]
Id = Annotated[
    str, BeforeValidator(read_id), WithJsonSchema({"type": ["string", "integer"], "minimum": 0, "pattern": f"^{_ID}$"})
]
Text = Annotated[str, BeforeValidator(read_text), WithJsonSchema({"type": ["string", "integer"]})]
Flag = Annotated[bool, BeforeValidator(read_flag), WithJsonSchema({"type": "boolean"})]
Switch = Annotated[bool, BeforeValidator(read_switch), WithJsonSchema(_SWITCH_SCHEMA)]
Swap = Annotated[
    bool | Micros,
    _only(
        lambda value: value if isinstance(value, bool) else read_duration(value),
        lambda length: isinstance(length, bool) or length > 0,
        "true, false or a duration above 0, such as 2s",
    ),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, PERIOD_SCHEMA]}),
]
Count = Annotated[int, whole(1, 1_000_000_000)]
