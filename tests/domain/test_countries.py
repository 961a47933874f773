"""Countries and time zones."""

from __future__ import annotations

import pytest

from mockserver.domain.countries import COUNTRIES, TIME_ZONES


def test_the_table_is_complete_and_well_formed() -> None:
    assert len(COUNTRIES) == 249
    assert list(COUNTRIES) == sorted(COUNTRIES)
    for code, row in COUNTRIES.items():
        assert row.two_letter_code == code
        assert (len(code), len(row.three_letter_code), len(row.numeric_code)) == (2, 3, 3)
        assert (code + row.three_letter_code).isupper()
        assert row.numeric_code.isdecimal()
        assert "|" not in row.friendly_name + row.name
        assert row.friendly_name.strip() == row.friendly_name
    for column in ("three_letter_code", "numeric_code", "friendly_name", "name"):
        assert len({getattr(row, column) for row in COUNTRIES.values()}) == len(COUNTRIES)


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
    row = COUNTRIES[code]
    assert (row.three_letter_code, row.numeric_code, row.friendly_name, row.name) == (three, number, friendly, name)


def test_time_zones() -> None:
    assert len(TIME_ZONES) > 400
    assert list(TIME_ZONES) == sorted(set(TIME_ZONES))
    assert {"Australia/Sydney", "America/Argentina/Buenos_Aires", "Europe/Kyiv", "UTC"} <= set(TIME_ZONES)
    assert all("/" in name or name == "UTC" for name in TIME_ZONES)
