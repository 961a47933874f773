"""Payment-link operations."""

from __future__ import annotations

from mockserver.domain.payment_link import PaymentLink
from mockserver.engine import payment_links, searches
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.route import OperationCall
from mockserver.wire.payment_links import PaymentLinkQuery, PaymentLinkReply, payment_link_reply


def create(call: OperationCall) -> PaymentLinkReply:
    """Make a payment link."""
    return _shown(call, payment_links.create(call.sandbox, call.body.command()))


def get(call: OperationCall) -> PaymentLinkReply:
    """Read one payment link."""
    return _shown(call, payment_links.get(call.sandbox, call.path["payment_link_id"]))


def _shown(call: OperationCall, link: PaymentLink) -> PaymentLinkReply:
    sandbox = call.sandbox
    return payment_link_reply(link, payment_links.address(sandbox, link), sandbox.account_id, sandbox.public_key)


search = ListOf("List payment links.", searches.PAYMENT_LINKS, PaymentLinkQuery, "paymentLinks", _shown, bare=True)
