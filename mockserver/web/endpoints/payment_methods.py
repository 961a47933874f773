"""Payment-method operations."""

from __future__ import annotations

from mockserver.domain.payment_method import PaymentMethod
from mockserver.engine import payment_method_search, payment_methods
from mockserver.engine.listing import Paging
from mockserver.web.route import Call
from mockserver.wire.method_bodies import PaymentMethodQuery
from mockserver.wire.payment_methods import PaymentMethodReply, PaymentMethodsReply, payment_method_reply


def create(call: Call) -> PaymentMethodReply:
    """Store a payment method; the body knows what it is made from."""
    return shown(call, payment_methods.create(call.sandbox, call.body.command()))


def get(call: Call) -> PaymentMethodReply:
    """Read a payment method."""
    return shown(call, payment_methods.get(call.sandbox, call.path["payment_method_id"]))


def update(call: Call) -> PaymentMethodReply:
    """Change the card of a payment method."""
    return shown(call, payment_methods.update_card(call.sandbox, call.path["payment_method_id"], call.body.changes()))


def delete(call: Call) -> PaymentMethodReply:
    """Remove a payment method."""
    asks = call.query.asks_provider()
    return shown(call, payment_methods.delete(call.sandbox, call.path["payment_method_id"], ask_provider=asks))


def search(call: Call) -> PaymentMethodsReply:
    """List payment methods."""
    query: PaymentMethodQuery = call.query
    wanted = payment_method_search.MethodFilter(
        provider_id=query.provider_id,
        customer_id=query.customer_id,
        payment_type=query.payment_type,
        brand=query.card_type,
        text=query.search,
        added_after=query.added_after,
        added_before=query.added_before,
        include_removed=bool(query.include_removed),
    )
    paging = Paging(query.limit, query.skip, query.sort_by, query.sort_order)
    page = payment_method_search.search(call.sandbox, wanted, paging)
    return {
        "limit": page.limit,
        "skip": page.skip,
        "count": page.count,
        "paymentMethods": [shown(call, method) for method in page.rows],
    }


def shown(call: Call, method: PaymentMethod) -> PaymentMethodReply:
    """A payment method in the voice of the sandbox, with its agreement and its network token."""
    sandbox = call.sandbox
    return payment_method_reply(
        method,
        call.profile,
        sandbox.payto.get(method.payto_id) if method.payto_id else None,
        sandbox.network_tokens.get(method.network_token_id) if method.network_token_id else None,
    )
