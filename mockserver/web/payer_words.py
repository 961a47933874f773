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
from mockserver.engine.card_entry import read_expiry

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
    """Why a payment failed, as one sentence without its full stop."""
    if charge.authorised is not None:
        return "The bank returned the payment"
    if not charge.failed_attempts:
        return "The payment was not made"
    attempt = charge.failed_attempts[-1]
    if attempt.error_code == Code.CUSTOMER_CANCELLATION:
        return "The payment was cancelled"
    return f"The payment was declined: {attempt.error_message}"


def refusal_of(body: Any) -> str:
    """An alert for a payment that was not even tried; ``body`` is the error's, or None."""
    message = body.get("message") if isinstance(body, dict) else None
    return f"The payment was not taken: {message or 'the service does not answer'}."


def faults_of(body: Any, form: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the fields of a form, by the last part of their names; ``body`` is the error's."""
    if not isinstance(body, dict):
        return {}
    if body.get("code") == Code.INVALID_CARD_NUMBER and not body.get("details"):
        return {"CardNumber": _field_words("CardNumber", "", form)}
    faults = ((name.rpartition(".")[2], text) for name, text in (body.get("details") or {}).items())
    return {name: _field_words(name, text, form) for name, text in faults}


def _field_words(name: str, text: str, form: Mapping[str, str]) -> str:
    if text == _EMPTY or text.startswith("required"):
        return "Please fill this in."
    match name:
        case "CardNumber":
            return "This is not a card number."
        case "Ccv":
            return "Please write the 3 or 4 digits on the card."
        case "ExpiryDate":
            expired = read_expiry(form.get("expiryDate", "")) is not None
            return "This card has expired." if expired else "Please write the expiry date as MM/YY."
        case _:
            wanted = text.partition(", ")[2] if text.startswith("got ") else text
            wanted = wanted.replace("wanted at least", "please pay at least").replace("wanted ", "please write ")
            return f"{wanted[:1].upper()}{wanted[1:]}."
