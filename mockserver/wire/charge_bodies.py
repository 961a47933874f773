"""What callers send to charge, capture, refund and find charges.

Source: docs/spec/service.md, Charges; docs/spec/published-facts.md, 1.2, 1.3.
"""

from mockserver.domain.commands import NewCharge
from mockserver.domain.sources import (
    CardSource,
    ChallengeAnswer,
    ChargeSource,
    Initiator,
)
from mockserver.wire.base import Body, Callback, Flag, Map, Number, Required, Text40, field, one_of
from mockserver.wire.shapes import (
    Address,
    CardRequestInformation,
    Geolocation,
    ListQuery,
    Order,
    WebhookConfig,
    payer_of,
)


class ChargeFields(Body):
    """Fields that every creation of a charge accepts."""

    amount: Number
    currency: str | None = None
    email: str | None = None
    phone: str | None = None
    reference: Text40 | None = None
    capture: Flag | None = field(None, description="default true; false only authorises")
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
    three_ds_notification_url: Callback | None = field(None, alias="threeDSNotificationUrl")

    def charge(self, source: ChargeSource) -> NewCharge:
        """The command that these fields and a source make."""
        payer = payer_of(self.reference, self.first_name, self.last_name, self.email, self.phone)
        return NewCharge(
            source=source,
            amount=self.amount,
            currency=self.currency,
            reference=self.reference,
            capture=self.capture is not False,
            payer=payer,
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

    def source(self) -> CardSource:
        """The card to charge."""
        return _card(self.payment_information, None)


class ProviderCardCharge(CardCharge):
    """Charge a card through a provider."""

    provider_id: Required

    def source(self) -> CardSource:
        """The card to charge and who shall take it."""
        return _card(self.payment_information, self.provider_id)


def _card(fields: CardRequestInformation | None, provider_id: str | None) -> CardSource:
    if fields is None:
        return CardSource(provider_id=provider_id, is_given=False)
    return CardSource(
        number=fields.card_number,
        expiry=fields.expiry_date,
        ccv=fields.ccv,
        cardholder=fields.cardholder,
        three_ds_server_trans_id=fields.three_ds_server_trans_id,
        external_three_ds=fields.external_three_ds_data,
        provider_id=provider_id,
    )


class Capture(Body):
    """Complete an authorised charge; without an amount, all of it."""

    amount: Number | None = None


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
    card_number: str | None = field(None, description="4, 6 or 8 leading digits, or the whole number")
    cardholder: str | None = None
    batch_id: str | None = None
    subscription_id: str | None = None
