"""Payment methods: what every way to store one sends, its changes and its search.

Source: docs/spec/service.md, Payment methods; docs/spec/published-facts.md, 1.1 (rows 25-39), 2.
"""

from pydantic import Field

from mockserver.domain.charge import Payer
from mockserver.domain.commands import (
    CardChanges,
    MethodTerms,
    NewBankMethod,
    NewCardMethod,
    NewPayToMethod,
    NewProviderTokenMethod,
    NewTokenMethod,
    SwitchProvider,
)
from mockserver.domain.payto import PayIdDetails
from mockserver.wire.bodies.shared import (
    BankPaymentInformation,
    CardRequestInformation,
    CardVaulting,
    ListQuery,
    PersonFields,
    WebhookConfig,
    receiver_of,
)
from mockserver.wire.field_types import Flag, Metadata, NonEmpty, Text, TextMap, Whole32
from mockserver.wire.fields import Body


class StoringTerms(Body):
    """On which terms a payment method is stored: what most ways of storing one accept."""

    ip: Text | None = None
    set_default: Flag | None = None
    metadata: Metadata | None = None
    fallback_payment_method_id: Text | None = None
    webhook: WebhookConfig | None = None

    def terms(self, payer: Payer | None = None) -> MethodTerms:
        """The terms; ``payer`` is who the body names where there is no customer."""
        return MethodTerms(
            payer=payer,
            ip=self.ip,
            set_default=self.set_default is True,
            metadata=self.metadata,
            fallback_payment_method_id=self.fallback_payment_method_id,
            webhook=receiver_of(self.webhook),
        )


class CardMethodFields(CardVaulting):
    """A card to store with a provider."""

    provider_id: NonEmpty
    payment_information: CardRequestInformation
    skip_expiry_date_validation: Flag | None = None
    create_network_token: Flag | None = None
    verify: Flag | None = None

    def card_method(self, terms: MethodTerms) -> NewCardMethod:
        """The card to store on these terms."""
        return NewCardMethod(
            details=self.payment_information.command(),
            provider_id=self.provider_id,
            terms=terms,
            vault_card=self.vault_card is True,
            expiry=self.vault_expiry(),
            skip_expiry_check=self.skip_expiry_date_validation is True,
            create_network_token=self.create_network_token is True,
        )


class TokenFields(Body):
    """A payment token."""

    token: NonEmpty

    def token_method(self, terms: MethodTerms) -> NewTokenMethod:
        """What the token stands for, to store on these terms."""
        return NewTokenMethod(token=self.token, terms=terms)


class ProviderTokenFields(Body):
    """What a provider knows by a token of its own."""

    provider_id: NonEmpty
    provider_token: NonEmpty
    provider_token_data: TextMap | None = None
    metadata: Metadata | None = None

    def provider_token_method(self, terms: MethodTerms, *, lasts: bool) -> NewProviderTokenMethod:
        """What the provider knows, to store on these terms; a token that does not ``lasts`` is for
        one use."""
        return NewProviderTokenMethod(
            provider_id=self.provider_id,
            token=self.provider_token,
            lasts=lasts,
            terms=terms,
            data=self.provider_token_data,
        )


class BankFields(Body):
    """A bank account with a provider."""

    provider_id: NonEmpty
    bank_payment_information: BankPaymentInformation

    def bank_method(self, terms: MethodTerms) -> NewBankMethod:
        """The account to store on these terms."""
        return NewBankMethod(
            account=self.bank_payment_information.command(),
            provider_id=self.provider_id,
            terms=terms,
        )


class CardMethodCreation(StoringTerms, CardMethodFields):
    """A card to store with a provider."""

    def command(self) -> NewCardMethod:
        """Store the card."""
        return self.card_method(self.terms())


class TokenMethodCreation(StoringTerms, TokenFields):
    """What a payment token stands for, to store."""

    def command(self) -> NewTokenMethod:
        """Store what the token stands for."""
        return self.token_method(self.terms())


