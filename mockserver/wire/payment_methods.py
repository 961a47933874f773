"""Payment methods in answers, their network tokens included. Source: docs/spec/service.md, Payment method;
docs/spec/published-facts.md, 2.5, 2.6."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from mockserver.domain.clock import iso
from mockserver.domain.commands import (
    CardChanges,
    MethodTerms,
    NewBankMethod,
    NewCardMethod,
    NewProviderTokenMethod,
    NewTokenMethod,
    SwitchProvider,
    TokenKind,
    VaultRequest,
)
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.vault import Expiry
from mockserver.wire.base import Body, Flag, Map, Moment, Required, Whole
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members, reply_of
from mockserver.wire.shapes import (
    BankPaymentInformation,
    CardRequestInformation,
    PersonFields,
    StoringTerms,
    WebhookConfig,
    bank_reply,
    card_reply,
    payer_of,
    payer_reply,
)


class CardVaulting(Body):
    """Whether a card shall be vaulted too, and for how long: at most one of the two expiry fields."""

    vault_card: Flag | None = None
    vault_expire_date: Moment | None = None
    vault_expire_seconds: Whole | None = None

    def vault_request(self) -> VaultRequest:
        """Whether to vault the card, and for how long."""
        return VaultRequest(bool(self.vault_card), Expiry(self.vault_expire_seconds, self.vault_expire_date))


class CardMethodFields(CardVaulting):
    """A card to store with a provider: what a payment method and a customer have in common."""

    provider_id: Required
    payment_information: CardRequestInformation
    skip_expiry_date_validation: Flag | None = None
    create_network_token: Flag | None = None
    verify: Flag | None = None

    def card_command(self, terms: MethodTerms) -> NewCardMethod:
        """The command that these fields make."""
        return self.made(
            NewCardMethod,
            details=self.payment_information.command(),
            terms=terms,
            vault=self.vault_request(),
            skip_expiry_check=bool(self.skip_expiry_date_validation),
        )


class CardMethodCreation(StoringTerms, CardMethodFields):
    """A card to store with a provider."""

    def command(self) -> NewCardMethod:
        return self.card_command(self.terms())


class TokenMethodCreation(StoringTerms):
    """What a payment token stands for, to store."""

    token: Required

    def command(self) -> NewTokenMethod:
        return NewTokenMethod(self.token, self.terms())


class ProviderTokenFields(Body):
    """What a provider knows by a token of its own: what a payment method and a customer have in common."""

    provider_id: Required
    provider_token: Required
    provider_token_data: Map | None = None
    metadata: Map | None = None

    def token_command(self, kind: TokenKind, terms: MethodTerms) -> NewProviderTokenMethod:
        """The command that these fields make."""
        token, data = self.provider_token, self.provider_token_data
        return self.made(NewProviderTokenMethod, token=token, kind=kind, terms=terms, data=data)


class ProviderTokenMethodCreation(ProviderTokenFields):
    """A payment method that the provider knows by a lasting token of its own."""

    email: str | None = None
    verify: Flag | None = None
    fallback_payment_method_id: str | None = None

    def command(self) -> NewProviderTokenMethod:
        return self.token_command(TokenKind.LASTING, self.made(MethodTerms))


class SingleUseTokenMethodCreation(PersonFields, ProviderTokenFields):
    """A payment method that the provider knows by a token for one use, with customer details."""

    ip: str | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> NewProviderTokenMethod:
        payer = payer_of(self.reference, self.first_name, self.last_name, self.email, self.phone)
        return self.token_command(TokenKind.SINGLE_USE, self.made(MethodTerms, payer=payer))


class BankMethodCreation(StoringTerms):
    """A bank account to store with a provider."""

    provider_id: Required
    bank_payment_information: BankPaymentInformation
    first_name: str | None = None
    last_name: str | None = None

    def command(self) -> NewBankMethod:
        terms = self.terms(payer_of(None, self.first_name, self.last_name))
        return NewBankMethod(self.bank_payment_information.command(), self.provider_id, terms)


class ProviderSwitch(Body):
    """A vaulted payment method to store with another provider."""

    provider_id: Required
    payment_method_id: Required
    ccv: str | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> SwitchProvider:
        return self.made(SwitchProvider, terms=self.made(MethodTerms))


class CardFields(Body):
    """New data of a stored card; what is not given stays."""

    makes = CardChanges
    named: ClassVar = {"card_number": "number", "expiry_date": "expiry"}

    expiry_date: str | None = Field(None, description="MM/YY")
    cardholder: str | None = None
    card_number: str | None = Field(None, description="12 to 19 digits with a right check digit")


class CardUpdate(Body):
    """A change of a stored card."""

    card: CardFields
    metadata: Map | None = None

    def command(self) -> CardChanges:
        return self.card.made(CardChanges, metadata=self.metadata)


class Removal(Body):
    """Whether the provider removes its copy too."""

    gateway_delete: Flag | None = Field(None, description="default true")

    def asks_provider(self) -> bool:
        """True unless the caller says false (service document, Limits)."""
        return self.gateway_delete is not False


def payment_method_summary(method: PaymentMethod | None, profile: WireProfile) -> Members | None:
    """A payment method inside its customer: a part of the whole, in an order of its own."""
    if method is None:
        return None
    return reply_of("PaymentMethodSummaryReply", method, card=card_reply(method.instrument.card, profile))


def payment_method_reply(
    method: PaymentMethod,
    profile: WireProfile,
    agreement: Agreement | None = None,
    network_token: NetworkToken | None = None,
) -> Members:
    """A payment method as the documented object, null where nothing is known.

    ``agreement`` and ``network_token`` are the stored objects that the method names by ``payto_id`` and
    ``network_token_id``.
    """
    return reply_of(
        "PaymentMethodReply",
        method,
        card=card_reply(method.instrument.card, profile),
        bankPayment=bank_reply(method.instrument.bank, profile),
        customer=payer_reply(method.payer),
        payTo=agreement and reply_of("PayToReply", agreement),
        networkToken=network_token_reply(network_token, profile),
        payToStatus=agreement.status.value if agreement else None,
    )


def network_token_reply(token: NetworkToken | None, profile: WireProfile) -> Members | None:
    """A network token in an answer (assumption ``network_token.date_added``)."""
    if token is None:
        return None
    return reply_of("NetworkTokenReply", token, dateAdded=iso(token.added) if profile.network_token_date else None)
