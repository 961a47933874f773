"""Steps on the calendar (published facts, 10, Subscriptions)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.clock import DAY, LATEST, datetime_of, iso, parse_instant
from mockserver.domain.subscription import Interval, later


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


@pytest.mark.parametrize(
    ("anchor", "interval", "by", "told"),
    [
        ("2031-01-31", Interval.MONTH, 1, ["01-31", "02-28", "03-28", "04-28"]),
        ("2032-01-30", Interval.MONTH, 1, ["01-30", "02-29", "03-29", "04-29"]),
        ("2031-12-31", Interval.MONTH, 6, ["12-31", "06-30", "12-30", "06-30"]),
        ("2031-01-15", Interval.MONTH, 1, ["01-15", "02-15", "03-15", "04-15"]),
        ("2032-02-29", Interval.YEAR, 1, ["02-29", "02-28", "02-28", "02-28"]),
        ("2032-02-29", Interval.YEAR, 4, ["02-29", "02-29", "02-29", "02-29"]),
        ("2031-01-31", Interval.DAY, 2, ["01-31", "02-02", "02-04", "02-06"]),
    ],
)
def test_dates_that_walk_are_counted_from_the_one_before(
    anchor: str, interval: Interval, by: int, told: list[str]
) -> None:
    found = [later(parse_instant(anchor), interval, by * step, walks_by=by) for step in range(4)]
    assert [iso(instant)[5:10] for instant in found if instant is not None] == told


@given(
    st.integers(min_value=0, max_value=20_000 * DAY),
    st.sampled_from([Interval.MONTH, Interval.YEAR]),
    st.integers(min_value=1, max_value=40),
    st.integers(min_value=0, max_value=30),
)
def test_a_walk_is_what_its_steps_are(anchor: int, interval: Interval, by: int, count: int) -> None:
    here: int | None = anchor
    for _ in range(count):
        here = None if here is None else later(here, interval, by)
    assert later(anchor, interval, by * count, walks_by=by) == here


def test_the_leap_day_comes_back() -> None:
    assert steps("2032-02-29", Interval.YEAR, 1, 3, 4) == [
        "2033-02-28T00:00",
        "2035-02-28T00:00",
        "2036-02-29T00:00",
    ]


@pytest.mark.parametrize("interval", list(Interval))
def test_nothing_comes_after_the_calendar(interval: Interval) -> None:
    assert later(parse_instant("9999-12-31T23:00:00Z"), interval, 1) is None
    assert later(LATEST, interval, 0) == LATEST


@given(
    st.integers(min_value=0, max_value=100_000 * DAY),
    st.sampled_from(Interval),
    st.integers(min_value=0, max_value=60),
)
def test_steps_grow_and_keep_the_time_of_day(anchor: int, interval: Interval, count: int) -> None:
    here, there = later(anchor, interval, count), later(anchor, interval, count + 1)
    assert here is not None
    assert there is not None
    assert here < there
    assert here % DAY == there % DAY == anchor % DAY
    assert datetime_of(there).day <= datetime_of(anchor).day or interval in (
        Interval.DAY,
        Interval.WEEK,
    )
