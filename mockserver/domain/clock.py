"""The clock of one sandbox, and time zones. Instants and durations are ``int`` microseconds;
instants count from the Unix epoch, UTC. A wall time is microseconds as an instant is, read off the
clocks of a place as though they showed UTC (IANA time zone database).

Real time is an argument: the clock is a function from the machine's time to the sandbox's, and only
ever goes forward. It is anchored where it last changed (``virtual`` when the machine said
``real``), and what it says since is counted from there, so that no error adds up.

Whole microseconds, because a run repeats byte for byte only if nothing is rounded; an ``Instant``
has a tenth more, because the published form of a date-time has seven digits.
"""

from __future__ import annotations

import re
from dataclasses import field
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, TypeAlias

from mockserver.domain.constraints import Within
from mockserver.domain.errors import invalid, nearest
from mockserver.domain.record import mutable, record

Micros: TypeAlias = int

MILLISECOND: Micros = 1_000
SECOND: Micros = 1_000_000
MINUTE: Micros = 60 * SECOND
HOUR: Micros = 60 * MINUTE
DAY: Micros = 24 * HOUR

EARLIEST: Micros = -62_135_596_800 * SECOND
"""1 January of the year 1: no date-time lies before it."""

LATEST: Micros = 253_402_300_799 * SECOND
"""The last second of the year 9999: no instant of a sandbox lies beyond it."""

FASTEST = 1_000_000
"""The highest rate of a clock in mode ``fast``."""

FAST = 60
"""The rate of a clock in mode ``fast`` when none is given: a minute of sandbox time in a second."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: dict[str, Micros] = {
    "us": 1,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
    "d": DAY,
    "w": 7 * DAY,
}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|w)")
_DURATION = re.compile(r"\s*(?:\d{1,12}(?:\.\d{1,6})?\s*(?:us|ms|s|m|h|d|w)\s*)+")


class Instant(int):
    """An instant as a caller named it: whole microseconds, and the ``tenths`` of one (0 to 9) that
    the published form has room for. What is counted from it starts at the microsecond."""

    def __new__(cls, micros: Micros, tenths: int = 0) -> Instant:
        """The instant of both."""
        instant = super().__new__(cls, micros)
        instant.tenths = tenths
        return instant

    tenths: int


class ClockMode(StrEnum):
    """How sandbox time follows the machine's: with it, not at all, or at a multiple of it."""

    REAL = "real"
    MANUAL = "manual"
    FAST = "fast"


@mutable
class Clock:
    """Sandbox time: ``virtual`` when the machine said ``real``, and from there on by ``mode`` and
    ``rate``.

    ``holds`` counts the holds that stop time, whatever the mode.
    """

    mode: ClockMode
    virtual: Micros
    real: Micros
    rate: Annotated[int, Within(1, FASTEST)] = 1
    holds: int = field(default=0, init=False)

    def read(self, real: Micros) -> Micros:
        """Sandbox time when the machine's is ``real``; never earlier than it was when last
        anchored, even if the machine's clock was put back."""
        if self.holds or self.mode is ClockMode.MANUAL or real <= self.real:
            return self.virtual
        elapsed = real - self.real
        if self.mode is ClockMode.FAST:
            elapsed *= self.rate
        return min(self.virtual + elapsed, LATEST)

    def check(self, instant: Micros, real: Micros, field: str = "To") -> None:
        """Raises ``Invalid`` (90), naming the ``field``, when the clock cannot be moved to
        ``instant``: that lies in its past, or beyond the year 9999."""
        now = self.read(real)
        if instant < now:
            raise invalid(
                {field: f"the clock stands at {iso(now)} and never goes back; got {iso(instant)}"}
            )
        if instant > LATEST:
            raise invalid({field: f"the clock ends at {iso(LATEST)}"})

    def move_to(self, instant: Micros, real: Micros) -> None:
        """Anchor the clock at ``instant``. Raises ``Invalid`` (90) as ``check``."""
        self.check(instant, real)
        self.virtual, self.real = instant, real

    def hold(self, instant: Micros) -> None:
        """Stand still at ``instant`` until every hold is released: while webhooks of an instant are
        sent, time must not go on for what their receiver asks."""
        self.virtual = instant
        self.holds += 1

    def release(self, real: Micros) -> None:
        """Continue from here once no hold is left."""
        self.holds -= 1
        self.real = real

    def run(self, mode: ClockMode, rate: int, real: Micros) -> None:
        """Change how time runs from now on; ``rate`` counts in mode ``fast`` only. The clock is
        anchored here, so that the new rate does not count for the time that has passed. Raises
        ``Invalid`` (90) for a rate outside 1 to 1,000,000."""
        if not 1 <= rate <= FASTEST:
            raise invalid({"Rate": f"got {rate}, wanted a whole number from 1 to {FASTEST}"})
        self.virtual, self.real = self.read(real), real
        self.mode, self.rate = mode, rate


