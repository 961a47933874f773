"""Charges on the wire: bodies and queries in, the Charge out.

Source: service document, Charges, and Resources, Charge; published facts, 1.2, 1.3, 2.1, 2.2.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from pydantic import Field

from mockserver.domain.charge import Charge, Payer
from mockserver.domain.commands import NewCharge
from mockserver.domain.sources import BankSource, CardSource, ChallengeAnswer, Initiator, MethodSource, Source
from mockserver.wire.base import Body, Flag, Map, Moment, Number, Required, Text40, Whole, one_of
from mockserver.wire.dates import moment
from mockserver.wire.profile import Voice
from mockserver.wire.shapes import (
    Address,
    Amount,
    BankPaymentInformation,
    BankPaymentReply,
    CardReply,
    CardRequestInformation,
    DateTime,
    Geolocation,
    IpInfoReply,
    Order,
    PayerReply,
    ProviderSummaryReply,
    WebhookConfig,
    bank_reply,
    card_reply,
    ip_reply,
    optional_moment,
    payer_of,
    payer_reply,
    plain_map,
    provider_summary_reply,
)


class ChargeFields(Body):
    """Fields that every creation of a charge accepts."""

    amount: Number
    currency: str | None = None
    email: str | None = None
    phone: str | None = None
    reference: Text40 | None = None
    capture: Flag | None = Field(None, description="default true; false only authorises")
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
    three_ds_notification_url: str | None = Field(None, alias="threeDSNotificationUrl")
    geolocation: Geolocation | None = None

    def command(self, source: Source) -> NewCharge:
        """The command that these fields and a source make."""
        initiator: Initiator | None = self.initiator
        return NewCharge(
            source=source,
            amount=self.amount,
            currency=self.currency,
            reference=self.reference,
            capture=self.capture is not False,
            payer=self.payer(),
            email=self.email,
            ip=self.ip,
            initiator=initiator.value if initiator else None,
            webhook=self.webhook.target() if self.webhook else None,
            metadata=self.metadata,
            descriptor=self.descriptor,
            three_ds_notification_url=self.three_ds_notification_url,
        )

    def payer(self) -> Payer | None:
        """Who pays, as far as the request says."""
        return payer_of(self.reference, self.first_name, self.last_name, self.email, self.phone)


class CardCharge(ChargeFields):
    """Charge a card, provider chosen by cost."""

    payment_information: CardRequestInformation | None = None
    first_name: Text40 | None = None
    last_name: Text40 | None = None

    def source(self) -> CardSource:
        """The card to charge."""
        return CardSource(self.payment_information.details() if self.payment_information else None, None)


class ProviderCardCharge(CardCharge):
    """Charge a card through a provider."""

    provider_id: Required

    def source(self) -> CardSource:
        """The card to charge and who shall take it."""
        return CardSource(self.payment_information.details() if self.payment_information else None, self.provider_id)


class BankCharge(ChargeFields):
    """Charge a bank account."""

    provider_id: Required
    bank_payment_information: BankPaymentInformation

    def source(self) -> BankSource:
        """The account to charge and who shall take it."""
        return BankSource(self.bank_payment_information.account(), self.provider_id)


class PaymentMethodCharge(ChargeFields):
    """Charge a stored payment method."""

    payment_method_id: Required
    recurring: Flag | None = None

    def source(self) -> MethodSource:
        """The method to charge."""
        return MethodSource(self.payment_method_id)


class Capture(Body):
    """Complete an authorised charge; without an amount, all of it."""

    amount: Number | None = None


class ChallengeInput(Body):
    """The payer's answer to a 3-D Secure challenge: ``pass``, ``fail`` or ``cancel``."""

    result: one_of(ChallengeAnswer)  # type: ignore[valid-type]


class RefundQuery(Body):
    """Give back a part, or without an amount all that is left."""

    amount: Number | None = None
    comment: str | None = None


class ChargeQuery(Body):
    """Every parameter of the charge search."""

    reference: str | None = None
    provider_id: str | None = None
    amount_greater_than: Number | None = None
    amount_less_than: Number | None = None
    customer_id: str | None = None
    status: str | None = None
    added_after: Moment | None = None
    added_before: Moment | None = None
    payment_method_id: str | None = None
    payment_type: str | None = None
    card_type: str | None = None
    currency: str | None = None
    card_number: str | None = Field(None, description="4, 6 or 8 leading digits, or the whole number")
    cardholder: str | None = None
    batch_id: str | None = None
    subscription_id: str | None = None
    sort_by: str | None = None
    sort_order: str | None = None
    limit: Whole | None = None
    skip: Whole | None = None


