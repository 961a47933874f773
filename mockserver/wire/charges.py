"""Charges in answers. Source: docs/spec/service.md, Resources, Charge; docs/spec/published-facts.md, 2.1, 2.2."""

from __future__ import annotations

from mockserver.domain.charge import Charge, FailedAttempt, Refund
from mockserver.domain.clock import iso
from mockserver.wire.jsonio import kept_text
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members
from mockserver.wire.shapes import (
    bank_reply,
    card_reply,
    ip_reply,
    optional_moment,
    payer_reply,
    provider_summary_reply,
)


def charge_reply(charge: Charge, profile: WireProfile, seed: int, redirect_url: str | None) -> Members:
    """A charge as the documented object, null where nothing is known; its payer is challenged at ``redirect_url``."""
    added, succeeded = iso(charge.added), charge.succeeded
    is_payer_shown = profile.shows_payer or charge.customer_id is not None
    return {
        "chargeId": charge.charge_id,
        "providerChargeId": charge.provider_charge_id,
        "amount": charge.amount,
        "providerId": charge.provider.provider_id,
        "reference": charge.reference,
        "paymentInformation": _information(charge, profile),
        "customerId": charge.customer_id,
        "status": profile.status[charge.status],
        "dateAdded": added,
        "successDate": added if succeeded == charge.added else optional_moment(succeeded),
        "voidDate": None if charge.voided is None else iso(charge.voided),
        "refundedAmount": charge.refunded,
        "estimatedCost": charge.estimated_cost,
        "estimatedCostCurrency": None if charge.estimated_cost is None else charge.currency,
        "currency": charge.currency,
        "refunds": [*map(_refund, charge.refunds)],
        "failedAttempts": [*map(_attempt, charge.failed_attempts)],
        "customer": payer_reply(charge.payer) if is_payer_shown and charge.payer else None,
        "provider": provider_summary_reply(charge.provider),
        "threeDsServerTransId": charge.three_ds_server_trans_id,
        "threeDsVerified": charge.three_ds_verified,
        "authorisationAmount": charge.authorised,
        "initiator": charge.initiator,
        "ip": charge.ip,
        "ipInfo": ip_reply(charge.ip, seed) if charge.ip else None,
        "visaInstallments": None,
        "descriptor": charge.descriptor,
        "threeDsRedirectUrl": redirect_url,
        "paymentTokenId": charge.instrument.token_id,
        "subscriptionId": charge.subscription_id,
        "metadata": None if charge.metadata is None else dict(charge.metadata),
    }


def charge_text(charge: Charge, profile: WireProfile, seed: int, redirect_url: str | None) -> bytes:
    """The same as its JSON text, to be kept."""
    return kept_text(charge_reply(charge, profile, seed, redirect_url))


def _information(charge: Charge, profile: WireProfile) -> Members:
    instrument = charge.instrument
    card = None if instrument.card is None else card_reply(instrument.card, profile)
    information: Members = {
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
    return information


def _refund(refund: Refund) -> Members:
    return {"amount": refund.amount, "dateAdded": iso(refund.added), "comment": refund.comment}


def _attempt(attempt: FailedAttempt) -> Members:
    return {
        "providerId": attempt.provider_id,
        "dateAttempted": iso(attempt.attempted),
        "errorCode": str(attempt.error_code),
        "errorMessage": attempt.error_message,
        "gatewayCode": attempt.gateway_code,
        "gatewayMessage": attempt.gateway_message,
        "isRetryable": attempt.is_retryable,
    }
