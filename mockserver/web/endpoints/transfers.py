"""Transfer and settlement operations."""

from __future__ import annotations

from collections.abc import Awaitable

from mockserver.domain.transfer import Transfer
from mockserver.engine import searches, transfers
from mockserver.engine.query import Query
from mockserver.engine.step import Step
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall
from mockserver.web.runner import look_ahead
from mockserver.wire.replies import Members, reply_of


def settled(call: OperationCall) -> list[Members]:
    """List settlements: a bare list."""
    rows = transfers.settlements(call.sandbox, call.query.start_date, call.query.end_date)
    return [reply_of("SettlementReply", row) for row in rows]


def settled_ahead(step: Step) -> Awaitable[object] | None:
    """Finds out on which days charges moved money: nothing but this list asks for it."""
    return look_ahead(step.sandbox.charges, Query(1, equal=[("money_day", ())]))


def _shown(_: OperationCall, row: Transfer) -> Members:
    return reply_of("TransferReply", row)


create = UseCase(
    "Move money: a bare list, one for each transfer of the group.",
    transfers.create,
    lambda call, rows: [_shown(call, row) for row in rows],
)
get = UseCase("Read one transfer.", transfers.get, _shown)
search = ListOf("List transfers.", searches.TRANSFERS, "TransferQuery", "transfers", _shown)