class PaymentInformationReply(TypedDict):
    """How a charge was paid."""

    paymentMethodId: str | None
    card: CardReply | None
    type: str
    displayType: str | None
    email: str | None
    providerType: str
    bankPayment: BankPaymentReply | None
    cardData: NotRequired[CardReply | None]


class RefundReply(TypedDict):
    """One refund."""

    amount: Amount
    dateAdded: DateTime
    comment: str | None


class FailedAttemptReply(TypedDict):
    """One failed try of one provider."""

    providerId: str
    dateAttempted: DateTime
    errorCode: str
    errorMessage: str
    gatewayCode: str | None
    gatewayMessage: str | None
    isRetryable: bool


class ChargeReply(TypedDict):
    """A charge."""

    chargeId: str
    providerChargeId: str | None
    amount: Amount
    providerId: str
    reference: str | None
    paymentInformation: PaymentInformationReply
    customerId: str | None
    status: str
    dateAdded: DateTime
    successDate: DateTime | None
    voidDate: DateTime | None
    refundedAmount: Amount
    estimatedCost: Amount | None
    estimatedCostCurrency: str | None
    currency: str
    refunds: list[RefundReply]
    failedAttempts: list[FailedAttemptReply]
    customer: PayerReply | None
    provider: ProviderSummaryReply
    threeDsServerTransId: str | None
    threeDsVerified: bool
    authorisationAmount: Amount | None
    initiator: str | None
    ip: str | None
    ipInfo: IpInfoReply | None
    visaInstallments: dict[str, Any] | None
    descriptor: str | None
    threeDsRedirectUrl: str | None
    paymentTokenId: str | None
    subscriptionId: str | None
    metadata: dict[str, str] | None


class ChargesReply(TypedDict):
    """A page of charges; ``count`` is the number of all matches."""

    limit: int
    skip: int
    count: int
    charges: list[ChargeReply]


def charge_reply(charge: Charge, voice: Voice, seed: int) -> ChargeReply:
    """A charge as the documented object, null where nothing is known."""
    instrument = charge.instrument
    card = card_reply(instrument.card, voice)
    information: PaymentInformationReply = {
        "paymentMethodId": instrument.payment_method_id,
        "card": card,
        "type": instrument.type.value,
        "displayType": instrument.display_type,
        "email": charge.email,
        "providerType": charge.provider.type,
        "bankPayment": bank_reply(instrument.bank, voice),
    }
    if voice.card_data:
        information["cardData"] = card
    return {
        "chargeId": charge.charge_id,
        "providerChargeId": charge.provider_charge_id,
        "amount": charge.amount,
        "providerId": charge.provider.provider_id,
        "reference": charge.reference,
        "paymentInformation": information,
        "customerId": charge.customer_id,
        "status": voice.status[charge.status],
        "dateAdded": moment(charge.added),
        "successDate": optional_moment(charge.succeeded),
        "voidDate": optional_moment(charge.voided),
        "refundedAmount": charge.refunded,
        "estimatedCost": charge.estimated_cost,
        "estimatedCostCurrency": charge.currency if charge.estimated_cost is not None else None,
        "currency": charge.currency,
        "refunds": [
            {"amount": refund.amount, "dateAdded": moment(refund.added), "comment": refund.comment}
            for refund in charge.refunds
        ],
        "failedAttempts": [
            {
                "providerId": attempt.provider_id,
                "dateAttempted": moment(attempt.attempted),
                "errorCode": str(attempt.error_code),
                "errorMessage": attempt.error_message,
                "gatewayCode": attempt.gateway_code,
                "gatewayMessage": attempt.gateway_message,
                "isRetryable": attempt.is_retryable,
            }
            for attempt in charge.failed_attempts
        ],
        "customer": payer_reply(charge.payer if voice.shows_payer or charge.customer_id else None),
        "provider": provider_summary_reply(charge.provider),
        "threeDsServerTransId": charge.three_ds_server_trans_id,
        "threeDsVerified": charge.three_ds_verified,
        "authorisationAmount": charge.authorised,
        "initiator": charge.initiator,
        "ip": charge.ip,
        "ipInfo": ip_reply(charge.ip, seed),
        "visaInstallments": None,
        "descriptor": charge.descriptor,
        "threeDsRedirectUrl": charge.three_ds_redirect_url,
        "paymentTokenId": instrument.token_id,
        "subscriptionId": charge.subscription_id,
        "metadata": plain_map(charge.metadata),
    }
