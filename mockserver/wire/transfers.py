"""Transfers and settlements on the wire. Source: published facts, 1.2, 1.3, 2.14, 2.15."""

from __future__ import annotations

from typing import TypedDict

from mockserver.domain.commands import NewTransfer, NewTransferGroup
from mockserver.domain.transfer import Transfer
from mockserver.wire.base import Body, Moment, Number, Required
from mockserver.wire.dates import moment
from mockserver.wire.shapes import ListQuery, PageReply, ReplyAmount, ReplyDateTime


class TransferFields(Body):
    """One transfer of a group."""

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
    transfers: list[TransferFields] | None = None

    def command(self) -> NewTransferGroup:
        """The command that these fields make."""
        return NewTransferGroup(
            provider_id=self.provider_id,
            group_reference=self.group_reference,
            charge_id=self.charge_id,
            transfers=tuple(
                NewTransfer(row.account, row.amount, row.currency, row.message, row.reference)
                for row in self.transfers or ()
            ),
        )


class TransferQuery(ListQuery):
    """Which transfers to list."""

    reference: str | None = None
    provider_id: str | None = None
    status: str | None = None


class SettlementQuery(Body):
    """Which days to settle."""

    start_date: Moment
    end_date: Moment | None = None


class TransferReply(TypedDict):
    """A transfer."""

    transferId: str
    status: str
    reference: str | None
    groupReference: str | None
    providerId: str
    currency: str
    account: str
    chargeId: str | None
    dateAdded: ReplyDateTime
    totalAmount: ReplyAmount
    amount: ReplyAmount


class TransfersReply(PageReply):
    """A page of transfers; ``count`` is the number of all matches."""

    transfers: list[TransferReply]


class SettlementReply(TypedDict):
    """One charge of a settlement."""

    settlementId: str
    providerId: str
    providerName: str
    chargeId: str
    settlementDate: ReplyDateTime
    createdDate: ReplyDateTime
    amount: ReplyAmount


TransferReplies = list[TransferReply]
"""Every transfer of a new group: a bare list."""

SettlementReplies = list[SettlementReply]
"""Settlements: a bare list."""


def transfer_reply(row: Transfer) -> TransferReply:
    """A transfer as the published object."""
    return {
        "transferId": row.transfer_id,
        "status": row.status.value,
        "reference": row.reference,
        "groupReference": row.group_reference,
        "providerId": row.provider_id,
        "currency": row.currency,
        "account": row.account,
        "chargeId": row.charge_id,
        "dateAdded": moment(row.added),
        "totalAmount": row.total,
        "amount": row.amount,
    }
