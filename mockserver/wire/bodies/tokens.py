"""Payment tokens: cards to make one of, and the search. PayTo agreements are in
``payment_methods``.

Source: docs/spec/published-facts.md, 1.1 (rows 50-54), 7.1.
"""

from decimal import Decimal

from pydantic import Field

from mockserver.domain.commands import NewCardToken
from mockserver.wire.bodies.shared import CardRequestInformation, CardVaulting, ListQuery
from mockserver.wire.field_types import Metadata, Number, Text


class CardTokenFields(CardVaulting):
    """A card to make a token of."""

    payment_information: CardRequestInformation | None = None
    ip: Text | None = None
    metadata: Metadata | None = None
    three_ds_email: Text | None = Field(
        None,
        alias="threeDSEmail",
        description="of the client script: the payer is there and can be challenged",
    )

    def card_token(
        self, provider_id: str | None, amount: Decimal | None = None, currency: str | None = None
    ) -> NewCardToken:
        """The token to make; without a provider the cheapest one for the amount takes the card."""
        details = None
        if self.payment_information is not None:
            details = self.payment_information.command()
        return NewCardToken(
            details=details,
            provider_id=provider_id,
            vault_card=self.vault_card is True,
            expiry=self.vault_expiry(),
            ip=self.ip,
            amount=amount,
            currency=currency,
            metadata=self.metadata,
        )


class CardTokenCreation(CardTokenFields):
    """A card to make a token of, for a provider."""

    provider_id: Text | None = None

    def command(self, provider_id: str) -> NewCardToken:
        """Make a token for ``provider_id``, which header, query or body name."""
        return self.card_token(provider_id)


class LeastCostTokenCreation(CardTokenFields):
    """A card to make a token of, for the provider that takes it for the least cost."""

    amount: Number | None = None
    currency: Text | None = None

    def command(self) -> NewCardToken:
        """Make a token for the cheapest provider."""
        return self.card_token(None, self.amount, self.currency)


class TokenQuery(ListQuery):
    """Every parameter of the token search."""

    provider_id: Text | None = None
    status: Text | None = None
