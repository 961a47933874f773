"""Countries and time zones as reference data (published facts, 2.13).

Codes: ISO 3166-1. Zone names: the IANA time zone database, each zone that belongs to a country, and UTC.
"""

from __future__ import annotations

from functools import cache

from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table


@record
class Country:
    """A row of ISO 3166-1: its two codes, the three-digit number as text, the everyday name and the standard's."""

    two_letter_code: str
    three_letter_code: str
    numeric_code: str
    friendly_name: str
    name: str


@cache
def countries() -> dict[str, Country]:
    """Every country by its two-letter code, in alphabetical order of the codes."""
    return {row.two_letter_code: row for row in read_table("countries", Country)}


@cache
def time_zones() -> tuple[str, ...]:
    """Names of time zones, in alphabetical order."""
    return read_table("time_zones", lambda name: str(name))
