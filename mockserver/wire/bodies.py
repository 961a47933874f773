"""What callers send about everything but charges: payment methods, customers, tokens, links, subscriptions and so on.

Source: docs/spec/service.md; docs/spec/published-facts.md, 1.2, 1.3, 2, 3.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, WithJsonSchema

from mockserver.domain import commands
from mockserver.domain.batch import LONGEST_DESCRIPTION
from mockserver.domain.cards import Brand
from mockserver.domain.charge import Payer
from mockserver.domain.customer import CustomerDetails
from mockserver.domain.payment_link import CallToAction, LinkPaymentType
from mockserver.domain.payto import LEAST_MAXIMUM, MOST_MAXIMUM, PayIdDetails
from mockserver.domain.provider import Cost, ProviderCondition, ProviderDetails
from mockserver.domain.sources import CardSource, ChargeSource, PaymentType, WalletSource
from mockserver.domain.states import SubscriptionState
from mockserver.domain.subscription import EndAfter, Interval, Retry, RetryInterval
from mockserver.domain.vault import Expiry
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.base import Body, Choices, Flag, HeaderText, Map, Moment, Number, Objects, Required, Whole, one_of
from mockserver.wire.charge_bodies import (
    BankPaymentInformation,
    CardRequestInformation,
    PersonFields,
    StoringTerms,
    WebhookConfig,
    payer_of,
)


class CardVaulting(Body):
    """Whether a card shall be vaulted too, and for how long: at most one of the two expiry fields."""

    vault_card: Flag | None = None
    vault_expire_date: Moment | None = None
    vault_expire_seconds: Whole | None = None

    def vault_request(self) -> commands.VaultRequest:
        """Whether to vault the card, and for how long."""
        return commands.VaultRequest(bool(self.vault_card), Expiry(self.vault_expire_seconds, self.vault_expire_date))


class MethodFields(Body):
    """What a payment method is made of: of one to store, and of the first one of a customer. ``stored_by`` is the
    command that stores it."""

    stored_by: ClassVar[Any] = None

    def method(self, terms: commands.MethodTerms) -> Any:
        """That command on some terms."""
        return self.made(self.stored_by, terms=terms)

    def payer(self) -> Payer | None:
        """The payer that is named, without a customer."""
        return None

    def command(self) -> Any:
        return self.method(self.made(commands.MethodTerms, payer=self.payer()))


class CardMethodFields(CardVaulting, MethodFields):
    """A card to store with a provider."""

    named: ClassVar = {"payment_information": "details", "skip_expiry_date_validation": "skip_expiry_check"}

    provider_id: Required
    payment_information: CardRequestInformation
    skip_expiry_date_validation: Flag | None = None
    create_network_token: Flag | None = None
    verify: Flag | None = None

    def method(self, terms: commands.MethodTerms) -> commands.NewCardMethod:
        return self.made(commands.NewCardMethod, terms=terms, vault=self.vault_request())


class TokenFields(MethodFields):
    """A payment token."""

    stored_by = commands.NewTokenMethod

    token: Required


class ProviderTokenFields(MethodFields):
    """What a provider knows by a token of its own, which ``lasts`` or is for one use."""

    lasts: ClassVar = True
    named: ClassVar = {"provider_token": "token", "provider_token_data": "data"}

    provider_id: Required
    provider_token: Required
    provider_token_data: Map | None = None
    metadata: Map | None = None

    def method(self, terms: commands.MethodTerms) -> commands.NewProviderTokenMethod:
        return self.made(commands.NewProviderTokenMethod, lasts=self.lasts, terms=terms)


class BankFields(MethodFields):
    """A bank account with a provider."""

    stored_by = commands.NewBankMethod
    named: ClassVar = {"bank_payment_information": "account"}

    provider_id: Required
    bank_payment_information: BankPaymentInformation


class CardMethodCreation(StoringTerms, CardMethodFields):
    """A card to store with a provider."""


class TokenMethodCreation(StoringTerms, TokenFields):
    """What a payment token stands for, to store."""


class ProviderTokenMethodCreation(ProviderTokenFields):
    """A payment method that the provider knows by a lasting token of its own."""

    email: str | None = None
    verify: Flag | None = None
    fallback_payment_method_id: str | None = None


class SingleUseTokenMethodCreation(PersonFields, ProviderTokenFields):
    """A payment method that the provider knows by a token for one use, with customer details."""

    lasts = False

    ip: str | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None

    def payer(self) -> Payer | None:
        return payer_of(self.reference, self.first_name, self.last_name, self.email, self.phone)


class BankMethodCreation(StoringTerms, BankFields):
    """A bank account to store with a provider."""

    first_name: str | None = None
    last_name: str | None = None

    def payer(self) -> Payer | None:
        return payer_of(None, self.first_name, self.last_name)


class ProviderSwitch(Body):
    """A vaulted payment method to store with another provider."""

    provider_id: Required
    payment_method_id: Required
    ccv: str | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> commands.SwitchProvider:
        return self.made(commands.SwitchProvider, terms=self.made(commands.MethodTerms))


class CardFields(Body):
    """New data of a stored card; what is not given stays."""

    makes = commands.CardChanges
    named: ClassVar = {"card_number": "number", "expiry_date": "expiry"}

    expiry_date: str | None = Field(None, description="MM/YY")
    cardholder: str | None = None
    card_number: str | None = Field(None, description="12 to 19 digits with a right check digit")


class CardUpdate(Body):
    """A change of a stored card."""

    card: CardFields
    metadata: Map | None = None

    def command(self) -> commands.CardChanges:
        return self.card.made(commands.CardChanges, metadata=self.metadata)


class Removal(Body):
    """Whether the provider removes its copy too."""

    gateway_delete: Flag | None = Field(None, description="default true")

    def asks_provider(self) -> bool:
        """True unless the caller says false (service document, Limits)."""
        return self.gateway_delete is not False


class PayIdFields(Body):
    """The payer's PayID."""

    makes = PayIdDetails

    pay_id: str | None = None
    pay_id_type: str | None = Field(None, description="free text, such as EMAIL")