class ProviderTokenMethodCreation(ProviderTokenFields):
    """A payment method that the provider knows by a lasting token of its own."""

    email: Text | None = None
    verify: Flag | None = None
    fallback_payment_method_id: Text | None = None

    def command(self) -> NewProviderTokenMethod:
        """Store what the provider knows."""
        terms = MethodTerms(
            email=self.email,
            metadata=self.metadata,
            fallback_payment_method_id=self.fallback_payment_method_id,
        )
        return self.provider_token_method(terms, lasts=True)


class SingleUseTokenMethodCreation(PersonFields, ProviderTokenFields):
    """A payment method that the provider knows by a token for one use, with customer details."""

    ip: Text | None = None
    fallback_payment_method_id: Text | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> NewProviderTokenMethod:
        """Store what the provider knows, for the payer whom the body names."""
        payer = Payer(
            reference=self.reference,
            first_name=self.first_name,
            last_name=self.last_name,
            email=self.email,
            phone=self.phone,
        )
        terms = MethodTerms(
            payer=_if_named(payer),
            email=self.email,
            ip=self.ip,
            metadata=self.metadata,
            fallback_payment_method_id=self.fallback_payment_method_id,
            webhook=receiver_of(self.webhook),
        )
        return self.provider_token_method(terms, lasts=False)


class BankMethodCreation(StoringTerms, BankFields):
    """A bank account to store with a provider."""

    first_name: Text | None = None
    last_name: Text | None = None

    def command(self) -> NewBankMethod:
        """Store the account, for the payer whom the body names."""
        payer = Payer(first_name=self.first_name, last_name=self.last_name)
        return self.bank_method(self.terms(_if_named(payer)))


def _if_named(payer: Payer) -> Payer | None:
    """The payer, None when nothing but a reference is said of it: a reference names nobody."""
    return None if payer == Payer(reference=payer.reference) else payer


class ProviderSwitch(Body):
    """A vaulted payment method to store with another provider."""

    provider_id: NonEmpty
    payment_method_id: NonEmpty
    ccv: Text | None = None
    fallback_payment_method_id: Text | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> SwitchProvider:
        """Store the vaulted card with the other provider."""
        terms = MethodTerms(
            fallback_payment_method_id=self.fallback_payment_method_id,
            webhook=receiver_of(self.webhook),
        )
        return SwitchProvider(
            provider_id=self.provider_id,
            payment_method_id=self.payment_method_id,
            terms=terms,
            ccv=self.ccv,
        )


class CardFields(Body):
    """New data of a stored card; what is not given stays."""

    expiry_date: Text | None = Field(None, description="MM/YY")
    cardholder: Text | None = None
    card_number: Text | None = Field(None, description="12 to 19 digits with a right check digit")


class CardUpdate(Body):
    """A change of a stored card."""

    card: CardFields
    metadata: Metadata | None = None

    def command(self) -> CardChanges:
        """What of the card and its metadata changes."""
        return CardChanges(
            number=self.card.card_number,
            expiry=self.card.expiry_date,
            cardholder=self.card.cardholder,
            metadata=self.metadata,
        )


class PayIdFields(Body):
    """The payer's PayID."""

    pay_id: Text | None = None
    pay_id_type: Text | None = Field(None, description="free text, such as EMAIL")

    def command(self) -> PayIdDetails:
        """The PayID as it is given."""
        return PayIdDetails(pay_id=self.pay_id, pay_id_type=self.pay_id_type)


class NewPayToAgreement(StoringTerms):
    """An agreement that a payer is asked for."""

    payer_name: NonEmpty
    payer_pay_id_details: PayIdFields | None = None
    description: NonEmpty
    maximum_amount: Whole32 = Field(description="1 to 9999")
    provider_id: NonEmpty

    def command(self) -> NewPayToMethod:
        """Ask the payer for the agreement."""
        pay_id = None
        if self.payer_pay_id_details is not None:
            pay_id = self.payer_pay_id_details.command()
        return NewPayToMethod(
            payer_name=self.payer_name,
            description=self.description,
            maximum_amount=self.maximum_amount,
            provider_id=self.provider_id,
            terms=self.terms(),
            pay_id=pay_id,
        )


class PaymentMethodQuery(ListQuery):
    """Every parameter of the payment-method search."""

    provider_id: Text | None = None
    customer_id: Text | None = None
    payment_type: Text | None = None
    card_type: Text | None = None
    search: Text | None = None
    include_removed: Flag | None = None
