"""Subscriptions: payment methods that are charged again and again.

Source: docs/spec/published-facts.md, 1.1 (rows 63-68).
"""

from mockserver.engine import searches, subscriptions
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import OperationCall, Route
from mockserver.wire.bodies.subscriptions import (
    SubscriptionChange,
    SubscriptionCreation,
    SubscriptionQuery,
    SubscriptionStatus,
)
from mockserver.wire.replies import Members, reply_of


def create(call: OperationCall[SubscriptionCreation, None]) -> Members:
    """Create a subscription."""
    return reply_of("SubscriptionReply", subscriptions.create(call.step, call.body.command()))


def get(call: OperationCall[None, None]) -> Members:
    """Get a subscription."""
    return reply_of("SubscriptionReply", subscriptions.get(call.step, call.path["subscription_id"]))


def cancel(call: OperationCall[None, None]) -> Members:
    """Cancel a subscription."""
    return reply_of(
        "SubscriptionReply", subscriptions.cancel(call.step, call.path["subscription_id"])
    )


def update(call: OperationCall[SubscriptionChange, None]) -> Members:
    """Update a subscription."""
    subscription_id, changes = call.path["subscription_id"], call.body.command()
    return reply_of("SubscriptionReply", subscriptions.update(call.step, subscription_id, changes))


def set_status(call: OperationCall[SubscriptionStatus, None]) -> Members:
    """Update the status of a subscription."""
    subscription_id, status = call.path["subscription_id"], call.body.status
    return reply_of(
        "SubscriptionReply", subscriptions.set_status(call.step, subscription_id, status)
    )


LIST = ListOf(searches.SUBSCRIPTIONS, "SubscriptionsReply", SubscriptionQuery)


ROUTES = (
    Route(
        "POST",
        "/subscription/payment_method",
        "subscription.create",
        create,
        reply="SubscriptionReply",
        body=SubscriptionCreation,
        creates=True,
        summary="Create a subscription",
        source="published facts, 1.1 row 63",
    ),
    Route(
        "GET",
        "/subscription/{subscription_id}",
        "subscription.get",
        get,
        reply="SubscriptionReply",
        summary="Get a subscription",
        source="published facts, 1.1 row 64",
    ),
    Route(
        "DELETE",
        "/subscription/{subscription_id}",
        "subscription.cancel",
        cancel,
        reply="SubscriptionReply",
        summary="Cancel a subscription",
        source="published facts, 1.1 row 65",
    ),
    Route(
        "GET",
        "/subscription",
        "subscription.search",
        LIST,
        reply="SubscriptionsReply",
        query=SubscriptionQuery,
        ahead=LIST.find,
        summary="Search subscriptions",
        source="published facts, 1.1 row 66",
    ),
    Route(
        "PUT",
        "/subscription/{subscription_id}",
        "subscription.update",
        update,
        reply="SubscriptionReply",
        body=SubscriptionChange,
        summary="Update a subscription",
        source="published facts, 1.1 row 67",
    ),
    Route(
        "PUT",
        "/subscription/{subscription_id}/status",
        "subscription.status",
        set_status,
        reply="SubscriptionReply",
        body=SubscriptionStatus,
        summary="Update the status of a subscription",
        source="published facts, 1.1 row 68",
    ),
)
