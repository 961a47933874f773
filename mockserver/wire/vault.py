"""Vault items on the wire.

Source: docs/spec/service.md, Vault; docs/spec/published-facts.md, 1.2, 2.7; assumption ``vault.record``.
"""

from __future__ import annotations

from typing import TypedDict

from mockserver.domain.commands import NewVaultItem
from mockserver.domain.states import CcvState
from mockserver.domain.vault import Expiry, VaultItem
from mockserver.wire.base import Body, Moment, Required, Whole, field
from mockserver.wire.dates import moment, named_moment
from mockserver.wire.profile import WireProfile
from mockserver.wire.shapes import ReplyDateTime


class VaultCreation(Body):
    """A card number to vault, with at most one of the two expiry fields."""

    card_number: Required = field(description="12 to 19 digits with a right check digit")
    ccv: str | None = field(None, description="3 or 4 digits, 4 for Amex")
    expire_seconds: Whole | None = None
    expire_date: Moment | None = None

    def command(self) -> NewVaultItem:
        return NewVaultItem(self.card_number, self.ccv, Expiry(self.expire_seconds, self.expire_date))


class VaultReply(TypedDict):
    """A vault item without its number."""

    vaultId: str
    createdDate: ReplyDateTime
    expireDate: ReplyDateTime | None
    maskedCardNumber: str
    hasCvv: bool


class VaultSecretsReply(VaultReply):
    """A vault item as its own GET shows it."""

    cardNumber: str | None
    ccv: str | None


def vault_reply(item: VaultItem, profile: WireProfile) -> VaultReply:
    """A vault item after creation or deletion."""
    return {
        "vaultId": item.vault_id,
        "createdDate": moment(item.added),
        "expireDate": named_moment(item.expires) if item.expires is not None else None,
        "maskedCardNumber": profile.masked(item.facts),
        "hasCvv": item.ccv_state is CcvState.HELD,
    }


def vault_secrets_reply(item: VaultItem, profile: WireProfile) -> VaultSecretsReply:
    """A vault item with number and, while it is held, ccv."""
    shown = profile.shows_secrets
    return {
        **vault_reply(item, profile),
        "cardNumber": item.number if shown else None,
        "ccv": item.ccv if shown else None,
    }
