"""Customers on the wire.

Source: docs/spec/service.md, Customers, and Customer; docs/spec/published-facts.md, 1.2, 1.3, 2.4.
"""

from __future__ import annotations

from mockserver.domain.commands import (
    MethodTerms,
    NewBankMethod,
    NewCustomer,
    NewMethod,
    NewTokenMethod,
    TokenKind,
)
from mockserver.domain.customer import Customer, CustomerDetails
from mockserver.domain.payment_method import PaymentMethod
from mockserver.wire.base import Flag, Map, Required
from mockserver.wire.payment_methods import (
    CardMethodFields,
    ProviderTokenFields,
    payment_method_summary,
)
from mockserver.wire.payto import NewPayToAgreement
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members, reply_of
from mockserver.wire.shapes import (
    BankPaymentInformation,
    PersonFields,
    WebhookConfig,
)


class CustomerFields(PersonFields):
    """The fields of a customer, and where its webhooks go; what every creation of a customer accepts."""

    ip: str | None = None
    webhook: WebhookConfig | None = None

    def creation(self, method: NewMethod, metadata: dict[str, str] | None = None) -> NewCustomer:
        """The command that these fields and a first payment method make."""
        return self.made(NewCustomer, details=self.made(CustomerDetails), method=method, metadata=metadata)

    def terms(
        self, metadata: dict[str, str] | None = None, fallback_payment_method_id: str | None = None
    ) -> MethodTerms:
        """The terms of the first payment method; its webhooks go to the customer's receiver too."""
        fallback = fallback_payment_method_id
        return self.made(MethodTerms, set_default=True, metadata=metadata, fallback_payment_method_id=fallback)


class CardCustomer(CardMethodFields, CustomerFields):
    """A customer with a card."""

    metadata: Map | None = None

    def command(self) -> NewCustomer:
        return self.creation(self.card_command(self.terms(self.metadata)), self.metadata)


class TokenCustomer(CustomerFields):
    """A customer with what a payment token stands for."""

    token: Required
    metadata: Map | None = None

    def command(self) -> NewCustomer:
        return self.creation(NewTokenMethod(self.token, self.terms(self.metadata)), self.metadata)


class ProviderTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a lasting token of its own."""

    verify: Flag | None = None

    def command(self) -> NewCustomer:
        return self.creation(self.token_command(TokenKind.LASTING, self.terms(self.metadata)), self.metadata)


class SingleUseTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a token for one use."""

    fallback_payment_method_id: str | None = None

    def command(self) -> NewCustomer:
        terms = self.terms(self.metadata, self.fallback_payment_method_id)
        return self.creation(self.token_command(TokenKind.SINGLE_USE, terms), self.metadata)


class PayToCustomer(CustomerFields):
    """A customer with a PayTo agreement."""

    pay_to_agreement: NewPayToAgreement

    def command(self) -> NewCustomer:
        return self.creation(self.pay_to_agreement.command())


class BankCustomer(CustomerFields):
    """A customer with a bank account."""

    provider_id: Required
    bank_payment_information: BankPaymentInformation
    metadata: Map | None = None

    def command(self) -> NewCustomer:
        account = self.bank_payment_information.command()
        return self.creation(NewBankMethod(account, self.provider_id, self.terms(self.metadata)), self.metadata)


class CustomerUpdate(PersonFields):
    """A change of a customer; what is null or absent stays (published facts, 8 row 17)."""

    default_payment_method_id: str | None = None


def customer_reply(customer: Customer, default: PaymentMethod | None, profile: WireProfile) -> Members:
    """A customer as the documented object; ``default`` is the payment method that it names as its default."""
    return reply_of("CustomerReply", customer, defaultPaymentMethod=payment_method_summary(default, profile))
