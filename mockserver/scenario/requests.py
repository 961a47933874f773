"""What the request of each operation holds, field by field, and how the API reads it.

``data`` and ``meta`` are what a webhook says. Source: service document, Endpoints; published facts, 1.2, 1.3, 6. Tests
compare the table with the models of the routes and with webhooks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from mockserver.domain.calendar import Interval, RetryInterval
from mockserver.domain.cards import Brand
from mockserver.domain.payment_link import CallToAction, LinkPaymentType
from mockserver.domain.sources import ChallengeAnswer, Initiator
from mockserver.domain.states import SubscriptionState
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.scenario.kinds import FLAG, NUMBER, TEXT, Kind, choice

_OPERATIONS = """
charge.create address amount# bankPaymentInformation capture? currency customerCode customerId descriptor email
  firstName geolocation initiator!Initiator invoiceNumber ip lastName metadata* networkTokenId order paymentInformation
  paymentMethodId phone providerId providerType recurring? reference threeDSNotificationUrl token transfer userAgent
  webhook
charge.challenge result!ChallengeAnswer
charge.capture amount#
charge.refund amount# comment
charge.search addedAfter addedBefore amountGreaterThan# amountLessThan# batchId cardNumber cardType cardholder currency
  customerId limit# paymentMethodId paymentType providerId reference skip# sortBy sortOrder status subscriptionId
vault.create cardNumber ccv expireDate expireSeconds#
customer.create address bankPaymentInformation createNetworkToken? email fallbackPaymentMethodId firstName ip lastName
  metadata* payToAgreement paymentInformation phone providerId providerToken providerTokenData* reference
  skipExpiryDateValidation? token vaultCard? vaultExpireDate vaultExpireSeconds# verify? webhook
customer.search addedAfter addedBefore customerId email includeRemoved? limit# paymentMethodId reference search skip#
  sortBy sortOrder
customer.update address defaultPaymentMethodId email firstName lastName phone reference
customer.delete gatewayDelete?
payment_method.create address bankPaymentInformation ccv createNetworkToken? description email fallbackPaymentMethodId
  firstName ip lastName maximumAmount# metadata* payerName payerPayIdDetails paymentInformation paymentMethodId phone
  providerId providerToken providerTokenData* reference setDefault? skipExpiryDateValidation? token vaultCard?
  vaultExpireDate vaultExpireSeconds# verify? webhook
payment_method.search addedAfter addedBefore cardType customerId includeRemoved? limit# paymentType providerId search
  skip# sortBy sortOrder
payment_method.update card metadata*
payment_method.delete gatewayDelete?
token.create amount# currency description fallbackPaymentMethodId ip maximumAmount# metadata* payerName
  payerPayIdDetails paymentInformation providerId setDefault? threeDSEmail vaultCard? vaultExpireDate
  vaultExpireSeconds# webhook
token.search addedAfter addedBefore limit# providerId skip# sortBy sortOrder status
payment_link.create allowedPaymentTypes[] amount# callToAction!CallToAction confirmationMessage currency description
  image invoiceId limitPayments# metadata* redirectUrl title
payment_link.search addedAfter addedBefore limit# skip# sortBy sortOrder
payment_link.pay amount# attempt metadata* paymentInformation paymentType!LinkPaymentType
subscription.create amount# currency endAfter frequency# interval!Interval metadata* paymentMethodId retry startDate
  webhook
subscription.search addedAfter addedBefore amountGreaterThan# amountLessThan# currency limit# skip# sortBy sortOrder
  status!SubscriptionState
subscription.update amount# currency endAfter frequency# interval!Interval metadata* retry webhook
subscription.status status!SubscriptionState
subscription.renew amount# currency metadata* paymentMethodId subscriptionId
transfer.create chargeId groupReference providerId transfers[]
transfer.search addedAfter addedBefore limit# providerId reference skip# sortBy sortOrder status
settlement.search endDate startDate
webhook_subscription.create authorization types[]!WebhookType url
webhook_subscription.search addedAfter addedBefore id limit# skip# sortBy sortOrder type!WebhookType
webhook.deliver data eventType id meta type url
batch.create batch count# description metadata* webhook
batch.search addedAfter addedBefore description limit# skip# sortBy sortOrder status
batch.row amount# currency metadata* paymentMethodId reference
info.get amount# cardProviderId currency
provider.create additionalParameters* authenticationParameters* costData[] currency environment fallbackProviderId
  hideConfiguration[] name providerCountry requireConfiguration[] threeDsProviderId type
