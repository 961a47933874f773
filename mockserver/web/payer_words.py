"""What a payer reads on the pages: ways to pay, what became of a payment, and what is wrong with a field.

The API's words speak to those who write programs; a payer has no program to fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.domain.cards import Brand
from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.payment_link import LinkPaymentType
from mockserver.domain.sources import Instrument
from mockserver.domain.states import ChargeState
from mockserver.web.payer_input import MISSING

WAYS: Mapping[LinkPaymentType, str] = {
    LinkPaymentType.CARD: "Card",
    LinkPaymentType.PAYPAL: "PayPal",
    LinkPaymentType.APPLEPAY: "Apple Pay",
    LinkPaymentType.GOOGLEPAY: "Google Pay",
    LinkPaymentType.UPI: "UPI",
    LinkPaymentType.PAYTO: "PayTo",
    LinkPaymentType.PAYID: "PayID",
    LinkPaymentType.SHIFT: "Shift",
    LinkPaymentType.PESAPAL: "Pesapal",
    LinkPaymentType.PAYBYACCOUNT: "Pay by account",
    LinkPaymentType.PAYGLOCAL: "PayGlocal",
    LinkPaymentType.ZIP: "Zip",
}
"""Ways to pay on the page of a link."""

OUTCOMES: Mapping[ChargeState, tuple[str, str]] = {
    ChargeState.PENDING_CHECKOUT: ("Waiting", "The payment waits for your answer."),
    ChargeState.PENDING: ("Payment under way", "It is not complete yet: the bank still has to confirm it."),
    ChargeState.AUTHORISED: ("Thank you", "Your payment is authorised."),
    ChargeState.SUCCESS: ("Thank you", "Your payment was received."),
    ChargeState.PARTIAL_REFUND: ("Thank you", "Your payment was received and later refunded in part."),
    ChargeState.REFUND: ("Refunded", "Your payment was received and later refunded."),
    ChargeState.AUTHORISE_CANCELLED: ("Cancelled", "The authorisation was cancelled. Nothing was paid."),
    ChargeState.FAILED: ("Not paid", "Nothing was paid."),
}
"""Heading and sentence for what became of a payment."""

COMPLETE = frozenset({ChargeState.AUTHORISED, ChargeState.SUCCESS})
"""States in which the merchant's own confirmation is true."""

DECLINED = "Your bank has declined this payment. Try another card."
NOT_TAKEN = "The payment could not be made. Nothing was taken; ask the shop, or try another way to pay."
UNAVAILABLE = "The payment could not be made just now. Try again in a moment."
_DECLINES: Mapping[int, str] = {
    Code.INSUFFICIENT_FUNDS: "There is not enough money on this account. Try another card.",
    Code.EXPIRED_CARD: "This card has expired. Try another card.",
    Code.INVALID_CCV: "The security code is not that of the card. Check it and try again.",
    Code.THREE_D_SECURE_FAILED: "Your bank could not confirm that it is you. Try again, or try another card.",
    Code.CUSTOMER_CANCELLATION: "The payment was cancelled.",
    Code.EXCEEDS_WITHDRAWAL_FREQUENCY_LIMIT: DECLINED,
}
"""What a payer may know of a decline: not that a card is reported stolen, nor that a payment looks like fraud."""

_EMPTY = "wanted a text that is not empty"


def paid_with(instrument: Instrument) -> str:
    """``VISA •••• 1111``, ``Pay by account``: how a payment was made."""
    card = instrument.card
    if card is not None:
        brand = card.number.brand
        return f"{'Card' if brand is Brand.UNKNOWN else brand.value} •••• {card.number.last4}"
    shown = instrument.display_type or instrument.type.value.replace("_", " ").capitalize()
    return next((name for kind, name in WAYS.items() if kind.value == shown.lower()), shown)


def failure_of(charge: Charge) -> str:
    """Why a payment failed, and what the payer can do; the journal has code and message."""
    if charge.authorised is not None:
        return "Your bank has returned the payment."
    if not charge.failed_attempts:
        return "The payment was not made."
    attempt = charge.failed_attempts[-1]
    return _DECLINES.get(attempt.error_code) or (UNAVAILABLE if attempt.is_retryable else DECLINED)


def refusal_of(body: Any) -> str:
    """An alert for a payment that was not even tried; ``body`` is the error's, or None."""
    code = body.get("code") if isinstance(body, dict) else None
    return _DECLINES.get(code or 0) or (UNAVAILABLE if code is None or body.get("isRetryable") else NOT_TAKEN)


def faults_of(body: Any) -> dict[str, str]:
    """What the service finds wrong with the fields of a form that is well typed, by the last part of their names;
    ``body`` is the error's."""
    if not isinstance(body, dict):
        return {}
    if body.get("code") == Code.INVALID_CARD_NUMBER and not body.get("details"):
        return {"CardNumber": _field_words("CardNumber", "")}
    faults = ((name.rpartition(".")[2], text) for name, text in (body.get("details") or {}).items())
    return {name: _field_words(name, text) for name, text in faults}


def _field_words(name: str, text: str) -> str:
    if text == _EMPTY or text.startswith("required"):
        return MISSING
    match name:
        case "CardNumber":
            return "This card is not taken here."
        case "ExpiryDate":
            return "This card has expired."
        case _:
            wanted = text.partition(", ")[2] if text.startswith("got ") else text
            wanted = wanted.replace("wanted at least", "please pay at least").replace("wanted ", "please write ")
            return f"{wanted[:1].upper()}{wanted[1:]}."