class NewPayToAgreement(StoringTerms, MethodFields):
    """An agreement that a payer is asked for."""

    stored_by = commands.NewPayToMethod
    named: ClassVar = {"payer_pay_id_details": "pay_id"}

    payer_name: Required
    payer_pay_id_details: PayIdFields | None = None
    description: Required
    maximum_amount: Whole = Field(description=f"{LEAST_MAXIMUM} to {MOST_MAXIMUM}")
    provider_id: Required


class CustomerFields(PersonFields, MethodFields):
    """The fields of a customer, and where its webhooks go; what every creation of a customer accepts."""

    ip: str | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> commands.NewCustomer:
        """A customer with a first payment method, whose webhooks go to the customer's receiver too."""
        method = self.method(self.made(commands.MethodTerms, set_default=True))
        return self.made(commands.NewCustomer, details=self.made(CustomerDetails), method=method)


class CardCustomer(CardMethodFields, CustomerFields):
    """A customer with a card."""

    metadata: Map | None = None


class TokenCustomer(TokenFields, CustomerFields):
    """A customer with what a payment token stands for."""

    metadata: Map | None = None


class ProviderTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a lasting token of its own."""

    verify: Flag | None = None


class SingleUseTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a token for one use."""

    lasts = False

    fallback_payment_method_id: str | None = None


class PayToCustomer(CustomerFields):
    """A customer with a PayTo agreement, which has terms of its own."""

    pay_to_agreement: NewPayToAgreement

    def method(self, terms: commands.MethodTerms) -> Any:
        return self.pay_to_agreement.command()


class BankCustomer(BankFields, CustomerFields):
    """A customer with a bank account."""

    metadata: Map | None = None


class CustomerUpdate(PersonFields):
    """A change of a customer; what is null or absent stays (published facts, 8 row 17)."""

    default_payment_method_id: str | None = None


class CardTokenFields(CardVaulting):
    """A card to make a token of."""

    payment_information: CardRequestInformation | None = None
    ip: str | None = None
    metadata: Map | None = None
    three_ds_email: str | None = Field(
        None, alias="threeDSEmail", description="of the client script: the payer is there and can be challenged"
    )

    def of_provider(self, provider_id: str | None) -> commands.NewCardToken:
        """The command that these fields make, for a provider or the cheapest one."""
        details = self.payment_information.command() if self.payment_information else None
        return self.made(commands.NewCardToken, details=details, provider_id=provider_id, vault=self.vault_request())


