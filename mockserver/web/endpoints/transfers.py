"""Transfer and settlement operations."""

from __future__ import annotations

from mockserver.engine import searches, settlements, transfers
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.route import OperationCall
from mockserver.wire.dates import moment
from mockserver.wire.transfers import (
    SettlementReply,
    TransferQuery,
    TransferReply,
    transfer_reply,
)


def create(call: OperationCall) -> list[TransferReply]:
    """Move money: a bare list, one for each transfer of the group."""
    return [transfer_reply(row) for row in transfers.create(call.sandbox, call.body.command())]


def get(call: OperationCall) -> TransferReply:
    """Read one transfer."""
    return transfer_reply(transfers.get(call.sandbox, call.path["transfer_id"]))


def settled(call: OperationCall) -> list[SettlementReply]:
    """List settlements: a bare list."""
    return [
        {
            "settlementId": row.settlement_id,
            "providerId": row.provider_id,
            "providerName": row.provider_name,
            "chargeId": row.charge_id,
            "settlementDate": moment(row.settled),
            "createdDate": moment(row.settled),
            "amount": row.amount,
        }
        for row in settlements.between(call.sandbox, call.query.start_date, call.query.end_date)
    ]


search = ListOf("List transfers.", searches.TRANSFERS, TransferQuery, "transfers", lambda _, row: transfer_reply(row))
