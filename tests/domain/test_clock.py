"""The sandbox clock, instants and durations."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.clock import (
    DAY,
    EARLIEST,
    HOUR,
    LATEST,
    MILLISECOND,
    MINUTE,
    SECOND,
    Clock,
    ClockMode,
    datetime_of,
    duration_text,
    instant_of,
    iso,
    parse_duration,
    parse_instant,
)
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid

START = 1_700_000_000 * SECOND
INSTANTS = st.integers(EARLIEST, LATEST)


def clock(mode: ClockMode, rate: int = 1) -> Clock:
    return Clock(mode, virtual=START, real=1000, rate=rate)


@pytest.mark.parametrize(
    ("mode", "rate", "elapsed"),
    [
        (ClockMode.REAL, 1, 50),
        (ClockMode.REAL, 60, 50),
        (ClockMode.MANUAL, 60, 0),
        (ClockMode.FAST, 60, 3000),
    ],
)
def test_how_time_runs_in_each_mode(mode: ClockMode, rate: int, elapsed: int) -> None:
    assert clock(mode, rate).read(1050) == START + elapsed


@pytest.mark.parametrize("mode", ClockMode)
def test_a_machine_clock_that_goes_back_does_not_take_the_sandbox_along(mode: ClockMode) -> None:
    assert clock(mode).read(0) == START


def test_no_clock_runs_beyond_its_end() -> None:
    assert clock(ClockMode.FAST, 1_000_000).read(LATEST) == LATEST


def test_a_move_forward_is_the_new_anchor() -> None:
    moved = clock(ClockMode.REAL)
    moved.move_to(START + DAY, 1050)
    assert moved.read(1050) == START + DAY
    assert moved.read(1060) == START + DAY + 10


def test_a_move_to_the_present_and_to_the_end_is_allowed() -> None:
    moved = clock(ClockMode.MANUAL)
    moved.move_to(START, 1000)
    assert moved.read(1000) == START
    moved.move_to(LATEST, 1000)
    assert moved.read(1000) == LATEST


@pytest.mark.parametrize(
    ("instant", "reason"),
    [
        (START - 1, "the clock stands at 2023-11-14T22:13:20.0000000Z and never goes back"),
        (EARLIEST, "never goes back; got 0001-01-01T00:00:00.0000000Z"),
        (LATEST + 1, "the clock ends at 9999-12-31T23:59:59.0000000Z"),
    ],
)
def test_a_move_back_or_beyond_the_end_is_refused_and_changes_nothing(
    instant: int, reason: str
) -> None:
    moved = clock(ClockMode.MANUAL)
    with pytest.raises(Invalid) as caught:
        moved.move_to(instant, 1000)
    assert caught.value.code is Code.VALIDATION_ERROR
    assert reason in str(caught.value.details)
    assert moved == clock(ClockMode.MANUAL)


def test_a_change_of_mode_does_not_jump() -> None:
    changed = clock(ClockMode.FAST, 10)
    changed.run(ClockMode.REAL, 1, 1100)
    assert changed.read(1100) == START + 1000
    assert changed.read(1105) == START + 1005
    changed.run(ClockMode.MANUAL, 1, 1200)
    assert changed.read(9999) == START + 1100


@given(INSTANTS)
def test_an_instant_survives_the_way_to_a_date_time_and_back(instant: int) -> None:
    assert instant_of(datetime_of(instant)) == instant
    assert parse_instant(iso(instant)) == instant


def test_the_written_form_has_seven_digits_and_a_z() -> None:
    assert iso(START + 46_156) == "2023-11-14T22:13:20.0461560Z"
    assert instant_of(datetime(1970, 1, 1, tzinfo=UTC)) == 0


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2023-11-14T22:13:20Z", START),
        (" 2023-11-14T22:13:20 ", START),
        ("2023-11-15T08:13:20+10:00", START),
        ("2023-11-14T22:13:20.5Z", START + SECOND // 2),
        ("1970-01-02", DAY),
    ],
)
def test_instants_are_read(text: str, instant: int) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2023-02-30",
        "2023-11-14T25:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^got '.*', wanted"):
        parse_instant(text)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0s", 0),
        ("1us", 1),
        ("800ms", 800 * MILLISECOND),
        ("10s", 10 * SECOND),
        ("1.5s", 1_500_000),
        ("5m", 5 * MINUTE),
        ("1h30m", HOUR + 30 * MINUTE),
        ("1h 30m", HOUR + 30 * MINUTE),
        ("2d", 2 * DAY),
        ("1w", 7 * DAY),
        (" 1m500ms ", MINUTE + 500 * MILLISECOND),
    ],
)
def test_durations_are_read(text: str, length: int) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text", ["", "5", "s", "-5s", "5 years", "1e3s", "1.s", "5s!", "999999999999w"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^got '.*', wanted a duration"):
        parse_duration(text)


@given(st.integers(0, 10_000 * DAY))
def test_a_duration_survives_the_way_to_text_and_back(length: int) -> None:
    assert parse_duration(duration_text(length)) == length


@pytest.mark.parametrize(
    ("length", "text"), [(0, "0s"), (90 * MINUTE, "1h30m"), (DAY + 1, "1d1us"), (1500, "1ms500us")]
)
def test_duration_text(length: int, text: str) -> None:
    assert duration_text(length) == text


@pytest.mark.parametrize("rate", [0, -1, 1_000_001])
def test_a_rate_out_of_bounds_is_refused_and_changes_nothing(rate: int) -> None:
    clock = Clock(ClockMode.REAL, 0, 0)
    with pytest.raises(Invalid, match="1 to 1000000"):
        clock.run(ClockMode.FAST, rate, 10)
    assert (clock.mode, clock.rate, clock.virtual) == (ClockMode.REAL, 1, 0)
    clock.run(ClockMode.FAST, 1_000_000, 10)
    assert clock.read(11) == 10 + 1_000_000
