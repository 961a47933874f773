"""Steps on the calendar: days, weeks, months and years from an anchor, in UTC.

A month or a year later is the same day of the month at the same time, or the last day of a month that is too short.
Every step is counted from the anchor, so that a month-end never drifts (31 January, 28 February, 31 March), or each
from the one before (31 January, 28 February, 28 March). Sources: docs/spec/published-facts.md, 10 (Subscriptions);
assumption ``subscription.month_end``.
"""

from __future__ import annotations

import calendar
from datetime import MAXYEAR, datetime
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


_LONGEST_SAFE = 28
"""The day that every month has."""


def later(anchor: Micros, interval: Interval, count: int, *, walks_by: int | None = None) -> Micros | None:
    """``count`` intervals (0 or more) after the anchor; None beyond the year 9999. ``walks_by``: in steps of so many
    intervals, each counted from the one before."""
    months = _MONTHS_OF.get(interval)
    if months is None:
        instant: Micros | None = anchor + _LENGTHS[interval] * count
    else:
        instant = _months_later(anchor, months * count, months * walks_by if walks_by else months * count)
    return instant if instant is not None and instant <= LATEST else None


def _months_later(anchor: Micros, count: int, step: int) -> Micros | None:
    moment = datetime_of(anchor)
    year, month = _month_after(moment, count)
    if year > MAXYEAR:
        return None
    day = moment.day
    for passed in range(step, count + 1, step) if day > _LONGEST_SAFE and step else ():
        day = min(day, calendar.monthrange(*_month_after(moment, passed))[1])
        if day == _LONGEST_SAFE:
            break
    return instant_of(moment.replace(year=year, month=month, day=day))


def _month_after(moment: datetime, count: int) -> tuple[int, int]:
    years, month = divmod(moment.month - 1 + count, _MONTHS)
    return moment.year + years, month + 1
