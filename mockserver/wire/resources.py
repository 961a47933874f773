"""Objects of the service in answers. Those that ``replies.csv`` says all of are written from it;
here is what it does not: what depends on the profile or on other objects. A charge with its card is
written by plain code: it is by far the most frequent answer, and by the table it would take longer.

Source: docs/spec/service.md, Resources; docs/spec/published-facts.md, 2; countries ISO 3166-1, time
zones those of the IANA database that belong to a country, and UTC.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from types import SimpleNamespace

from mockserver.domain.bounded_cache import BoundedCache
from mockserver.domain.cards import Brand, Card, Funding
from mockserver.domain.charge import Charge, FailedAttempt, Payer
from mockserver.domain.clock import iso
from mockserver.domain.customer import Customer
from mockserver.domain.fake_lookups import REMEMBERED, iin_data, ip_info
from mockserver.domain.money import CURRENCIES
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.record import read_table
from mockserver.domain.sources import BankAccount
from mockserver.wire.jsonio import kept_text
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members, reply_of


def card_reply(card: Card | None, profile: WireProfile) -> Members | None:
    """A card in an answer (assumption ``card.masking``)."""
    if card is None:
        return None
    number = card.number
    return {
        "cardNumber": profile.masked(number),
        "expiryDate": card.expiry,
        "cardholder": card.cardholder,
        "type": number.brand,
        "cardType": number.funding,
        "cardIin": number.iin[: profile.iin_digits],
        "ccvCheck": card.ccv_given,
        "threeDSServerTransID": card.three_ds_server_trans_id,
        "iinData": _iin_reply(number.iin, number.brand, number.funding),
    }


# A sandbox sees the same few test cards and addresses again and again.


@lru_cache(REMEMBERED)
def _iin_reply(iin: str, brand: Brand, funding: Funding) -> Members:
    return reply_of("IinDataReply", iin_data(iin, brand, funding))


def _ip_info_reply(asked: tuple[str, int]) -> Members:
    return reply_of("IpInfoReply", ip_info(*asked))


_IP_REPLIES = BoundedCache(REMEMBERED, _ip_info_reply, lambda asked: len(asked[0]) <= 100)
"""The data about an address, by that and the seed: most clients send the same one."""


def bank_reply(account: BankAccount | None, profile: WireProfile) -> Members | None:
    """A bank account in an answer."""
    if account is None:
        return None
    return reply_of(
        "BankPaymentReply", account, accountNumber=profile.account(account.account_number)
    )


def payer_reply(payer: Payer) -> Members:
    """The payer of a charge."""
    return {
        "customerId": payer.customer_id,
        "reference": payer.reference,
        "firstName": payer.first_name,
        "lastName": payer.last_name,
        "email": payer.email,
        "phone": payer.phone,
        "dateAdded": None if payer.added is None else iso(payer.added),
        "dateRemoved": None if payer.removed is None else iso(payer.removed),
    }


def charge_text(charge: Charge, profile: WireProfile, seed: int, redirect_url: str | None) -> bytes:
    """The JSON text of a charge, to be kept: null where nothing is known; its payer is challenged
    at ``redirect_url``."""
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
    # A stored customer is shown in any case; a payer whom only the body named, by an assumption.
    is_payer_shown = profile.shows_payer or charge.customer_id is not None
    added, success_date = iso(charge.added), None
    if charge.succeeded == charge.added:
        # As of nearly every charge: the same text, written once.
        success_date = added
    elif charge.succeeded is not None:
        success_date = iso(charge.succeeded)
    reply = {
        "chargeId": charge.charge_id,
        "providerChargeId": charge.provider_charge_id,
        "amount": charge.amount,
        "providerId": provider.provider_id,
        "reference": charge.reference,
        "paymentInformation": information,
        "customerId": charge.customer_id,
        "status": profile.status[charge.status],
        "dateAdded": added,
        "successDate": success_date,
        "voidDate": None if charge.voided is None else iso(charge.voided),
        "refundedAmount": charge.refunded,
        "estimatedCost": charge.estimated_cost,
        "estimatedCostCurrency": None if charge.estimated_cost is None else charge.currency,
        "currency": charge.currency,
        "refunds": [reply_of("RefundReply", refund) for refund in charge.refunds],
        "failedAttempts": [_attempt_reply(attempt) for attempt in charge.failed_attempts],
        "customer": payer_reply(charge.payer) if is_payer_shown and charge.payer else None,
        "provider": {
            "providerId": provider.provider_id,
            "type": provider.type,
            "name": provider.name,
        },
        "threeDsServerTransId": charge.three_ds_server_trans_id,
        "threeDsVerified": charge.three_ds_verified,
        "authorisationAmount": charge.authorised,
        "initiator": charge.initiator,
        "ip": charge.ip,
        "ipInfo": _IP_REPLIES[charge.ip, seed] if charge.ip else None,
        "visaInstallments": None,
        "descriptor": charge.descriptor,
        "threeDsRedirectUrl": redirect_url,
        "paymentTokenId": instrument.token_id,
        "subscriptionId": charge.subscription_id,
        "metadata": None if charge.metadata is None else dict(charge.metadata),
    }
    return kept_text(reply)


def _attempt_reply(attempt: FailedAttempt) -> Members:
    """A try that failed; its code is a text here, though a number in errors."""
    return reply_of("FailedAttemptReply", attempt, errorCode=str(attempt.error_code))


def payment_method_reply(
    method: PaymentMethod,
    profile: WireProfile,
    agreement: Agreement | None = None,
    network_token: NetworkToken | None = None,
) -> Members:
    """A payment method as the documented object, null where nothing is known (assumption
    ``network_token.date_added``).

    ``agreement`` and ``network_token`` are the stored objects that the method names by ``payto_id``
    and ``network_token_id``.
    """
    pay_to = token = None
    if agreement is not None:
        pay_to = reply_of("PayToReply", agreement)
    if network_token is not None:
        date = iso(network_token.added) if profile.network_token_date else None
        token = reply_of("NetworkTokenReply", network_token, dateAdded=date)
    return reply_of(
        "PaymentMethodReply",
        method,
        card=card_reply(method.instrument.card, profile),
        bankPayment=bank_reply(method.instrument.bank, profile),
        payTo=pay_to,
        networkToken=token,
        payToStatus=None if agreement is None else agreement.status.value,
    )


def customer_reply(
    customer: Customer, default: PaymentMethod | None, profile: WireProfile
) -> Members:
    """A customer as the documented object; ``default`` is the payment method that it names as its
    default."""
    summary = None
    if default is not None:
        card = card_reply(default.instrument.card, profile)
        summary = reply_of("PaymentMethodSummaryReply", default, card=card)
    return reply_of("CustomerReply", customer, defaultPaymentMethod=summary)


@cache
def info_reply() -> Members:
    """The reference data: the same for every sandbox, put together once."""
    zones: Iterable[dict[str, str]] = read_table("time_zones", dict)
    return {
        "countries": [
            reply_of("CountryReply", row) for row in read_table("countries", SimpleNamespace)
        ],
        "currencies": [reply_of("CurrencyReply", row) for row in CURRENCIES.values()],
        "timezones": [row["name"] for row in zones],
    }
