"""Payment methods in answers, their network tokens included. Source: docs/spec/service.md, Payment method;
docs/spec/published-facts.md, 2.5, 2.6."""

from __future__ import annotations

from typing import Any, TypedDict, cast

from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.wire.dates import moment
from mockserver.wire.payto import PayToReply, payto_reply
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import reply_of
from mockserver.wire.shapes import (
    BankPaymentReply,
    CardReply,
    PayerReply,
    ProviderSummaryReply,
    ReplyDateTime,
    bank_reply,
    card_reply,
    page_of,
    payer_reply,
    plain_map,
)


class PaymentMethodSummaryReply(TypedDict):
    """The default payment method of a customer."""

    paymentMethodId: str
    customerId: str | None
    type: str
    card: CardReply | None
    providerId: str
    providerType: str
    dateAdded: ReplyDateTime
    email: str | None
    vaultId: str | None
    dateRemoved: ReplyDateTime | None
    providerPaymentMethodId: str | None
    providerPaymentMethodData: dict[str, str] | None
    token: str | None
    fallbackPaymentMethodId: str | None
    metadata: dict[str, str] | None
    networkTokenId: str | None


class PaymentMethodReply(TypedDict):
    """A payment method."""

    paymentMethodId: str
    customerId: str | None
    type: str
    card: CardReply | None
    bankPayment: BankPaymentReply | None
    providerId: str
    providerType: str
    dateAdded: ReplyDateTime
    dateRemoved: ReplyDateTime | None
    email: str | None
    customer: PayerReply | None
    provider: ProviderSummaryReply
    payTo: PayToReply | None
    networkToken: NetworkTokenReply | None
    vaultId: str | None
    payToStatus: str | None
    ip: str | None
    providerPaymentMethodId: str | None
    providerPaymentMethodData: dict[str, str] | None
    token: str | None
    networkTokenId: str | None
    fallbackPaymentMethodId: str | None
    metadata: dict[str, str] | None


PaymentMethodsReply = page_of("PaymentMethodsReply", "payment methods", paymentMethods=PaymentMethodReply)


MethodListReply = list[PaymentMethodReply]
"""All payment methods of a customer: a bare array."""


def payment_method_summary(method: PaymentMethod | None, profile: WireProfile) -> PaymentMethodSummaryReply | None:
    """A payment method inside its customer: a part of the whole, in an order of its own."""
    if method is None:
        return None
    whole: Any = payment_method_reply(method, profile)
    return cast(PaymentMethodSummaryReply, {name: whole[name] for name in PaymentMethodSummaryReply.__annotations__})


def payment_method_reply(
    method: PaymentMethod,
    profile: WireProfile,
    agreement: Agreement | None = None,
    network_token: NetworkToken | None = None,
) -> PaymentMethodReply:
    """A payment method as the documented object, null where nothing is known.

    ``agreement`` and ``network_token`` are the stored objects that the method names by ``payto_id`` and
    ``network_token_id``.
    """
    return reply_of(
        PaymentMethodReply,
        method,
        type=method.instrument.type,
        card=card_reply(method.instrument.card, profile),
        bankPayment=bank_reply(method.instrument.bank, profile),
        providerId=method.provider.provider_id,
        providerType=method.provider.type,
        customer=payer_reply(method.payer),
        payTo=payto_reply(agreement),
        networkToken=network_token_reply(network_token, profile),
        payToStatus=agreement.status.value if agreement else None,
        providerPaymentMethodData=plain_map(method.provider_data),
    )


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
    return reply_of(
        NetworkTokenReply,
        token,
        providerId=token.provider.provider_id,
        providerType=token.provider.type,
        dateAdded=moment(token.added) if profile.network_token_date else None,
        schemeTokenData=dict(token.scheme_data),
        authenticationMethod=None,
    )