class CardTokenCreation(CardTokenFields):
    """A card to make a token of, for a provider."""

    provider_id: str | None = None


class LeastCostTokenCreation(CardTokenFields):
    """A card to make a token of, for the provider that takes it for the least cost."""

    amount: Number | None = None
    currency: str | None = None

    def command(self) -> commands.NewCardToken:
        return self.of_provider(None)


class VaultCreation(Body):
    """A card number to vault, with at most one of the two expiry fields."""

    card_number: Required = Field(description="12 to 19 digits with a right check digit")
    ccv: str | None = Field(None, description="3 or 4 digits, 4 for Amex")
    expire_seconds: Whole | None = None
    expire_date: Moment | None = None

    def command(self) -> commands.NewVaultItem:
        return commands.NewVaultItem(self.card_number, self.ccv, Expiry(self.expire_seconds, self.expire_date))


_PLAIN = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"


def _read_payer_amount(value: object) -> Decimal:
    if isinstance(value, str) and re.fullmatch(_PLAIN, value):
        return Decimal(value)
    raise ValueError("wanted an amount in plain digits, such as 12.50")


PayerAmount = Annotated[
    Decimal, PlainValidator(_read_payer_amount), WithJsonSchema({"type": "string", "pattern": f"^{_PLAIN}$"})
]
"""An amount as a payer types it: ``1e3`` is a slip of the finger, not a thousand."""


class PaymentLinkCreation(Body):
    """A page that takes payments."""

    makes = commands.NewPaymentLink
    named: ClassVar = {"allowed_payment_types": "allowed_types", "limit_payments": "limit"}

    title: str | None = None
    amount: Number | None = None
    currency: str | None = None
    allowed_payment_types: Choices[str] | None = Field(None, description="one or more; null offers all")
    description: str | None = None
    image: str | None = Field(None, description="a data URI: data:image/png;base64,...")
    confirmation_message: str | None = None
    redirect_url: str | None = Field(None, description="absolute, http or https")
    call_to_action: one_of(CallToAction) | None = None  # type: ignore[valid-type]
    limit_payments: Whole | None = Field(None, description="1 or more")
    invoice_id: str | None = None
    metadata: Map | None = None


_KINDS = {kind: PaymentType(kind.value.upper()) for kind in LinkPaymentType if kind is not LinkPaymentType.PAYTO}


class LinkCard(Body):
    """A card as a payer types it: a payer leaves nothing out."""

    card_number: Required
    expiry_date: Required
    ccv: Required
    cardholder: Required


class LinkPaymentInput(Body):
    """One payment on the page of a link. ``attempt`` is the key of the page view."""

    named: ClassVar = {"attempt": "attempt_key"}

    attempt: Annotated[str, Field(min_length=1, max_length=64)]
    payment_type: one_of(LinkPaymentType) = LinkPaymentType.CARD  # type: ignore[valid-type]
    amount: PayerAmount | None = None
    payment_information: LinkCard | None = None
    metadata: Map | None = None

    def payment(self) -> commands.LinkPayment:
        """The command that these fields make."""
        card = self.payment_information
        if self.payment_type is not LinkPaymentType.CARD:
            source: ChargeSource = WalletSource(self.payment_type.value, None, None, _KINDS.get(self.payment_type))
        elif card is None:
            source = CardSource(is_given=False)
        else:
            source = CardSource(card.card_number, card.expiry_date, card.ccv, card.cardholder)
        return self.made(commands.LinkPayment, source=source)


class EndAfterFields(Body):
    """What ends a subscription; 0 means nothing (one client always sends a count)."""

    count: Whole | None = None
    amount: Number | None = None
    date: Moment | None = None

    def command(self) -> EndAfter | None:
        """The end as a command carries it, None when nothing ends it."""
        end = EndAfter(self.count or None, self.amount or None, self.date)
        return end if end != EndAfter() else None


class RetryFields(Body):
    """How a declined payment is tried again."""

    maximum: Whole
    interval: one_of(RetryInterval) | None = None  # type: ignore[valid-type]
    frequency: Whole | None = Field(None, description="default 1")

    def command(self) -> Retry:
        return self.made(Retry, interval=RetryInterval.DAY if self.interval is None else self.interval)


