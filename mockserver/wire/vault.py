"""Vault items on the wire.

Source: docs/spec/service.md, Vault; docs/spec/published-facts.md, 1.2, 2.7; assumption ``vault.record``.
"""

from __future__ import annotations

from pydantic import Field

from mockserver.domain.commands import NewVaultItem
from mockserver.domain.states import CcvState
from mockserver.domain.vault import Expiry, VaultItem
from mockserver.wire.base import Body, Moment, Required, Whole
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import Members, reply_of


class VaultCreation(Body):
    """A card number to vault, with at most one of the two expiry fields."""

    card_number: Required = Field(description="12 to 19 digits with a right check digit")
    ccv: str | None = Field(None, description="3 or 4 digits, 4 for Amex")
    expire_seconds: Whole | None = None
    expire_date: Moment | None = None

    def command(self) -> NewVaultItem:
        return NewVaultItem(self.card_number, self.ccv, Expiry(self.expire_seconds, self.expire_date))


def vault_reply(item: VaultItem, profile: WireProfile) -> Members:
    """A vault item after creation or deletion."""
    held = item.ccv_state is CcvState.HELD
    return reply_of("VaultReply", item, maskedCardNumber=profile.masked(item.facts), hasCvv=held)


def vault_secrets_reply(item: VaultItem, profile: WireProfile) -> Members:
    """A vault item with number and, while it is held, ccv."""
    number, ccv = (item.number, item.ccv) if profile.shows_secrets else (None, None)
    return reply_of("VaultSecretsReply", item, **vault_reply(item, profile), cardNumber=number, ccv=ccv)
