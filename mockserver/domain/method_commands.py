"""What callers ask for about customers, payment methods and tokens, in the imperative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.commands import NO_VAULT, VaultRequest
from mockserver.domain.customer import CustomerDetails
from mockserver.domain.payto import PayIdDetails
from mockserver.domain.sources import BankAccount, CardDetails


@dataclass(frozen=True, slots=True)
class MethodTerms:
    """What every way to store a payment method has in common. ``payer`` is who a request without customer names."""

    payer: Payer | None = None
    email: str | None = None
    ip: str | None = None
    set_default: bool = False
    metadata: Mapping[str, str] | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookTarget | None = None


@dataclass(frozen=True, slots=True)
class NewCardMethod:
    """Store a card with a provider as a payment method."""

    details: CardDetails
    provider_id: str
    terms: MethodTerms
    vault: VaultRequest = NO_VAULT
    skip_expiry_check: bool = False
    create_network_token: bool = False


@dataclass(frozen=True, slots=True)
class NewTokenMethod:
    """Store what a payment token stands for; uses the token up."""

    token: str
    terms: MethodTerms


class TokenKind(StrEnum):
    """Whether a provider's own token lasts, or is exchanged for one that does."""

    LASTING = "lasting"
    SINGLE_USE = "single use"


@dataclass(frozen=True, slots=True)
class NewProviderTokenMethod:
    """Store a payment method that the provider already knows by a token of its own."""

    provider_id: str
    token: str
    kind: TokenKind
    terms: MethodTerms
    data: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NewBankMethod:
    """Store a bank account with a provider as a payment method."""

    account: BankAccount
    provider_id: str
    terms: MethodTerms


@dataclass(frozen=True, slots=True)
class NewPayToMethod:
    """Ask a payer for a PayTo agreement. ``maximum_amount`` is in whole units of the currency."""

    payer_name: str
    description: str
    maximum_amount: int
    provider_id: str
    terms: MethodTerms
    pay_id: PayIdDetails | None = None


@dataclass(frozen=True, slots=True)
class SwitchProvider:
    """Store the vaulted card of a payment method with another provider."""

    provider_id: str
    payment_method_id: str
    terms: MethodTerms
    ccv: str | None = field(repr=False, default=None)


NewMethod = NewCardMethod | NewTokenMethod | NewProviderTokenMethod | NewBankMethod | NewPayToMethod | SwitchProvider


@dataclass(frozen=True, slots=True)
class CardChanges:
    """New data of a stored card; None leaves a field as it is."""

    number: str | None = field(repr=False, default=None)
    expiry: str | None = None
    cardholder: str | None = None
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NewCustomer:
    """Create a customer with a first payment method, which becomes the default."""

    details: CustomerDetails
    method: NewMethod
    metadata: Mapping[str, str] | None = None
    webhook: WebhookTarget | None = None


@dataclass(frozen=True, slots=True)
class NewCardToken:
    """Make a payment token from a card; without a provider the cheapest one takes it."""

    details: CardDetails | None
    provider_id: str | None
    vault: VaultRequest = NO_VAULT
    ip: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    metadata: Mapping[str, str] | None = None
