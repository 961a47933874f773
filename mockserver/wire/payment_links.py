"""Payment links on the wire.

Source: docs/spec/service.md, Payment links; docs/spec/published-facts.md, 1.2, 1.3, 2.9, 2.15.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, ClassVar

from pydantic import Field, PlainValidator, WithJsonSchema

from mockserver.domain.commands import LinkPayment, NewPaymentLink
from mockserver.domain.payment_link import CallToAction, LinkPaymentType, PaymentLink
from mockserver.domain.sources import CardSource, ChargeSource, PaymentType, WalletSource
from mockserver.wire.base import Body, Choices, Map, Number, Required, Whole, one_of
from mockserver.wire.replies import Members, reply_of

_PLAIN = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"


def _read_payer_amount(value: object) -> Decimal:
    if isinstance(value, str) and re.fullmatch(_PLAIN, value):
        return Decimal(value)
    raise ValueError("wanted an amount in plain digits, such as 12.50")


PayerAmount = Annotated[
    Decimal, PlainValidator(_read_payer_amount), WithJsonSchema({"type": "string", "pattern": f"^{_PLAIN}$"})
]
"""An amount as a payer types it: ``1e3`` is a slip of the finger, not a thousand."""


class PaymentLinkCreation(Body):
    """A page that takes payments."""

    makes = NewPaymentLink
    named: ClassVar = {"allowed_payment_types": "allowed_types", "limit_payments": "limit"}

    title: str | None = None
    amount: Number | None = None
    currency: str | None = None
    allowed_payment_types: Choices[str] | None = Field(None, description="one or more; null offers all")
    description: str | None = None
    image: str | None = Field(None, description="a data URI: data:image/png;base64,...")
    confirmation_message: str | None = None
    redirect_url: str | None = Field(None, description="absolute, http or https")
    call_to_action: one_of(CallToAction) | None = None  # type: ignore[valid-type]
    limit_payments: Whole | None = Field(None, description="1 or more")
    invoice_id: str | None = None
    metadata: Map | None = None


_KINDS = {kind: PaymentType(kind.value.upper()) for kind in LinkPaymentType if kind is not LinkPaymentType.PAYTO}


class LinkCard(Body):
    """A card as a payer types it: a payer leaves nothing out."""

    card_number: Required
    expiry_date: Required
    ccv: Required
    cardholder: Required


class LinkPaymentInput(Body):
    """One payment on the page of a link. ``attempt`` is the key of the page view."""

    attempt: Annotated[str, Field(min_length=1, max_length=64)]
    payment_type: one_of(LinkPaymentType) = LinkPaymentType.CARD  # type: ignore[valid-type]
    amount: PayerAmount | None = None
    payment_information: LinkCard | None = None
    metadata: Map | None = None

    def payment(self) -> LinkPayment:
        """The command that these fields make."""
        card = self.payment_information
        if self.payment_type is not LinkPaymentType.CARD:
            source: ChargeSource = WalletSource(self.payment_type.value, None, None, _KINDS.get(self.payment_type))
        elif card is None:
            source = CardSource(is_given=False)
        else:
            source = CardSource(card.card_number, card.expiry_date, card.ccv, card.cardholder)
        return LinkPayment(
            source=source,
            attempt_key=self.attempt,
            payment_type=self.payment_type,
            amount=self.amount,
        )


def payment_link_reply(link: PaymentLink, url: str, account_id: str, public_key: str) -> Members:
    """A link as the documented object, null where nothing is known; ``url`` is that of its page."""
    return reply_of(
        "PaymentLinkReply",
        link,
        url=url,
        accountId=account_id,
        publicKey=public_key,
        allowedPaymentTypes=link.allowed_types or None,
    )
