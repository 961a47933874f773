"""Transfers and settlements: money that goes on to other accounts, and the days on which it is paid
out.

Source: docs/spec/published-facts.md, 1.1 (rows 69-71, 76).
"""

from mockserver.domain.commands import NewTransfer, NewTransferGroup
from mockserver.wire.bodies.shared import ListQuery
from mockserver.wire.field_types import Many, Moment, NonEmpty, Number, Text
from mockserver.wire.fields import Body


class TransferFields(Body):
    """One transfer of a group."""

    account: NonEmpty
    amount: Number
    currency: Text | None = None
    message: Text | None = None
    reference: Text | None = None

    def command(self) -> NewTransfer:
        """Move the amount to the account."""
        return NewTransfer(
            account=self.account,
            amount=self.amount,
            currency=self.currency,
            message=self.message,
            reference=self.reference,
        )


class TransferGroup(Body):
    """Transfers that are made together or not at all."""

    group_reference: Text | None = None
    provider_id: NonEmpty
    charge_id: Text | None = None
    transfers: Many[TransferFields] | None = None

    def command(self) -> NewTransferGroup:
        """Make all of them."""
        return NewTransferGroup(
            provider_id=self.provider_id,
            transfers=tuple(transfer.command() for transfer in self.transfers or ()),
            group_reference=self.group_reference,
            charge_id=self.charge_id,
        )


class TransferQuery(ListQuery):
    """Which transfers to list."""

    reference: Text | None = None
    provider_id: Text | None = None
    status: Text | None = None


class SettlementQuery(Body):
    """Which days to settle."""

    start_date: Moment
    end_date: Moment | None = None
