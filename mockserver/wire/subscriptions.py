"""Subscriptions on the wire. Source: published facts, 1.2, 1.3, 2.11, 2.15, 3."""

from __future__ import annotations

from typing import TypedDict

from pydantic import Field

from mockserver.domain.calendar import Interval, RetryInterval
from mockserver.domain.commands import ChangeSubscription, NewSubscription
from mockserver.domain.states import SubscriptionState
from mockserver.domain.subscription import EndAfter, Retry, Subscription
from mockserver.wire.base import Body, Map, Moment, Number, Required, Whole, one_of
from mockserver.wire.dates import moment, named_moment
from mockserver.wire.shapes import ListQuery, PageReply, ReplyAmount, ReplyDateTime, WebhookConfig, plain_map


class EndAfterFields(Body):
    """What ends a subscription; 0 means nothing (one client always sends a count)."""

    count: Whole | None = None
    amount: Number | None = None
    date: Moment | None = None

    def end(self) -> EndAfter | None:
        """The end as a command carries it, None when nothing ends it."""
        end = EndAfter(self.count or None, self.amount or None, self.date)
        return end if end != EndAfter() else None


class RetryFields(Body):
    """How a declined payment is tried again."""

    maximum: Whole
    interval: one_of(RetryInterval) | None = None  # type: ignore[valid-type]
    frequency: Whole | None = Field(None, description="default 1")

    def retry(self) -> Retry:
        """The policy as a command carries it."""
        interval = RetryInterval.DAY if self.interval is None else self.interval
        return Retry(self.maximum, interval, 1 if self.frequency is None else self.frequency)


class SubscriptionCreation(Body):
    """A payment method to charge again and again."""

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

    def command(self) -> NewSubscription:
        """The command that these fields make."""
        return NewSubscription(
            payment_method_id=self.payment_method_id,
            amount=self.amount,
            currency=self.currency,
            interval=self.interval,
            frequency=1 if self.frequency is None else self.frequency,
            start=self.start_date,
            end_after=self.end_after.end() if self.end_after else None,
            retry=self.retry.retry() if self.retry else None,
            webhook=self.webhook.target() if self.webhook else None,
            metadata=self.metadata,
        )


class SubscriptionChange(Body):
    """What to change; ``endAfter``, ``retry`` and ``webhook`` are replaced as a whole."""

    amount: Number | None = None
    currency: str | None = None
    interval: one_of(Interval) | None = None  # type: ignore[valid-type]
    frequency: Whole | None = None
    end_after: EndAfterFields | None = None
    retry: RetryFields | None = None
    webhook: WebhookConfig | None = None
    metadata: Map | None = None

    def command(self) -> ChangeSubscription:
        """The command that these fields make."""
        return ChangeSubscription(
            amount=self.amount,
            currency=self.currency,
            interval=self.interval,
            frequency=self.frequency,
            end_after=self.end_after.end() if self.end_after else None,
            retry=self.retry.retry() if self.retry else None,
            webhook=self.webhook.target() if self.webhook else None,
            metadata=self.metadata,
        )


class SubscriptionStatus(Body):
    """The status that a subscription shall have."""

    status: one_of(SubscriptionState)  # type: ignore[valid-type]


class SubscriptionQuery(ListQuery):
    """Which subscriptions to list."""

    amount_greater_than: Number | None = None
    amount_less_than: Number | None = None
    currency: str | None = None
    status: one_of(SubscriptionState) | None = None  # type: ignore[valid-type]


class EndAfterReply(TypedDict):
    """What ends a subscription."""

    count: int | None
    amount: ReplyAmount | None
    date: ReplyDateTime | None


class RetryReply(TypedDict):
    """How a declined payment is tried again."""

    maximum: int
    interval: str
    frequency: int


class WebhookReply(TypedDict):
    """Where the webhooks of a subscription go."""

    url: str
    authorization: str | None


class SubscriptionReply(TypedDict):
    """A subscription."""

    subscriptionId: str
    paymentMethodId: str
    amount: ReplyAmount
    currency: str
    interval: str
    frequency: int
    createdDate: ReplyDateTime
    startDate: ReplyDateTime
    endAfter: EndAfterReply | None
    retry: RetryReply | None
    webhook: WebhookReply | None
    status: str
    metadata: dict[str, str] | None


class SubscriptionsReply(PageReply):
    """A page of subscriptions; ``count`` is the number of all matches."""

    subscriptions: list[SubscriptionReply]


def subscription_reply(row: Subscription) -> SubscriptionReply:
    """A subscription as the published object, null where nothing is known."""
    end, retry, webhook = row.end_after, row.retry, row.webhook
    last = named_moment(end.date) if end and end.date is not None else None
    return {
        "subscriptionId": row.subscription_id,
        "paymentMethodId": row.payment_method_id,
        "amount": row.amount,
        "currency": row.currency,
        "interval": row.interval.value,
        "frequency": row.frequency,
        "createdDate": moment(row.added),
        "startDate": named_moment(row.start),
        "endAfter": {"count": end.count, "amount": end.amount, "date": last} if end else None,
        "retry": {"maximum": retry.maximum, "interval": retry.interval.value, "frequency": retry.frequency}
        if retry
        else None,
        "webhook": {"url": webhook.url, "authorization": webhook.authorization} if webhook else None,
        "status": row.status.value,
        "metadata": plain_map(row.metadata),
    }
