"""Customers on the wire. Source: service document, Customers, and Customer; published facts, 1.2, 1.3, 2.4."""

from __future__ import annotations

from typing import TypedDict

from mockserver.domain.customer import Customer, CustomerDetails, PostalAddress
from mockserver.domain.method_commands import (
    MethodTerms,
    NewBankMethod,
    NewCustomer,
    NewMethod,
    NewTokenMethod,
    TokenKind,
)
from mockserver.domain.payment_method import PaymentMethod
from mockserver.wire.base import Flag, Map, Required
from mockserver.wire.dates import moment
from mockserver.wire.method_bodies import CardMethodFields, ProviderTokenFields
from mockserver.wire.payment_methods import PaymentMethodSummaryReply, payment_method_summary
from mockserver.wire.payto import NewPayToAgreement
from mockserver.wire.profile import WireProfile
from mockserver.wire.shapes import (
    Address,
    BankPaymentInformation,
    ListQuery,
    PageReply,
    PersonFields,
    ReplyDateTime,
    WebhookConfig,
    optional_moment,
)


class CustomerFields(PersonFields):
    """The fields of a customer, and where its webhooks go; what every creation of a customer accepts."""

    ip: str | None = None
    webhook: WebhookConfig | None = None

    def creation(self, method: NewMethod, metadata: dict[str, str] | None = None) -> NewCustomer:
        """The command that these fields and a first payment method make."""
        return NewCustomer(_details(self, self.ip), method, metadata, self.webhook.target() if self.webhook else None)

    def terms(
        self, metadata: dict[str, str] | None = None, fallback_payment_method_id: str | None = None
    ) -> MethodTerms:
        """The terms of the first payment method; its webhooks go to the customer's receiver too."""
        return MethodTerms(
            email=self.email,
            ip=self.ip,
            set_default=True,
            metadata=metadata,
            fallback_payment_method_id=fallback_payment_method_id,
            webhook=self.webhook.target() if self.webhook else None,
        )


class CardCustomer(CardMethodFields, CustomerFields):
    """A customer with a card."""

    metadata: Map | None = None

    def command(self) -> NewCustomer:
        """The command that these fields make."""
        return self.creation(self.card_command(self.terms(self.metadata)), self.metadata)


class TokenCustomer(CustomerFields):
    """A customer with what a payment token stands for."""

    token: Required
    metadata: Map | None = None

    def command(self) -> NewCustomer:
        """The command that these fields make."""
        return self.creation(NewTokenMethod(self.token, self.terms(self.metadata)), self.metadata)


class ProviderTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a lasting token of its own."""

    verify: Flag | None = None

    def command(self) -> NewCustomer:
        """The command that these fields make."""
        return self.creation(self.token_command(TokenKind.LASTING, self.terms(self.metadata)), self.metadata)


class SingleUseTokenCustomer(ProviderTokenFields, CustomerFields):
    """A customer with a payment method that the provider knows by a token for one use."""

    fallback_payment_method_id: str | None = None

    def command(self) -> NewCustomer:
        """The command that these fields make."""
        terms = self.terms(self.metadata, self.fallback_payment_method_id)
        return self.creation(self.token_command(TokenKind.SINGLE_USE, terms), self.metadata)


class PayToCustomer(CustomerFields):
    """A customer with a PayTo agreement."""

    pay_to_agreement: NewPayToAgreement

    def command(self) -> NewCustomer:
        """The command that these fields make."""
        return self.creation(self.pay_to_agreement.command())


class BankCustomer(CustomerFields):
    """A customer with a bank account."""

    provider_id: Required
    bank_payment_information: BankPaymentInformation
    metadata: Map | None = None

    def command(self) -> NewCustomer:
        """The command that these fields make."""
        account = self.bank_payment_information.account()
        return self.creation(NewBankMethod(account, self.provider_id, self.terms(self.metadata)), self.metadata)


class CustomerUpdate(PersonFields):
    """A change of a customer; what is null or absent stays (published facts, 8 row 17)."""

    default_payment_method_id: str | None = None

    def details(self) -> CustomerDetails:
        """The fields of the person as a command carries them."""
        return _details(self)


class CustomerQuery(ListQuery):
    """Every parameter of the customer search."""

    reference: str | None = None
    email: str | None = None
    search: str | None = None
    include_removed: Flag | None = None
    payment_method_id: str | None = None
    customer_id: str | None = None


class AddressReply(TypedDict):
    """A postal address."""

    line1: str | None
    line2: str | None
    city: str | None
    country: str | None
    postalCode: str | None
    state: str | None


class CustomerReply(TypedDict):
    """A customer."""

    customerId: str
    reference: str | None
    firstName: str | None
    lastName: str | None
    email: str | None
    phone: str | None
    dateAdded: ReplyDateTime
    dateRemoved: ReplyDateTime | None
    defaultPaymentMethod: PaymentMethodSummaryReply | None
    ip: str | None
    address: AddressReply | None


class CustomersReply(PageReply):
    """A page of customers; ``count`` is the number of all matches."""

    customers: list[CustomerReply]


def _details(person: PersonFields, ip: str | None = None) -> CustomerDetails:
    return CustomerDetails(
        reference=person.reference,
        first_name=person.first_name,
        last_name=person.last_name,
        email=person.email,
        phone=person.phone,
        ip=ip,
        address=postal(person.address),
    )


def postal(address: Address | None) -> PostalAddress | None:
    """An address as a command carries it."""
    if address is None:
        return None
    return PostalAddress(
        line1=address.line1,
        line2=address.line2,
        city=address.city,
        country=address.country,
        postal_code=address.postal_code,
        state=address.state,
    )


def customer_reply(customer: Customer, default: PaymentMethod | None, profile: WireProfile) -> CustomerReply:
    """A customer as the documented object; ``default`` is the payment method that it names as its default."""
    return {
        "customerId": customer.customer_id,
        "reference": customer.reference,
        "firstName": customer.first_name,
        "lastName": customer.last_name,
        "email": customer.email,
        "phone": customer.phone,
        "dateAdded": moment(customer.added),
        "dateRemoved": optional_moment(customer.removed),
        "defaultPaymentMethod": payment_method_summary(default, profile),
        "ip": customer.ip,
        "address": _address(customer.address),
    }


def _address(address: PostalAddress | None) -> AddressReply | None:
    if address is None:
        return None
    return {
        "line1": address.line1,
        "line2": address.line2,
        "city": address.city,
        "country": address.country,
        "postalCode": address.postal_code,
        "state": address.state,
    }