def real_due(clock: Clock, at: Micros) -> Micros | None:
    """When the machine's clock will say that an instant of sandbox time has come; None when it
    never will by itself."""
    wait = at - clock.virtual
    if wait <= 0:
        return clock.real
    if clock.holds or clock.mode is ClockMode.MANUAL:
        return None
    if clock.mode is ClockMode.FAST:
        # Rounded up: a moment earlier it has not come.
        wait = -(-wait // clock.rate)
    return clock.real + wait


def instant_of(moment: datetime) -> Micros:
    """Microseconds since the epoch of an aware date-time, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def datetime_of(instant: Micros) -> datetime:
    """The aware UTC date-time of an instant."""
    return _EPOCH + timedelta(microseconds=instant)


def iso(instant: Micros) -> str:
    """``YYYY-MM-DDTHH:MM:SS.fffffffZ``, the published form (published facts, 5.2)."""
    second, micros = divmod(instant, SECOND)
    tenths = instant.tenths if isinstance(instant, Instant) else 0
    return f"{_second_text(second)}{micros:06d}{tenths}Z"


@lru_cache(maxsize=64)
def _second_text(second: int) -> str:
    """``YYYY-MM-DDTHH:MM:SS.`` of a whole second."""
    return datetime_of(second * SECOND).isoformat()[:19] + "."


def parse_instant(text: str) -> Micros:
    """An ISO 8601 date or date-time; no zone means UTC. Raises ``ValueError`` with what was got and
    what is allowed."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"got '{text[:40]}', wanted an ISO 8601 date-time such as 2031-03-01T18:00:00Z"
        ) from None
    instant = instant_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    # An offset can move the first and last hours of the calendar out of it.
    if not EARLIEST <= instant < LATEST + SECOND:
        raise ValueError(f"got '{text[:40]}', wanted a date-time of the years 1 to 9999 in UTC")
    return instant


def parse_duration(text: str) -> Micros:
    """``800ms``, ``10s``, ``1h30m``, ``2d``: zero or more. Raises ``ValueError`` on anything
    else."""
    if not _DURATION.fullmatch(text):
        least = "of zero or more, " if text.startswith("-") else ""
        raise ValueError(
            f"got '{text[:40]}', wanted a duration {least}such as 800ms, 10s, 5m, 1h30m, 2d or 1w"
        )
    length = sum(int(Decimal(count) * _UNITS[unit]) for count, unit in _DURATION_PART.findall(text))
    if length > LATEST:
        raise ValueError(f"got '{text[:40]}', wanted a duration of less than 8000 years")
    return length


def duration_text(length: Micros) -> str:
    """The shortest text that ``parse_duration`` reads back as ``length``."""
    if length == 0:
        return "0s"
    parts: list[str] = []
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, length = divmod(length, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


_FIRST, _LAST = EARLIEST + 2 * DAY, LATEST - 2 * DAY
"""Near the ends of the calendar the clocks of every place show UTC: no wall time of them could be
written down."""


@record
class Zone:
    """A time zone by its name; without ``info`` it is UTC."""

    name: str = "UTC"
    info: tzinfo | None = None

    def wall(self, instant: Micros) -> Micros:
        """What the clocks show at an instant."""
        if self.info is None or not _FIRST <= instant <= _LAST:
            return instant
        return instant_of(datetime_of(instant).astimezone(self.info).replace(tzinfo=UTC))

    def instant(self, wall: Micros) -> Micros:
        """The instant at which the clocks first show a time; one that they leave out comes so much
        after the change as it lies after the last time before it."""
        if self.info is None or not _FIRST <= wall <= _LAST:
            return wall
        return instant_of(datetime_of(wall).replace(tzinfo=self.info).astimezone(UTC))


UTC_ZONE = Zone()


def zone(name: str) -> Zone:
    """The zone of a name such as Australia/Sydney. Raises ``ValueError`` with the nearest known
    name."""
    if name == "UTC":
        return UTC_ZONE
    # Read here: only the few files that name a zone pay for it.
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return Zone(name, ZoneInfo(name))
    except (KeyError, ValueError, OSError):
        hint = nearest(name[:60], sorted(available_timezones())) or ", such as Australia/Sydney"
        raise ValueError(
            f"got '{name[:60]}', wanted a time zone of the IANA database{hint}"
        ) from None
