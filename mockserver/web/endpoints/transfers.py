"""Transfer and settlement operations."""

from __future__ import annotations

from mockserver.domain.errors import Invalid
from mockserver.domain.slices import Slices, at_once
from mockserver.engine import searches, transfers
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.engine.transfers import SettlementRow
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.endpoints.use_case import UseCase, learning
from mockserver.web.routes import OperationCall
from mockserver.wire.dates import moment
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import dumps
from mockserver.wire.long_text import Parts
from mockserver.wire.transfers import SettlementQuery, SettlementReply, TransferQuery, transfer_reply

LONG = 10_000
"""Rows of a list that is not put together: they hold more values than the journal shows one by one."""


def settled(call: OperationCall) -> list[SettlementReply] | bytes | Parts:
    """List settlements: a bare list."""
    written: bytes | Parts | None = call.ready
    if written is not None:
        return written
    rows = at_once(transfers.settlements(call.sandbox, call.query.start_date, call.query.end_date))
    return list(map(_shown, rows))


def settled_ahead(sandbox: Sandbox, step: Step) -> Slices[bytes | Parts | None]:
    """Write the settlements of many charges as they stand now; None for few, and when the query is faulty."""
    asked = step.request
    if len(sandbox.charges) <= transfers.SLICE or not isinstance(asked, Fields):
        return None
    try:
        query = asked.typed(SettlementQuery, strict=False)
        rows = yield from transfers.settlements(sandbox, query.start_date, query.end_date)
    except Invalid:
        return None
    parts = Parts()
    is_long = len(rows) > LONG
    # Given back bit by bit: all at once would take as long as others may wait.
    rows.reverse()
    while rows:
        some = rows[: -transfers.SLICE - 1 : -1]
        del rows[-transfers.SLICE :]
        parts.add([b"," if parts else b"[", dumps(list(map(_shown, some)))[1:-1]])
        yield
    parts.add([b"]" if parts else b"[]"])
    return parts if is_long else parts.whole()


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
create_ahead = learning(("transfers", "group"), ("transfers", "reference"))
get = UseCase("Read one transfer.", transfers.get, lambda _, row: transfer_reply(row))
search = ListOf("List transfers.", searches.TRANSFERS, TransferQuery, "transfers", lambda _, row: transfer_reply(row))