class SubscriptionCreation(Body):
    """A payment method to charge again and again."""

    makes = commands.NewSubscription
    named: ClassVar = {"start_date": "start"}

    payment_method_id: Required
    amount: Number
    currency: str | None = None
    interval: one_of(Interval)  # type: ignore[valid-type]
    frequency: Whole | None = Field(None, description="default 1")
    start_date: Moment | None = Field(None, description="default now")
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Map | None = None


class SubscriptionChange(Body):
    """What to change; ``endAfter``, ``retry`` and ``webhook`` are replaced as a whole."""

    makes = commands.ChangeSubscription

    amount: Number | None = None
    currency: str | None = None
    interval: one_of(Interval) | None = None  # type: ignore[valid-type]
    frequency: Whole | None = None
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Map | None = None


class SubscriptionStatus(Body):
    """The status that a subscription shall have."""

    status: one_of(SubscriptionState)  # type: ignore[valid-type]

    def command(self) -> SubscriptionState:
        status: SubscriptionState = self.status
        return status


class BatchCreation(Body):
    """Submit a batch of payments with stored methods."""

    makes = commands.NewBatch
    named: ClassVar = {"batch": "text"}
    also: ClassVar = {"webhookConfig": "webhook"}

    count: Whole = Field(description="number of transactions in the text")
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]
    batch: Required = Field(description="CSV: PaymentMethodId,ReplyAmount,Currency,Reference and a line each")
    webhook: WebhookConfig | None = None
    metadata: Map | None = None


class TransferFields(Body):
    """One transfer of a group."""

    makes = commands.NewTransfer

    account: Required
    amount: Number
    currency: str | None = None
    message: str | None = None
    reference: str | None = None


class TransferGroup(Body):
    """Transfers that are made together or not at all."""

    group_reference: str | None = None
    provider_id: Required
    charge_id: str | None = None
    transfers: Objects[TransferFields] | None = None

    def command(self) -> commands.NewTransferGroup:
        return self.made(commands.NewTransferGroup, transfers=[row.command() for row in self.transfers or ()])


class CostData(Body):
    """One row of a provider's price list."""

    makes = Cost
    named: ClassVar = {
        "is_international_card": "international",
        "card_scheme": "scheme",
        "transaction_cost": "fixed",
        "transaction_percentage": "percent",
    }

    is_international_card: Flag | None = None
    card_scheme: one_of(Brand) | None = None  # type: ignore[valid-type]
    transaction_cost: Number | None = None
    transaction_percentage: Number | None = None


class Condition(Body):
    """For which currency and amounts a provider is hidden or offered."""

    named: ClassVar = {
        "less_than_amount": "less_than",
        "greater_than_amount": "greater_than",
        "apply_currency_conversion": "applies_conversion",
    }

    currency: str | None = None
    less_than_amount: Number | None = None
    greater_than_amount: Number | None = None
    apply_currency_conversion: Flag | None = None

    def command(self) -> ProviderCondition:
        return self.made(ProviderCondition, currency=self.currency.upper() if self.currency else None)


class ProviderFields(Body):
    """A provider to configure, or the fields of one to change."""

    makes = ProviderDetails
    named: ClassVar = {
        "provider_country": "country",
        "authentication_parameters": "authentication",
        "additional_parameters": "additional",
        "cost_data": "costs",
        "hide_configuration": "hide",
        "require_configuration": "require",
    }

    type: str | None = None
    name: str | None = None
    environment: str | None = None
    currency: str | None = None
    provider_country: str | None = None
    three_ds_provider_id: str | None = None
    fallback_provider_id: str | None = None
    authentication_parameters: Map | None = None
    additional_parameters: Map | None = None
    cost_data: Objects[CostData] | None = None
    hide_configuration: Objects[Condition] | None = None
    require_configuration: Objects[Condition] | None = None


class WebhookSubscriptionCreation(Body):
    """A receiver, and the types of its webhooks."""

    url: Required
    authorization: HeaderText | None = None
    types: Choices[one_of(WebhookType)] | None = Field(None, description="null or empty: all of them")  # type: ignore[valid-type]
