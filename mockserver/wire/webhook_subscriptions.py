"""Webhook subscriptions on the wire. Source: docs/spec/published-facts.md, 1.2, 1.3, 2.14, 2.15, 3."""

from __future__ import annotations

from typing import TypedDict

from mockserver.domain.webhook_subscription import WebhookSubscription, WebhookType
from mockserver.wire.base import Body, Choices, HeaderText, Required, field, one_of
from mockserver.wire.replies import reply_of
from mockserver.wire.shapes import ListQuery, ReplyDateTime, page_of


class WebhookSubscriptionCreation(Body):
    """A receiver, and the types of its webhooks."""

    url: Required
    authorization: HeaderText | None = None
    types: Choices[one_of(WebhookType)] | None = field(None, description="null or empty: all of them")  # type: ignore[valid-type]


class WebhookSubscriptionQuery(ListQuery):
    """Which subscriptions to list."""

    type: one_of(WebhookType) | None = None  # type: ignore[valid-type]
    id: str | None = None
    sort_by: str | None = field(None, also="sort")


class WebhookSubscriptionReply(TypedDict):
    """A webhook subscription."""

    webhookSubscriptionId: str
    accountId: str
    url: str
    authorization: str | None
    types: list[str]
    createdDate: ReplyDateTime
    dateRemoved: ReplyDateTime | None


WebhookSubscriptionsReply = page_of(
    "WebhookSubscriptionsReply", "subscriptions", bare=True, webhookSubscriptions=WebhookSubscriptionReply
)


def webhook_subscription_reply(row: WebhookSubscription, account_id: str) -> WebhookSubscriptionReply:
    """A subscription as the published object."""
    return reply_of(WebhookSubscriptionReply, row, accountId=account_id)
