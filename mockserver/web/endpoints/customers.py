"""Customer operations."""

from __future__ import annotations

from mockserver.domain.customer import Customer
from mockserver.engine import customers, searches
from mockserver.web.endpoints import payment_methods
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.customers import customer_reply
from mockserver.wire.replies import Members


def update(call: OperationCall) -> Members:
    """Change a customer."""
    details, default = call.body.command(), call.body.default_payment_method_id
    return shown(call, customers.update(call.step, call.path["customer_id"], details, default))


def delete(call: OperationCall) -> Members:
    """Remove a customer."""
    asks = call.query.asks_provider()
    return shown(call, customers.delete(call.step, call.path["customer_id"], ask_provider=asks))


def shown(call: OperationCall, customer: Customer) -> Members:
    """A customer in the voice of the sandbox."""
    return customer_reply(customer, customers.default_method(call.sandbox, customer), call.profile)


create = UseCase("Create a customer; the body knows the first payment method.", customers.create, shown)
get = UseCase("Read a customer.", customers.get, shown)
add_method = UseCase("Store another payment method of a customer.", customers.add_method, payment_methods.shown)
list_methods = UseCase(
    "List the payment methods of a customer.",
    customers.methods,
    lambda call, found: [payment_methods.shown(call, method) for method in found],
)
search = ListOf("List customers.", searches.CUSTOMERS, "CustomerQuery", "customers", shown)
