"""Customers: what every way to create one sends, its changes and its search.

Source: docs/spec/service.md, Customers; docs/spec/published-facts.md, 1.1 (rows 16-23), 8 (row 17).
"""

from collections.abc import Mapping

from mockserver.domain.commands import MethodTerms, NewCustomer, NewMethod
from mockserver.domain.customer import CustomerDetails
from mockserver.wire.bodies.payment_methods import (
    BankFields,
    CardMethodFields,
    NewPayToAgreement,
    ProviderTokenFields,
    TokenFields,
)
from mockserver.wire.bodies.shared import ListQuery, PersonFields, WebhookConfig, receiver_of
from mockserver.wire.field_types import Flag, Metadata, Text


class CustomerFields(PersonFields):
    """The fields of a customer, and where its webhooks go; what every creation of a customer
    accepts."""

    ip: Text | None = None
    webhook: WebhookConfig | None = None

    def customer(self, method: NewMethod, metadata: Mapping[str, str] | None) -> NewCustomer:
        """The customer, with a first payment method that becomes the default."""
        return NewCustomer(
            details=self.details(self.ip),
            method=method,
            metadata=metadata,
            webhook=receiver_of(self.webhook),
        )

    def first_terms(
        self, metadata: Mapping[str, str] | None, fallback: str | None = None
    ) -> MethodTerms:
        """The terms of that first payment method, which has no terms of its own in the body: it
        becomes the default, and its webhooks go to the customer's receiver too."""
        return MethodTerms(
            email=self.email,
            ip=self.ip,
            set_default=True,
            metadata=metadata,
            fallback_payment_method_id=fallback,
            webhook=receiver_of(self.webhook),
        )


class CardCustomer(CardMethodFields, CustomerFields):
    """A customer with a card."""

    metadata: Metadata | None = None

    def command(self) -> NewCustomer:
        """Create the customer and store the card."""
        return self.customer(self.card_method(self.first_terms(self.metadata)), self.metadata)


class TokenCustomer(TokenFields, CustomerFields):
    """A customer with what a payment token stands for."""

    metadata: Metadata | None = None

    def command(self) -> NewCustomer:
        """Create the customer and store what the token stands for."""
        return self.customer(self.token_method(self.first_terms(self.metadata)), self.metadata)


class ProviderTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a lasting token of its own."""

    verify: Flag | None = None

    def command(self) -> NewCustomer:
        """Create the customer and store what the provider knows."""
        method = self.provider_token_method(self.first_terms(self.metadata), lasts=True)
        return self.customer(method, self.metadata)


class SingleUseTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a token for one use."""

    fallback_payment_method_id: Text | None = None

    def command(self) -> NewCustomer:
        """Create the customer and store what the provider knows."""
        terms = self.first_terms(self.metadata, self.fallback_payment_method_id)
        return self.customer(self.provider_token_method(terms, lasts=False), self.metadata)


class PayToCustomer(CustomerFields):
    """A customer with a PayTo agreement, which has terms of its own."""

    pay_to_agreement: NewPayToAgreement

    def command(self) -> NewCustomer:
        """Create the customer and ask for the agreement."""
        return self.customer(self.pay_to_agreement.command(), metadata=None)


class BankCustomer(BankFields, CustomerFields):
    """A customer with a bank account."""

    metadata: Metadata | None = None

    def command(self) -> NewCustomer:
        """Create the customer and store the account."""
        return self.customer(self.bank_method(self.first_terms(self.metadata)), self.metadata)


class CustomerUpdate(PersonFields):
    """A change of a customer; what is null or absent stays (published facts, 8 row 17)."""

    default_payment_method_id: Text | None = None

    def command(self) -> CustomerDetails:
        """What changes."""
        return self.details()


class CustomerQuery(ListQuery):
    """Every parameter of the customer search."""

    reference: Text | None = None
    email: Text | None = None
    search: Text | None = None
    include_removed: Flag | None = None
    payment_method_id: Text | None = None
    customer_id: Text | None = None
