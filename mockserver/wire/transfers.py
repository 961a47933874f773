"""Transfers and settlements on the wire. Source: docs/spec/published-facts.md, 1.2, 1.3, 2.14, 2.15."""

from __future__ import annotations

from typing import TypedDict

from mockserver.domain.commands import NewTransfer, NewTransferGroup
from mockserver.domain.transfer import Transfer
from mockserver.wire.base import Body, Moment, Number, Objects, Required
from mockserver.wire.replies import reply_of
from mockserver.wire.shapes import ListQuery, ReplyAmount, ReplyDateTime, page_of


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


TransfersReply = page_of("TransfersReply", "transfers", transfers=TransferReply)


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
    return reply_of(TransferReply, row, totalAmount=row.total)
