"""What a webhook has to report of an event, and what it is sent as: JSON and its signature, or what
a scenario makes of them.

Sources: docs/spec/published-facts.md, 6; docs/scenario-language.md, webhook.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY, EARLIEST, LATEST, Micros
from mockserver.domain.delivery import (
    Content,
    MediaType,
    Notice,
    WebhookMessage,
    padded,
    previous_key,
    sign,
)
from mockserver.domain.record import record
from mockserver.domain.states import ChargeState, Event, Subject
from mockserver.domain.webhook_subscription import WebhookType
from mockserver.engine import customers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import KINDS, Step
from mockserver.scenario.transport import edited, unfound
from mockserver.scenario.webhook_plan import NO_CHARGE, NO_ORDER, Signature, WebhookPlan

TYPES: Mapping[Subject, WebhookType] = {
    Subject.CHARGE: WebhookType.TRANSACTION,
    Subject.BATCH: WebhookType.BATCH,
    Subject.SUBSCRIPTION: WebhookType.SUBSCRIPTION,
    Subject.CUSTOMER: WebhookType.CUSTOMER,
    Subject.PAYMENT_METHOD: WebhookType.PAYMENT_METHOD,
    Subject.PAYTO: WebhookType.PAYMENT_METHOD,
}
"""The type of the webhooks about each kind of object; about others there are none."""

_STATUS_CHANGES = frozenset({Subject.BATCH, Subject.SUBSCRIPTION})
_BY_STATUS = frozenset({WebhookType.TRANSACTION, WebhookType.BATCH, WebhookType.SUBSCRIPTION})
_WRONG_KEY = "forged:"


@record
class ReportedEvent:
    """Something to report: the object as it is now, and the event that is its cause."""

    type: WebhookType
    message: WebhookMessage
    event: Event
    subject: Any


def word_of(kind: WebhookType) -> str:
    """``meta.type`` of a type (settled fact ``webhook.events``)."""
    return kind.value[:1].lower() + kind.value[1:]


def reported_events(sandbox: Sandbox, kind: WebhookType, event: Event) -> Iterator[ReportedEvent]:
    """What webhooks of a type have to report of an event: mostly one thing; of an agreement one for
    each payment method that has it; nothing where no status has changed."""
    if event.subject in _STATUS_CHANGES and event.before == event.after:
        # The service tells of the status alone, not of other fields that have changed.
        return
    word = word_of(kind)
    if event.subject is Subject.PAYTO:
        # An agreement has no webhooks of its own: its payment methods have changed.
        if event.before is not None and event.before != event.after:
            for method in sandbox.payment_methods.find("payto", event.subject_id):
                message = WebhookMessage(word, f"{word}.updated", method.payment_method_id)
                yield ReportedEvent(kind, message, event, method)
        return
    subject = KINDS[event.subject].table(sandbox).get(event.subject_id)
    if subject is None:
        return
    name = f"{word}.{event.what}"
    if event.data is not None:
        # The scenario has made it up, name and all.
        name = event.what
    elif kind in _BY_STATUS:
        name = f"{word}.status.changed"
    yield ReportedEvent(kind, WebhookMessage(word, name, event.subject_id), event, subject)


def content_of(
    step: Step, message_id: str, message: WebhookMessage, notice: Notice, plan: WebhookPlan
) -> Content:
    """The content of a webhook that reports a notice. It is signed as it is sent, unless the plan
    says otherwise."""
    if plan.sent:
        notice = _moved(notice, plan.sent)
    if plan.foreign:
        notice = _foreign(step.sandbox, message, notice)
    kind = MediaType.FORM if plan.form else MediaType.JSON
    key, body = step.sandbox.config.webhook_key, _body(step, message_id, message, notice, plan)
    signature: str | None
    match plan.forged:
        case None:
            signature = sign(key, padded(body, kind, plan.pad))
        case Signature.NONE:
            signature = None
        case Signature.BAD:
            signature = sign(_WRONG_KEY + key, padded(body, kind, plan.pad))
        case Signature.PREVIOUS:
            signature = sign(previous_key(key), padded(body, kind, plan.pad))
        case Signature.STALE:
            # The same message as it was signed a day before.
            day_before = _body(step, message_id, message, _moved(notice, -DAY), plan)
            signature = sign(key, padded(day_before, kind, plan.pad))
    is_as_published = not (plan.form or plan.pad or plan.sent or plan.is_edited)
    # A receiver that knows the new key only may refuse the one before.
    is_ordinary = is_as_published and plan.forged is not Signature.PREVIOUS
    return Content(body, signature, kind, plan.pad, is_ordinary=is_ordinary)


def _foreign(sandbox: Sandbox, message: WebhookMessage, notice: Notice) -> Notice:
    """The notice of the last charge of another order that was taken, with the amount of this one:
    what an attacker reports who has paid for an order of his own. All of it is true but the
    amount, so a receiver must compare the order and not only believe the signature. Where no such
    charge is in the sandbox, it is about one that nobody knows."""
    own: Mapping[str, object] = {}
    if isinstance(notice.data, Mapping):
        own = notice.data
    reference = own.get("reference")
    paid = [charge for charge in sandbox.charges if charge.status is ChargeState.SUCCESS]
    others = [charge for charge in paid if charge.reference != reference]
    if not others:
        return replace(notice, data={**own, "chargeId": NO_CHARGE, "reference": NO_ORDER})
    other = Notice(notice.at, others[-1], Subject.CHARGE)
    theirs: Any = sandbox.config.render("", message, other, sandbox.assumed)["data"]
    price = {name: own[name] for name in ("amount", "currency") if name in own}
    return replace(notice, data={**theirs, **price})


def _moved(notice: Notice, by: Micros) -> Notice:
    """The same at another time, as far as time goes."""
    at = min(max(notice.at + by, EARLIEST), LATEST)
    return replace(notice, at=at)


def _body(
    step: Step, message_id: str, message: WebhookMessage, notice: Notice, plan: WebhookPlan
) -> bytes:
    """The body of a webhook, changed as the plan wants it."""
    config = step.sandbox.config
    payload: object = config.render(message_id, message, notice, step.sandbox.assumed)
    if plan.is_edited:
        edit = plan.edit or {}
        for path in unfound(payload, edit, plan.omit):
            words = f"the webhook has nothing for {path}"
            if words not in step.result.warnings:
                step.result.warnings += (words,)
        payload = edited(payload, edit, plan.omit)
    if plan.form:
        return _form(step.sandbox, payload)
    written = config.write(payload, step.sandbox.assumed)
    if plan.respelt:
        # Read as decimals, which keep the digits that a float would lose.
        return _respelt(json.loads(written, parse_float=Decimal))
    return written


def _form(sandbox: Sandbox, payload: object) -> bytes:
    """A payload as a form that is sent by a browser."""
    fields: list[str] = []
    for name, value in _pairs("", payload):
        # Browsers leave the brackets of ``data[amount]`` as they are.
        quoted_name, quoted_value = quote(name, safe="[]"), quote(_text(sandbox, value))
        fields.append(f"{quoted_name}={quoted_value}")
    return "&".join(fields).encode()


def _respelt(value: object) -> bytes:
    """Another JSON text of the same data: blanks, members from the last to the first, a zero at the
    end of fractions, and the first character of each text as an escape. A receiver that parses it
    reads the same; one that searches the text, or hashes what it has written anew, does not."""
    return _respelling(value).encode()


def _respelling(value: object) -> str:
    """One value in the other spelling, with all that is in it."""
    match value:
        case dict():
            members = [
                f"{json.dumps(name)} : {_respelling(member)}" for name, member in value.items()
            ]
            return f"{{ {' , '.join(reversed(members))} }}"
        case list():
            return f"[ {' , '.join(map(_respelling, value))} ]"
        case Decimal():
            return f"{value:f}0"
        case str() if value and ord(value[0]) <= _LAST_OF_FOUR_DIGITS:
            # The rest as ever, without its opening quote.
            rest = json.dumps(value[1:])[1:]
            return f'"\\u{ord(value[0]):04x}{rest}'
        case _:
            return json.dumps(value)


_LAST_OF_FOUR_DIGITS = 0xFFFF
"""The last character that one escape can name."""


def _pairs(name: str, value: object) -> Iterator[tuple[str, object]]:
    """The fields of a form: ``data[paymentInformation][type]``."""
    if not isinstance(value, dict | list | tuple):
        yield name, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        inner_name = f"{name}[{key}]" if name else str(key)
        yield from _pairs(inner_name, item)


def _text(sandbox: Sandbox, value: object) -> str:
    """A value of a form: a number or a flag as JSON writes it, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return sandbox.config.write(value, sandbox.assumed).decode()


def notice_of(sandbox: Sandbox, reported: ReportedEvent, *, stale: bool) -> Notice:
    """What there is to report, or, ``stale``, was before the event: worded once, as a thousand
    receivers get the same words."""
    subject, event, at = reported.subject, reported.event, reported.event.at
    if stale and event.data is None:
        # It was written as the object began, and has been on its way until now.
        at = subject.added
        if isinstance(subject, Charge) and event.before is not None:
            subject = subject.as_before(ChargeState(event.before))
    match event.subject:
        case Subject.CHARGE | Subject.BATCH | Subject.SUBSCRIPTION:
            notice = Notice(at, subject, event.subject, extra=event.data)
        case Subject.CUSTOMER:
            notice = Notice(
                at,
                subject,
                Subject.CUSTOMER,
                default_method=customers.default_method(sandbox, subject),
            )
        case _:
            agreement = sandbox.payto.get(subject.payto_id or "")
            token = sandbox.network_tokens.get(subject.network_token_id or "")
            notice = Notice(
                at, subject, Subject.PAYMENT_METHOD, agreement=agreement, network_token=token
            )
    payload = sandbox.config.render("", reported.message, notice, sandbox.assumed)
    return Notice(at, payload["data"])
