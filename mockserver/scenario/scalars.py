"""Kinds of single values in a scenario file: how each is read, what is allowed, and what a file may
write there.

The reader says what is allowed. The schema for editors, which pydantic makes, has only the types
that a file may write.

Every reader raises ``ValueError`` with what was got and what is allowed.
"""

import re
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, PlainValidator

from mockserver.domain.clock import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Micros,
    Zone,
    parse_duration,
    parse_instant,
    zone,
)
from mockserver.domain.reading import number_of
from mockserver.scenario.values import excerpt

LAST_MOVE: Micros = -1
"""A lag that ends just before the last change."""

_TIME_OF_DAY = r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?"
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_TOO_LARGE = Decimal(10) ** 16
"""No amount of money has so many digits: a number from here on is a slip."""

_DURATION_PATTERN = r"^\s*([0-9]+(\.[0-9]+)?\s*(us|ms|s|m|h|d|w)\s*)+$"


def _text(value: object, wanted: str) -> str:
    """A value that must be a text; ``wanted`` says which."""
    if not isinstance(value, str):
        raise ValueError(f"got {excerpt(value)}, wanted {wanted}")
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


class TimePoint(NamedTuple):
    """A bound of a span of time: an instant, or a time of day in microseconds after midnight."""

    at: Micros
    is_time_of_day: bool


def read_point(value: object) -> TimePoint:
    """A time of day, which comes every day, or an instant. YAML leaves both as texts."""
    if isinstance(value, str):
        time_of_day = re.fullmatch(_TIME_OF_DAY, value.strip())
        if time_of_day is not None:
            hours, minutes, seconds = (int(part or 0) for part in time_of_day.groups())
            after_midnight = hours * HOUR + minutes * MINUTE + seconds * SECOND
            return TimePoint(after_midnight, is_time_of_day=True)
    try:
        return TimePoint(read_instant(value), is_time_of_day=False)
    except ValueError:
        wanted = "a time of day such as 18:05 or a date-time such as 2031-03-01T18:05:00Z"
        midnight = "; midnight is 00:00" if str(value).startswith("24:") else ""
        raise ValueError(f"got {excerpt(value)}, wanted {wanted}{midnight}") from None


def read_number(value: object) -> Decimal:
    """A number of 0 or more, digits kept."""
    number = number_of(value)
    if number is None or not number.is_finite() or not 0 <= number < _TOO_LARGE:
        raise ValueError(f"got {excerpt(value)}, wanted a number of 0 or more")
    return number


def read_id(value: object) -> str:
    """A name of up to 100 letters, digits, dots, hyphens and underscores."""
    # YAML reads ``id: 7`` as a number.
    is_number = isinstance(value, int) and not isinstance(value, bool)
    name = str(value) if is_number else value
    if not isinstance(name, str) or re.fullmatch(_ID, name) is None:
        raise ValueError(
            f"got {excerpt(name)}, wanted a name of letters, digits, dots, hyphens and "
            "underscores (at most 100)"
        )
    return name


