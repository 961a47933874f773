"""Payment-link operations."""

from __future__ import annotations

from mockserver.domain.payment_link import PaymentLink
from mockserver.engine import payment_links, searches
from mockserver.web.endpoints.charges import answered
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall, StatusReply
from mockserver.wire.payment_links import payment_link_reply
from mockserver.wire.replies import Members


def _shown(call: OperationCall, link: PaymentLink) -> Members:
    sandbox = call.sandbox
    return payment_link_reply(link, payment_links.address(call.step, link), sandbox.account_id, sandbox.public_key)


def pay(call: OperationCall) -> bytes | StatusReply:
    """Pay on the page of a link."""
    link = payment_links.get(call.step, call.path["payment_link_id"])
    return answered(call, payment_links.pay(call.step, link.payment_link_id, call.body.payment()))


create = UseCase("Make a payment link.", payment_links.create, _shown)
get = UseCase("Read one payment link.", payment_links.get, _shown)
search = ListOf("List payment links.", searches.PAYMENT_LINKS, "PaymentLinkQuery", "paymentLinks", _shown, bare=True)
