"""Webhooks on their way: what they report, what goes to whom, and every try.

A delivery is one message to one receiver. Its content is written and signed once, when it is
planned, so that each try sends the same bytes: a receiver knows a repeat by its message id, and the
signature is that of what was true then. It changes in place as it is tried (``entity``).

Sources: docs/spec/published-facts.md, 6 (envelope, signature); docs/control-api.md
(``/__admin/events``); assumptions ``webhook.*``.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from hashlib import sha256
from hmac import digest
from typing import Any

from mockserver.domain.clock import Micros
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.record import entity, record
from mockserver.domain.states import DeliveryState, Subject

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


@record
class WebhookMessage:
    """What a webhook reports: ``meta.type``, ``meta.eventType``, and the object that it is
    about."""

    type: str
    event_type: str
    subject_id: str | None = None


@record
class Try:
    """One try: when, in sandbox time; the receiver's status or what went wrong; how long it really
    took.

    ``scripted`` tries were answered by the scenario; the receiver was not called.
    """

    at: Micros
    status: int | None = None
    error: str | None = None
    latency: Micros = 0
    scripted: bool = False

    @property
    def is_accepted(self) -> bool:
        """Whether the receiver took it: any 2xx (assumption ``webhook.retry``)."""
        return self.status is not None and 200 <= self.status < 300


@record
class Sent:
    """How a try went over the network: the receiver's status, or what went wrong; ``final`` when no
    later try can go better."""

    status: int | None
    error: str | None
    latency: Micros
    final: bool = False


class MediaType(StrEnum):
    """How a message is written."""

    JSON = "application/json"
    FORM = "application/x-www-form-urlencoded"


@record
class Content:
    """What is sent: a ``body``, filled up to ``length`` bytes when it is shorter, and its
    signature, if any.

    ``is_ordinary`` is False when a scenario gave it a form or a content that a receiver may rightly
    refuse.
    """

    body: bytes = field(repr=False)
    signature: str | None
    media_type: MediaType = MediaType.JSON
    length: int = 0
    is_ordinary: bool = True

    @property
    def raw(self) -> bytes:
        """The bytes that are sent."""
        return padded(self.body, self.media_type, self.length)


def padded(body: bytes, media_type: MediaType, length: int) -> bytes:
    """A body with a member ``padding`` that brings it to ``length`` bytes; a longer body stays as
    it is."""
    if length <= len(body):
        return body
    if media_type is MediaType.FORM:
        start, end = body + b"&padding=", b""
    else:
        # The object is opened again: its last brace comes behind the padding.
        start, end = body[:-1] + b',"padding":"', b'"}'
    return start + b"x" * (length - len(start) - len(end)) + end


@entity
class Delivery:
    """One message to one receiver.

    Its turn: ``due`` is when the next try is to be made. Deliveries of one ``ordering_key`` go out
    one after the other; those that go ``together`` do not wait. Later ones to the receiver of one
    that ``blocks`` wait from its first try to its end. ``held_for`` is how long at most it waits
    for the next one about its subject.

    Its tries: ``series`` counts those since it was planned or sent again; ``script`` is what the
    pretend receiver answers, in turn; with ``holds`` its first taking does not count, and holds all
    of its sandbox.

    Where it comes from: ``entry`` is the journal entry that caused it, ``reports`` the state of its
    subject that it reports, ``subscription_id`` the webhook subscription that it is for.
    ``changed`` is the number of its last change among those of all deliveries.
    """

    delivery_id: str
    message_id: str
    message: WebhookMessage
    url: str
    authorization: str | None = field(repr=False)
    content: Content
    version: str
    added: Micros
    due: Micros
    ordering_key: str
    together: bool = False
    blocks: bool = False
    state: DeliveryState = DeliveryState.WAITING
    script: tuple[int | str, ...] = ()
    holds: bool = False
    tries: list[Try] = field(default_factory=list)
    series: int = 0
    entry: int | None = None
    reports: str | None = None
    subscription_id: str | None = None
    held_for: Micros = 0
    changed: int = 0

    @property
    def overtaken_by(self) -> str:
        """Whose next delivery overtakes it while it is held: the receiver, or the object within
        ``held_for``."""
        return f"{self.url} {self.message.subject_id}" if self.held_for else self.url

    def headers(self) -> dict[str, str]:
        """The headers that it is sent with (published facts, 6 and 10; settled fact
        ``webhook.headers``)."""
        headers = {
            "Content-Type": self.content.media_type.value,
            "X-Payfurl-Version": self.version,
            "X-Payfurl-Signature": self.content.signature,
            "Authorization": self.authorization,
        }
        return {name: value for name, value in headers.items() if value is not None}


def header_fault(text: str) -> str | None:
    """Why a text cannot be the value of a header, None when it can (RFC 9110, 5.5): with a line end
    in it, a caller could add headers of its own."""
    return "wanted a text without control characters" if _CONTROLS.search(text) else None


def previous_key(key: str) -> str:
    """The signing key before this one, which receivers know while keys are changed."""
    return f"previous-{key}"


def sign(key: str, body: bytes) -> str:
    """``X-Payfurl-Signature``: base64 of HMAC-SHA256 over the raw body, keyed with the bytes of the
    key's text."""
    return b64encode(digest(key.encode(), body, sha256)).decode()


@record
class Notice:
    """``data`` at the instant ``at``: an object of ``kind``, or the caller's own data when that is
    None.

    ``extra`` members stand beside those of the object. A customer comes with its
    ``default_method``, a payment method with its ``agreement`` and ``network_token``.
    """

    at: Micros
    data: Any
    kind: Subject | None = None
    default_method: PaymentMethod | None = None
    agreement: Agreement | None = None
    network_token: NetworkToken | None = None
    extra: Mapping[str, object] | None = None