def read_text(value: object) -> str:
    """A text; a plain number counts as its digits, as YAML reads ``reference: 42``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value, "a text")


def read_flag(value: object) -> bool:
    """``true`` or ``false``."""
    if isinstance(value, bool):
        return value
    # They are flags in older YAML.
    is_old_flag = str(value).lower() in {"yes", "no", "on", "off"}
    hint = " (yes and no are texts here)" if is_old_flag else ""
    raise ValueError(f"got {excerpt(value)}, wanted true or false{hint}")


def read_zone(value: object) -> Zone | None:
    """A time zone by its name."""
    if value is None:
        return None
    return zone(_text(value, "a time zone such as Australia/Sydney"))


def read_switch(value: object) -> bool:
    """``true`` or ``{}``: something that is simply switched on."""
    if value is True or value == {}:
        return True
    raise ValueError(
        f"got {excerpt(value)}, wanted {{}} or true (leave the key out to switch it off)"
    )


def read_period(value: object) -> Micros:
    """A duration that takes time: counters that began anew every 0 seconds would never count."""
    period = read_duration(value)
    if period <= 0:
        raise ValueError(f"got {excerpt(value)}, wanted a duration above 0, such as 1s or 1d")
    return period


def read_lag(value: object) -> Micros:
    """How far back a read sees: a duration, or the last change. What happened meanwhile is kept to
    be taken back, so it is at most a day."""
    if value == "last_move":
        return LAST_MOVE
    lag = read_duration(value)
    if not 0 < lag <= DAY:
        raise ValueError(
            f"got {excerpt(value)}, wanted a duration above 0 and at most 1d, such as 15s, or "
            "last_move"
        )
    return lag


def read_share(value: object) -> Decimal:
    """A part of a whole, or a probability."""
    share = number_of(value)
    if share is None or not 0 <= share <= 1:
        raise ValueError(f"got {excerpt(value)}, wanted a share from 0 to 1, such as 0.2")
    return share


def read_positive(value: object) -> Decimal:
    """A number above 0."""
    number = read_number(value)
    if number <= 0:
        raise ValueError(f"got {excerpt(value)}, wanted a number above 0")
    return number


def read_swap(value: object) -> bool | Micros:
    """Whether something is swapped, or how long it waits to be."""
    if isinstance(value, bool):
        return value
    length = read_duration(value)
    if length <= 0:
        raise ValueError(
            f"got {excerpt(value)}, wanted true, false or a duration above 0, such as 2s"
        )
    return length


def whole(low: int, high: int) -> BeforeValidator:
    """A whole number between two bounds, both included."""

    def read(value: object) -> int:
        # In Python true is a number, and ``copies: true`` is a slip.
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise ValueError(f"got {excerpt(value)}, wanted a whole number from {low} to {high}")

    return BeforeValidator(read, Annotated[int, Field(ge=low, le=high)])


DurationText = Annotated[
    str, Field(pattern=_DURATION_PATTERN, description="a duration: 800ms, 10s, 5m, 1h30m, 2d, 1w")
]
"""What a file writes for a length of time, as the schema tells editors; readers know more."""

_NUMBER_TEXT = Annotated[str, Field(pattern=r"^\s*\+?[0-9]+(\.[0-9]+)?\s*$")]

# Of each kind: the value that runs, what reads it, and what a file may write there.
Duration = Annotated[Micros, BeforeValidator(read_duration, DurationText | Literal[0])]
Period = Annotated[Micros, BeforeValidator(read_period, DurationText)]
ZoneName = Annotated[
    Zone | None,
    PlainValidator(read_zone, Annotated[str, Field(examples=["Australia/Sydney"])] | None),
]
Lag = Annotated[Micros, BeforeValidator(read_lag, Literal["last_move"] | DurationText)]
_SHIFT_TEXT = Annotated[
    str, Field(pattern="^-?" + _DURATION_PATTERN[1:], description="-10m: ago; 10m: ahead")
]
Shift = Annotated[Micros, BeforeValidator(read_shift, _SHIFT_TEXT | Literal[0])]
Instant = Annotated[
    Micros,
    BeforeValidator(read_instant, Annotated[str, Field(description="an ISO 8601 date-time")]),
]
Point = Annotated[
    TimePoint,
    BeforeValidator(
        read_point,
        Annotated[str, Field(description="a time of day (18:05) or an ISO 8601 date-time")],
    ),
]
Number = Annotated[
    Decimal, BeforeValidator(read_number, Annotated[float, Field(ge=0)] | _NUMBER_TEXT)
]
Share = Annotated[
    Decimal,
    BeforeValidator(read_share, Annotated[float, Field(ge=0, le=1)] | _NUMBER_TEXT),
]
Positive = Annotated[
    Decimal,
    BeforeValidator(read_positive, Annotated[float, Field(gt=0)] | _NUMBER_TEXT),
]
Id = Annotated[
    str,
    BeforeValidator(
        read_id, Annotated[str, Field(pattern=f"^{_ID}$")] | Annotated[int, Field(ge=0)]
    ),
]
Text = Annotated[str, BeforeValidator(read_text, str | int)]
Flag = Annotated[bool, BeforeValidator(read_flag, bool)]
Switch = Annotated[
    bool,
    BeforeValidator(read_switch, Literal[True] | Annotated[dict[str, object], Field(max_length=0)]),
]
Swap = Annotated[bool | Micros, BeforeValidator(read_swap, bool | DurationText)]
Count = Annotated[int, whole(1, 1_000_000_000)]
