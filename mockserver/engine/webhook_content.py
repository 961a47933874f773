"""What a webhook has to report of an event, and what it is sent as: JSON and its signature, or what a scenario
makes of them.

Sources: published facts, 6; scenario language, Outcomes, webhook.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, EARLIEST, LATEST, Micros
from mockserver.domain.delivery import Content, MediaType, WebhookMessage, padded, sign
from mockserver.domain.events import Event, Subject
from mockserver.domain.notice import Notice
from mockserver.domain.states import ChargeState
from mockserver.engine import customers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.state_facts import KINDS
from mockserver.scenario.edits import edited, unfound
from mockserver.scenario.webhook_plan import Signature, WebhookPlan

_WRONG_KEY = "forged:"


def content_of(
    sandbox: Sandbox, message_id: str, message: WebhookMessage, notice: Notice, plan: WebhookPlan
) -> Content:
    """The content of a webhook that reports a notice. It is signed as it is sent, unless the plan says otherwise."""
    if plan.sent:
        notice = _moved(notice, plan.sent)
    kind = MediaType.FORM if plan.form else MediaType.JSON
    key, body = sandbox.config.webhook_key, _body(sandbox, message_id, message, notice, plan)
    match plan.forged:
        case Signature.NONE:
            signature = None
        case Signature.STALE:
            # The same message as it was signed a day before.
            earlier = _moved(notice, -DAY)
            signature = sign(key, padded(_body(sandbox, message_id, message, earlier, plan), kind, plan.pad))
        case Signature.BAD:
            signature = sign(_WRONG_KEY + key, padded(body, kind, plan.pad))
        case None:
            signature = sign(key, padded(body, kind, plan.pad))
    return Content(
        body, signature, kind, plan.pad, is_ordinary=not (plan.form or plan.pad or plan.sent or plan.is_edited)
    )


def _moved(notice: Notice, by: Micros) -> Notice:
    """The same at another time, as far as time goes."""
    return replace(notice, at=min(max(notice.at + by, EARLIEST), LATEST))


def _body(sandbox: Sandbox, message_id: str, message: WebhookMessage, notice: Notice, plan: WebhookPlan) -> bytes:
    config = sandbox.config
    told: object = config.render(message_id, message, notice, sandbox.assumed)
    if plan.is_edited:
        lost = (f"the webhook has nothing for {path}" for path in unfound(told, plan.edit or {}, plan.omit))
        sandbox.step.warnings = tuple(dict.fromkeys((*sandbox.step.warnings, *lost)))
        told = edited(told, plan.edit or {}, plan.omit)
    if not plan.form:
        return config.write(told)
    pairs = _pairs("", told)
    return "&".join(f"{quote(name, safe='[]')}={quote(_text(sandbox, value))}" for name, value in pairs).encode()


def _pairs(name: str, value: object) -> Iterator[tuple[str, object]]:
    """The fields of a form: ``data[paymentInformation][type]``."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _pairs(f"{name}[{key}]" if name else key, one)
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            yield from _pairs(f"{name}[{index}]", one)
    else:
        yield name, value


def _text(sandbox: Sandbox, value: object) -> str:
    """A value of a form: a number or a flag as JSON writes it, nothing for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return sandbox.config.write(value).decode()


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
