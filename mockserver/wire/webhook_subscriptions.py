"""Webhook subscriptions on the wire. Source: docs/spec/published-facts.md, 1.2, 1.3, 2.14, 2.15, 3."""

from __future__ import annotations

from pydantic import Field

from mockserver.domain.webhook_subscription import WebhookSubscription, WebhookType
from mockserver.wire.base import Body, Choices, HeaderText, Required, one_of
from mockserver.wire.replies import Members, reply_of


class WebhookSubscriptionCreation(Body):
    """A receiver, and the types of its webhooks."""

    url: Required
    authorization: HeaderText | None = None
    types: Choices[one_of(WebhookType)] | None = Field(None, description="null or empty: all of them")  # type: ignore[valid-type]


def webhook_subscription_reply(row: WebhookSubscription, account_id: str) -> Members:
    """A subscription as the published object."""
    return reply_of("WebhookSubscriptionReply", row, accountId=account_id)
