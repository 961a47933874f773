"""Customer operations."""

from __future__ import annotations

from mockserver.domain.customer import Customer
from mockserver.engine import customers, searches
from mockserver.web.endpoints import payment_methods
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.route import OperationCall
from mockserver.wire.customers import CustomerQuery, CustomerReply, customer_reply
from mockserver.wire.payment_methods import PaymentMethodReply


def create(call: OperationCall) -> CustomerReply:
    """Create a customer; the body knows the first payment method."""
    return shown(call, customers.create(call.sandbox, call.body.command()))


def add_method(call: OperationCall) -> PaymentMethodReply:
    """Store another payment method of a customer."""
    return payment_methods.shown(
        call, customers.add_method(call.sandbox, call.path["customer_id"], call.body.command())
    )


def get(call: OperationCall) -> CustomerReply:
    """Read a customer."""
    return shown(call, customers.get(call.sandbox, call.path["customer_id"]))


def update(call: OperationCall) -> CustomerReply:
    """Change a customer."""
    details, default = call.body.details(), call.body.default_payment_method_id
    return shown(call, customers.update(call.sandbox, call.path["customer_id"], details, default))


def delete(call: OperationCall) -> CustomerReply:
    """Remove a customer."""
    asks = call.query.asks_provider()
    return shown(call, customers.delete(call.sandbox, call.path["customer_id"], ask_provider=asks))


def list_methods(call: OperationCall) -> list[PaymentMethodReply]:
    """List the payment methods of a customer."""
    return [payment_methods.shown(call, method) for method in customers.methods(call.sandbox, call.path["customer_id"])]


def shown(call: OperationCall, customer: Customer) -> CustomerReply:
    """A customer in the voice of the sandbox."""
    return customer_reply(customer, customers.default_method(call.sandbox, customer), call.profile)


search = ListOf("List customers.", searches.CUSTOMERS, CustomerQuery, "customers", shown)
