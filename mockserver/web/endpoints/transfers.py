"""Transfer and settlement operations."""

from __future__ import annotations

from collections.abc import Awaitable

from mockserver.engine import searches, transfers
from mockserver.engine.query import Query
from mockserver.engine.step import Step
from mockserver.engine.transfers import SettlementRow
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.endpoints.use_case import UseCase
from mockserver.web.routes import OperationCall
from mockserver.web.runner import look_ahead
from mockserver.wire.dates import moment
from mockserver.wire.transfers import SettlementReply, TransferQuery, transfer_reply


def settled(call: OperationCall) -> list[SettlementReply]:
    """List settlements: a bare list."""
    return list(map(_shown, transfers.settlements(call.sandbox, call.query.start_date, call.query.end_date)))


def settled_ahead(step: Step) -> Awaitable[object] | None:
    """Finds out on which days charges moved money: nothing but this list asks for it."""
    return look_ahead(step.sandbox.charges, Query(1, equal=[("money_day", ())]))


def _shown(row: SettlementRow) -> SettlementReply:
    return {
        "settlementId": row.settlement_id,
        "providerId": row.provider_id,
        "providerName": row.provider_name,
        "chargeId": row.charge_id,
        "settlementDate": moment(row.settled),
        "createdDate": moment(row.settled),
        "amount": row.amount,
    }


create = UseCase(
    "Move money: a bare list, one for each transfer of the group.",
    transfers.create,
    lambda _, rows: [transfer_reply(row) for row in rows],
)
get = UseCase("Read one transfer.", transfers.get, lambda _, row: transfer_reply(row))
search = ListOf("List transfers.", searches.TRANSFERS, TransferQuery, "transfers", lambda _, row: transfer_reply(row))
