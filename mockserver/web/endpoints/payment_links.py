"""Payment-link operations."""

from __future__ import annotations

from mockserver.domain.payment_link import PaymentLink
from mockserver.engine import payment_links, searches
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.endpoints.use_case import UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.payment_links import PaymentLinkQuery, payment_link_reply
from mockserver.wire.replies import Members


def _shown(call: OperationCall, link: PaymentLink) -> Members:
    sandbox = call.sandbox
    return payment_link_reply(link, payment_links.address(call.step, link), sandbox.account_id, sandbox.public_key)


create = UseCase("Make a payment link.", payment_links.create, _shown)
get = UseCase("Read one payment link.", payment_links.get, _shown)
search = ListOf("List payment links.", searches.PAYMENT_LINKS, PaymentLinkQuery, "paymentLinks", _shown, bare=True)
