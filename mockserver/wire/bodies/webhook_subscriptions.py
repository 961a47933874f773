"""Webhook subscriptions: a receiver, and which webhooks it gets.

Source: docs/spec/published-facts.md, 1.1 (rows 72-75).
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from mockserver.domain.webhook_subscription import WebhookType
from mockserver.wire.bodies.shared import ListQuery
from mockserver.wire.field_types import Few, HeaderValue, Text, WebhookAddress, one_of
from mockserver.wire.fields import Body

WebhookTypeWord = Annotated[WebhookType, one_of(WebhookType)]


class WebhookSubscriptionCreation(Body):
    """A receiver, and the types of its webhooks."""

    url: WebhookAddress
    authorization: HeaderValue | None = None
    types: Few[WebhookTypeWord] | None = Field(None, description="null or empty: all of them")


class WebhookSubscriptionQuery(ListQuery):
    """Which subscriptions to list."""

    sort_by: Text | None = None
    type: WebhookTypeWord | None = None
    id: Text | None = None

    also_read: ClassVar[Mapping[str, str]] = {"sort": "sortBy"}
