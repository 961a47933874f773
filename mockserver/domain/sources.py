"""Where the money of a charge comes from: many routes, one command. Checkouts are providers on
whose own pages a payer approves a payment, such as PayPal, Zip or PayID.

Sources: docs/spec/service.md, What the service does, 3, and Limits (``allowedPaymentTypes``);
docs/spec/published-facts.md, 3 (provider types, payment types).
"""

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, get_args

from mockserver.domain.cards import Card
from mockserver.domain.constraints import CustomerId, PaymentMethodId, TokenId, Within
from mockserver.domain.record import read_table, record


@record
class Checkout:
    """A type of provider, the ``type`` of the payments that it takes, and its name as payers read
    it."""

    type: str
    payment_type: str
    name: str


CHECKOUTS: Mapping[str, Checkout] = {row.type: row for row in read_table("checkouts", Checkout)}
"""Every checkout by the type of its provider, in alphabetical order."""

_FOLDED = {name.replace("_", ""): row for name, row in CHECKOUTS.items()}


def checkout_named(word: str) -> Checkout | None:
    """The checkout that a word such as ``zip``, ``PAYBYACCOUNT`` or ``Pay by Account`` names, or
    None."""
    return _FOLDED.get("".join(mark for mark in word.lower() if mark.isalnum()))


class PaymentType(StrEnum):
    """``type`` of a payment method and of ``paymentInformation`` (assumptions
    ``payment_method.wallet_type``, ``payment_method.checkout_type``; settled fact
    ``payment_method.types``)."""

    CARD = "CARD"
    BANK_ACCOUNT = "BANK_ACCOUNT"
    PAYTO = "PAYTO"
    NETWORK_TOKEN = "NETWORK_TOKEN"
    WALLET = "WALLET"
    APPLEPAY = "APPLEPAY"
    GOOGLEPAY = "GOOGLEPAY"
    # And one for each checkout.
    vars().update({row.payment_type: row.payment_type for row in CHECKOUTS.values()})


class Initiator(StrEnum):
    """Who starts a payment; the order gives the index (service document, Initiator; published
    facts, 3)."""

    CUSTOMER = "CUSTOMER"
    MERCHANT = "MERCHANT"


ChallengeAnswer = StrEnum("ChallengeAnswer", "PASS FAIL CANCEL")
"""What a payer can do with a 3-D Secure challenge."""


@record
class CardDetails:
    """A card as the caller gives it. Number and ccv never show in a repr, a log or an error."""

    number: str | None = field(default=None, repr=False)
    expiry: str | None = None
    ccv: str | None = field(default=None, repr=False)
    cardholder: str | None = None
    three_ds_server_trans_id: str | None = None
    external_three_ds: Mapping[str, str] | None = None


@record
class BankAccount:
    """A bank account as given and as shown."""

    bank_code: str
    account_number: str
    account_name: str


@record
class CheckoutTransfer:
    """A part of a payment that goes on to another account (service document, CheckoutTransfer)."""

    account: str | None = None
    amount: Annotated[Decimal, Within(0)] | None = None


@record
class CardSource(CardDetails):
    """Raw card details, unless none are given; ``provider_id`` None lets the cheapest provider take
    the card."""

    word = "card"

    provider_id: str | None = None
    is_given: bool = True


@record
class BankSource:
    """Raw bank account details."""

    word = "bank_account"

    account: BankAccount
    provider_id: str


@record
class MethodSource:
    """A stored payment method."""

    word = "payment_method"

    payment_method_id: str


@record
class TokenSource:
    """A payment token; ``transfer`` passes a part of the amount on to another account."""

    word = "token"

    token: str
    transfer: CheckoutTransfer | None = None


@record
class CustomerSource:
    """The default payment method of a customer."""

    word = "customer"

    customer_id: str


@record
class NetworkTokenSource:
    """A network token through a provider."""

    word = "network_token"

    provider_id: str
    network_token_id: str | None = None


@record
class WalletSource:
    """The token of a wallet on the payer's device; without ``provider_id`` the first capable
    provider takes it.

    ``kind`` is the wallet, where the caller says which.
    """

    word = "wallet"

    display_name: str | None
    network: str | None
    provider_id: str | None
    kind: PaymentType | None = None


@record
class CheckoutSource:
    """What a payer approved at a checkout. Without ``provider_id`` a provider of the type ``kind``
    takes it, else one that simulates any checkout."""

    word = "checkout"

    kind: str | None = None
    provider_id: str | None = None


ChargeSource = (
    CardSource
    | TokenSource
    | CustomerSource
    | MethodSource
    | BankSource
    | NetworkTokenSource
    | WalletSource
    | CheckoutSource
)
SOURCE_WORDS: tuple[str, ...] = tuple(kind.word for kind in get_args(ChargeSource))
"""The names of sources, as rules have them (scenario key ``source``)."""


@record
class Instrument:
    """What is finally charged: the shown card or account, the stored objects behind it."""

    type: PaymentType
    card: Card | None = None
    bank: BankAccount | None = None
    payment_method_id: PaymentMethodId | None = None
    customer_id: CustomerId | None = None
    token_id: TokenId | None = None
    display_type: str | None = None
