"""Payment-method operations."""

from __future__ import annotations

from mockserver.engine import payment_methods
from mockserver.web.route import Call
from mockserver.wire.payment_methods import PaymentMethodReply, payment_method_reply


def create_from_card(call: Call) -> PaymentMethodReply:
    """Store a card with a provider."""
    return payment_method_reply(payment_methods.create_from_card(call.box, call.body.command()), call.voice)


def switch_provider(call: Call) -> PaymentMethodReply:
    """Store the vaulted card of a payment method with another provider."""
    return payment_method_reply(payment_methods.switch_provider(call.box, call.body.command()), call.voice)


def get(call: Call) -> PaymentMethodReply:
    """Read a payment method."""
    return payment_method_reply(payment_methods.get(call.box, call.path["payment_method_id"]), call.voice)
