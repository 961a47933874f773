"""Network tokens on the wire. Source: service document, Payment method, networkToken; published facts, 2.6."""

from __future__ import annotations

from typing import TypedDict

from mockserver.domain.network_token import NetworkToken
from mockserver.wire.dates import moment
from mockserver.wire.profile import WireProfile
from mockserver.wire.shapes import ReplyDateTime


class UriReply(TypedDict):
    """Where a payer proves who they are."""

    uri: str
    uriType: str


class AuthenticationMethodReply(TypedDict):
    """How a payer proves who they are."""

    authenticationMethodType: str
    authenticationSubject: str
    uriData: UriReply | None


class NetworkTokenReply(TypedDict):
    """A network token inside a payment method."""

    networkTokenId: str
    schemeTokenId: str
    providerId: str
    providerType: str
    status: str
    dateAdded: ReplyDateTime | None
    schemeTokenData: dict[str, str]
    authenticationMethod: AuthenticationMethodReply | None


def network_token_reply(token: NetworkToken | None, profile: WireProfile) -> NetworkTokenReply | None:
    """A network token in an answer (assumption ``network_token.date_added``)."""
    if token is None:
        return None
    return {
        "networkTokenId": token.network_token_id,
        "schemeTokenId": token.scheme_token_id,
        "providerId": token.provider.provider_id,
        "providerType": token.provider.type,
        "status": token.status.value,
        "dateAdded": moment(token.added) if profile.network_token_date else None,
        "schemeTokenData": dict(token.scheme_data),
        "authenticationMethod": None,
    }
