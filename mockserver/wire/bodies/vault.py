"""The vault: card numbers on their own.

Source: docs/spec/service.md, Vault.
"""

from pydantic import Field

from mockserver.domain.commands import NewVaultItem
from mockserver.domain.vault import Expiry
from mockserver.wire.field_types import Moment, NonEmpty, Text, Whole32
from mockserver.wire.fields import Body


class VaultCreation(Body):
    """A card number to vault, with at most one of the two expiry fields."""

    card_number: NonEmpty = Field(description="12 to 19 digits with a right check digit")
    ccv: Text | None = Field(None, description="3 or 4 digits, 4 for Amex")
    expire_seconds: Whole32 | None = None
    expire_date: Moment | None = None

    def command(self) -> NewVaultItem:
        """Vault the number."""
        return NewVaultItem(
            number=self.card_number,
            ccv=self.ccv,
            expiry=Expiry(seconds=self.expire_seconds, date=self.expire_date),
        )
