"""What happened, in the past participle: the facts from which journals are written and webhooks planned."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mockserver.domain.clock import Micros
from mockserver.domain.record import record

Subject = StrEnum(
    "Subject",
    "CHARGE VAULT CCV CUSTOMER PAYMENT_METHOD PROVIDER TOKEN "
    "PAYMENT_LINK BATCH SUBSCRIPTION PAYTO NETWORK_TOKEN TRANSFER WEBHOOK_SUBSCRIPTION",
)
"""The kind of object that an event is about."""


@record
class Event:
    """``subject`` ``subject_id`` went through ``what`` at ``at``; ``before`` is None for an object that began. With
    ``data`` nothing has moved: webhooks report it under the name ``what``, and of the object with these members."""

    subject: Subject
    subject_id: str
    what: str
    before: str | None
    after: str | None
    at: Micros
    data: Mapping[str, object] | None = None
