"""Subscriptions on the wire. Source: docs/spec/published-facts.md, 1.2, 1.3, 2.11, 2.15, 3."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from mockserver.domain.commands import ChangeSubscription, NewSubscription
from mockserver.domain.states import SubscriptionState
from mockserver.domain.subscription import EndAfter, Interval, Retry, RetryInterval
from mockserver.wire.base import Body, Map, Moment, Number, Required, Whole, one_of
from mockserver.wire.shapes import WebhookConfig


class EndAfterFields(Body):
    """What ends a subscription; 0 means nothing (one client always sends a count)."""

    count: Whole | None = None
    amount: Number | None = None
    date: Moment | None = None

    def command(self) -> EndAfter | None:
        """The end as a command carries it, None when nothing ends it."""
        end = EndAfter(self.count or None, self.amount or None, self.date)
        return end if end != EndAfter() else None


class RetryFields(Body):
    """How a declined payment is tried again."""

    maximum: Whole
    interval: one_of(RetryInterval) | None = None  # type: ignore[valid-type]
    frequency: Whole | None = Field(None, description="default 1")

    def command(self) -> Retry:
        return self.made(Retry, interval=RetryInterval.DAY if self.interval is None else self.interval)


class SubscriptionCreation(Body):
    """A payment method to charge again and again."""

    makes = NewSubscription
    named: ClassVar = {"start_date": "start"}

    payment_method_id: Required
    amount: Number
    currency: str | None = None
    interval: one_of(Interval)  # type: ignore[valid-type]
    frequency: Whole | None = Field(None, description="default 1")
    start_date: Moment | None = Field(None, description="default now")
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Map | None = None


class SubscriptionChange(Body):
    """What to change; ``endAfter``, ``retry`` and ``webhook`` are replaced as a whole."""

    makes = ChangeSubscription

    amount: Number | None = None
    currency: str | None = None
    interval: one_of(Interval) | None = None  # type: ignore[valid-type]
    frequency: Whole | None = None
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Map | None = None


class SubscriptionStatus(Body):
    """The status that a subscription shall have."""

    status: one_of(SubscriptionState)  # type: ignore[valid-type]

    def command(self) -> SubscriptionState:
        status: SubscriptionState = self.status
        return status
