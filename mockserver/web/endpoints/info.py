"""Operations that show what the account can do; a browser may ask them with the public key."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import urlsplit

from mockserver.assumptions.table import VERSION_NUMBER, VERSION_REGION, VERSION_RELEASED
from mockserver.domain.clock import parse_instant
from mockserver.domain.provider import Capability, Provider
from mockserver.engine import info, providers
from mockserver.web.endpoints.providers import shown
from mockserver.web.routes import OperationCall
from mockserver.wire.dates import moment
from mockserver.wire.info import (
    InfoProviderReply,
    InfoProvidersReply,
    InfoReply,
    OfferQuery,
    VersionReply,
    apple_pay_reply,
    info_provider_reply,
    info_reply,
    three_ds_reply,
)
from mockserver.wire.providers import ProviderReply


def general(call: OperationCall) -> InfoReply:
    """Countries, currencies and time zones."""
    return info_reply()


def offered(call: OperationCall) -> InfoProvidersReply:
    """Which ways to pay are offered for an amount and a currency."""
    query: OfferQuery = call.query
    sandbox = call.sandbox
    offer = info.offer(call.step, query.amount, query.currency, query.card_provider_id)
    three_ds = info.three_ds_of(sandbox, offer.card_provider) if offer.card_provider else None
    pay_to, challengers = offer.able[Capability.PAYTO], offer.able[Capability.THREE_DS]
    wallets, tokens = offer.able[Capability.WALLET], offer.able[Capability.NETWORK_TOKEN]
    host = urlsplit(sandbox.config.public_url).hostname or ""
    return {
        "hasCardProviders": bool(offer.able[Capability.CARD]),
        "hasPaypalProviders": bool(offer.paypal),
        "paypalProviders": [provider.provider_id for provider in offer.paypal],
        "required3dsProvider": three_ds.provider_id if three_ds else None,
        "hasPayToProviders": bool(pay_to),
        "payToProviders": [provider.provider_id for provider in pay_to],
        "payToProvidersWithOptions": [
            {"providerId": provider.provider_id, "minimumAmount": Decimal(0), "description": provider.summary.name}
            for provider in pay_to
        ],
        "hasBnplProviders": bool(offer.pay_later),
        "bnplProviders": [
            {
                "providerId": provider.provider_id,
                "providerType": provider.summary.type,
                "options": dict(provider.additional),
            }
            for provider in offer.pay_later
        ],
        "hasVisaInstallmentsProviders": False,
        "visaInstallmentsProviders": [],
        "hasFraudProviders": False,
        "fraudProviders": [],
        "hasThreeDsProviders": bool(challengers),
        "threeDsProviders": [three_ds_reply(provider) for provider in challengers],
        "allThreeDsProviders": [three_ds_reply(provider) for provider in challengers],
        "hasGooglePayProviders": bool(wallets),
        "googlePayProviders": [
            {
                "providerId": provider.provider_id,
                "gateway": provider.summary.type,
                "gatewayMerchantId": provider.provider_id,
            }
            for provider in wallets
        ],
        "hasApplePayProviders": bool(wallets),
        "applePayProviders": [apple_pay_reply(provider, host) for provider in wallets],
        "hasNetworkTokenProviders": bool(tokens),
        "networkTokenProviders": [
            {"providerId": provider.provider_id, "providerType": provider.summary.type, "clientParameters": {}}
            for provider in tokens
        ],
        "clickToPayEnabled": False,
        "clickToPayOptions": {"dpaId": None, "dpaName": None},
    }


def one_provider(call: OperationCall) -> InfoProviderReply:
    """What a browser needs to know of one provider."""
    return _provider(call, providers.get(call.sandbox, call.path["provider_id"]))


def provider_of_token(call: OperationCall) -> InfoProviderReply:
    """What a browser needs to know of a token's provider."""
    return _provider(call, info.of_token(call.step, call.path["token"]))


def default_fallback(call: OperationCall) -> ProviderReply:
    """The provider that takes over where none is configured to."""
    return shown(call, info.default_fallback(call.sandbox))


def version(call: OperationCall) -> VersionReply:
    """The release of the service; text after the first ``-`` of a key names the region."""
    sandbox = call.sandbox
    _, _, suffix = sandbox.key.partition("-")
    region: str = suffix if suffix in VERSION_REGION.kind.allowed.split(" | ") else call.step.assume(VERSION_REGION)
    released = moment(parse_instant(call.step.assume(VERSION_RELEASED)))
    return {"version": call.step.assume(VERSION_NUMBER), "released": released, "region": region}


def _provider(call: OperationCall, provider: Provider) -> InfoProviderReply:
    return info_provider_reply(provider, info.three_ds_of(call.sandbox, provider))
