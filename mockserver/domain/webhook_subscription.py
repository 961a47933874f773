"""A webhook subscription: one receiver for everything of some types that happens in an account.

Source: published facts, 2.14, 3 (types), 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from mockserver.domain.clock import Micros
from mockserver.domain.states import Presence


class WebhookType(StrEnum):
    """What a subscription is told of, as it is written in answers; the order gives the index."""

    TRANSACTION = "Transaction"
    BATCH = "Batch"
    SUBSCRIPTION = "Subscription"
    CUSTOMER = "Customer"
    PAYMENT_METHOD = "PaymentMethod"


@dataclass(slots=True)
class WebhookSubscription:
    """A webhook subscription as stored; ``authorization`` is presented to the receiver as it is."""

    webhook_subscription_id: str
    url: str
    authorization: str | None = field(repr=False)
    types: tuple[WebhookType, ...]
    added: Micros
    removed: Micros | None = None
    state: Presence = Presence.ACTIVE
    seq: int = -1
