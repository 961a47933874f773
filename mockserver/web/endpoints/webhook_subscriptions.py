"""Webhook-subscription operations."""

from __future__ import annotations

from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine import searches, webhook_subscriptions
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.replies import Members
from mockserver.wire.webhook_subscriptions import webhook_subscription_reply


def create(call: OperationCall) -> Members:
    """Subscribe to webhooks."""
    body = call.body
    return _shown(call, webhook_subscriptions.create(call.step, body.url, body.authorization, body.types))


def _shown(call: OperationCall, row: WebhookSubscription) -> Members:
    return webhook_subscription_reply(row, call.sandbox.account_id)


get = UseCase("Read one webhook subscription.", webhook_subscriptions.get, _shown)
delete = UseCase("End a webhook subscription.", webhook_subscriptions.delete, _shown)
search = ListOf(
    "List the webhook subscriptions in force.",
    searches.WEBHOOK_SUBSCRIPTIONS,
    "WebhookSubscriptionQuery",
    "webhookSubscriptions",
    _shown,
    bare=True,
)