provider.update additionalParameters* authenticationParameters* costData[] currency environment fallbackProviderId
  hideConfiguration[] name providerCountry requireConfiguration[] threeDsProviderId type
"""
_PARTS = """
address city country line1 line2 postalCode state
bankPaymentInformation accountName accountNumber bankCode
card cardNumber cardholder expiryDate
costData cardScheme!Brand isInternationalCard? transactionCost# transactionPercentage#
data address* amount# authorisationAmount# bankPayment* batchId card* chargeId count# createdDate currency customer*
  customerId dateAdded dateRemoved defaultPaymentMethod* description email endAfter* estimatedCost#
  estimatedCostCurrency failure# fallbackPaymentMethodId firstName frequency# initiator interval ip lastName metadata*
  networkToken* networkTokenId payTo* payToStatus paymentInformation* paymentMethodId phone progress# provider*
  providerChargeId providerId providerPaymentMethodData* providerPaymentMethodId providerType reference refundedAmount#
  refunds[] retry* startDate status subscriptionId success# successDate threeDSServerTransID threeDsVerified? token type
  vaultId voidDate webhook*
endAfter amount# count# date
geolocation latitude# longitude#
header ephemeralPublicKey publicKeyHash transactionId
hideConfiguration applyCurrencyConversion? currency greaterThanAmount# lessThanAmount#
items amount# commodityCode description productCode quantity# taxAmount# unitOfMeasure
order discountAmount# dutyAmount# freightAmount# items[] orderNumber taxAmount#
payToAgreement description fallbackPaymentMethodId ip maximumAmount# metadata* payerName payerPayIdDetails providerId
  setDefault? webhook
payerPayIdDetails payId payIdType
meta eventType timestamp type
paymentData data header signature version
paymentInformation cardNumber cardholder ccv expiryDate externalThreeDsData* threeDSServerTransID
paymentMethod displayName network type
requireConfiguration applyCurrencyConversion? currency greaterThanAmount# lessThanAmount#
retry frequency# interval!RetryInterval maximum#
token paymentData paymentMethod
transfer account amount#
transfers account amount# currency message reference
webhook authorization url
"""
_CHOICES = {
    enum.__name__: choice(enum)
    for enum in (
        *(Brand, CallToAction, ChallengeAnswer, Initiator, Interval, LinkPaymentType, RetryInterval),
        *(SubscriptionState, WebhookType),
    )
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: how its value is read, whether it is a list of such, whether it is a map of any names."""

    kind: Kind
    is_list: bool = False
    is_map: bool = False


def fields_of(operations: Collection[str]) -> Mapping[str, Field]:
    """The fields that the request of any of some operations may have. Where two read one differently, it is a text."""
    table, found = _operations(), dict[str, Field]()
    for op in operations:
        for name, field in table.get(op, {}).items():
            alike = found.get(name, field).kind is field.kind
            found[name] = field if alike else Field(TEXT, field.is_list, field.is_map)
    return found


def parts_of(name: str) -> Mapping[str, Field]:
    """The fields inside the field of a name; none where it has no such."""
    return _parts().get(name, {})


@cache
def _operations() -> Mapping[str, Mapping[str, Field]]:
    return _table(_OPERATIONS)


@cache
def _parts() -> Mapping[str, Mapping[str, Field]]:
    return _table(_PARTS)


def _table(text: str) -> dict[str, dict[str, Field]]:
    rows = [line.split() for line in text.replace("\n  ", " ").splitlines() if line]
    return {name: dict(map(_field, words)) for name, *words in rows}


def _field(word: str) -> tuple[str, Field]:
    """A field by its mark: ``#`` a number, ``?`` a flag, ``!`` a choice, ``*`` a map, ``[]`` a list."""
    word, _, chosen = word.partition("!")
    bare = word.rstrip("#?*[]")
    mark = word.removeprefix(bare)
    kind = _CHOICES[chosen] if chosen else NUMBER if mark == "#" else FLAG if mark == "?" else TEXT
    return bare, Field(kind, is_list=mark == "[]", is_map=mark == "*")
