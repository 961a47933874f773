"""What bodies of several resources hold: addresses, payers, cards, bank accounts, receivers; and
the query that all lists take. A field stands here once, so that a card is read alike whether it is
charged, stored or made a token of."""

from pydantic import Field

from mockserver.domain.charge import WebhookTarget
from mockserver.domain.customer import CustomerDetails, PostalAddress
from mockserver.domain.sources import BankAccount, CardDetails, CardSource
from mockserver.domain.vault import Expiry
from mockserver.wire.field_types import (
    Flag,
    HeaderValue,
    Moment,
    NonEmpty,
    Receiver,
    Text,
    Text40,
    TextMap,
    Whole32,
)
from mockserver.wire.fields import Body


class CardRequestInformation(Body):
    """A card as callers send it. Which fields are required is settled by the assumption
    ``card.required``."""

    card_number: Text | None = Field(None, description="12 to 19 digits with a right check digit")
    expiry_date: Text | None = Field(None, description="MM/YY")
    ccv: Text | None = Field(None, description="3 or 4 digits, 4 for Amex")
    cardholder: Text | None = None
    three_ds_server_trans_id: Text | None = Field(
        None,
        alias="threeDSServerTransID",
        description="a UUID",
    )
    external_three_ds_data: TextMap | None = None

    def command(self) -> CardDetails:
        """The card as it is given."""
        return CardDetails(
            number=self.card_number,
            expiry=self.expiry_date,
            ccv=self.ccv,
            cardholder=self.cardholder,
            three_ds_server_trans_id=self.three_ds_server_trans_id,
            external_three_ds=self.external_three_ds_data,
        )

    def source(self, provider_id: str | None) -> CardSource:
        """The card as what a charge takes its money from; without a provider the cheapest one takes
        it."""
        return CardSource(
            number=self.card_number,
            expiry=self.expiry_date,
            ccv=self.ccv,
            cardholder=self.cardholder,
            three_ds_server_trans_id=self.three_ds_server_trans_id,
            external_three_ds=self.external_three_ds_data,
            provider_id=provider_id,
        )


class Address(Body):
    """A postal address; country and state are free text (published facts, 1.2)."""

    line1: Text | None = None
    line2: Text | None = None
    city: Text | None = None
    country: Text | None = None
    postal_code: Text | None = None
    state: Text | None = None

    def command(self) -> PostalAddress:
        """The address as it is given."""
        return PostalAddress(
            line1=self.line1,
            line2=self.line2,
            city=self.city,
            country=self.country,
            postal_code=self.postal_code,
            state=self.state,
        )


class PersonFields(Body):
    """The names and contacts of a payer."""

    email: Text | None = None
    phone: Text | None = None
    reference: Text40 | None = None
    first_name: Text40 | None = None
    last_name: Text40 | None = None
    address: Address | None = None

    def details(self, ip: str | None = None) -> CustomerDetails:
        """Who the payer is."""
        return CustomerDetails(
            reference=self.reference,
            first_name=self.first_name,
            last_name=self.last_name,
            email=self.email,
            phone=self.phone,
            ip=ip,
            address=self.address.command() if self.address else None,
        )


class WebhookConfig(Body):
    """Where the webhooks of an object go."""

    url: Receiver
    authorization: HeaderValue | None = None

    def command(self) -> WebhookTarget:
        """The receiver."""
        return WebhookTarget(url=self.url, authorization=self.authorization)


def receiver_of(webhook: WebhookConfig | None) -> WebhookTarget | None:
    """The receiver that a body names, None where it names none."""
    return None if webhook is None else webhook.command()


class BankPaymentInformation(Body):
    """A bank account."""

    bank_code: NonEmpty
    account_number: NonEmpty
    account_name: NonEmpty

    def command(self) -> BankAccount:
        """The account as it is given."""
        return BankAccount(
            bank_code=self.bank_code,
            account_number=self.account_number,
            account_name=self.account_name,
        )


class CardVaulting(Body):
    """Whether a card shall be vaulted too, and for how long: at most one of the two expiry
    fields."""

    vault_card: Flag | None = None
    vault_expire_date: Moment | None = None
    vault_expire_seconds: Whole32 | None = None

    def vault_expiry(self) -> Expiry:
        """When the vaulted card shall expire."""
        return Expiry(seconds=self.vault_expire_seconds, date=self.vault_expire_date)


class ListQuery(Body):
    """What every list takes: bounds of the time of adding, the page, and the field to sort by."""

    added_after: Moment | None = None
    added_before: Moment | None = None
    limit: Whole32 | None = None
    skip: Whole32 | None = None
    sort_by: Text | None = None
    sort_order: Text | None = None


class ProviderQuery(Body):
    """The provider, where it is not named by the header ``ProviderId`` or in the body."""

    provider_id: Text | None = None


class Removal(Body):
    """Whether the provider removes its copy too."""

    gateway_delete: Flag | None = Field(None, description="default true")

    @property
    def asks_provider(self) -> bool:
        """Whether the provider is asked to forget it."""
        return self.gateway_delete is not False
