"""Customers and their payment methods.

Source: docs/spec/service.md, Customers; docs/spec/published-facts.md, 1.1 (rows 16-28).
"""

from mockserver.domain.commands import NewCustomer, NewMethod
from mockserver.engine import customers, searches
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import Becomes, OperationCall, Route
from mockserver.wire.bodies.customers import (
    BankCustomer,
    CardCustomer,
    CustomerQuery,
    CustomerUpdate,
    PayToCustomer,
    ProviderTokenCustomer,
    SingleUseTokenCustomer,
    TokenCustomer,
)
from mockserver.wire.bodies.payment_methods import (
    BankMethodCreation,
    CardMethodCreation,
    NewPayToAgreement,
    TokenMethodCreation,
)
from mockserver.wire.bodies.shared import Removal
from mockserver.wire.replies import Members


def create(call: OperationCall[Becomes[NewCustomer], None]) -> Members:
    """Create a customer with a first payment method."""
    return shown.customer(call, customers.create(call.step, call.body.command()))


def get(call: OperationCall[None, None]) -> Members:
    """Get a customer."""
    return shown.customer(call, customers.get(call.step, call.path["customer_id"]))


def update(call: OperationCall[CustomerUpdate, None]) -> Members:
    """Change a customer."""
    details, default = call.body.command(), call.body.default_payment_method_id
    return shown.customer(
        call, customers.update(call.step, call.path["customer_id"], details, default)
    )


def delete(call: OperationCall[None, Removal]) -> Members:
    """Remove a customer."""
    customer_id, asks = call.path["customer_id"], call.query.asks_provider
    return shown.customer(call, customers.delete(call.step, customer_id, ask_provider=asks))


def list_methods(call: OperationCall[None, None]) -> list[Members]:
    """List a customer's payment methods."""
    methods = customers.methods(call.step, call.path["customer_id"])
    return [shown.payment_method(call, method) for method in methods]


def add_method(call: OperationCall[Becomes[NewMethod], None]) -> Members:
    """Add a payment method to a customer."""
    method = customers.add_method(call.step, call.path["customer_id"], call.body.command())
    return shown.payment_method(call, method)


LIST = ListOf(searches.CUSTOMERS, "CustomersReply", CustomerQuery, shown.customer)


ROUTES = (
    Route(
        "POST",
        "/customer/card",
        "customer.create",
        create,
        reply="CustomerReply",
        body=CardCustomer,
        creates=True,
        summary="Create a customer with a card",
        source="service document, Customers",
    ),
    Route(
        "POST",
        "/customer/token",
        "customer.create",
        create,
        reply="CustomerReply",
        body=TokenCustomer,
        creates=True,
        summary="Create a customer with a token",
        source="service document, Customers",
    ),
    Route(
        "POST",
        "/customer/provider_token",
        "customer.create",
        create,
        reply="CustomerReply",
        body=ProviderTokenCustomer,
        creates=True,
        summary="Create a customer with a provider token",
        source="published facts, 1.1 row 16",
    ),
    Route(
        "POST",
        "/customer/provider_single_use_token",
        "customer.create",
        create,
        reply="CustomerReply",
        body=SingleUseTokenCustomer,
        creates=True,
        summary="Create a customer with a provider's single-use token",
        source="published facts, 1.1 row 17",
    ),
    Route(
        "POST",
        "/customer/payto",
        "customer.create",
        create,
        reply="CustomerReply",
        body=PayToCustomer,
        creates=True,
        summary="Create a customer with a PayTo agreement",
        source="published facts, 1.1 row 18",
    ),
    Route(
        "POST",
        "/customer/bank_account",
        "customer.create",
        create,
        reply="CustomerReply",
        body=BankCustomer,
        creates=True,
        summary="Create a customer with a bank account",
        source="published facts, 1.1 row 19",
    ),
    Route(
        "GET",
        "/customer/{customer_id}",
        "customer.get",
        get,
        reply="CustomerReply",
        summary="Get a customer",
        source="published facts, 1.1 row 20",
    ),
    Route(
        "GET",
        "/customer",
        "customer.search",
        LIST,
        reply="CustomersReply",
        query=CustomerQuery,
        ahead=LIST.find,
        summary="Search customers",
        source="service document, Customers",
    ),
    Route(
        "PUT",
        "/customer/{customer_id}",
        "customer.update",
        update,
        reply="CustomerReply",
        body=CustomerUpdate,
        summary="Update a customer",
        source="published facts, 1.1 row 22",
    ),
    Route(
        "DELETE",
        "/customer/{customer_id}",
        "customer.delete",
        delete,
        reply="CustomerReply",
        query=Removal,
        summary="Delete a customer",
        source="published facts, 1.1 row 23",
    ),
    Route(
        "GET",
        "/customer/{customer_id}/payment_method",
        "customer.payment_methods",
        list_methods,
        reply="list of PaymentMethodReply",
        summary="List a customer's payment methods",
        source="published facts, 1.1 row 24",
    ),
    Route(
        "GET",
        "/customer/{customer_id}/payment_methods",
        "customer.payment_methods",
        list_methods,
        reply="list of PaymentMethodReply",
        summary="List a customer's payment methods",
        source="assumption customer.methods_second_path",
    ),
    Route(
        "POST",
        "/customer/{customer_id}/payment_method/card",
        "payment_method.create",
        add_method,
        reply="PaymentMethodReply",
        body=CardMethodCreation,
        creates=True,
        summary="Add a card to a customer",
        source="published facts, 1.1 row 25",
    ),
    Route(
        "POST",
        "/customer/{customer_id}/payment_method/token",
        "payment_method.create",
        add_method,
        reply="PaymentMethodReply",
        body=TokenMethodCreation,
        creates=True,
        summary="Add a token to a customer",
        source="published facts, 1.1 row 26",
    ),
    Route(
        "POST",
        "/customer/{customer_id}/payment_method/payto",
        "payment_method.create",
        add_method,
        reply="PaymentMethodReply",
        body=NewPayToAgreement,
        creates=True,
        summary="Add a PayTo agreement to a customer",
        source="published facts, 1.1 row 27",
    ),
    Route(
        "POST",
        "/customer/{customer_id}/bank_account",
        "payment_method.create",
        add_method,
        reply="PaymentMethodReply",
        body=BankMethodCreation,
        creates=True,
        summary="Add a bank account to a customer",
        source="published facts, 1.1 row 28",
    ),
    Route(
        "POST",
        "/customer/{customer_id}/payment_method/bank_account",
        "payment_method.create",
        add_method,
        reply="PaymentMethodReply",
        body=BankMethodCreation,
        creates=True,
        summary="Add a bank account to a customer",
        source="assumption customer.bank_alias",
    ),
)
