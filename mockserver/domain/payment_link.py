"""A payment link: a page that takes a fixed or chosen amount, at most this many times.

Sources: docs/spec/service.md, Payment link, and Limits (``allowedPaymentTypes``,
``limitPayments``); docs/spec/published-facts.md, 2.9.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Annotated

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import MOST, Amount, ChargeId, CurrencyCode, Within
from mockserver.domain.errors import Faults, nearest
from mockserver.domain.record import record, replace
from mockserver.domain.states import ChargeState


class LinkPaymentType(StrEnum):
    """A way to pay on the hosted page (service document, Limits)."""

    CARD = "card"
    PAYPAL = "paypal"
    APPLEPAY = "applepay"
    GOOGLEPAY = "googlepay"
    UPI = "upi"
    PAYTO = "payto"
    PAYID = "payid"
    SHIFT = "shift"
    PESAPAL = "pesapal"
    PAYBYACCOUNT = "paybyaccount"
    PAYGLOCAL = "payglocal"
    ZIP = "zip"


class CallToAction(StrEnum):
    """Text of the pay button; the order gives the index (published facts, 3)."""

    PAY = "Pay"
    DONATE = "Donate"


@record
class PaymentLink:
    """A payment link as stored. ``amount`` None lets the payer choose; ``limit`` None lets any
    number pay.

    ``payments`` counts the charges that succeeded, ``under_way`` those that still may; ``attempts``
    maps the key of a page view to the charge that it made.
    """

    payment_link_id: str
    added: Micros
    title: str | None = None
    amount: Amount | None = None
    currency: CurrencyCode | None = None
    allowed_types: tuple[LinkPaymentType, ...] | None = None
    description: str | None = None
    image: str | None = None
    confirmation_message: str | None = None
    redirect_url: str | None = None
    call_to_action: CallToAction | None = None
    limit: Annotated[int, Within(1, MOST)] | None = None
    invoice_id: str | None = None
    metadata: Mapping[str, str] | None = None
    payments: int = 0
    under_way: int = 0
    attempts: Mapping[str, ChargeId] = field(default_factory=dict)
    seq: int = -1

    @property
    def has_room(self) -> bool:
        """Whether one more payment may begin: those under way are counted as if they had
        succeeded."""
        return self.limit is None or self.payments + self.under_way < self.limit

    def after_charge(self, before: ChargeState | None, after: ChargeState) -> PaymentLink:
        """One of its charges began (``before`` None) or moved: each that succeeds is counted,
        whenever it does, and each that still may holds a place."""
        return replace(
            self,
            payments=self.payments + (after in PAID) - (before in PAID),
            under_way=self.under_way + (after in UNDER_WAY) - (before in UNDER_WAY),
        )

    def after_attempt(self, key: str, charge_id: str) -> PaymentLink:
        """The page view of a key has made a charge."""
        return replace(self, attempts={**self.attempts, key: charge_id})

    def takes(self, payment_type: LinkPaymentType) -> bool:
        """Whether the page offers a way to pay; a link that names none offers all."""
        return self.allowed_types is None or payment_type in self.allowed_types


PAID = frozenset({ChargeState.SUCCESS, ChargeState.PARTIAL_REFUND, ChargeState.REFUND})
"""Charges that count as payments; a refund gives the money back, not the place."""

UNDER_WAY = frozenset({ChargeState.PENDING_CHECKOUT, ChargeState.PENDING, ChargeState.AUTHORISED})
"""Charges that may still become payments, and hold their place until then."""


def check_types(words: Sequence[str] | None, faults: Faults) -> tuple[LinkPaymentType, ...] | None:
    """The named ways to pay, in any letter case, each once; None for all. Adds a fault (90) for
    each unknown one and for an empty list."""
    if words is None:
        return None
    if not words:
        faults.wrong("AllowedPaymentTypes", "wanted one or more payment types, or null for all")
    by_word = {member.value: member for member in LinkPaymentType}
    types = dict[LinkPaymentType, None]()
    for place, word in enumerate(words):
        payment_type = by_word.get(word.lower())
        if payment_type is not None:
            types[payment_type] = None
            continue
        start = word[:20]
        allowed = f"wanted one of {', '.join(by_word)}{nearest(start, by_word)}"
        faults.wrong(f"AllowedPaymentTypes.{place}", f"got '{start}', {allowed}")
    return tuple(types)


def check_image(image: str, most_bytes: int, faults: Faults) -> None:
    """A fault (90) for an image that is not a base64 data URI of an image, or is larger than
    ``most_bytes`` when decoded."""
    head, comma, data = image.partition(",")
    kind, _, encoding = head.lower().partition(";")
    wanted = "wanted a data URI such as data:image/png;base64,..."
    is_image = kind.startswith("data:image/") and kind != "data:image/"
    if not comma or not is_image or encoding != "base64":
        faults.wrong("Image", wanted)
        return
    # By its length first: what is too large is not decoded.
    length = len(data) * 3 // 4 - data[-2:].count("=")
    if length > most_bytes:
        faults.wrong("Image", f"got {length} bytes, wanted at most {most_bytes}")
        return
    try:
        size = len(b64decode(data, validate=True))
    except (BadBase64, ValueError):
        size = 0
    if not size:
        faults.wrong("Image", f"got data that is not base64, {wanted}")
