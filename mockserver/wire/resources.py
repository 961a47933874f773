"""Objects of the service in answers. Those that ``replies.csv`` says all of are written from it; here is what it does
not: what depends on the profile or on other objects. A charge with its card is written by plain code.

Source: docs/spec/service.md, Resources; docs/spec/published-facts.md, 2; countries ISO 3166-1, time zones those of the
IANA database that belong to a country, and UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from types import SimpleNamespace

from mockserver.domain.batch import Batch
from mockserver.domain.cards import Card
from mockserver.domain.charge import Charge, FailedAttempt
from mockserver.domain.clock import iso
from mockserver.domain.customer import Customer
from mockserver.domain.fake_lookups import iin_data, ip_info
from mockserver.domain.money import CURRENCIES
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.reference_data import read_table
from mockserver.domain.sources import BankAccount
from mockserver.domain.states import CcvState
from mockserver.domain.token import Token
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.wire.jsonio import kept_text
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members, reply_of


def card_reply(card: Card | None, profile: WireProfile) -> Members | None:
    """A card in an answer (assumption ``card.masking``)."""
    if card is None:
        return None
    number = card.number
    iin = iin_data(number.iin, number.brand, number.funding)
    return {
        "cardNumber": profile.masked(number),
        "expiryDate": card.expiry,
        "cardholder": card.cardholder,
        "type": number.brand,
        "cardType": number.funding,
        "cardIin": number.iin[: profile.iin_digits],
        "ccvCheck": card.ccv_given,
        "threeDSServerTransID": card.three_ds_server_trans_id,
        "iinData": {
            "scheme": iin.scheme,
            "country": iin.country,
            "issuer": iin.issuer,
            "countryCode": iin.country_code,
            "cardType": iin.card_type,
        },
    }


def bank_reply(account: BankAccount | None, profile: WireProfile) -> Members | None:
    """A bank account in an answer."""
    if account is None:
        return None
    return reply_of("BankPaymentReply", account, accountNumber=profile.account(account.account_number))


def charge_text(charge: Charge, profile: WireProfile, seed: int, redirect_url: str | None) -> bytes:
    """The JSON text of a charge, to be kept: null where nothing is known; its payer is challenged at
    ``redirect_url``."""
    provider, instrument = charge.provider, charge.instrument
    card = None if instrument.card is None else card_reply(instrument.card, profile)
    information: Members = {
        "paymentMethodId": instrument.payment_method_id,
        "card": card,
        "type": instrument.type,
        "displayType": instrument.display_type,
        "email": charge.email,
        "providerType": provider.type,
        "bankPayment": None if instrument.bank is None else bank_reply(instrument.bank, profile),
    }
    if profile.card_data:
        information["cardData"] = card
    is_payer_shown = profile.shows_payer or charge.customer_id is not None
    reply = {
        "chargeId": charge.charge_id,
        "providerChargeId": charge.provider_charge_id,
        "amount": charge.amount,
        "providerId": provider.provider_id,
        "reference": charge.reference,
        "paymentInformation": information,
        "customerId": charge.customer_id,
        "status": profile.status[charge.status],
        "dateAdded": (added := iso(charge.added)),
        "successDate": added if charge.succeeded == charge.added else charge.succeeded and iso(charge.succeeded),
        "voidDate": None if charge.voided is None else iso(charge.voided),
        "refundedAmount": charge.refunded,
        "estimatedCost": charge.estimated_cost,
        "estimatedCostCurrency": None if charge.estimated_cost is None else charge.currency,
        "currency": charge.currency,
        "refunds": [reply_of("RefundReply", refund) for refund in charge.refunds] if charge.refunds else [],
        "failedAttempts": [*map(_attempt, charge.failed_attempts)],
        "customer": reply_of("PayerReply", charge.payer) if is_payer_shown and charge.payer else None,
        "provider": {"providerId": provider.provider_id, "type": provider.type, "name": provider.name},
        "threeDsServerTransId": charge.three_ds_server_trans_id,
        "threeDsVerified": charge.three_ds_verified,
        "authorisationAmount": charge.authorised,
        "initiator": charge.initiator,
        "ip": charge.ip,
        "ipInfo": asdict(ip_info(charge.ip, seed)) if charge.ip else None,
        "visaInstallments": None,
        "descriptor": charge.descriptor,
        "threeDsRedirectUrl": redirect_url,
        "paymentTokenId": instrument.token_id,
        "subscriptionId": charge.subscription_id,
        "metadata": None if charge.metadata is None else dict(charge.metadata),
    }
    return kept_text(reply)


def _attempt(tried: FailedAttempt) -> Members:
    return reply_of("FailedAttemptReply", tried, errorCode=str(tried.error_code))


def payment_method_summary(method: PaymentMethod | None, profile: WireProfile) -> Members | None:
    """A payment method inside its customer: a part of the whole, in an order of its own."""
    if method is None:
        return None
    return reply_of("PaymentMethodSummaryReply", method, card=card_reply(method.instrument.card, profile))


def payment_method_reply(
    method: PaymentMethod,
    profile: WireProfile,
    agreement: Agreement | None = None,
    network_token: NetworkToken | None = None,
) -> Members:
    """A payment method as the documented object, null where nothing is known.

    ``agreement`` and ``network_token`` are the stored objects that the method names by ``payto_id`` and
    ``network_token_id``.
    """
    return reply_of(
        "PaymentMethodReply",
        method,
        card=card_reply(method.instrument.card, profile),
        bankPayment=bank_reply(method.instrument.bank, profile),
        payTo=agreement and reply_of("PayToReply", agreement),
        networkToken=network_token_reply(network_token, profile),
        payToStatus=agreement.status.value if agreement else None,
    )


def network_token_reply(token: NetworkToken | None, profile: WireProfile) -> Members | None:
    """A network token in an answer (assumption ``network_token.date_added``)."""
    if token is None:
        return None
    return reply_of("NetworkTokenReply", token, dateAdded=iso(token.added) if profile.network_token_date else None)


def customer_reply(customer: Customer, default: PaymentMethod | None, profile: WireProfile) -> Members:
    """A customer as the documented object; ``default`` is the payment method that it names as its default."""
    return reply_of("CustomerReply", customer, defaultPaymentMethod=payment_method_summary(default, profile))


def token_reply(
    token: Token, profile: WireProfile, account_id: str, agreement: Agreement | None, three_ds_address: str | None
) -> Members:
    """A token as the published object; ``agreement`` is the one that a PayTo token names, ``three_ds_address`` where
    the payer is to be challenged before the token is used."""
    reply = reply_of(
        "TokenReply",
        token,
        accountId=account_id,
        payToStatus=agreement.status if agreement else None,
        card=card_reply(token.instrument.card, profile),
    )
    if three_ds_address is not None:
        reply["threeDsRedirectUrl"] = three_ds_address
    return reply


def vault_reply(item: VaultItem, profile: WireProfile) -> Members:
    """A vault item after creation or deletion."""
    held = item.ccv_state is CcvState.HELD
    return reply_of("VaultReply", item, maskedCardNumber=profile.masked(item.facts), hasCvv=held)


def vault_secrets_reply(item: VaultItem, profile: WireProfile) -> Members:
    """A vault item with number and, while it is held, ccv."""
    number, ccv = (item.number, item.ccv) if profile.shows_secrets else (None, None)
    return reply_of("VaultSecretsReply", item, **vault_reply(item, profile), cardNumber=number, ccv=ccv)


def batch_status_reply(batch: Batch) -> Members:
    """A batch without its results."""
    return reply_of("BatchStatusReply", batch, count=len(batch.rows))


def batch_reply(batch: Batch, results: str) -> Members:
    """A batch with its results, however far it has come."""
    return reply_of("BatchReply", batch, count=len(batch.rows), results=results)


def payment_link_reply(link: PaymentLink, url: str, account_id: str, public_key: str) -> Members:
    """A link as the documented object, null where nothing is known; ``url`` is that of its page."""
    return reply_of(
        "PaymentLinkReply",
        link,
        url=url,
        accountId=account_id,
        publicKey=public_key,
        allowedPaymentTypes=link.allowed_types or None,
    )


def provider_reply(provider: Provider, fallback: Provider | None) -> Members:
    """A provider as the published object."""
    return reply_of(
        "ProviderReply",
        provider,
        hasPartialRefund=Capability.PARTIAL_REFUND in provider.capabilities,
        hasThreeDsCapability=Capability.THREE_DS in provider.capabilities,
        fallbackProvider=fallback and reply_of("FallbackProviderReply", fallback),
    )


def webhook_subscription_reply(row: WebhookSubscription, account_id: str) -> Members:
    """A subscription as the published object."""
    return reply_of("WebhookSubscriptionReply", row, accountId=account_id)


@cache
def info_reply() -> Members:
    """The reference data: the same for every sandbox, put together once."""
    zones: Iterable[dict[str, str]] = read_table("time_zones", dict)
    return {
        "countries": [reply_of("CountryReply", row) for row in read_table("countries", SimpleNamespace)],
        "currencies": [reply_of("CurrencyReply", row) for row in CURRENCIES.values()],
        "timezones": [row["name"] for row in zones],
    }


def info_provider_reply(provider: Provider, three_ds: Provider | None) -> Members:
    """One provider, and who challenges its payers."""
    return reply_of(
        "InfoProviderReply",
        provider,
        threeDsProviderId=three_ds.provider_id if three_ds else None,
        threeDsProviderType=three_ds.summary.type if three_ds else None,
        googlePay=reply_of("GooglePay", provider) if Capability.WALLET in provider.capabilities else None,
    )
