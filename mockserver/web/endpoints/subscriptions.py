"""Subscription operations."""

from __future__ import annotations

from mockserver.engine import subscriptions
from mockserver.engine.listing import Paging
from mockserver.engine.subscriptions import SubscriptionFilter
from mockserver.web.route import Call
from mockserver.wire.subscriptions import (
    SubscriptionQuery,
    SubscriptionReply,
    SubscriptionsReply,
    subscription_reply,
)


def create(call: Call) -> SubscriptionReply:
    """Subscribe."""
    return subscription_reply(subscriptions.create(call.sandbox, call.body.command()))


def get(call: Call) -> SubscriptionReply:
    """Read one subscription."""
    return subscription_reply(subscriptions.get(call.sandbox, call.path["subscription_id"]))


def update(call: Call) -> SubscriptionReply:
    """Change a subscription."""
    return subscription_reply(subscriptions.update(call.sandbox, call.path["subscription_id"], call.body.command()))


def set_status(call: Call) -> SubscriptionReply:
    """Suspend, resume, complete or cancel a subscription."""
    return subscription_reply(subscriptions.set_status(call.sandbox, call.path["subscription_id"], call.body.status))


def cancel(call: Call) -> SubscriptionReply:
    """Cancel a subscription."""
    return subscription_reply(subscriptions.cancel(call.sandbox, call.path["subscription_id"]))


def search(call: Call) -> SubscriptionsReply:
    """List subscriptions."""
    query: SubscriptionQuery = call.query
    wanted = SubscriptionFilter(
        more_than=query.amount_greater_than,
        less_than=query.amount_less_than,
        added_after=query.added_after,
        added_before=query.added_before,
        currency=query.currency,
        status=query.status,
    )
    page = subscriptions.search(call.sandbox, wanted, Paging(query.limit, query.skip, query.sort_by, query.sort_order))
    return {
        "limit": page.limit,
        "skip": page.skip,
        "count": page.count,
        "subscriptions": [subscription_reply(row) for row in page.rows],
    }
