"""What callers send to charge, capture, refund and find charges, and the shapes that other bodies share with it: cards,
accounts, addresses, payers.

Source: docs/spec/service.md, Charges, and Common request objects; docs/spec/published-facts.md, 1.2, 1.3, 2.2 to 2.4.
"""

from decimal import Decimal
from typing import ClassVar

from pydantic import Field

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.commands import NewCharge
from mockserver.domain.customer import CustomerDetails, PostalAddress
from mockserver.domain.sources import (
    BankAccount,
    BankSource,
    CardDetails,
    CardSource,
    ChallengeAnswer,
    ChargeSource,
    CheckoutSource,
    CheckoutTransfer,
    CustomerSource,
    Initiator,
    MethodSource,
    NetworkTokenSource,
    PaymentType,
    TokenSource,
    WalletSource,
)
from mockserver.wire.base import (
    Body,
    Callback,
    Flag,
    HeaderText,
    ListQuery,
    Map,
    Number,
    Objects,
    Receiver,
    Required,
    Text40,
    one_of,
)


class CardRequestInformation(Body):
    """A card as callers send it. Which fields are required is settled by the assumption ``card.required``."""

    makes = CardDetails
    named: ClassVar = {"card_number": "number", "expiry_date": "expiry", "external_three_ds_data": "external_three_ds"}

    card_number: str | None = Field(None, description="12 to 19 digits with a right check digit")
    expiry_date: str | None = Field(None, description="MM/YY")
    ccv: str | None = Field(None, description="3 or 4 digits, 4 for Amex")
    cardholder: str | None = None
    three_ds_server_trans_id: str | None = Field(None, alias="threeDSServerTransID", description="a UUID")
    external_three_ds_data: Map | None = None


class Address(Body):
    """A postal address; country and state are free text (published facts, 1.2)."""

    makes = PostalAddress

    line1: str | None = None
    line2: str | None = None
    city: str | None = None
    country: str | None = None
    postal_code: str | None = None
    state: str | None = None


class PersonFields(Body):
    """The names and contacts of a payer."""

    makes = CustomerDetails

    email: str | None = None
    phone: str | None = None
    reference: Text40 | None = None
    first_name: Text40 | None = None
    last_name: Text40 | None = None
    address: Address | None = None


class OrderItem(Body):
    """One line of an order."""

    product_code: str | None = None
    commodity_code: str | None = None
    description: str | None = None
    quantity: Number | None = None
    unit_of_measure: str | None = None
    amount: Number | None = None
    tax_amount: Number | None = None


class Order(Body):
    """What is bought."""

    order_number: str | None = None
    freight_amount: Number | None = None
    duty_amount: Number | None = None
    tax_amount: Number | None = Field(None, description="of the client script")
    discount_amount: Number | None = Field(None, description="of the client script")
    items: Objects[OrderItem] | None = None


class Geolocation(Body):
    """Where the payer is."""

    longitude: Number | None = None
    latitude: Number | None = None


class WebhookConfig(Body):
    """Where the webhooks of an object go."""

    makes = WebhookTarget

    url: Receiver
    authorization: HeaderText | None = None


class StoringTerms(Body):
    """On which terms a payment method is stored: what most ways of storing one accept."""

    ip: str | None = None
    set_default: Flag | None = None
    metadata: Map | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None


class BankPaymentInformation(Body):
    """A bank account."""

    makes = BankAccount

    bank_code: Required
    account_number: Required
    account_name: Required


def payer_of(
    reference: str | None = None,
    first_name: str | None = None,
    last_name: str | None = None,
    email: str | None = None,
    phone: str | None = None,
) -> Payer | None:
    """The payer that a request names, or None when it names nobody (assumption ``charge.customer_summary``)."""
    if first_name is last_name is email is phone is None:
        return None
    return Payer(None, reference, first_name, last_name, email, phone)


class ChargeFields(Body):
    """Fields that every creation of a charge accepts."""

    amount: Number
    currency: str | None = None
    email: str | None = None
    phone: str | None = None
    reference: Text40 | None = None
    capture: Flag | None = Field(None, description="default true; false only authorises")
    ip: str | None = None
    address: Address | None = None
    order: Order | None = None
    customer_code: str | None = None
    invoice_number: str | None = None
    initiator: one_of(Initiator) | None = None  # type: ignore[valid-type]
    webhook: WebhookConfig | None = None
    first_name: str | None = None
    last_name: str | None = None
    metadata: Map | None = None
    descriptor: str | None = None
    three_ds_notification_url: Callback | None = Field(None, alias="threeDSNotificationUrl")

    def source(self, named: str | None) -> ChargeSource:
        """What is charged, through the provider that was ``named`` beside the body, if any."""
        raise NotImplementedError

    def charge(self, named: str | None = None) -> NewCharge:
        """The command that these fields make; ``named`` is as for the source."""
        payer = payer_of(self.reference, self.first_name, self.last_name, self.email, self.phone)
        return NewCharge(
            self.source(named),
            self.amount,
            self.currency,
            self.reference,
            self.capture is not False,
            payer,
            email=None if payer is None else payer.email,
            ip=self.ip,
            initiator=self.initiator.value if self.initiator else None,
            webhook=self.webhook.command() if self.webhook else None,
            metadata=self.metadata,
            descriptor=self.descriptor,
            three_ds_notification_url=self.three_ds_notification_url,
        )


class LocatedCharge(ChargeFields):
    """What all variants but the network-token and the wallet charge accept as well."""

    geolocation: Geolocation | None = None


