"""Steps on the calendar (published facts, 10, Subscriptions)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.calendar import Interval, later
from mockserver.domain.clock import DAY, LATEST, datetime_of, iso, parse_instant


def steps(anchor: str, interval: Interval, *counts: int) -> list[str]:
    found = [later(parse_instant(anchor), interval, count) for count in counts]
    return [iso(instant)[:16] for instant in found if instant is not None]


def test_days_and_weeks_are_of_one_length() -> None:
    assert steps("2031-02-27T10:30:00Z", Interval.DAY, 0, 1, 2) == [
        "2031-02-27T10:30", "2031-02-28T10:30", "2031-03-01T10:30",
    ]  # fmt: skip
    assert steps("2031-12-29", Interval.WEEK, 1, 53) == ["2032-01-05T00:00", "2033-01-03T00:00"]


def test_month_ends_do_not_drift() -> None:
    assert steps("2031-01-31T08:00:00Z", Interval.MONTH, *range(14)) == [
        "2031-01-31T08:00", "2031-02-28T08:00", "2031-03-31T08:00", "2031-04-30T08:00", "2031-05-31T08:00",
        "2031-06-30T08:00", "2031-07-31T08:00", "2031-08-31T08:00", "2031-09-30T08:00", "2031-10-31T08:00",
        "2031-11-30T08:00", "2031-12-31T08:00", "2032-01-31T08:00", "2032-02-29T08:00",
    ]  # fmt: skip


def test_the_leap_day_comes_back() -> None:
    assert steps("2032-02-29", Interval.YEAR, 1, 3, 4) == ["2033-02-28T00:00", "2035-02-28T00:00", "2036-02-29T00:00"]


@pytest.mark.parametrize("interval", list(Interval))
def test_nothing_comes_after_the_calendar(interval: Interval) -> None:
    assert later(parse_instant("9999-12-31T23:00:00Z"), interval, 1) is None
    assert later(LATEST, interval, 0) == LATEST


@given(
    st.integers(min_value=0, max_value=100_000 * DAY), st.sampled_from(Interval), st.integers(min_value=0, max_value=60)
)
def test_steps_grow_and_keep_the_time_of_day(anchor: int, interval: Interval, count: int) -> None:
    here, there = later(anchor, interval, count), later(anchor, interval, count + 1)
    assert here is not None
    assert there is not None
    assert here < there
    assert here % DAY == there % DAY == anchor % DAY
    assert datetime_of(there).day <= datetime_of(anchor).day or interval in (Interval.DAY, Interval.WEEK)
