"""Operations that show what the account can do; a browser may ask them with the public key."""

from __future__ import annotations

from urllib.parse import urlsplit

from mockserver.assumptions import ROWS
from mockserver.domain.clock import iso, parse_instant
from mockserver.domain.provider import Capability, Provider
from mockserver.engine import info, providers
from mockserver.web.endpoints.providers import shown
from mockserver.web.routes import OperationCall
from mockserver.wire.info import info_provider_reply, info_reply
from mockserver.wire.replies import Members, reply_of


def general(call: OperationCall) -> Members:
    """Countries, currencies and time zones."""
    return info_reply()


def offered(call: OperationCall) -> Members:
    """Which ways to pay are offered for an amount and a currency."""
    query, sandbox = call.query, call.sandbox
    offer = info.offer(call.step, query.amount, query.currency, query.card_provider_id)
    three_ds = providers.known(sandbox, offer.card_provider.three_ds_provider_id) if offer.card_provider else None
    pay_to, challengers = offer.able[Capability.PAYTO], offer.able[Capability.THREE_DS]
    wallets, tokens = offer.able[Capability.WALLET], offer.able[Capability.NETWORK_TOKEN]
    host = urlsplit(sandbox.config.public_url).hostname or ""
    return reply_of(
        "InfoProvidersReply",
        offer,
        hasCardProviders=bool(offer.able[Capability.CARD]),
        hasPaypalProviders=bool(offer.paypal),
        paypalProviders=[provider.provider_id for provider in offer.paypal],
        required3dsProvider=three_ds.provider_id if three_ds else None,
        hasPayToProviders=bool(pay_to),
        payToProviders=[provider.provider_id for provider in pay_to],
        payToProvidersWithOptions=[reply_of("PayToOption", provider) for provider in pay_to],
        hasBnplProviders=bool(offer.pay_later),
        bnplProviders=[reply_of("BnplProvider", provider) for provider in offer.pay_later],
        hasThreeDsProviders=bool(challengers),
        threeDsProviders=[reply_of("ThreeDsProvider", provider) for provider in challengers],
        allThreeDsProviders=[reply_of("ThreeDsProvider", provider) for provider in challengers],
        hasGooglePayProviders=bool(wallets),
        googlePayProviders=[reply_of("GooglePayProvider", provider) for provider in wallets],
        hasApplePayProviders=bool(wallets),
        applePayProviders=[
            reply_of(
                "ApplePayProvider",
                provider,
                merchantIdentifier=f"merchant.{provider.provider_id}",
                domainName=host,
            )
            for provider in wallets
        ],
        hasNetworkTokenProviders=bool(tokens),
        networkTokenProviders=[reply_of("NetworkTokenProvider", provider) for provider in tokens],
    )


def one_provider(call: OperationCall) -> Members:
    """What a browser needs to know of one provider."""
    return _provider(call, providers.get(call.sandbox, call.path["provider_id"]))


def provider_of_token(call: OperationCall) -> Members:
    """What a browser needs to know of a token's provider."""
    return _provider(call, info.of_token(call.step, call.path["token"]))


def default_fallback(call: OperationCall) -> Members:
    """The provider that takes over where none is configured to."""
    return shown(call, info.default_fallback(call.sandbox))


def version(call: OperationCall) -> Members:
    """The release of the service; text after the first ``-`` of a key names the region."""
    sandbox = call.sandbox
    _, _, suffix = sandbox.key.partition("-")
    region: str = (
        suffix if suffix in ROWS["version.region"].kind.allowed.split(" | ") else call.step.assume("version.region")
    )
    released = iso(parse_instant(call.step.assume("version.released")))
    return {"version": call.step.assume("version.number"), "released": released, "region": region}


def _provider(call: OperationCall, provider: Provider) -> Members:
    return info_provider_reply(provider, providers.known(call.sandbox, provider.three_ds_provider_id))
