"""Date-times as clients send them: every form of the published ones (published facts, 1.3, 5.2).

Each client library writes a date as its language does by itself: ISO 8601 with more or fewer digits
of a second, .NET's with a blank, Java's ``toString``, milliseconds since 1970. The service reads
them all, so a client that is right in production must not fail here. What none of them writes is
refused, rather than guessed at.
"""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from mockserver.domain.clock import (
    EARLIEST,
    HOUR,
    LATEST,
    MILLISECOND,
    MINUTE,
    SECOND,
    Instant,
    Micros,
    instant_of,
)
from mockserver.domain.record import read_table

_LONGEST_SHOWN = 40
_ALLOWED = "wanted an ISO 8601 date-time such as 2031-03-01T18:00:00Z, or milliseconds since 1970"
_TIME = r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})"
_ZONE_OFFSET = r"[+-]\d{2}(?::?\d{2})?"

_ISO = (
    # One client writes a blank after the hour; a plus sign that was not escaped in a query arrives
    # as a blank.
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
    r"(?:[Tt ](?P<hour>\d{2}): "
    r"?(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    rf"(?: ?(?P<zone>[Zz]|UTC|GMT|{_ZONE_OFFSET})|(?P<plus> \d{{2}}:?\d{{2}}))?)?"
)
_BASIC = (
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
    r"(?:[Tt](?P<hour>\d{2})(?P<minute>\d{2})(?:(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    rf"(?P<zone>[Zz]|{_ZONE_OFFSET})?)?"
)
_JAVA = (
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) (?P<day>\d{1,2}) "
    rf"{_TIME} (?P<zone>[A-Z]{{1,5}}|(?:GMT|UTC)?{_ZONE_OFFSET}) (?P<year>\d{{4}})"
)
_EPOCH = r"-?\d{11,}"
"""Milliseconds: from 11 digits on, as eight may be a day without dashes."""

_CARD_LIKE = r"\d(?:[ -]?\d){11,}"

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# Names that a Java runtime prints, in minutes east of UTC: RFC 822's, and those that mean one
# offset only. Java itself takes IST for India and BST for Britain.
_ZONES = dict(
    read_table("zone_names", lambda name, minutes_east: (name, int(minutes_east) * MINUTE))
)


def read_moment(value: object) -> Instant:
    """The instant that ``value`` names: no zone means UTC, a date alone its first moment; digits
    after the seventh are cut.

    Takes ISO 8601 text (``T`` or a blank, up to 9 digits of fraction, any zone form), the .NET
    query form with a blank after the hour, whole milliseconds since 1970 as a number or as a text
    of 11 digits or more, and Java's ``Tue Nov 14 22:13:20 UTC 2023``. Raises ``ValueError`` with
    what was got and what is allowed, also beyond the years 1 to 9999.
    """
    match value:
        case str():
            return _read_text(value)
        case int() if type(value) is not bool:
            return _within_bounds(value * MILLISECOND)
        case Decimal() if (
            value.is_finite() and value.adjusted() < 18 and value == value.to_integral_value()
        ):
            return _within_bounds(int(value) * MILLISECOND)
        case _:
            kinds = {
                bool: "a boolean",
                Decimal: "a number that is not whole or too large",
                type(None): "null",
            }
            raise ValueError(f"got {kinds.get(type(value), 'a value of another type')}, {_ALLOWED}")


def has_blank_for_plus(text: str) -> bool:
    """Whether a date-time has a blank where the plus sign of its zone belongs."""
    found = re.fullmatch(_ISO, text.strip(), re.ASCII)
    return found is not None and found["plus"] is not None


def _read_text(text: str) -> Instant:
    """The instant that a text names in one of the forms above. Raises ``ValueError``."""
    bare = text.strip()
    if re.fullmatch(_EPOCH, bare, re.ASCII):
        # To read a number of a million digits takes minutes; one of 19 is beyond all bounds anyway.
        milliseconds = int(bare) if len(bare) <= 18 else LATEST
        return _within_bounds(milliseconds * MILLISECOND)
    part = _parts_of(bare)
    if part is None:
        raise ValueError(f"got {_quoted(bare)}, {_ALLOWED}")
    # Seven digits, as .NET has them: microseconds and a tenth of one.
    fraction = (part.get("fraction") or "").ljust(7, "0")
    try:
        local = datetime(
            year=int(part["year"]),
            month=_month(part["month"]),
            day=int(part["day"]),
            hour=int(part["hour"] or 0),
            minute=int(part["minute"] or 0),
            second=int(part["second"] or 0),
            microsecond=int(fraction[:6]),
            tzinfo=UTC,
        )
        # A plus sign that a query did not escape has come as a blank.
        unescaped_zone = (part.get("plus") or "").replace(" ", "+", 1)
        offset = _offset(part["zone"] or unescaped_zone)
    except ValueError as error:
        raise ValueError(f"got {_quoted(bare)} ({error}), {_ALLOWED}") from None
    return _within_bounds(instant_of(local) - offset, int(fraction[6]))


def _parts_of(text: str) -> dict[str, Any] | None:
    """The parts of a date-time by their names; None of a text in none of the forms."""
    for form in (_ISO, _BASIC, _JAVA):
        found = re.fullmatch(form, text, re.ASCII)
        if found is not None:
            return found.groupdict()
    return None


def _month(text: str) -> int:
    """The number of a month; 0, which ``datetime`` refuses, for a word that names none."""
    if not text.isalpha():
        return int(text)
    return _MONTHS.index(text) + 1 if text in _MONTHS else 0


def _offset(zone: str) -> Micros:
    """Microseconds east of UTC. Raises ``ValueError`` for a name not in the table and an offset of
    a day or more."""
    name = zone.strip().upper()
    if not name:
        return 0
    if name in _ZONES:
        return _ZONES[name]
    digits = name.removeprefix("GMT").removeprefix("UTC")
    if digits[0] not in "+-":
        raise ValueError("an unknown time zone: use UTC or an offset such as GMT+10:00")
    hours, minutes = int(digits[1:3]), int(digits[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("an offset is less than 24 hours")
    length = hours * HOUR + minutes * MINUTE
    return -length if digits[0] == "-" else length


def _within_bounds(instant: Micros, tenths: int = 0) -> Instant:
    """An instant with its tenths of a microsecond. Raises ``ValueError`` where no calendar has
    it."""
    if not EARLIEST <= instant < LATEST + SECOND:
        raise ValueError(f"got a moment outside the years 1 to 9999, {_ALLOWED}")
    return Instant(instant, tenths)


def _quoted(text: str) -> str:
    """The text for a refusal: cut, and without what may be a card number in the wrong place."""
    shown = re.sub(_CARD_LIKE, "...", text)[:_LONGEST_SHOWN]
    return f"'{shown}'"
