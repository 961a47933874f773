"""Webhook-subscription operations."""

from __future__ import annotations

from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine import webhook_subscriptions
from mockserver.engine.listing import Paging
from mockserver.engine.webhook_subscriptions import WebhookSubscriptionFilter
from mockserver.web.route import Call
from mockserver.wire.webhook_subscriptions import (
    WebhookSubscriptionQuery,
    WebhookSubscriptionReply,
    WebhookSubscriptionsReply,
    webhook_subscription_reply,
)


def create(call: Call) -> WebhookSubscriptionReply:
    """Subscribe to webhooks."""
    body = call.body
    return _shown(call, webhook_subscriptions.create(call.sandbox, body.url, body.authorization, body.types))


def get(call: Call) -> WebhookSubscriptionReply:
    """Read one webhook subscription."""
    return _shown(call, webhook_subscriptions.get(call.sandbox, call.path["webhook_subscription_id"]))


def delete(call: Call) -> WebhookSubscriptionReply:
    """End a webhook subscription."""
    return _shown(call, webhook_subscriptions.delete(call.sandbox, call.path["webhook_subscription_id"]))


def search(call: Call) -> WebhookSubscriptionsReply:
    """List the webhook subscriptions in force."""
    query: WebhookSubscriptionQuery = call.query
    wanted = WebhookSubscriptionFilter(query.type, query.id, query.added_after, query.added_before)
    paging = Paging(query.limit, query.skip, query.sort_by, query.sort_order)
    page = webhook_subscriptions.search(call.sandbox, wanted, paging)
    return {"webhookSubscriptions": [_shown(call, row) for row in page.rows], "count": page.count}


def _shown(call: Call, row: WebhookSubscription) -> WebhookSubscriptionReply:
    return webhook_subscription_reply(row, call.sandbox.account_id)
