"""Transfer and settlement operations."""

from __future__ import annotations

from mockserver.engine import settlements, transfers
from mockserver.engine.listing import Paging
from mockserver.engine.transfers import TransferFilter
from mockserver.web.route import Call
from mockserver.wire.dates import moment
from mockserver.wire.transfers import (
    SettlementReply,
    TransferQuery,
    TransferReply,
    TransfersReply,
    transfer_reply,
)


def create(call: Call) -> list[TransferReply]:
    """Move money: a bare list, one for each transfer of the group."""
    return [transfer_reply(row) for row in transfers.create(call.sandbox, call.body.command())]


def get(call: Call) -> TransferReply:
    """Read one transfer."""
    return transfer_reply(transfers.get(call.sandbox, call.path["transfer_id"]))


def search(call: Call) -> TransfersReply:
    """List transfers."""
    query: TransferQuery = call.query
    wanted = TransferFilter(query.reference, query.provider_id, query.status, query.added_after, query.added_before)
    page = transfers.search(call.sandbox, wanted, Paging(query.limit, query.skip, query.sort_by, query.sort_order))
    return {
        "limit": page.limit,
        "skip": page.skip,
        "count": page.count,
        "transfers": [transfer_reply(row) for row in page.rows],
    }


def settled(call: Call) -> list[SettlementReply]:
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
