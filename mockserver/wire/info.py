"""What the account can do, on the wire. Source: docs/spec/published-facts.md, 1.3, 2.13, 2.14 (version); countries ISO
3166-1, time zones those of the IANA database that belong to a country, and UTC."""

from __future__ import annotations

from functools import cache
from typing import TypedDict

from mockserver.domain.money import CURRENCIES
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table
from mockserver.wire.base import Body, Number
from mockserver.wire.replies import reply_of
from mockserver.wire.shapes import ReplyAmount, ReplyDateTime


class OfferQuery(Body):
    """The payment that is to be offered."""

    amount: Number | None = None
    currency: str | None = None
    card_provider_id: str | None = None


class CountryReply(TypedDict):
    """A country."""

    friendlyName: str
    name: str
    twoLetterCode: str
    threeLetterCode: str
    numericCode: str


class CurrencyReply(TypedDict):
    """A currency."""

    id: str
    currencyCode: str
    currencyNumber: str
    name: str
    useConversion: bool


class InfoReply(TypedDict):
    """Reference data."""

    countries: list[CountryReply]
    currencies: list[CurrencyReply]
    timezones: list[str]


class PayToOption(TypedDict):
    """A provider of PayTo agreements."""

    providerId: str
    minimumAmount: ReplyAmount
    description: str


class BnplProvider(TypedDict):
    """A provider with a checkout of its own."""

    providerId: str
    providerType: str
    options: dict[str, str]


class FraudProvider(TypedDict):
    """A provider that judges payments."""

    providerId: str
    providerType: str
    enabled: bool
    stopPaymentOnFailure: bool


class ThreeDsProvider(TypedDict):
    """A provider that challenges payers."""

    providerId: str
    providerName: str
    providerType: str


class GooglePay(TypedDict):
    """What the Google Pay button needs."""

    gateway: str
    gatewayMerchantId: str


class GooglePayProvider(GooglePay):
    """A provider that takes Google Pay."""

    providerId: str


class ApplePayProvider(TypedDict):
    """A provider that takes Apple Pay."""

    providerId: str
    providerType: str
    clientParameters: dict[str, str]
    lineItemLabel: str
    merchantIdentifier: str
    domainName: str
    displayName: str


class NetworkTokenProvider(TypedDict):
    """A provider that makes network tokens."""

    providerId: str
    providerType: str
    clientParameters: dict[str, str]


class ClickToPayOptions(TypedDict):
    """What Click to Pay needs."""

    dpaId: str | None
    dpaName: str | None


class InfoProvidersReply(TypedDict):
    """Which ways to pay are offered."""

    hasCardProviders: bool
    hasPaypalProviders: bool
    paypalProviders: list[str]
    required3dsProvider: str | None
    hasPayToProviders: bool
    payToProviders: list[str]
    payToProvidersWithOptions: list[PayToOption]
    hasBnplProviders: bool
    bnplProviders: list[BnplProvider]
    hasVisaInstallmentsProviders: bool
    visaInstallmentsProviders: list[str]
    hasFraudProviders: bool
    fraudProviders: list[FraudProvider]
    hasThreeDsProviders: bool
    threeDsProviders: list[ThreeDsProvider]
    allThreeDsProviders: list[ThreeDsProvider]
    hasGooglePayProviders: bool
    googlePayProviders: list[GooglePayProvider]
    hasApplePayProviders: bool
    applePayProviders: list[ApplePayProvider]
    hasNetworkTokenProviders: bool
    networkTokenProviders: list[NetworkTokenProvider]
    clickToPayEnabled: bool
    clickToPayOptions: ClickToPayOptions


class InfoProviderReply(TypedDict):
    """What a browser needs to know of one provider."""

    threeDsProviderId: str | None
    threeDsProviderType: str | None
    requiredFields: dict[str, str]
    googlePay: GooglePay | None
    clientParameters: dict[str, str]


class VersionReply(TypedDict):
    """Which release of the service answers."""

    version: str
    released: ReplyDateTime
    region: str


@cache
def info_reply() -> InfoReply:
    """The reference data: the same for every sandbox, put together once."""
    return {
        "countries": [reply_of(CountryReply, row) for row in countries().values()],
        "currencies": [
            {
                "id": row.number,
                "currencyCode": row.code,
                "currencyNumber": row.number,
                "name": row.name,
                "useConversion": False,
            }
            for row in CURRENCIES.values()
        ],
        "timezones": list(time_zones()),
    }


def google_pay_reply(provider: Provider) -> GooglePay | None:
    """What the Google Pay button needs for a provider that takes wallets."""
    if Capability.WALLET not in provider.capabilities:
        return None
    return {"gateway": provider.summary.type, "gatewayMerchantId": provider.provider_id}


def three_ds_reply(provider: Provider) -> ThreeDsProvider:
    """A provider that challenges payers."""
    summary = provider.summary
    return {"providerId": summary.provider_id, "providerName": summary.name, "providerType": summary.type}


def apple_pay_reply(provider: Provider, host: str) -> ApplePayProvider:
    """A provider that takes Apple Pay on the pages of ``host``."""
    return {
        "providerId": provider.provider_id,
        "providerType": provider.summary.type,
        "clientParameters": {},
        "lineItemLabel": provider.summary.name,
        "merchantIdentifier": f"merchant.{provider.provider_id}",
        "domainName": host,
        "displayName": provider.summary.name,
    }


def info_provider_reply(provider: Provider, three_ds: Provider | None) -> InfoProviderReply:
    """One provider, and who challenges its payers."""
    return {
        "threeDsProviderId": three_ds.provider_id if three_ds else None,
        "threeDsProviderType": three_ds.summary.type if three_ds else None,
        "requiredFields": {},
        "googlePay": google_pay_reply(provider),
        "clientParameters": {},
    }


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
