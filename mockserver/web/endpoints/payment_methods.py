"""Payment-method operations."""

from __future__ import annotations

from mockserver.domain.payment_method import PaymentMethod
from mockserver.engine import payment_methods, searches
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.payment_methods import payment_method_reply
from mockserver.wire.replies import Members


def delete(call: OperationCall) -> Members:
    """Remove a payment method."""
    asks = call.query.asks_provider()
    return shown(call, payment_methods.delete(call.step, call.path["payment_method_id"], ask_provider=asks))


def shown(call: OperationCall, method: PaymentMethod) -> Members:
    """A payment method in the voice of the sandbox, with its agreement and its network token."""
    sandbox = call.sandbox
    return payment_method_reply(
        method,
        call.profile,
        sandbox.payto.get(method.payto_id) if method.payto_id else None,
        sandbox.network_tokens.get(method.network_token_id) if method.network_token_id else None,
    )


create = UseCase("Store a payment method; the body knows what it is made from.", payment_methods.create, shown)
get = UseCase("Read a payment method.", payment_methods.get, shown)
update = UseCase("Change the card of a payment method.", payment_methods.update_card, shown)
search = ListOf("List payment methods.", searches.PAYMENT_METHODS, "PaymentMethodQuery", "paymentMethods", shown)
