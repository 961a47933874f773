"""Charges in answers. Source: docs/spec/service.md, Resources, Charge; docs/spec/published-facts.md, 2.1, 2.2."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NotRequired, TypeAlias, TypedDict, TypeVar, cast

import orjson

from mockserver.domain.charge import Charge, FailedAttempt, Refund
from mockserver.domain.provider import ProviderSummary
from mockserver.wire.dates import moment
from mockserver.wire.jsonio import Encoded, kept_text, number_bytes, number_written
from mockserver.wire.profile import WireProfile
from mockserver.wire.shapes import (
    BankPaymentReply,
    CardReply,
    IpInfoReply,
    PayerReply,
    ProviderSummaryReply,
    ReplyAmount,
    ReplyDateTime,
    bank_reply,
    card_reply,
    ip_reply,
    page_of,
    payer_reply,
    provider_summary_reply,
)

S = TypeVar("S")


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

    amount: ReplyAmount
    dateAdded: ReplyDateTime
    comment: str | None


class FailedAttemptReply(TypedDict):
    """One failed try of one provider."""

    providerId: str
    dateAttempted: ReplyDateTime
    errorCode: str
    errorMessage: str
    gatewayCode: str | None
    gatewayMessage: str | None
    isRetryable: bool


class ChargeReply(TypedDict):
    """A charge."""

    chargeId: str
    providerChargeId: str | None
    amount: ReplyAmount
    providerId: str
    reference: str | None
    paymentInformation: PaymentInformationReply
    customerId: str | None
    status: str
    dateAdded: ReplyDateTime
    successDate: ReplyDateTime | None
    voidDate: ReplyDateTime | None
    refundedAmount: ReplyAmount
    estimatedCost: ReplyAmount | None
    estimatedCostCurrency: str | None
    currency: str
    refunds: list[RefundReply]
    failedAttempts: list[FailedAttemptReply]
    customer: PayerReply | None
    provider: ProviderSummaryReply
    threeDsServerTransId: str | None
    threeDsVerified: bool
    authorisationAmount: ReplyAmount | None
    initiator: str | None
    ip: str | None
    ipInfo: IpInfoReply | None
    visaInstallments: dict[str, Any] | None
    descriptor: str | None
    threeDsRedirectUrl: str | None
    paymentTokenId: str | None
    subscriptionId: str | None
    metadata: dict[str, str] | None


MOST_TEXTS = 1_000
"""Cards and providers whose texts are kept: half a megabyte."""

_TEXTS: dict[int, tuple[object, WireProfile, Encoded]] = {}

ChargesReply = page_of("ChargesReply", "charges", charges=ChargeReply)


_NOTHING: Any = 0
"""An amount that is put into words sooner than a decimal."""

_UNKNOWN = cast(ChargeReply, dict.fromkeys(ChargeReply.__annotations__))
"""A charge of which nothing is known. To fill in a copy takes three fifths of what one display of 31 fields does, which
Python 3.11 makes as two dictionaries and merges."""


def charge_reply(charge: Charge, profile: WireProfile, seed: int, redirect_url: str | None) -> ChargeReply:
    """A charge as the documented object, null where nothing is known; its payer is challenged at ``redirect_url``."""
    instrument = charge.instrument
    added, succeeded = moment(charge.added), charge.succeeded
    card: Any = None if instrument.card is None else _text(instrument.card, profile, card_reply)
    information: PaymentInformationReply = {
        "paymentMethodId": instrument.payment_method_id,
        "card": card,
        "type": instrument.type,
        "displayType": instrument.display_type,
        "email": charge.email,
        "providerType": charge.provider.type,
        "bankPayment": None if instrument.bank is None else bank_reply(instrument.bank, profile),
    }
    if profile.card_data:
        information["cardData"] = card
    reply = _UNKNOWN.copy()
    reply["chargeId"] = charge.charge_id
    reply["providerChargeId"] = charge.provider_charge_id
    # Once, as most charges were authorised for as much.
    amount: Any = number_written(charge.amount)
    reply["amount"] = amount
    reply["providerId"] = charge.provider.provider_id
    reply["reference"] = charge.reference
    reply["paymentInformation"] = information
    if charge.customer_id is not None:
        reply["customerId"] = charge.customer_id
    reply["status"] = profile.status[charge.status]
    reply["dateAdded"] = added
    if succeeded is not None:
        reply["successDate"] = added if succeeded == charge.added else moment(succeeded)
    if charge.voided is not None:
        reply["voidDate"] = moment(charge.voided)
    reply["refundedAmount"] = charge.refunded or _NOTHING
    if charge.estimated_cost is not None:
        reply["estimatedCost"] = charge.estimated_cost
        reply["estimatedCostCurrency"] = charge.currency
    reply["currency"] = charge.currency
    reply["refunds"] = [_refund(refund) for refund in charge.refunds] if charge.refunds else []
    reply["failedAttempts"] = [_attempt(one) for one in charge.failed_attempts] if charge.failed_attempts else []
    if profile.shows_payer or charge.customer_id:
        reply["customer"] = payer_reply(charge.payer)
    reply["provider"] = _text(charge.provider, profile, _provider)
    if charge.three_ds_server_trans_id is not None:
        reply["threeDsServerTransId"] = charge.three_ds_server_trans_id
    reply["threeDsVerified"] = charge.three_ds_verified
    reply["authorisationAmount"] = amount if charge.authorised is charge.amount else charge.authorised
    if charge.initiator is not None:
        reply["initiator"] = charge.initiator
    if charge.ip is not None:
        reply["ip"] = charge.ip
        if charge.ip:
            reply["ipInfo"] = ip_reply(charge.ip, seed)
    if charge.descriptor is not None:
        reply["descriptor"] = charge.descriptor
    if redirect_url is not None:
        reply["threeDsRedirectUrl"] = redirect_url
    if instrument.token_id is not None:
        reply["paymentTokenId"] = instrument.token_id
    if charge.subscription_id is not None:
        reply["subscriptionId"] = charge.subscription_id
    metadata = charge.metadata
    if metadata is not None:
        reply["metadata"] = metadata if type(metadata) is dict else dict(metadata)
    return reply


def charge_text(charge: Charge, profile: WireProfile, seed: int, redirect_url: str | None) -> bytes:
    """The text of ``charge_reply``. Most charges of a client differ in ids, amounts, moments, reference and metadata
    alone: from the third of them on these are put into a form, in half of the time."""
    payer, succeeded, cost = charge.payer, charge.succeeded, charge.estimated_cost
    metadata, is_moved = charge.metadata, charge.refunded or charge.failed_attempts or charge.voided is not None
    if payer is None or is_moved or not (metadata is None or type(metadata) is dict):
        return kept_text(charge_reply(charge, profile, seed, redirect_url))
    instrument, provider = charge.instrument, charge.provider
    # What the form says, one by one: ``attrgetter`` takes four times as long.
    alike = (
        id(instrument),
        id(provider),
        id(profile),
        seed,
        redirect_url,
        charge.status,
        charge.currency,
        charge.email,
        charge.customer_id,
        charge.three_ds_verified,
        charge.three_ds_server_trans_id,
        charge.initiator,
        charge.ip,
        charge.descriptor,
        charge.subscription_id,
        cost is None,
        payer.customer_id,
        payer.first_name,
        payer.last_name,
        payer.email,
        payer.phone,
        payer.added,
        payer.removed,
    )
    form = _FORMS.get(alike)
    if form is None:
        reply = charge_reply(charge, profile, seed, redirect_url)
        text = kept_text(reply)
        if len(text) <= _LONGEST_KEPT:
            if len(_FORMS) >= _MOST_FORMS:
                _FORMS.clear()
            _FORMS[alike] = _form(reply, instrument, provider, profile) if alike in _FORMS else None
        return text
    added, reference, who = _quoted(moment(charge.added)), _quoted(charge.reference), payer.reference
    amount = number_bytes(charge.amount)
    named = reference if who is charge.reference else _quoted(who)
    return form[0] % (
        _quoted(charge.charge_id),
        _quoted(charge.provider_charge_id),
        amount,
        reference,
        added,
        added if succeeded == charge.added else _quoted(None if succeeded is None else moment(succeeded)),
        number_bytes(cost),
        named if form[1] else b"null",
        amount if charge.authorised is charge.amount else number_bytes(charge.authorised),
        _quoted(metadata),
    )


_MOST_FORMS, _LONGEST_KEPT = 500, 3_000
"""How many forms are kept, in bytes of at most so much: mostly half a megabyte."""

_quoted = orjson.dumps
_OWN = (
    *("chargeId", "providerChargeId", "amount", "reference", "dateAdded", "successDate", "estimatedCost"),
    *("authorisationAmount", "metadata"),
)
"""Members in which charges differ that are alike."""

# No text of JSON has a sign that is 0.
_HOLE = Encoded(b"\0")

_Form: TypeAlias = tuple[bytes, bool, tuple[object, ...]]
"""The text of a charge with ``%b`` for what is its own, whether its customer is shown, and what the key has ids of."""

_FORMS: dict[Hashable, _Form | None] = {}
"""None for charges that were seen once."""


def _form(reply: Any, *known: object) -> _Form:
    reply.update(dict.fromkeys(_OWN, _HOLE))
    customer = reply["customer"]
    if customer is None:
        reply["customer"] = _HOLE
    else:
        customer["reference"] = _HOLE
    text = kept_text(reply).replace(b"%", b"%%").replace(b"\0", b"%b")
    return text, customer is not None, known


def _text(value: S, profile: WireProfile, reply: Callable[[S, WireProfile], object]) -> Any:
    """A part of a charge as JSON text, which other charges share: a page of a list may show one card ten times, and to
    word it takes an eighth of the time of a charge."""
    # By its identity, which no other gets while the value is kept beside it.
    kept = _TEXTS.get(id(value))
    if kept is None or kept[1] is not profile:
        if len(_TEXTS) >= MOST_TEXTS:
            _TEXTS.clear()
        kept = _TEXTS[id(value)] = value, profile, Encoded(kept_text(reply(value, profile)))
    return kept[2]


def _provider(provider: ProviderSummary, _: WireProfile) -> ProviderSummaryReply:
    return provider_summary_reply(provider)


def _refund(refund: Refund) -> RefundReply:
    return {"amount": refund.amount, "dateAdded": moment(refund.added), "comment": refund.comment}


def _attempt(attempt: FailedAttempt) -> FailedAttemptReply:
    return {
        "providerId": attempt.provider_id,
        "dateAttempted": moment(attempt.attempted),
        "errorCode": str(attempt.error_code),
        "errorMessage": attempt.error_message,
        "gatewayCode": attempt.gateway_code,
        "gatewayMessage": attempt.gateway_message,
        "isRetryable": attempt.is_retryable,
    }