class CardCharge(LocatedCharge):
    """Charge a card, provider chosen by cost."""

    payment_information: CardRequestInformation | None = None
    first_name: Text40 | None = None
    last_name: Text40 | None = None

    def source(self, named: str | None) -> CardSource:
        """The card to charge, and who shall take it when the body says so."""
        provider_id, card = getattr(self, "provider_id", None), self.payment_information
        if card is None:
            return CardSource(provider_id=provider_id, is_given=False)
        return CardSource(
            card.card_number,
            card.expiry_date,
            card.ccv,
            card.cardholder,
            card.three_ds_server_trans_id,
            card.external_three_ds_data,
            provider_id=provider_id,
        )


class ProviderCardCharge(CardCharge):
    """Charge a card through a provider."""

    provider_id: Required


class Capture(Body):
    """Complete an authorised charge; without an amount, all of it."""

    amount: Number | None = None

    def command(self) -> Decimal | None:
        """How much is captured, None for all."""
        return self.amount


class ChallengeInput(Body):
    """The payer's answer to a 3-D Secure challenge: ``pass``, ``fail`` or ``cancel``."""

    result: one_of(ChallengeAnswer)  # type: ignore[valid-type]

    def command(self) -> ChallengeAnswer:
        answer: ChallengeAnswer = self.result
        return answer


class RefundQuery(Body):
    """Give back a part, or without an amount all that is left."""

    amount: Number | None = None
    comment: str | None = None


class ChargeQuery(ListQuery):
    """Every parameter of the charge search."""

    reference: str | None = None
    provider_id: str | None = None
    amount_greater_than: Number | None = None
    amount_less_than: Number | None = None
    customer_id: str | None = None
    status: str | None = None
    payment_method_id: str | None = None
    payment_type: str | None = None
    card_type: str | None = None
    currency: str | None = None
    card_number: str | None = Field(None, description="4, 6 or 8 leading digits, or the whole number")
    cardholder: str | None = None
    batch_id: str | None = None
    subscription_id: str | None = None


class BankCharge(LocatedCharge):
    """Charge a bank account."""

    provider_id: Required
    bank_payment_information: BankPaymentInformation

    def source(self, named: str | None) -> BankSource:
        """The account to charge and who shall take it."""
        return BankSource(self.bank_payment_information.command(), self.provider_id)


class PaymentMethodCharge(LocatedCharge):
    """Charge a stored payment method."""

    payment_method_id: Required
    recurring: Flag | None = None

    def source(self, named: str | None) -> MethodSource:
        """The method to charge."""
        return MethodSource(self.payment_method_id)


class CustomerCharge(LocatedCharge):
    """Charge the default payment method of a customer."""

    customer_id: Required
    recurring: Flag | None = None

    def source(self, named: str | None) -> CustomerSource:
        """The customer to charge."""
        return CustomerSource(self.customer_id)


class CheckoutTransferFields(Body):
    """A part of a payment that goes on to another account."""

    account: str | None = None
    amount: Number | None = None


class TokenCharge(LocatedCharge):
    """Charge a payment token."""

    also: ClassVar = {"checkoutTransfer": "transfer"}

    token: Required
    transfer: CheckoutTransferFields | None = None

    def source(self, named: str | None) -> TokenSource:
        """The token to charge."""
        transfer = CheckoutTransfer(self.transfer.account, self.transfer.amount) if self.transfer else None
        return TokenSource(self.token, transfer)


class NetworkTokenCharge(ChargeFields):
    """Charge a network token through a provider."""

    network_token_id: str | None = None
    provider_id: Required

    def source(self, named: str | None) -> NetworkTokenSource:
        """The network token to charge and who shall take it."""
        return NetworkTokenSource(self.network_token_id, self.provider_id)


_WALLETS = {"applepay": PaymentType.APPLEPAY, "googlepay": PaymentType.GOOGLEPAY}
"""Wallets that the ``type`` of a payment method may name, as the client script does."""


class WalletHeader(Body):
    """What the wallet's payment data are encrypted with."""

    public_key_hash: str | None = None
    ephemeral_public_key: str | None = None
    transaction_id: str | None = None


class WalletPaymentData(Body):
    """The encrypted payment data of a wallet."""

    data: str | None = None
    signature: str | None = None
    header: WalletHeader | None = None
    version: str | None = None


class WalletPaymentMethod(Body):
    """The card in the wallet, as the payer sees it."""

    display_name: str | None = None
    network: str | None = None
    type: str | None = None


class WalletToken(Body):
    """What a wallet on the payer's device hands out."""

    payment_data: WalletPaymentData | None = None
    payment_method: WalletPaymentMethod | None = None


class WalletCharge(ChargeFields):
    """Charge the token of a wallet."""

    token: WalletToken
    user_agent: str | None = None
    provider_id: str | None = None

    def source(self, named: str | None) -> WalletSource:
        """The wallet token to charge and who shall take it."""
        shown = self.token.payment_method or WalletPaymentMethod()
        return WalletSource(shown.display_name, shown.network, named, _WALLETS.get((shown.type or "").lower()))


class CheckoutCharge(ChargeFields):
    """Charge what a payer approved at a checkout, such as PayPal or Zip."""

    provider_type: str | None = Field(None, description="a checkout such as paypal; the provider's own type counts")
    provider_id: str | None = None

    def source(self, named: str | None) -> CheckoutSource:
        """The checkout, and who shall take the payment."""
        return CheckoutSource(self.provider_type, self.provider_id)
