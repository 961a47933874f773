"""What callers send to charge another source than a card, and where each source is charged.

Source: docs/spec/service.md, Charges; docs/spec/published-facts.md, 1.2, 1.3.
"""

from __future__ import annotations

from mockserver.domain.record import record
from mockserver.domain.sources import (
    BankSource,
    CheckoutSource,
    CheckoutTransfer,
    CustomerSource,
    MethodSource,
    NetworkTokenSource,
    PaymentType,
    TokenSource,
    WalletSource,
)
from mockserver.wire.base import Body, Flag, Number, Required, field
from mockserver.wire.charge_bodies import CardCharge, ChargeFields, LocatedCharge, ProviderCardCharge
from mockserver.wire.shapes import BankPaymentInformation


class BankCharge(LocatedCharge):
    """Charge a bank account."""

    provider_id: Required
    bank_payment_information: BankPaymentInformation

    def source(self) -> BankSource:
        """The account to charge and who shall take it."""
        return BankSource(self.bank_payment_information.account(), self.provider_id)


class PaymentMethodCharge(LocatedCharge):
    """Charge a stored payment method."""

    payment_method_id: Required
    recurring: Flag | None = None

    def source(self) -> MethodSource:
        """The method to charge."""
        return MethodSource(self.payment_method_id)


class CustomerCharge(LocatedCharge):
    """Charge the default payment method of a customer."""

    customer_id: Required
    recurring: Flag | None = None

    def source(self) -> CustomerSource:
        """The customer to charge."""
        return CustomerSource(self.customer_id)


class CheckoutTransferFields(Body):
    """A part of a payment that goes on to another account."""

    account: str | None = None
    amount: Number | None = None


class TokenCharge(LocatedCharge):
    """Charge a payment token."""

    token: Required
    transfer: CheckoutTransferFields | None = field(None, also="checkoutTransfer")

    def source(self) -> TokenSource:
        """The token to charge."""
        transfer = CheckoutTransfer(self.transfer.account, self.transfer.amount) if self.transfer else None
        return TokenSource(self.token, transfer)


class NetworkTokenCharge(ChargeFields):
    """Charge a network token through a provider."""

    network_token_id: str | None = None
    provider_id: Required

    def source(self) -> NetworkTokenSource:
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

    def source(self, provider_id: str | None) -> WalletSource:
        """The wallet token to charge and who shall take it."""
        shown = self.token.payment_method or WalletPaymentMethod()
        return WalletSource(shown.display_name, shown.network, provider_id, _WALLETS.get((shown.type or "").lower()))


class CheckoutCharge(ChargeFields):
    """Charge what a payer approved at a checkout, such as PayPal or Zip."""

    provider_type: str | None = field(None, description="a checkout such as paypal; the provider's own type counts")
    provider_id: str | None = None

    def source(self) -> CheckoutSource:
        """The checkout, and who shall take the payment."""
        return CheckoutSource(self.provider_type, self.provider_id)


@record
class ChargeRoute:
    """Where a charge is asked for, printed as a row of ``mockserver/web/charge_routes.csv``; ``source`` is what that
    rests on. With ``finds_provider`` its provider may be named by the query or a header as well as by the body."""

    path: str
    body: type[ChargeFields]
    summary: str
    source: str
    is_public: bool = False
    finds_provider: bool = False


_DOCUMENT = "service document, Charges"
CHARGE_ROUTES = (
    ChargeRoute("/charge/card", ProviderCardCharge, "Charge a card", _DOCUMENT),
    ChargeRoute(
        "/charge/card/least_cost", CardCharge, "Charge a card, provider chosen by cost", "published facts, 1.1 row 2"
    ),
    ChargeRoute("/charge/payment_method", PaymentMethodCharge, "Charge a payment method", _DOCUMENT),
    ChargeRoute("/charge/bank_account", BankCharge, "Charge a bank account", _DOCUMENT),
    ChargeRoute("/charge/customer", CustomerCharge, "Charge a customer", _DOCUMENT),
    ChargeRoute("/charge/token", TokenCharge, "Charge a token", _DOCUMENT),
    ChargeRoute("/charge/network_token", NetworkTokenCharge, "Charge a network token", "published facts, 1.1 row 7"),
    ChargeRoute(
        "/charge/token/apple",
        WalletCharge,
        "Charge a wallet",
        "published facts, 1.1 row 8",
        is_public=True,
        finds_provider=True,
    ),
    ChargeRoute(
        "/charge/checkout",
        CheckoutCharge,
        "Charge what a payer approved at a checkout",
        "published facts, 7.1: addCheckout",
        is_public=True,
    ),
)
"""Every way to charge, in the order in which it is described."""
