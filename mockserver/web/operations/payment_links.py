"""Payment links, and the payments that payers make on their pages.

Source: docs/spec/service.md, Payment links.
"""

from mockserver.engine import payment_links, searches
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import OperationCall, Route
from mockserver.web.request import Reply
from mockserver.wire.bodies.payment_links import (
    LinkPaymentInput,
    PaymentLinkCreation,
    PaymentLinkQuery,
)
from mockserver.wire.replies import Members


def create(call: OperationCall[PaymentLinkCreation, None]) -> Members:
    """Create a payment link."""
    return shown.payment_link(call, payment_links.create(call.step, call.body.command()))


def get(call: OperationCall[None, None]) -> Members:
    """Get a payment link."""
    return shown.payment_link(call, payment_links.get(call.step, call.path["payment_link_id"]))


def pay(call: OperationCall[LinkPaymentInput, None]) -> bytes | Reply:
    """Pay on the page of a link."""
    link = payment_links.get(call.step, call.path["payment_link_id"])
    return shown.begun_charge(
        call, payment_links.pay(call.step, link.payment_link_id, call.body.command())
    )


PAY = Route(
    "POST",
    "/pay/{payment_link_id}",
    "payment_link.pay",
    pay,
    reply="ChargeReply",
    body=LinkPaymentInput,
    creates=True,
    summary="Pay on the page of a payment link",
    source="service document, Payment link",
)
"""What the form of a link's page asks for: no other client can."""

LIST = ListOf(searches.PAYMENT_LINKS, "PaymentLinksReply", PaymentLinkQuery, shown.payment_link)


ROUTES = (
    Route(
        "POST",
        "/payment_link",
        "payment_link.create",
        create,
        reply="PaymentLinkReply",
        body=PaymentLinkCreation,
        creates=True,
        largest=2_000_000,
        summary="Create a payment link",
        source="service document, Payment links",
    ),
    Route(
        "GET",
        "/payment_link/{payment_link_id}",
        "payment_link.get",
        get,
        reply="PaymentLinkReply",
        summary="Get a payment link",
        source="service document, Payment links",
    ),
    Route(
        "GET",
        "/payment_link",
        "payment_link.search",
        LIST,
        reply="PaymentLinksReply",
        query=PaymentLinkQuery,
        ahead=LIST.find,
        summary="List payment links",
        source="published facts, 1.1 row 45",
    ),
)
