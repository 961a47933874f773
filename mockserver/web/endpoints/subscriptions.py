"""Subscription operations."""

from __future__ import annotations

from mockserver.engine import searches, subscriptions
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.route import OperationCall
from mockserver.wire.subscriptions import (
    SubscriptionQuery,
    SubscriptionReply,
    subscription_reply,
)


def create(call: OperationCall) -> SubscriptionReply:
    """Subscribe."""
    return subscription_reply(subscriptions.create(call.sandbox, call.body.command()))


def get(call: OperationCall) -> SubscriptionReply:
    """Read one subscription."""
    return subscription_reply(subscriptions.get(call.sandbox, call.path["subscription_id"]))


def update(call: OperationCall) -> SubscriptionReply:
    """Change a subscription."""
    return subscription_reply(subscriptions.update(call.sandbox, call.path["subscription_id"], call.body.command()))


def set_status(call: OperationCall) -> SubscriptionReply:
    """Suspend, resume, complete or cancel a subscription."""
    return subscription_reply(subscriptions.set_status(call.sandbox, call.path["subscription_id"], call.body.status))


def cancel(call: OperationCall) -> SubscriptionReply:
    """Cancel a subscription."""
    return subscription_reply(subscriptions.cancel(call.sandbox, call.path["subscription_id"]))


search = ListOf(
    "List subscriptions.",
    searches.SUBSCRIPTIONS,
    SubscriptionQuery,
    "subscriptions",
    lambda _, row: subscription_reply(row),
)
