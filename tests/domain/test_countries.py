"""Countries and time zones."""

import pytest

from mockserver.wire.resources import info_reply

COUNTRIES = {row["twoLetterCode"]: row for row in info_reply()["countries"]}


def test_the_table_is_complete_and_well_formed() -> None:
    assert len(COUNTRIES) == 249
    assert list(COUNTRIES) == sorted(COUNTRIES)
    for code, row in COUNTRIES.items():
        assert row["twoLetterCode"] == code
        assert (len(code), len(row["threeLetterCode"]), len(row["numericCode"])) == (2, 3, 3)
        assert (code + row["threeLetterCode"]).isupper()
        assert row["numericCode"].isdecimal()
        assert "|" not in row["friendlyName"] + row["name"]
        assert row["friendlyName"].strip() == row["friendlyName"]
    for column in ("threeLetterCode", "numericCode", "friendlyName", "name"):
        assert len({row[column] for row in COUNTRIES.values()}) == len(COUNTRIES)


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
    found = [row[column] for column in ("threeLetterCode", "numericCode", "friendlyName", "name")]
    assert found == [three, number, friendly, name]


def test_time_zones() -> None:
    time_zones = info_reply()["timezones"]
    assert len(time_zones) > 400
    assert list(time_zones) == sorted(set(time_zones))
    assert {"Australia/Sydney", "America/Argentina/Buenos_Aires", "Europe/Kyiv", "UTC"} <= set(
        time_zones
    )
    assert all("/" in name or name == "UTC" for name in time_zones)
