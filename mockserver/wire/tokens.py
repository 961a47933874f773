"""Payment tokens on the wire. Source: docs/spec/published-facts.md, 1.1 rows 50-54, 1.2, 2.8."""

from __future__ import annotations

from pydantic import Field

from mockserver.domain.commands import NewCardToken
from mockserver.domain.payto import Agreement
from mockserver.domain.token import Token
from mockserver.wire.base import Map, Number
from mockserver.wire.payment_methods import CardVaulting
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members, reply_of
from mockserver.wire.shapes import (
    CardRequestInformation,
    card_reply,
)


class CardTokenFields(CardVaulting):
    """A card to make a token of."""

    payment_information: CardRequestInformation | None = None
    ip: str | None = None
    metadata: Map | None = None
    three_ds_email: str | None = Field(
        None, alias="threeDSEmail", description="of the client script: the payer is there and can be challenged"
    )

    def of_provider(self, provider_id: str | None) -> NewCardToken:
        """The command that these fields make, for a provider or the cheapest one."""
        details = self.payment_information.command() if self.payment_information else None
        return self.made(NewCardToken, details=details, provider_id=provider_id, vault=self.vault_request())


class CardTokenCreation(CardTokenFields):
    """A card to make a token of, for a provider."""

    provider_id: str | None = None


class LeastCostTokenCreation(CardTokenFields):
    """A card to make a token of, for the provider that takes it for the least cost."""

    amount: Number | None = None
    currency: str | None = None

    def command(self) -> NewCardToken:
        return self.of_provider(None)


def token_reply(
    token: Token, profile: WireProfile, account_id: str, agreement: Agreement | None, three_ds_address: str | None
) -> Members:
    """A token as the published object; ``agreement`` is the one that a PayTo token names, ``three_ds_address`` where
    the payer is to be challenged before the token is used."""
    reply = reply_of(
        "TokenReply",
        token,
        accountId=account_id,
        payToStatus=agreement.status if agreement else None,
        card=card_reply(token.instrument.card, profile),
    )
    if three_ds_address is not None:
        reply["threeDsRedirectUrl"] = three_ds_address
    return reply
