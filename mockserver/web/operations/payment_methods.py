"""Payment methods: store them, change a stored card, and find them.

Source: docs/spec/service.md, Payment methods; docs/spec/published-facts.md, 1.1 (rows 32-39).
"""

from mockserver.domain.commands import NewMethod
from mockserver.engine import payment_methods, searches
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import Becomes, OperationCall, Route
from mockserver.wire.bodies.payment_methods import (
    BankMethodCreation,
    CardMethodCreation,
    CardUpdate,
    NewPayToAgreement,
    PaymentMethodQuery,
    ProviderSwitch,
    ProviderTokenMethodCreation,
    SingleUseTokenMethodCreation,
    TokenMethodCreation,
)
from mockserver.wire.bodies.shared import Removal
from mockserver.wire.replies import Members


def create(call: OperationCall[Becomes[NewMethod], None]) -> Members:
    """Create a payment method."""
    return shown.payment_method(call, payment_methods.create(call.step, call.body.command()))


def get(call: OperationCall[None, None]) -> Members:
    """Get a payment method."""
    return shown.payment_method(
        call, payment_methods.get(call.step, call.path["payment_method_id"])
    )


def delete(call: OperationCall[None, Removal]) -> Members:
    """Remove a payment method."""
    method_id, asks = call.path["payment_method_id"], call.query.asks_provider
    return shown.payment_method(
        call, payment_methods.delete(call.step, method_id, ask_provider=asks)
    )


def update(call: OperationCall[CardUpdate, None]) -> Members:
    """Update the card of a payment method."""
    method_id, changes = call.path["payment_method_id"], call.body.command()
    return shown.payment_method(call, payment_methods.update_card(call.step, method_id, changes))


LIST = ListOf(
    searches.PAYMENT_METHODS, "PaymentMethodsReply", PaymentMethodQuery, shown.payment_method
)


ROUTES = (
    Route(
        "POST",
        "/payment_method/card",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=CardMethodCreation,
        creates=True,
        summary="Create a payment method from a card",
        source="service document, Payment methods",
    ),
    Route(
        "POST",
        "/payment_method/vault",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=ProviderSwitch,
        creates=True,
        summary="Create a payment method from a vaulted one, with another provider",
        source="service document, Payment methods",
    ),
    Route(
        "GET",
        "/payment_method/{payment_method_id}",
        "payment_method.get",
        get,
        reply="PaymentMethodReply",
        summary="Get a payment method",
        source="published facts, 1.1 row 37",
    ),
    Route(
        "POST",
        "/payment_method/token",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=TokenMethodCreation,
        creates=True,
        summary="Create a payment method from a token",
        source="service document, Payment methods",
    ),
    Route(
        "POST",
        "/payment_method/payto",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=NewPayToAgreement,
        creates=True,
        summary="Create a payment method from a PayTo agreement",
        source="published facts, 1.1 row 32",
    ),
    Route(
        "POST",
        "/payment_method/provider_single_use_token",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=SingleUseTokenMethodCreation,
        creates=True,
        summary="Create a payment method from a provider's single-use token",
        source="published facts, 1.1 row 33",
    ),
    Route(
        "POST",
        "/payment_method/provider_token",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=ProviderTokenMethodCreation,
        creates=True,
        summary="Create a payment method from a provider token",
        source="published facts, 1.1 row 34",
    ),
    Route(
        "POST",
        "/payment_method/bank_account",
        "payment_method.create",
        create,
        reply="PaymentMethodReply",
        body=BankMethodCreation,
        creates=True,
        summary="Create a payment method from a bank account",
        source="published facts, 1.1 row 35",
    ),
    Route(
        "GET",
        "/payment_method",
        "payment_method.search",
        LIST,
        reply="PaymentMethodsReply",
        query=PaymentMethodQuery,
        ahead=LIST.find,
        summary="Search payment methods",
        source="published facts, 1.1 row 36",
    ),
    Route(
        "DELETE",
        "/payment_method/{payment_method_id}",
        "payment_method.delete",
        delete,
        reply="PaymentMethodReply",
        query=Removal,
        summary="Delete a payment method",
        source="published facts, 1.1 row 38",
    ),
    Route(
        "PUT",
        "/payment_method/{payment_method_id}",
        "payment_method.update",
        update,
        reply="PaymentMethodReply",
        body=CardUpdate,
        summary="Update the card of a payment method",
        source="published facts, 1.1 row 39",
    ),
)
