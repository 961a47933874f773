"""Countries and time zones."""

from __future__ import annotations

import pytest

from mockserver.wire.resources import countries, time_zones


def test_the_table_is_complete_and_well_formed() -> None:
    assert len(countries()) == 249
    assert list(countries()) == sorted(countries())
    for code, row in countries().items():
        assert row.two_letter_code == code
        assert (len(code), len(row.three_letter_code), len(row.numeric_code)) == (2, 3, 3)
        assert (code + row.three_letter_code).isupper()
        assert row.numeric_code.isdecimal()
        assert "|" not in row.friendly_name + row.name
        assert row.friendly_name.strip() == row.friendly_name
    for column in ("three_letter_code", "numeric_code", "friendly_name", "name"):
        assert len({getattr(row, column) for row in countries().values()}) == len(countries())


@pytest.mark.parametrize(
    ("code", "three", "number", "friendly", "name"),
    [
        ("AU", "AUS", "036", "Australia", "Australia"),
        ("VN", "VNM", "704", "Vietnam", "Viet Nam"),
        ("AX", "ALA", "248", "Åland Islands", "Åland Islands"),
        ("US", "USA", "840", "United States", "United States of America (the)"),
    ],
)
def test_known_countries(code: str, three: str, number: str, friendly: str, name: str) -> None:
    row = countries()[code]
    assert (row.three_letter_code, row.numeric_code, row.friendly_name, row.name) == (three, number, friendly, name)


def test_time_zones() -> None:
    assert len(time_zones()) > 400
    assert list(time_zones()) == sorted(set(time_zones()))
    assert {"Australia/Sydney", "America/Argentina/Buenos_Aires", "Europe/Kyiv", "UTC"} <= set(time_zones())
    assert all("/" in name or name == "UTC" for name in time_zones())
