"""Date-times on the wire."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.domain.clock import EARLIEST, HOUR, LATEST, MINUTE, SECOND, iso
from mockserver.wire.dates import read_moment

AT = 1_700_000_000 * SECOND
DAY_BEGIN = 1_699_920_000 * SECOND
INSTANTS = st.integers(EARLIEST, LATEST)


def test_the_form_that_goes_out() -> None:
    assert iso(AT + 46_156) == "2023-11-14T22:13:20.0461560Z"


@given(INSTANTS)
def test_every_instant_goes_out_in_the_one_form_and_comes_back(instant: int) -> None:
    assert read_moment(iso(instant)) == instant


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [
        ("", "0000000"),
        (".1234567", "1234567"),
        (".123456789", "1234567"),
        (".0000009", "0000009"),
        (".5", "5000000"),
    ],
)
def test_a_named_instant_comes_back_with_its_last_digit(fraction: str, shown: str) -> None:
    for day in ("2023-11-14", "1931-01-31"):
        assert iso(read_moment(f"{day}T22:13:20{fraction}+00:00")) == f"{day}T22:13:20.{shown}Z"


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2023-11-14T22:13:20Z", AT),
        ("2023-11-14T22:13:20", AT),
        ("2023-11-14t22:13:20z", AT),
        ("2023-11-14 22:13:20", AT),
        ("  2023-11-14T22:13:20Z\n", AT),
        ("2023-11-14T22:13", AT - 20 * SECOND),
        ("2023-11-14", DAY_BEGIN),
        ("2023-11-14T22:13:20.5Z", AT + 500_000),
        ("2023-11-14T22:13:20,5", AT + 500_000),
        ("2023-11-14T22:13:20.0461561Z", AT + 46_156),
        ("2023-11-14T22:13:20.123456789Z", AT + 123_456),
        ("2023-11-14T22:13:20+10:00", AT - 10 * HOUR),
        ("2023-11-14T22:13:20-0330", AT + 3 * HOUR + 30 * MINUTE),
        ("2023-11-14T22:13:20.5 +10", AT + 500_000 - 10 * HOUR),
        ("2023-11-14 22:13:20 UTC", AT),
        ("2023-11-14 22:13:20 GMT", AT),
        ("20231114T221320Z", AT),
        ("20231114T221320.5-0330", AT + 500_000 + 3 * HOUR + 30 * MINUTE),
        ("20231114", DAY_BEGIN),
    ],
)
def test_iso_forms(value: str, instant: int) -> None:
    assert read_moment(value) == instant


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        pytest.param("2023-11-14 22: 13:20", AT, id="blank after the hour (.NET)"),
        pytest.param("Tue Nov 14 22:13:20 UTC 2023", AT, id="java.util.Date"),
        pytest.param(
            "Sun Nov 5 02:13:20 UTC 2023", AT - 9 * 24 * HOUR - 20 * HOUR, id="one-digit day"
        ),
        pytest.param("Tue Nov 14 22:13:20 GMT 2023", AT, id="Greenwich"),
        pytest.param("Tue Nov 14 22:13:20 AEDT 2023", AT - 11 * HOUR, id="Sydney in summer"),
        pytest.param("Tue Nov 14 22:13:20 PST 2023", AT + 8 * HOUR, id="Los Angeles in winter"),
        pytest.param("Tue Nov 14 22:13:20 IST 2023", AT - 5 * HOUR - 30 * MINUTE, id="India"),
        pytest.param(
            "Tue Nov 14 22:13:20 GMT+10:00 2023", AT - 10 * HOUR, id="zone without a name"
        ),
        pytest.param("Tue Nov 14 22:13:20 +0200 2023", AT - 2 * HOUR, id="offset alone"),
        pytest.param("2023-11-14T22:13:20 10:00", AT - 10 * HOUR, id="plus sign lost in a query"),
        pytest.param(1_700_000_000_000, AT, id="milliseconds"),
        pytest.param(1_700_000_000_123, AT + 123_000, id="odd milliseconds"),
        pytest.param(0, 0, id="the epoch"),
        pytest.param(-1, -1000, id="before the epoch"),
        pytest.param("1700000000000", AT, id="milliseconds as text"),
        pytest.param("-1700000000000", -AT, id="negative milliseconds as text"),
        pytest.param(Decimal("1700000000000.0"), AT, id="milliseconds as a decimal"),
        pytest.param(Decimal("1.7E+12"), AT, id="milliseconds with an exponent"),
    ],
)
def test_forms_of_published_clients(value: object, instant: int) -> None:
    assert read_moment(value) == instant


@pytest.mark.parametrize(
    "zone", ["UTC", "EST", "EDT", "CET", "CEST", "JST", "AWST", "ACST", "NZDT", "HST"]
)
def test_zone_names_mean_whole_quarters_of_an_hour(zone: str) -> None:
    assert (read_moment(f"Tue Nov 14 22:13:20 {zone} 2023") - AT) % (15 * MINUTE) == 0


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("", "got ''"),
        ("tomorrow", "got 'tomorrow'"),
        ("14/11/2023", "got '14/11/2023'"),
        ("2023-02-30", "got '2023-02-30' (day is out of range for month)"),
        ("2023-13-01", "got '2023-13-01' (month must be in 1..12)"),
        ("0000-01-01", "got '0000-01-01' (year 0 is out of range)"),
        ("2023-11-14T24:00:00", "(hour must be in 0..23)"),
        ("2023-11-14T22:13:20.1234567890Z", "got '2023-11-14T22:13:20.1234567890Z'"),
        ("2023-11-14T22:13:20.Z", "got '2023-11-14T22:13:20.Z'"),
        ("2023-11-14T22:13:20+24:00", "(an offset is less than 24 hours)"),
        ("2023-11-14T22:13:20+10:60", "(an offset is less than 24 hours)"),
        ("2023-11-14T22:13:20 XYZ", "got '2023-11-14T22:13:20 XYZ'"),
        (
            "Tue Nov 14 22:13:20 XYZ 2023",
            "(an unknown time zone: use UTC or an offset such as GMT+10:00)",
        ),
        ("Tue Foo 14 22:13:20 UTC 2023", "got 'Tue Foo 14 22:13:20 UTC 2023'"),
        ("Die Nov 14 22:13:20 UTC 2023", "got 'Die Nov 14 22:13:20 UTC 2023'"),
        ("٢٠٢٣-٠٢-٠٢", "got '٢٠٢٣-٠٢-٠٢'"),
        ("1700000000", "got '1700000000'"),
        (None, "got null"),
        (True, "got a boolean"),
        (1.7e12, "got a value of another type"),
        ([], "got a value of another type"),
        (Decimal("1700000000000.5"), "got a number that is not whole or too large"),
        (Decimal("1E+999999"), "got a number that is not whole or too large"),
        (Decimal("NaN"), "got a number that is not whole or too large"),
    ],
)
def test_what_is_no_date_time_is_refused(value: object, got: str) -> None:
    with pytest.raises(ValueError, match="wanted an ISO 8601 date-time such as") as caught:
        read_moment(value)
    assert got in str(caught.value)


@pytest.mark.parametrize(
    "value", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59+00:01"]
)
def test_the_first_and_last_moments_are_taken(value: str) -> None:
    assert EARLIEST <= read_moment(value) < LATEST + SECOND


@pytest.mark.parametrize(
    "value",
    [
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        10**15,
        -(10**15),
        10**400,
        "9" * 400,
        "-" + "9" * 12 + "999",
    ],
)
def test_moments_outside_the_calendar_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        read_moment(value)


@pytest.mark.parametrize(
    "value", [4111111111111111, "4111111111111111", "x4111111111111111", "4111 1111 1111 1111"]
)
def test_a_card_number_in_the_wrong_field_is_not_repeated(value: object) -> None:
    with pytest.raises(ValueError, match="wanted") as caught:
        read_moment(value)
    assert "1111" not in str(caught.value)


def test_a_long_text_is_cut() -> None:
    with pytest.raises(ValueError, match="wanted") as caught:
        read_moment("x" * 100_000)
    assert len(str(caught.value)) < 200


NEARLY = st.from_regex(
    r"-?\d{0,5}-?\d{0,3}-?\d{0,3}[T ]?\d{0,3}: ?\d{0,3}:?\d{0,3}\.?\d{0,11} ?[A-Z+-]{0,4}\d{0,4}"
)
JAVA = st.from_regex(
    r"(Mon|Tue) (Nov|Feb|Foo) \d{1,2} \d\d:\d\d:\d\d (UTC|[A-Z]{0,6}|GMT[+-]\d{0,2}:?\d{0,2}) \d{4}"
)


@given(
    st.text()
    | NEARLY
    | JAVA
    | st.integers()
    | st.decimals()
    | st.floats()
    | st.none()
    | st.booleans()
    | st.binary()
)
def test_whatever_comes_is_read_or_refused(value: object) -> None:
    instant, refusal = None, ""
    try:
        instant = read_moment(value)
    except ValueError as error:
        refusal = str(error)
    if instant is None:
        assert "wanted" in refusal
    else:
        assert iso(instant)
        assert EARLIEST <= instant < LATEST + SECOND
