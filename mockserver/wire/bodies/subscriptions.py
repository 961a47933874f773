"""Subscriptions: a payment method to charge again and again, and how that ends.

Source: docs/spec/published-facts.md, 1.1 (rows 63-68), 2.
"""

from typing import Annotated

from pydantic import Field

from mockserver.domain.commands import ChangeSubscription, NewSubscription
from mockserver.domain.states import SubscriptionState
from mockserver.domain.subscription import EndAfter, Interval, Retry, RetryInterval
from mockserver.wire.bodies.shared import ListQuery, WebhookConfig, receiver_of
from mockserver.wire.field_types import Metadata, Moment, NonEmpty, Number, Text, Whole32, one_of
from mockserver.wire.fields import Body

IntervalWord = Annotated[Interval, one_of(Interval)]
StateWord = Annotated[SubscriptionState, one_of(SubscriptionState)]


class EndAfterFields(Body):
    """What ends a subscription; 0 means nothing (one client always sends a count)."""

    count: Whole32 | None = None
    amount: Number | None = None
    date: Moment | None = None

    def command(self) -> EndAfter | None:
        """The end, None when nothing ends it. A count or an amount of 0 would be over before the
        first payment, so it cannot be meant."""
        end = EndAfter(count=self.count or None, amount=self.amount or None, date=self.date)
        return None if end == EndAfter() else end


class RetryFields(Body):
    """How a declined payment is tried again."""

    maximum: Whole32
    interval: Annotated[RetryInterval, one_of(RetryInterval)] | None = None
    frequency: Whole32 | None = Field(None, description="default 1")

    def command(self) -> Retry:
        """How often it is tried again, by default a day later each time."""
        return Retry(
            maximum=self.maximum,
            interval=RetryInterval.DAY if self.interval is None else self.interval,
            frequency=1 if self.frequency is None else self.frequency,
        )


class SubscriptionCreation(Body):
    """A payment method to charge again and again."""

    payment_method_id: NonEmpty
    amount: Number
    currency: Text | None = None
    interval: IntervalWord
    frequency: Whole32 | None = Field(None, description="default 1")
    start_date: Moment | None = Field(None, description="default now")
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Metadata | None = None

    def command(self) -> NewSubscription:
        """Begin to charge it."""
        return NewSubscription(
            payment_method_id=self.payment_method_id,
            amount=self.amount,
            interval=self.interval,
            frequency=1 if self.frequency is None else self.frequency,
            currency=self.currency,
            start=self.start_date,
            end_after=None if self.end_after is None else self.end_after.command(),
            retry=None if self.retry is None else self.retry.command(),
            webhook=receiver_of(self.webhook),
            metadata=self.metadata,
        )


class SubscriptionChange(Body):
    """What to change; ``endAfter``, ``retry`` and ``webhook`` are replaced as a whole. What is not
    given, or null, stays: so no default is filled in here, unlike in a creation."""

    amount: Number | None = None
    currency: Text | None = None
    interval: IntervalWord | None = None
    frequency: Whole32 | None = None
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Metadata | None = None

    def command(self) -> ChangeSubscription:
        """What changes."""
        return ChangeSubscription(
            amount=self.amount,
            currency=self.currency,
            interval=self.interval,
            frequency=self.frequency,
            end_after=None if self.end_after is None else self.end_after.command(),
            retry=None if self.retry is None else self.retry.command(),
            webhook=receiver_of(self.webhook),
            metadata=self.metadata,
        )


class SubscriptionStatus(Body):
    """The status that a subscription shall have."""

    status: StateWord


class SubscriptionQuery(ListQuery):
    """Which subscriptions to list."""

    amount_greater_than: Number | None = None
    amount_less_than: Number | None = None
    currency: Text | None = None
    status: StateWord | None = None
