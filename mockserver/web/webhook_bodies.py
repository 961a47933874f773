"""What a webhook says: the object of an event, in the voice of its sandbox."""

from __future__ import annotations

from mockserver.assumptions import Assumed
from mockserver.domain.delivery import WebhookMessage
from mockserver.domain.events import Subject
from mockserver.domain.notice import Notice


def webhook_body(message_id: str, message: WebhookMessage, notice: Notice, assumed: Assumed) -> dict[str, object]:
    """The body of a webhook."""
    # The shapes are imported when the first webhook is sent.
    from mockserver.wire.webhooks import envelope

    return envelope(message_id, notice.at, message, _data(notice, assumed))


def _data(notice: Notice, assumed: Assumed) -> object:
    from mockserver.wire.batches import batch_status_reply
    from mockserver.wire.customers import customer_reply
    from mockserver.wire.payment_methods import payment_method_reply
    from mockserver.wire.profile import profile_of
    from mockserver.wire.subscriptions import subscription_reply
    from mockserver.wire.webhooks import transaction

    profile, data = profile_of(assumed), notice.data
    match notice.kind:
        case None:
            return data
        case Subject.CHARGE:
            return {**transaction(data, profile), **(notice.extra or {})}
        case Subject.BATCH:
            return batch_status_reply(data)
        case Subject.SUBSCRIPTION:
            return subscription_reply(data)
        case Subject.CUSTOMER:
            return customer_reply(data, notice.default_method, profile)
        case _:
            return payment_method_reply(data, profile, notice.agreement, notice.network_token)
