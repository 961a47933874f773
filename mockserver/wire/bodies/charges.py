"""Charges: what every way to take a payment sends, and the queries of searches and refunds.

Source: docs/spec/service.md, Charges; docs/spec/published-facts.md, 1.2, 7.1.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from mockserver.domain.charge import Payer
from mockserver.domain.commands import NewCharge
from mockserver.domain.sources import (
    BankSource,
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
from mockserver.wire.bodies.shared import (
    Address,
    BankPaymentInformation,
    CardRequestInformation,
    ListQuery,
    WebhookConfig,
    receiver_of,
)
from mockserver.wire.field_types import (
    Flag,
    Many,
    Metadata,
    NonEmpty,
    Number,
    ReceiverOrNowhere,
    Text,
    Text40,
    one_of,
)
from mockserver.wire.fields import Body


class OrderItem(Body):
    """One line of an order."""

    product_code: Text | None = None
    commodity_code: Text | None = None
    description: Text | None = None
    quantity: Number | None = None
    unit_of_measure: Text | None = None
    amount: Number | None = None
    tax_amount: Number | None = None


class Order(Body):
    """What is bought."""

    order_number: Text | None = None
    freight_amount: Number | None = None
    duty_amount: Number | None = None
    tax_amount: Number | None = Field(None, description="of the client script")
    discount_amount: Number | None = Field(None, description="of the client script")
    items: Many[OrderItem] | None = None


class Geolocation(Body):
    """Where the payer is."""

    longitude: Number | None = None
    latitude: Number | None = None


class ChargeFields(Body):
    """Fields that every creation of a charge accepts."""

    amount: Number
    currency: Text | None = None
    email: Text | None = None
    phone: Text | None = None
    reference: Text40 | None = None
    capture: Flag | None = Field(None, description="default true; false only authorises")
    ip: Text | None = None
    address: Address | None = None
    order: Order | None = None
    customer_code: Text | None = None
    invoice_number: Text | None = None
    initiator: Annotated[Initiator, one_of(Initiator)] | None = None
    webhook: WebhookConfig | None = None
    first_name: Text | None = None
    last_name: Text | None = None
    metadata: Metadata | None = None
    descriptor: Text | None = None
    three_ds_notification_url: ReceiverOrNowhere | None = Field(
        None, alias="threeDSNotificationUrl"
    )

    def charge(self, source: ChargeSource) -> NewCharge:
        """The payment that is asked for, taken from ``source``: every way to pay has the same
        fields besides, so each body below says its source and leaves the rest to this."""
        payer = self.payer()
        return NewCharge(
            source=source,
            amount=self.amount,
            currency=self.currency,
            reference=self.reference,
            capture=self.capture is not False,
            payer=payer,
            # Without a payer there is nobody whose address it could be.
            email=None if payer is None else payer.email,
            ip=self.ip,
            initiator=None if self.initiator is None else self.initiator.value,
            webhook=receiver_of(self.webhook),
            metadata=self.metadata,
            descriptor=self.descriptor,
            three_ds_notification_url=self.three_ds_notification_url,
        )

    def payer(self) -> Payer | None:
        """Who pays, None when the body names nobody: an answer shows a payer or null (assumption
        ``charge.customer_summary``), never one of whom nothing is known.

        The reference of the body is that of the order, not of the payer.
        """
        if (
            self.first_name is None
            and self.last_name is None
            and self.email is None
            and self.phone is None
        ):
            return None
        return Payer(
            first_name=self.first_name,
            last_name=self.last_name,
            email=self.email,
            phone=self.phone,
        )


class LocatedCharge(ChargeFields):
    """What all variants but the network-token and the wallet charge accept as well."""

    geolocation: Geolocation | None = None


class CardCharge(LocatedCharge):
    """Charge a card, provider chosen by cost. Only with a card are a payer's names limited to 40
    characters."""

    payment_information: CardRequestInformation | None = None
    first_name: Text40 | None = None
    last_name: Text40 | None = None

    def command(self) -> NewCharge:
        """Charge the card through the provider that takes it for the least cost."""
        return self.charge(self.card(provider_id=None))

    def card(self, provider_id: str | None) -> CardSource:
        """The card to charge. A body without one is refused by the engine, which also finds what
        else is wrong with the payment: a client learns of all its faults at once."""
        if self.payment_information is None:
            return CardSource(provider_id=provider_id, is_given=False)
        return self.payment_information.source(provider_id)


class ProviderCardCharge(CardCharge):
    """Charge a card through a provider."""

    provider_id: NonEmpty

    def command(self) -> NewCharge:
        """Charge the card through the provider of the body."""
        return self.charge(self.card(provider_id=self.provider_id))


class Capture(Body):
    """Complete an authorised charge; without an amount, all of it."""

    amount: Number | None = None


class ChallengeInput(Body):
    """The payer's answer to a 3-D Secure challenge: ``pass``, ``fail`` or ``cancel``."""

    result: Annotated[ChallengeAnswer, one_of(ChallengeAnswer)]


