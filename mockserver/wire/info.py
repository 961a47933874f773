"""What the account can do, on the wire. Source: docs/spec/published-facts.md, 1.3, 2.13, 2.14 (version); countries ISO
3166-1, time zones those of the IANA database that belong to a country, and UTC."""

from __future__ import annotations

from functools import cache

from mockserver.domain.money import CURRENCIES
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table
from mockserver.wire.replies import Members, reply_of


@cache
def info_reply() -> Members:
    """The reference data: the same for every sandbox, put together once."""
    return {
        "countries": [reply_of("CountryReply", row) for row in countries().values()],
        "currencies": [reply_of("CurrencyReply", row) for row in CURRENCIES.values()],
        "timezones": list(time_zones()),
    }


def info_provider_reply(provider: Provider, three_ds: Provider | None) -> Members:
    """One provider, and who challenges its payers."""
    return reply_of(
        "InfoProviderReply",
        provider,
        threeDsProviderId=three_ds.provider_id if three_ds else None,
        threeDsProviderType=three_ds.summary.type if three_ds else None,
        googlePay=reply_of("GooglePay", provider) if Capability.WALLET in provider.capabilities else None,
    )


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
