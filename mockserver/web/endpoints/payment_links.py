"""Payment-link operations."""

from __future__ import annotations

from mockserver.domain.payment_link import PaymentLink
from mockserver.engine import payment_links
from mockserver.engine.listing import Paging
from mockserver.web.route import Call
from mockserver.wire.payment_links import PaymentLinkQuery, PaymentLinkReply, PaymentLinksReply, payment_link_reply


def create(call: Call) -> PaymentLinkReply:
    """Make a payment link."""
    return _shown(call, payment_links.create(call.sandbox, call.body.command()))


def get(call: Call) -> PaymentLinkReply:
    """Read one payment link."""
    return _shown(call, payment_links.get(call.sandbox, call.path["payment_link_id"]))


def search(call: Call) -> PaymentLinksReply:
    """List payment links."""
    query: PaymentLinkQuery = call.query
    paging = Paging(query.limit, query.skip, query.sort_by, query.sort_order)
    page = payment_links.search(call.sandbox, query.added_after, query.added_before, paging)
    return {"paymentLinks": [_shown(call, link) for link in page.rows], "count": page.count}


def _shown(call: Call, link: PaymentLink) -> PaymentLinkReply:
    sandbox = call.sandbox
    return payment_link_reply(link, payment_links.address(sandbox, link), sandbox.account_id, sandbox.public_key)
