"""What transfers and settlements are asked for by. Source: docs/spec/published-facts.md, 1.2, 1.3, 2.14, 2.15."""

from __future__ import annotations

from mockserver.domain.commands import NewTransfer, NewTransferGroup
from mockserver.wire.base import Body, Number, Objects, Required


class TransferFields(Body):
    """One transfer of a group."""

    makes = NewTransfer

    account: Required
    amount: Number
    currency: str | None = None
    message: str | None = None
    reference: str | None = None


class TransferGroup(Body):
    """Transfers that are made together or not at all."""

    group_reference: str | None = None
    provider_id: Required
    charge_id: str | None = None
    transfers: Objects[TransferFields] | None = None

    def command(self) -> NewTransferGroup:
        return self.made(NewTransferGroup, transfers=[row.command() for row in self.transfers or ()])
