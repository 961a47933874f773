"""Webhooks on the wire: what they say, with the transaction inside it, and the log of deliveries.

Source: docs/spec/published-facts.md, 6; docs/control-api.md (``/__admin/webhooks``);
docs/webhooks.md (``/__inbox``).
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mockserver.assumptions import Assumed
from mockserver.domain.charge import Charge
from mockserver.domain.clock import iso
from mockserver.domain.delivery import Delivery, Notice, WebhookMessage
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.money import CURRENCIES, in_full, number_text
from mockserver.domain.states import Subject
from mockserver.wire.jsonio import Encoded, MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import mask_body
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import reply_of, reply_type
from mockserver.wire.resources import card_reply, customer_reply, payment_method_reply


def webhook_body(
    message_id: str, message: WebhookMessage, notice: Notice, assumed: Assumed
) -> dict[str, object]:
    """The body of a webhook: the object of an event as it was at that moment, in the voice of its
    sandbox. Each try of it has the same body, as its signature is of these bytes."""
    at, data = iso(notice.at), _data(notice, profile_of(assumed))
    meta = {
        "messageId": message_id,
        "timestamp": at,
        "type": message.type,
        "eventType": message.event_type,
    }
    return {"meta": meta, "data": data}


def webhook_text(value: object, assumed: Assumed) -> bytes:
    """The JSON text of a webhook, or of a part of one (assumption ``webhook.number_form``)."""
    return dumps(value, zeros=assumed["webhook.number_form"] == "published")


def _data(notice: Notice, profile: WireProfile) -> object:
    """What a webhook says of its object, by the kind of that; what a scenario sends of its own has
    no kind, and goes as it is."""
    match notice.kind:
        case None:
            return notice.data
        case Subject.CHARGE:
            return {**transaction(notice.data, profile), **(notice.extra or {})}
        case Subject.BATCH:
            return reply_of("BatchStatusReply", notice.data)
        case Subject.SUBSCRIPTION:
            return reply_of("SubscriptionReply", notice.data)
        case Subject.CUSTOMER:
            return customer_reply(notice.data, notice.default_method, profile)
        case _:
            return payment_method_reply(
                notice.data, profile, notice.agreement, notice.network_token
            )


def transaction(charge: Charge, profile: WireProfile) -> dict[str, object]:
    """A charge as webhooks report it: cut down, and without members that are null. Amounts have the
    digits that they came with, and a cost, which is worked out, all those of its currency."""
    instrument = charge.instrument
    card, shown_card = card_reply(instrument.card, profile), None
    if card is not None:
        shown_card = {name: card[name] for name in reply_type("TransactionCardReply").fields}
    information = {
        "paymentMethodId": instrument.payment_method_id,
        "type": instrument.type.value,
        "card": shown_card,
    }
    cost = charge.estimated_cost
    whole = reply_of(
        "TransactionReply",
        charge,
        paymentInformation=information,
        status=profile.status[charge.status],
        refundedAmount=charge.refunded if charge.refunds else None,
        estimatedCost=None if cost is None else in_full(cost, CURRENCIES[charge.currency]),
        estimatedCostCurrency=None if cost is None else charge.currency,
    )
    present: dict[str, object] = _present(whole)
    return present


def delivery_reply(delivery: Delivery, *, bodies: bool = True) -> dict[str, object]:
    """A delivery with every try, as the log shows it: the receiver's authorisation is not shown,
    card numbers are masked. ``next`` is when the next try is made, null when none will be;
    ``latency`` is real time, ``at`` the sandbox's. Without ``bodies`` its body is null, and some
    members of it say what it is about."""
    under_way = delivery.state.value in ("held", "waiting", "sending")
    about = {} if bodies else {"about": about_of(read_body(delivery.content.body))}
    return reply_of(
        "WebhookDeliveryAnswer",
        delivery,
        authorization=delivery.authorization is not None,
        next=iso(delivery.due) if under_way else None,
        body=as_sent(mask_body(delivery.content.body)) if bodies else None,
        **about,
    )


_TOLD = ("reference", "amount", "currency", "status")
_LONGEST_TOLD = 100


def about_of(body: object) -> dict[str, str]:
    """What the data of a webhook are about, as a row of a list tells it; empty for a body that is
    none of a webhook."""
    data = members_of(members_of(body).get("data"))
    told: dict[str, str] = {}
    for name in _TOLD:
        text = _told(data.get(name))
        if text is not None:
            told[name] = text
    return told


def _told(value: object) -> str | None:
    """A member as a row of a list has room for it; None of what is no text and no number."""
    match value:
        case str():
            return mask_start(value, _LONGEST_TOLD)
        case bool():
            return None
        case int() | Decimal():
            return mask_text(number_text(Decimal(value)))
        case _:
            return None


def members_of(value: object) -> Mapping[str, Any]:
    """The members of a JSON object; none of anything else."""
    return value if isinstance(value, dict) else {}


def read_body(body: bytes) -> object:
    """What a body holds; None for one that is not JSON."""
    try:
        return loads(body)
    except MalformedJson:
        return None


def as_sent(body: object) -> Encoded:
    """A body that is shown with every digit of its numbers, by which its signature can be worked
    out again."""
    return Encoded(dumps(body, zeros=True))


def _present(value: Any) -> Any:
    """Without the members that are null, at every depth."""
    if isinstance(value, list):
        return list(map(_present, value))
    if not isinstance(value, dict):
        return value
    return {name: _present(member) for name, member in value.items() if member is not None}
