"""What a webhook has to report of an event: the object, and the stored objects that are shown inside it."""

from __future__ import annotations

from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.delivery import WebhookMessage
from mockserver.domain.events import Event, Subject
from mockserver.domain.notice import Notice
from mockserver.domain.states import ChargeState
from mockserver.engine import customers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.state_facts import KINDS


def notice_of(
    sandbox: Sandbox, message: WebhookMessage, event: Event | None, data: object, *, stale: bool = False
) -> Notice:
    """The object of an event, or without one ``data``; ``stale`` takes the object as it was before the event."""
    if event is None:
        return Notice(sandbox.now, data)
    subject, at = _subject(sandbox, message, event), event.at
    if stale and event.data is None:
        subject, at = _stale(subject, event), subject.added
    match event.subject:
        case Subject.CHARGE | Subject.BATCH | Subject.SUBSCRIPTION:
            return Notice(at, subject, event.subject, extra=event.data)
        case Subject.CUSTOMER:
            return Notice(at, subject, Subject.CUSTOMER, default_method=customers.default_method(sandbox, subject))
        case _:
            return Notice(
                at,
                subject,
                Subject.PAYMENT_METHOD,
                agreement=sandbox.payto.get(subject.payto_id) if subject.payto_id else None,
                network_token=sandbox.network_tokens.get(subject.network_token_id)
                if subject.network_token_id
                else None,
            )


def _subject(sandbox: Sandbox, message: WebhookMessage, event: Event) -> Any:
    kind = Subject.PAYMENT_METHOD if event.subject is Subject.PAYTO else event.subject
    return KINDS[kind.value][1](sandbox).get(message.subject_id or "")


def _stale(subject: Any, event: Event) -> Any:
    if isinstance(subject, Charge) and event.before is not None:
        return subject.as_before(ChargeState(event.before))
    return subject
