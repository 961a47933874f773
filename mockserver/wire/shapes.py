"""Shapes that several bodies and answers share: cards, accounts, addresses, payers, providers.

Source: docs/spec/service.md, Common request objects, and Charge; docs/spec/published-facts.md, 2.2, 2.3, 2.4.
"""

from typing import ClassVar

from pydantic import Field

from mockserver.domain.charge import Payer, WebhookTarget
from mockserver.domain.commands import MethodTerms
from mockserver.domain.customer import CustomerDetails, PostalAddress
from mockserver.domain.sources import BankAccount, CardDetails
from mockserver.wire.base import (
    Body,
    Flag,
    HeaderText,
    Map,
    Moment,
    Number,
    Objects,
    Receiver,
    Required,
    Text40,
    Whole,
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


class ListQuery(Body):
    """What every list takes: bounds of the time of adding, the page, and the field to sort by."""

    added_after: Moment | None = None
    added_before: Moment | None = None
    limit: Whole | None = None
    skip: Whole | None = None
    sort_by: str | None = None
    sort_order: str | None = None


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

    def terms(self, payer: Payer | None = None) -> MethodTerms:
        """The terms as a command carries them."""
        return self.made(MethodTerms, payer=payer)


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
