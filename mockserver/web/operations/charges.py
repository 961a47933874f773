"""Charges: take a payment, complete, void and refund it, and find it again.

Source: docs/spec/service.md, Charges.
"""

from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Unauthorised
from mockserver.domain.states import ChargeState
from mockserver.engine import charges, searches
from mockserver.engine.step import Step
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import Becomes, OperationCall, Route, named_provider
from mockserver.web.request import Reply
from mockserver.wire.bodies.charges import (
    BankCharge,
    Capture,
    CardCharge,
    ChargeQuery,
    CheckoutCharge,
    CustomerCharge,
    NetworkTokenCharge,
    PaymentMethodCharge,
    ProviderCardCharge,
    RefundQuery,
    TokenCharge,
    WalletCharge,
)
from mockserver.wire.bodies.shared import ProviderQuery


def create(call: OperationCall[Becomes[NewCharge], None]) -> bytes | Reply:
    """Any creation of a charge whose body names its own source."""
    return shown.begun_charge(call, charges.create(call.step, call.body.command()))


def charge_wallet(call: OperationCall[WalletCharge, ProviderQuery]) -> bytes | Reply:
    """Charge the token of a wallet, through the provider that the header, the query or the body
    names."""
    _check_wallet_key(call.step)
    provider_id = named_provider(call)
    return shown.begun_charge(call, charges.create(call.step, call.body.command(provider_id)))


def _check_wallet_key(step: Step) -> None:
    """A wallet is charged with the public key, as the service document says.

    One published library sends the secret key: the assumption ``charge.wallet_key`` may take that
    too, with a finding. Raises ``Unauthorised`` (40).
    """
    if "x-publickey" in step.asked.headers:
        return
    words = "required: a wallet is charged with the public key"
    if step.assume("charge.wallet_key") == "public_key":
        raise Unauthorised(Code.INVALID_AUTHENTICATION, {"XPublickey": words})
    step.result.undocumented["XPublickey"] = words


def get(call: OperationCall[None, None]) -> bytes:
    """Get a charge."""
    return shown.charge(call, charges.get(call.step, call.path["charge_id"]))


def capture(call: OperationCall[Capture, None]) -> bytes:
    """Complete an authorised charge; without an amount, all of it."""
    return shown.charge(call, charges.capture(call.step, call.path["charge_id"], call.body.amount))


def void(call: OperationCall[None, object]) -> bytes:
    """Void an authorised charge."""
    return shown.charge(call, charges.void(call.step, call.path["charge_id"]))


def refund(call: OperationCall[None, RefundQuery]) -> bytes:
    """Give money back."""
    charge_id, query = call.path["charge_id"], call.query
    return shown.charge(call, charges.refund(call.step, charge_id, query.amount, query.comment))


def refund_or_void(call: OperationCall[None, RefundQuery]) -> bytes:
    """``DELETE /charge/<id>``: void an authorised charge when no amount and no comment are given,
    else refund. The document shows this path for both, so which of them is meant must be read out
    of the request and the charge, unless the assumption ``charge.on_delete_path`` says."""
    meaning = call.step.assume("charge.on_delete_path")
    if meaning == "refund_or_void":
        is_bare = call.query.amount is None and call.query.comment is None
        is_open = charges.get(call.step, call.path["charge_id"]).status is ChargeState.AUTHORISED
        meaning = "void" if is_bare and is_open else "refund"
    return void(call) if meaning == "void" else refund(call)


LIST = ListOf(searches.CHARGES, "ChargesReply", ChargeQuery, shown.charge)


ROUTES = (
    Route(
        "POST",
        "/charge/card",
        "charge.create",
        create,
        reply="ChargeReply",
        body=ProviderCardCharge,
        creates=True,
        summary="Charge a card",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/card/least_cost",
        "charge.create",
        create,
        reply="ChargeReply",
        body=CardCharge,
        creates=True,
        summary="Charge a card, provider chosen by cost",
        source="published facts, 1.1 row 2",
    ),
    Route(
        "POST",
        "/charge/payment_method",
        "charge.create",
        create,
        reply="ChargeReply",
        body=PaymentMethodCharge,
        creates=True,
        summary="Charge a payment method",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/bank_account",
        "charge.create",
        create,
        reply="ChargeReply",
        body=BankCharge,
        creates=True,
        summary="Charge a bank account",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/customer",
        "charge.create",
        create,
        reply="ChargeReply",
        body=CustomerCharge,
        creates=True,
        summary="Charge a customer",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/token",
        "charge.create",
        create,
        reply="ChargeReply",
        body=TokenCharge,
        creates=True,
        summary="Charge a token",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/network_token",
        "charge.create",
        create,
        reply="ChargeReply",
        body=NetworkTokenCharge,
        creates=True,
        summary="Charge a network token",
        source="published facts, 1.1 row 7",
    ),
    Route(
        "POST",
        "/charge/token/apple",
        "charge.create",
        charge_wallet,
        reply="ChargeReply",
        body=WalletCharge,
        query=ProviderQuery,
        creates=True,
        is_public=True,
        headers=("ProviderId",),
        summary="Charge a wallet",
        source="published facts, 1.1 row 8",
    ),
    Route(
        "POST",
        "/charge/checkout",
        "charge.create",
        create,
        reply="ChargeReply",
        body=CheckoutCharge,
        creates=True,
        is_public=True,
        summary="Charge what a payer approved at a checkout",
        source="published facts, 7.1: addCheckout",
    ),
    Route(
        "GET",
        "/charge/{charge_id}",
        "charge.get",
        get,
        reply="ChargeReply",
        summary="Get a charge",
        source="published facts, 1.1 row 9",
    ),
    Route(
        "GET",
        "/charge",
        "charge.search",
        LIST,
        reply="ChargesReply",
        query=ChargeQuery,
        ahead=LIST.find,
        summary="Search charges",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/{charge_id}",
        "charge.capture",
        capture,
        reply="ChargeReply",
        body=Capture,
        summary="Capture an authorised charge",
        source="service document, Charges",
    ),
    Route(
        "POST",
        "/charge/{charge_id}/capture",
        "charge.capture",
        capture,
        reply="ChargeReply",
        body=Capture,
        summary="Capture an authorised charge",
        source="published facts, 1.1 row 11b",
    ),
    Route(
        "DELETE",
        "/charge/{charge_id}/void",
        "charge.void",
        void,
        reply="ChargeReply",
        summary="Void an authorised charge",
        source="service document, Charges",
    ),
    Route(
        "DELETE",
        "/charge/{charge_id}",
        "charge.refund",
        refund_or_void,
        reply="ChargeReply",
        query=RefundQuery,
        summary="Refund a charge, or void an authorised one",
        source="published facts, 8 rows 2-4",
    ),
    Route(
        "DELETE",
        "/refund/{charge_id}",
        "charge.refund",
        refund,
        reply="ChargeReply",
        query=RefundQuery,
        summary="Refund a charge",
        source="service document, Charges",
    ),
)
