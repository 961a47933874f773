"""What pages ask before they take a payment: countries and currencies, the providers that are
offered, the release.

Source: docs/spec/published-facts.md, 1.1 (rows 58-62, 77), 7.2.
"""

from urllib.parse import urlsplit

from mockserver.assumptions import ROWS
from mockserver.domain.clock import iso, parse_instant
from mockserver.domain.provider import Capability
from mockserver.engine import providers, tokens
from mockserver.web.operations import shown
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire import resources
from mockserver.wire.bodies.providers import OfferQuery
from mockserver.wire.replies import Members, reply_of


def reference_data(call: OperationCall[None, None]) -> Members:
    """Countries, currencies and time zones."""
    return resources.info_reply()


def offered(call: OperationCall[None, OfferQuery]) -> Members:
    """Which ways to pay are offered for an amount and a currency: a checkout shows the buttons
    that are named here. Google and Apple Pay are offered by every provider that takes wallets."""
    query, sandbox = call.query, call.sandbox
    offer = providers.offer(call.step, query.amount, query.currency, query.card_provider_id)
    three_ds = None
    if offer.card_provider is not None:
        three_ds = providers.known(sandbox, offer.card_provider.three_ds_provider_id)
    cards, challengers = offer.able[Capability.CARD], offer.able[Capability.THREE_DS]
    pay_to, wallets = offer.able[Capability.PAYTO], offer.able[Capability.WALLET]
    network_tokens = offer.able[Capability.NETWORK_TOKEN]
    challengers_shown = [reply_of("ThreeDsProvider", provider) for provider in challengers]
    host = urlsplit(sandbox.config.public_url).hostname or ""
    return reply_of(
        "InfoProvidersReply",
        offer,
        hasCardProviders=bool(cards),
        hasPaypalProviders=bool(offer.paypal),
        hasPayToProviders=bool(pay_to),
        hasBnplProviders=bool(offer.pay_later),
        hasThreeDsProviders=bool(challengers),
        hasGooglePayProviders=bool(wallets),
        hasApplePayProviders=bool(wallets),
        hasNetworkTokenProviders=bool(network_tokens),
        paypalProviders=[provider.provider_id for provider in offer.paypal],
        required3dsProvider=three_ds.provider_id if three_ds else None,
        payToProviders=[provider.provider_id for provider in pay_to],
        payToProvidersWithOptions=[reply_of("PayToOption", provider) for provider in pay_to],
        bnplProviders=[reply_of("BnplProvider", provider) for provider in offer.pay_later],
        threeDsProviders=challengers_shown,
        allThreeDsProviders=challengers_shown,
        googlePayProviders=[reply_of("GooglePayProvider", provider) for provider in wallets],
        applePayProviders=[
            reply_of(
                "ApplePayProvider",
                provider,
                merchantIdentifier=f"merchant.{provider.provider_id}",
                domainName=host,
            )
            for provider in wallets
        ],
        networkTokenProviders=[
            reply_of("NetworkTokenProvider", provider) for provider in network_tokens
        ],
    )


def of_provider(call: OperationCall[None, OfferQuery]) -> Members:
    """What a browser needs to know of one provider."""
    return shown.provider_info(call, providers.get(call.sandbox, call.path["provider_id"]))


def of_token(call: OperationCall[None, OfferQuery]) -> Members:
    """What a browser needs to know of a token's provider."""
    token = tokens.get(call.step, call.path["token"])
    return shown.provider_info(call, providers.get(call.sandbox, token.provider.provider_id))


def default_fallback(call: OperationCall[None, None]) -> Members:
    """The provider that takes over where none is configured to."""
    return shown.provider(call, providers.default_fallback(call.sandbox))


def version(call: OperationCall[None, None]) -> Members:
    """The release of the service. A published key says its region behind its first ``-``; of any
    other key the assumption ``version.region`` says it."""
    _, _, suffix = call.sandbox.key.partition("-")
    is_region = suffix in ROWS["version.region"].kind.allowed.split(" | ")
    released = iso(parse_instant(call.step.assume("version.released")))
    region = suffix if is_region else call.step.assume("version.region")
    return {"version": call.step.assume("version.number"), "released": released, "region": region}


ROUTES = (
    Route(
        "GET",
        "/info",
        "info.get",
        reference_data,
        reply="InfoReply",
        is_public=True,
        summary="Countries, currencies and time zones",
        source="published facts, 1.1 row 58",
    ),
    Route(
        "GET",
        "/info/providers",
        "info.get",
        offered,
        reply="InfoProvidersReply",
        query=OfferQuery,
        is_public=True,
        summary="Ways to pay that are offered",
        source="published facts, 1.1 row 59, 7.2",
    ),
    Route(
        "GET",
        "/info/providers/{provider_id}",
        "info.get",
        of_provider,
        reply="InfoProviderReply",
        query=OfferQuery,
        is_public=True,
        summary="What a browser needs to know of a provider",
        source="published facts, 1.1 row 60",
    ),
    Route(
        "GET",
        "/info/providers/token/{token}",
        "info.get",
        of_token,
        reply="InfoProviderReply",
        query=OfferQuery,
        is_public=True,
        summary="What a browser needs to know of a token's provider",
        source="published facts, 1.1 row 61",
    ),
    Route(
        "GET",
        "/info/default_fallback_provider",
        "info.get",
        default_fallback,
        reply="ProviderReply",
        summary="The default fallback provider",
        source="published facts, 1.1 row 62",
    ),
    Route(
        "GET",
        "/version",
        "info.get",
        version,
        reply="VersionReply",
        is_public=True,
        summary="The release of the service",
        source="published facts, 1.1 row 77",
    ),
)
