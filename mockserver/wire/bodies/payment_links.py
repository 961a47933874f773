"""Payment links: a page to make, and a payment on it.

Source: docs/spec/service.md, Payment links.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from mockserver.domain.commands import LinkPayment, NewPaymentLink
from mockserver.domain.payment_link import CallToAction, LinkPaymentType
from mockserver.domain.sources import CardSource, ChargeSource, PaymentType, WalletSource
from mockserver.wire.bodies.shared import ListQuery
from mockserver.wire.field_types import (
    AttemptKey,
    Few,
    ImageText,
    Metadata,
    NonEmpty,
    Number,
    PayerAmount,
    Text,
    Whole32,
    one_of,
)
from mockserver.wire.fields import Body


class PaymentLinkCreation(Body):
    """A page that takes payments."""

    title: Text | None = None
    amount: Number | None = None
    currency: Text | None = None
    allowed_payment_types: Few[Text] | None = Field(
        None, description="one or more; null offers all"
    )
    description: Text | None = None
    image: ImageText | None = Field(None, description="a data URI: data:image/png;base64,...")
    confirmation_message: Text | None = None
    redirect_url: Text | None = Field(None, description="absolute, http or https")
    call_to_action: Annotated[CallToAction, one_of(CallToAction)] | None = None
    limit_payments: Whole32 | None = Field(None, description="1 or more")
    invoice_id: Text | None = None
    metadata: Metadata | None = None

    def command(self) -> NewPaymentLink:
        """Make the page."""
        return NewPaymentLink(
            title=self.title,
            amount=self.amount,
            currency=self.currency,
            allowed_types=self.allowed_payment_types,
            description=self.description,
            image=self.image,
            confirmation_message=self.confirmation_message,
            redirect_url=self.redirect_url,
            call_to_action=self.call_to_action,
            limit=self.limit_payments,
            invoice_id=self.invoice_id,
            metadata=self.metadata,
        )


class LinkCard(Body):
    """A card as a payer types it: a payer leaves nothing out."""

    card_number: NonEmpty
    expiry_date: NonEmpty
    ccv: NonEmpty
    cardholder: NonEmpty


_WALLETS: Mapping[LinkPaymentType, PaymentType] = {
    kind: PaymentType(kind.value.upper())
    for kind in LinkPaymentType
    if kind is not LinkPaymentType.PAYTO
}
"""What a charge shows as the type of a payment that was not made by card. PayTo is none of them: a
charge of that type has an agreement, which the page of a link does not ask for."""


class LinkPaymentInput(Body):
    """One payment on the page of a link. ``attempt`` is the key of the page view."""

    attempt: AttemptKey
    payment_type: Annotated[LinkPaymentType, one_of(LinkPaymentType)] = LinkPaymentType.CARD
    amount: PayerAmount | None = None
    payment_information: LinkCard | None = None
    metadata: Metadata | None = None

    def command(self) -> LinkPayment:
        """Pay on the page."""
        return LinkPayment(
            source=self._source(),
            attempt_key=self.attempt,
            payment_type=self.payment_type,
            amount=self.amount,
        )

    def _source(self) -> ChargeSource:
        """What the payer pays with. Of another way than a card nothing but its name is known: the
        page only simulates the wallet or the bank behind it. A card that is missing is refused by
        the engine, with everything else that is wrong."""
        if self.payment_type is not LinkPaymentType.CARD:
            return WalletSource(
                display_name=self.payment_type.value,
                network=None,
                provider_id=None,
                kind=_WALLETS.get(self.payment_type),
            )
        card = self.payment_information
        if card is None:
            return CardSource(is_given=False)
        return CardSource(
            number=card.card_number,
            expiry=card.expiry_date,
            ccv=card.ccv,
            cardholder=card.cardholder,
        )


class PaymentLinkQuery(ListQuery):
    """Which links to list."""
