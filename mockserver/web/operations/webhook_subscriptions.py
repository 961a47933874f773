"""Webhook subscriptions: who gets which webhooks.

Source: docs/spec/published-facts.md, 1.1 (rows 72-75).
"""

from mockserver.engine import searches, webhook_subscriptions
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire.bodies.webhook_subscriptions import (
    WebhookSubscriptionCreation,
    WebhookSubscriptionQuery,
)
from mockserver.wire.replies import Members


def create(call: OperationCall[WebhookSubscriptionCreation, None]) -> Members:
    """Subscribe to webhooks."""
    body = call.body
    made = webhook_subscriptions.create(call.step, body.url, body.authorization, body.types)
    return shown.webhook_subscription(call, made)


def get(call: OperationCall[None, None]) -> Members:
    """Get a webhook subscription."""
    found = webhook_subscriptions.get(call.step, call.path["webhook_subscription_id"])
    return shown.webhook_subscription(call, found)


def delete(call: OperationCall[None, None]) -> Members:
    """End a webhook subscription."""
    ended = webhook_subscriptions.delete(call.step, call.path["webhook_subscription_id"])
    return shown.webhook_subscription(call, ended)


LIST = ListOf(
    searches.WEBHOOK_SUBSCRIPTIONS,
    "WebhookSubscriptionsReply",
    WebhookSubscriptionQuery,
    shown.webhook_subscription,
)


ROUTES = (
    Route(
        "POST",
        "/webhook/subscription",
        "webhook_subscription.create",
        create,
        reply="WebhookSubscriptionReply",
        body=WebhookSubscriptionCreation,
        creates=True,
        summary="Subscribe to webhooks",
        source="published facts, 1.1 row 72",
    ),
    Route(
        "GET",
        "/webhook/subscription/{webhook_subscription_id}",
        "webhook_subscription.get",
        get,
        reply="WebhookSubscriptionReply",
        summary="Get a webhook subscription",
        source="published facts, 1.1 row 73",
    ),
    Route(
        "GET",
        "/webhook/subscription",
        "webhook_subscription.search",
        LIST,
        reply="WebhookSubscriptionsReply",
        query=WebhookSubscriptionQuery,
        ahead=LIST.find,
        summary="List webhook subscriptions",
        source="published facts, 1.1 row 74",
    ),
    Route(
        "DELETE",
        "/webhook/subscription/{webhook_subscription_id}",
        "webhook_subscription.delete",
        delete,
        reply="WebhookSubscriptionReply",
        summary="End a webhook subscription",
        source="published facts, 1.1 row 75",
    ),
)
