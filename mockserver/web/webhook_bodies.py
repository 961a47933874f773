"""What a webhook says: the object of an event, in the voice of its sandbox."""

from __future__ import annotations

from mockserver.assumptions import Assumed
from mockserver.domain.delivery import Notice, WebhookMessage
from mockserver.domain.events import Subject
from mockserver.wire.profile import profile_of


def webhook_body(message_id: str, message: WebhookMessage, notice: Notice, assumed: Assumed) -> dict[str, object]:
    """The body of a webhook."""
    # The shapes are imported when the first webhook is sent.
    from mockserver.wire.webhooks import envelope

    return envelope(message_id, notice.at, message, _data(notice, assumed))


def _data(notice: Notice, assumed: Assumed) -> object:
    # Those of one kind of object alone: the first webhook would keep others waiting for all of them.
    match notice.kind:
        case None:
            return notice.data
        case Subject.CHARGE:
            from mockserver.wire.webhooks import transaction

            return {**transaction(notice.data, profile_of(assumed)), **(notice.extra or {})}
        case Subject.BATCH:
            from mockserver.wire.batches import batch_status_reply

            return batch_status_reply(notice.data)
        case Subject.SUBSCRIPTION:
            from mockserver.wire.replies import reply_of

            return reply_of("SubscriptionReply", notice.data)
        case Subject.CUSTOMER:
            from mockserver.wire.customers import customer_reply

            return customer_reply(notice.data, notice.default_method, profile_of(assumed))
        case _:
            from mockserver.wire.payment_methods import payment_method_reply

            return payment_method_reply(notice.data, profile_of(assumed), notice.agreement, notice.network_token)
