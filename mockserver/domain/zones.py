"""Time zones: wall-clock times of a place, across its changes of the clock (IANA time zone database).

A wall time is microseconds as an instant is, read off the clocks of the place as though they showed UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from mockserver.domain.clock import DAY, EARLIEST, LATEST, SECOND, Micros, datetime_of, instant_of
from mockserver.domain.errors import nearest
from mockserver.domain.record import record

_FIRST, _LAST = EARLIEST + 2 * DAY, LATEST - 2 * DAY
"""Near the ends of the calendar the clocks of every place show UTC: no wall time of them could be written down."""


@record
class Zone:
    """A time zone by its name; without ``info`` it is UTC."""

    name: str = "UTC"
    info: tzinfo | None = None

    def wall(self, instant: Micros) -> Micros:
        """What the clocks show at an instant."""
        if self.info is None or not _FIRST <= instant <= _LAST:
            return instant
        return instant + _offset(datetime_of(instant).astimezone(self.info))

    def instant(self, wall: Micros) -> Micros:
        """The instant at which the clocks first show a time; one that they leave out comes so much after the change as
        it lies after the last time before it."""
        if self.info is None or not _FIRST <= wall <= _LAST:
            return wall
        return instant_of(datetime_of(wall).replace(tzinfo=self.info).astimezone(UTC))


UTC_ZONE = Zone()


def _offset(moment: datetime) -> Micros:
    found = moment.utcoffset()
    return 0 if found is None else (found.days * 86_400 + found.seconds) * SECOND


def zone(name: str) -> Zone:
    """The zone of a name such as Australia/Sydney. Raises ``ValueError`` with the nearest known name."""
    # Of the few files that name a zone.
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return Zone(name, ZoneInfo(name)) if name != "UTC" else UTC_ZONE
    except (KeyError, ValueError, OSError):
        hint = nearest(name[:60], sorted(available_timezones())) or ", such as Australia/Sydney"
        raise ValueError(f"got '{name[:60]}', wanted a time zone of the IANA database{hint}") from None