class BankCharge(LocatedCharge):
    """Charge a bank account."""

    provider_id: NonEmpty
    bank_payment_information: BankPaymentInformation

    def command(self) -> NewCharge:
        """Charge the bank account."""
        return self.charge(
            BankSource(
                account=self.bank_payment_information.command(), provider_id=self.provider_id
            )
        )


class PaymentMethodCharge(LocatedCharge):
    """Charge a stored payment method."""

    payment_method_id: NonEmpty
    recurring: Flag | None = None

    def command(self) -> NewCharge:
        """Charge the stored payment method."""
        return self.charge(MethodSource(payment_method_id=self.payment_method_id))


class CustomerCharge(LocatedCharge):
    """Charge the default payment method of a customer."""

    customer_id: NonEmpty
    recurring: Flag | None = None

    def command(self) -> NewCharge:
        """Charge the customer's default payment method."""
        return self.charge(CustomerSource(customer_id=self.customer_id))


class CheckoutTransferFields(Body):
    """A part of a payment that goes on to another account."""

    account: Text | None = None
    amount: Number | None = None

    def command(self) -> CheckoutTransfer:
        """The part that goes on."""
        return CheckoutTransfer(account=self.account, amount=self.amount)


class TokenCharge(LocatedCharge):
    """Charge a payment token."""

    token: NonEmpty
    transfer: CheckoutTransferFields | None = None

    also_read: ClassVar[Mapping[str, str]] = {"checkoutTransfer": "transfer"}

    def command(self) -> NewCharge:
        """Charge what the token stands for."""
        transfer = None if self.transfer is None else self.transfer.command()
        return self.charge(TokenSource(token=self.token, transfer=transfer))


class NetworkTokenCharge(ChargeFields):
    """Charge a network token through a provider."""

    network_token_id: Text | None = None
    provider_id: NonEmpty

    def command(self) -> NewCharge:
        """Charge the network token."""
        return self.charge(
            NetworkTokenSource(provider_id=self.provider_id, network_token_id=self.network_token_id)
        )


class WalletHeader(Body):
    """What the wallet's payment data are encrypted with."""

    public_key_hash: Text | None = None
    ephemeral_public_key: Text | None = None
    transaction_id: Text | None = None


class WalletPaymentData(Body):
    """The encrypted payment data of a wallet."""

    data: Text | None = None
    signature: Text | None = None
    header: WalletHeader | None = None
    version: Text | None = None


class WalletPaymentMethod(Body):
    """The card in the wallet, as the payer sees it."""

    display_name: Text | None = None
    network: Text | None = None
    type: Text | None = None


class WalletToken(Body):
    """What a wallet on the payer's device hands out."""

    payment_data: WalletPaymentData | None = None
    payment_method: WalletPaymentMethod | None = None


_WALLETS = {"applepay": PaymentType.APPLEPAY, "googlepay": PaymentType.GOOGLEPAY}
"""Wallets that the ``type`` of a payment method may name, as the client script does."""


class WalletCharge(ChargeFields):
    """Charge the token of a wallet."""

    token: WalletToken
    user_agent: Text | None = None
    provider_id: Text | None = None

    def command(self, provider_id: str | None) -> NewCharge:
        """Charge the wallet through ``provider_id``, which header, query or body name, or through
        any that can. The encrypted payment data are not read: only a provider could, so the card is
        what the wallet shows of it."""
        shown = self.token.payment_method
        if shown is None:
            shown = WalletPaymentMethod()
        return self.charge(
            WalletSource(
                display_name=shown.display_name,
                network=shown.network,
                provider_id=provider_id,
                kind=_WALLETS.get((shown.type or "").lower()),
            )
        )


class CheckoutCharge(ChargeFields):
    """Charge what a payer approved at a checkout, such as PayPal or Zip."""

    provider_type: Text | None = Field(
        None,
        description="a checkout such as paypal; the provider's own type counts",
    )
    provider_id: Text | None = None

    def command(self) -> NewCharge:
        """Charge what the payer approved."""
        return self.charge(CheckoutSource(kind=self.provider_type, provider_id=self.provider_id))


class RefundQuery(Body):
    """Give back a part, or without an amount all that is left."""

    amount: Number | None = None
    comment: Text | None = None

    may_be_blank: ClassVar[frozenset[str]] = frozenset({"comment"})


class ChargeQuery(ListQuery):
    """Every parameter of the charge search."""

    reference: Text | None = None
    provider_id: Text | None = None
    amount_greater_than: Number | None = None
    amount_less_than: Number | None = None
    customer_id: Text | None = None
    status: Text | None = None
    payment_method_id: Text | None = None
    payment_type: Text | None = None
    card_type: Text | None = None
    currency: Text | None = None
    card_number: Text | None = Field(
        None,
        description="4, 6 or 8 leading digits, or the whole number",
    )
    cardholder: Text | None = None
    batch_id: Text | None = None
    subscription_id: Text | None = None
