"""What callers send to store, change, find and remove payment methods.

Source: docs/spec/service.md, Payment methods, and Customers; docs/spec/published-facts.md, 1.2, 1.3.
"""

from __future__ import annotations

from mockserver.domain.charge import Payer
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
from mockserver.domain.vault import Expiry
from mockserver.wire.base import Body, Flag, Map, Moment, Required, Whole, field
from mockserver.wire.shapes import (
    BankPaymentInformation,
    CardRequestInformation,
    ListQuery,
    PersonFields,
    WebhookConfig,
    payer_of,
)


class CardVaulting(Body):
    """Whether a card shall be vaulted too, and for how long: at most one of the two expiry fields."""

    vault_card: Flag | None = None
    vault_expire_date: Moment | None = None
    vault_expire_seconds: Whole | None = None

    def vault_request(self) -> VaultRequest:
        """Whether to vault the card, and for how long."""
        return VaultRequest(bool(self.vault_card), Expiry(self.vault_expire_seconds, self.vault_expire_date))


class StoringTerms(Body):
    """On which terms a payment method is stored: what most ways of storing one accept."""

    ip: str | None = None
    set_default: Flag | None = None
    metadata: Map | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None

    def terms(self, payer: Payer | None = None) -> MethodTerms:
        """The terms as a command carries them."""
        return self.made(MethodTerms, payer=payer)


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
            details=self.payment_information.details(),
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
        return NewBankMethod(self.bank_payment_information.account(), self.provider_id, terms)


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

    expiry_date: str | None = field(None, description="MM/YY")
    cardholder: str | None = None
    card_number: str | None = field(None, description="12 to 19 digits with a right check digit")


class CardUpdate(Body):
    """A change of a stored card."""

    card: CardFields
    metadata: Map | None = None

    def command(self) -> CardChanges:
        return CardChanges(self.card.card_number, self.card.expiry_date, self.card.cardholder, self.metadata)


class Removal(Body):
    """Whether the provider removes its copy too."""

    gateway_delete: Flag | None = field(None, description="default true")

    def asks_provider(self) -> bool:
        """True unless the caller says false (service document, Limits)."""
        return self.gateway_delete is not False


class PaymentMethodQuery(ListQuery):
    """Every parameter of the payment-method search."""

    provider_id: str | None = None
    customer_id: str | None = None
    payment_type: str | None = None
    card_type: str | None = None
    search: str | None = None
    include_removed: Flag | None = None
