"""Steps on the calendar: days, weeks, months and years from an anchor, in UTC.

A month or a year later is the same day of the month at the same time, or the last day of a month that is too short;
every step is counted from the anchor, so that a month-end never drifts (31 January, 28 February, 31 March).
Source: published facts, 10 (Subscriptions).
"""

from __future__ import annotations

from calendar import monthrange
from datetime import MAXYEAR
from enum import StrEnum

from mockserver.domain.clock import DAY, HOUR, LATEST, Micros, datetime_of, instant_of


class Interval(StrEnum):
    """Between two payments; the order gives the index (published facts, 3)."""

    DAY = "Day"
    WEEK = "Week"
    MONTH = "Month"
    YEAR = "Year"


class RetryInterval(StrEnum):
    """Between two tries of one payment; the order gives the index (published facts, 3)."""

    HOUR = "Hour"
    DAY = "Day"


_MONTHS = 12
_LENGTHS: dict[Interval, Micros] = {Interval.DAY: DAY, Interval.WEEK: 7 * DAY}
_MONTHS_OF: dict[Interval, int] = {Interval.MONTH: 1, Interval.YEAR: _MONTHS}
RETRY_LENGTHS: dict[RetryInterval, Micros] = {RetryInterval.HOUR: HOUR, RetryInterval.DAY: DAY}


def later(anchor: Micros, interval: Interval, count: int) -> Micros | None:
    """``count`` intervals (0 or more) after the anchor; None beyond the year 9999."""
    months = _MONTHS_OF.get(interval)
    instant = anchor + _LENGTHS[interval] * count if months is None else _months_later(anchor, months * count)
    return instant if instant is not None and instant <= LATEST else None


def _months_later(anchor: Micros, count: int) -> Micros | None:
    moment = datetime_of(anchor)
    years, month = divmod(moment.month - 1 + count, _MONTHS)
    year = moment.year + years
    if year > MAXYEAR:
        return None
    day = min(moment.day, monthrange(year, month + 1)[1])
    return instant_of(moment.replace(year=year, month=month + 1, day=day))
