"""What payers are told of their payments: how one was made, what became of it, why it was not.

The API's words speak to those who write programs; a payer has no program to fix. And a payer must
not hear everything: not that a card is reported stolen, nor that a payment looks like fraud.
"""

from collections.abc import Mapping

from mockserver.domain.cards import (
    Brand,
)
from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.payment_link import LinkPaymentType
from mockserver.domain.sources import Instrument
from mockserver.domain.states import ChargeState

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
    ChargeState.PENDING: (
        "Payment under way",
        "It is not complete yet: the bank still has to confirm it.",
    ),
    ChargeState.AUTHORISED: ("Thank you", "Your payment is authorised."),
    ChargeState.SUCCESS: ("Thank you", "Your payment was received."),
    ChargeState.PARTIAL_REFUND: (
        "Thank you",
        "Your payment was received and later refunded in part.",
    ),
    ChargeState.REFUND: ("Refunded", "Your payment was received and later refunded."),
    ChargeState.AUTHORISE_CANCELLED: (
        "Cancelled",
        "The authorisation was cancelled. Nothing was paid.",
    ),
    ChargeState.FAILED: ("Not paid", "Nothing was paid."),
}
"""Heading and sentence for what became of a payment."""


COMPLETE = frozenset({ChargeState.AUTHORISED, ChargeState.SUCCESS})
"""States in which the merchant's own confirmation is true."""


DECLINED = "Your bank has declined this payment. Try another card."


NOT_TAKEN = (
    "The payment could not be made. Nothing was taken; ask the shop, or try another way to pay."
)


UNAVAILABLE = "The payment could not be made just now. Try again in a moment."


_DECLINES: Mapping[int, str] = {
    Code.INSUFFICIENT_FUNDS: "There is not enough money on this account. Try another card.",
    Code.EXPIRED_CARD: "This card has expired. Try another card.",
    Code.INVALID_CCV: "The security code is not that of the card. Check it and try again.",
    Code.THREE_D_SECURE_FAILED: "Your bank could not confirm that it is you. Try again, or try "
    "another card.",
    Code.CUSTOMER_CANCELLATION: "The payment was cancelled.",
    Code.EXCEEDS_WITHDRAWAL_FREQUENCY_LIMIT: DECLINED,
}
"""What a payer may know of a decline: not that a card is reported stolen, nor that a payment looks
like fraud."""


_REFUSED = {"CardNumber": "This card is not taken here.", "ExpiryDate": "This card has expired."}
"""Why a field is refused that is well typed: only the service knows its cards and the day."""


CHECK = "This is not taken. Please check it."


def paid_with(instrument: Instrument) -> str:
    """``VISA •••• 1111``, ``Pay by account``: how a payment was made."""
    card = instrument.card
    if card is not None:
        brand = card.number.brand
        brand_name = "Card" if brand is Brand.UNKNOWN else brand.value
        return f"{brand_name} •••• {card.number.last4}"
    name = instrument.display_type or instrument.type.value.replace("_", " ").capitalize()
    names_of_ways = {kind.value: way for kind, way in WAYS.items()}
    return names_of_ways.get(name.lower(), name)


def failure_of(charge: Charge) -> str:
    """Why a payment failed, and what the payer can do; the journal has code and message."""
    if charge.authorised is not None:
        # It was taken at first: a bank debit that bounces fails days later.
        return "Your bank has returned the payment."
    if not charge.failed_attempts:
        return "The payment was not made."
    attempt = charge.failed_attempts[-1]
    if attempt.error_code in _DECLINES:
        return _DECLINES[attempt.error_code]
    if attempt.is_retryable:
        # The same card may pay in a moment.
        return UNAVAILABLE
    return DECLINED


def refusal_of(body: object) -> str:
    """An alert for a payment that was not even tried; ``body`` is that of the error. Anything but
    an error comes from a scenario that spoils answers: a payer then sees what a shop shows that
    cannot read one."""
    if not isinstance(body, dict) or body.get("code") is None:
        return UNAVAILABLE
    if body["code"] in _DECLINES:
        return _DECLINES[body["code"]]
    if body.get("isRetryable"):
        return UNAVAILABLE
    return NOT_TAKEN


def faults_of(body: object) -> dict[str, str]:
    """The fields that the service refuses, each with what a payer may hear of it, by the last part
    of their names: what it says itself is for those who write programs. ``body`` is the error's.
    What the form shows by itself (``_faults_of_form``) is told better there."""
    if not isinstance(body, dict):
        return {}
    refused = list(body.get("details") or ())
    if body.get("code") == Code.INVALID_CARD_NUMBER and not refused:
        refused = ["CardNumber"]
    # "PaymentInformation.CardNumber" is the form's CardNumber.
    names = [name.rpartition(".")[2] for name in refused]
    return {name: _REFUSED.get(name, CHECK) for name in names}
