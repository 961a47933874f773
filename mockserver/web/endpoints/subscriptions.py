"""Subscription operations."""

from __future__ import annotations

from mockserver.domain.subscription import Subscription
from mockserver.engine import searches, subscriptions
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall
from mockserver.wire.replies import Members, reply_of


def _shown(_: OperationCall, row: Subscription) -> Members:
    return reply_of("SubscriptionReply", row)


create = UseCase("Subscribe.", subscriptions.create, _shown)
get = UseCase("Read one subscription.", subscriptions.get, _shown)
update = UseCase("Change a subscription.", subscriptions.update, _shown)
set_status = UseCase("Suspend, resume, complete or cancel a subscription.", subscriptions.set_status, _shown)
cancel = UseCase("Cancel a subscription.", subscriptions.cancel, _shown)
search = ListOf("List subscriptions.", searches.SUBSCRIPTIONS, "SubscriptionQuery", "subscriptions", _shown)
