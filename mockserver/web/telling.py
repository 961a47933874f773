"""What a webhook says: the object of an event, in the voice of its sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockserver.domain.charge import Charge, as_before
from mockserver.domain.delivery import Message
from mockserver.domain.events import Event, Subject
from mockserver.domain.states import ChargeState
from mockserver.engine import customers
from mockserver.engine.facts import KINDS

if TYPE_CHECKING:
    from mockserver.engine.sandbox import Sandbox


def tell(
    box: Sandbox, message_id: str, message: Message, event: Event | None, data: object, *, stale: bool = False
) -> dict[str, object]:
    """The body of a webhook about an event, or with data of the caller's own; ``stale`` tells the state before it."""
    # The shapes are imported when the first webhook is told.
    from mockserver.wire.webhooks import envelope

    if event is None:
        return envelope(message_id, box.now, message, data)
    subject, at = _subject(box, message, event), event.at
    if stale:
        subject, at = _stale(subject, event), subject.added
    return envelope(message_id, at, message, _data(box, subject, event.subject))


def _subject(box: Sandbox, message: Message, event: Event) -> Any:
    kind = Subject.PAYMENT_METHOD if event.subject is Subject.PAYTO else event.subject
    return KINDS[kind.value][1](box).get(message.subject_id or "")


def _stale(subject: Any, event: Event) -> Any:
    if isinstance(subject, Charge) and event.before is not None:
        return as_before(subject, ChargeState(event.before))
    return subject


def _data(box: Sandbox, subject: Any, kind: Subject) -> object:
    from mockserver.wire.batches import batch_status_reply
    from mockserver.wire.customers import customer_reply
    from mockserver.wire.payment_methods import payment_method_reply
    from mockserver.wire.profile import voice_of
    from mockserver.wire.subscriptions import subscription_reply
    from mockserver.wire.webhooks import transaction

    voice = voice_of(box.assumed)
    match kind:
        case Subject.CHARGE:
            return transaction(subject, voice)
        case Subject.BATCH:
            return batch_status_reply(subject)
        case Subject.SUBSCRIPTION:
            return subscription_reply(subject)
        case Subject.CUSTOMER:
            return customer_reply(subject, customers.default_method(box, subject), voice)
        case _:
            agreement = box.payto.get(subject.payto_id) if subject.payto_id else None
            token = box.network_tokens.get(subject.network_token_id) if subject.network_token_id else None
            return payment_method_reply(subject, voice, agreement, token)
