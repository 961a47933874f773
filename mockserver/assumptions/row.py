"""What a row of the assumption table is, and how its values are read, bounded and shown."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Generic, TypeVar

from mockserver.domain.clock import Micros, duration_text, parse_duration, parse_instant
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.money import currency
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record

T = TypeVar("T")


class Profile(StrEnum):
    """Which voice the sandbox speaks in."""

    DOCUMENTED = "documented"
    SDK = "sdk"


@record
class ValueKind(Generic[T]):
    """How a value of a row is read from a file or a call, shown again, and described."""

    allowed: str
    read: Callable[[object], T]
    show: Callable[[T], object]


@record
class Assumption(Generic[T]):
    """One settled question. ``evidence`` names the fact that the value rests on."""

    key: str
    question: str
    kind: ValueKind[T]
    documented: T
    sdk: T
    evidence: str

    def value(self, profile: Profile) -> T:
        """The value in a profile."""
        return self.sdk if profile is Profile.SDK else self.documented


def choice(*words: str) -> ValueKind[str]:
    """One of some words, in any letter case; of one word: a behaviour that is settled and cannot be changed."""
    by_fold = {word.lower(): word for word in words}

    def read(value: object) -> str:
        found = by_fold.get(value.lower()) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"got '{value}', allowed: {', '.join(words)}{nearest(str(value), words)}")
        return found

    return ValueKind(" | ".join(words), read, str)


def _read_duration(value: object) -> Micros:
    if isinstance(value, int) and not isinstance(value, bool) and value == 0:
        return 0
    return parse_duration(str(value))


def _read_span(value: object) -> tuple[Micros, Micros]:
    low, _, high = str(value).partition("..")
    first = _read_duration(0 if low.strip() == "0" else low)
    last = _read_duration(high) if high else first
    if last < first:
        raise ValueError(f"got '{value}', wanted the shorter time first, such as 30ms..80ms")
    return first, last


def _read_number(value: object) -> Decimal:
    number = number_of(str(value))
    if number is None or number < 0:
        raise ValueError(f"got '{value}', wanted a number of 0 or more")
    return number


def whole(low: int, high: int) -> ValueKind[int]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        number = whole_of(value, low, high)
        if number is None:
            raise ValueError(f"got '{value}', wanted a whole number from {low} to {high}")
        return number

    return ValueKind(f"{low} to {high}", read, int)


def _read_flow(value: object) -> tuple[Micros, Micros, Micros]:
    parts = [_read_duration(0 if part == "0" else part) for part in str(value).split()]
    if len(parts) != 3 or parts[0] > parts[1]:
        raise ValueError(f"got '{value}', wanted three durations, the second no shorter than the first")
    return parts[0], parts[1], parts[2]


def _read_pauses(value: object) -> tuple[Micros, ...]:
    if str(value).lower() == "never":
        return ()
    pauses = tuple(_read_duration(0 if part == "0" else part) for part in str(value).split())
    if not 1 <= len(pauses) <= 20:
        raise ValueError(f"got '{value}', wanted never, or 1 to 20 durations such as 10s 1m 10m")
    return pauses


def _show_span(span: tuple[Micros, Micros]) -> str:
    return duration_text(span[0]) if span[0] == span[1] else f"{duration_text(span[0])}..{duration_text(span[1])}"


def _read_text(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"got '{value}', wanted a text of printable characters")
    return value


def _read_currency(value: object) -> str:
    try:
        return currency(str(value)).code
    except Invalid as refused:
        raise ValueError((refused.details or {})["Currency"]) from None


def _read_date(value: object) -> str:
    parse_instant(str(value))
    return str(value)


DURATION: ValueKind[Micros] = ValueKind("a duration, such as 5m", _read_duration, duration_text)
DATE: ValueKind[str] = ValueKind("an ISO 8601 date-time", _read_date, str)
SPAN: ValueKind[tuple[Micros, Micros]] = ValueKind("a duration or a range, such as 30ms..80ms", _read_span, _show_span)
AMOUNT: ValueKind[Decimal] = ValueKind("a number of 0 or more", _read_number, lambda number: format(number, "f"))
AMOUNT_OR_UNIT: ValueKind[Decimal | None] = ValueKind(
    "smallest_unit, or a number of 0 or more",
    lambda given: None if str(given).lower() == "smallest_unit" else _read_number(given),
    lambda number: "smallest_unit" if number is None else format(number, "f"),
)
CURRENCY: ValueKind[str] = ValueKind("an ISO 4217 code", _read_currency, str)
CURRENCY_OR_PROVIDER: ValueKind[str] = ValueKind(
    "provider, or an ISO 4217 code",
    lambda given: "provider" if str(given).lower() == "provider" else _read_currency(given),
    str,
)
FLOW: ValueKind[tuple[Micros, Micros, Micros]] = ValueKind(
    "three durations: until CREATED, until IN_PROGRESS, and for each row, such as 50ms 100ms 2ms",
    _read_flow,
    lambda flow: " ".join(duration_text(part) for part in flow),
)
PAUSES: ValueKind[tuple[Micros, ...]] = ValueKind(
    "never, or durations such as 10s 1m 10m",
    _read_pauses,
    lambda pauses: " ".join(duration_text(pause) for pause in pauses) or "never",
)
TEXT: ValueKind[str] = ValueKind("a text", _read_text, str)
