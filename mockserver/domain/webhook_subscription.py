"""A webhook subscription: one receiver for everything of some types that happens in an account.

Source: docs/spec/published-facts.md, 2.14, 3 (types), 6.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from mockserver.domain.clock import Micros
from mockserver.domain.record import record, replace
from mockserver.domain.states import WEBHOOK_SUBSCRIPTION, Presence, PresenceEvent


class WebhookType(StrEnum):
    """What a subscription is about, as it is written in answers; the order gives the index."""

    TRANSACTION = "Transaction"
    BATCH = "Batch"
    SUBSCRIPTION = "Subscription"
    CUSTOMER = "Customer"
    PAYMENT_METHOD = "PaymentMethod"


@record
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

    def after_removal(self, now: Micros) -> WebhookSubscription:
        """Ended. Raises ``WrongState`` (111)."""
        return replace(
            self, state=WEBHOOK_SUBSCRIPTION.advance(self.state, PresenceEvent.REMOVED), removed=now
        )
