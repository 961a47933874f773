"""Transfers and settlements: money that goes on to other accounts, and the days on which it is paid
out.

Source: docs/spec/published-facts.md, 1.1 (rows 69-71, 76).
"""

from mockserver.engine import searches, transfers
from mockserver.engine.step import Step
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import OperationCall, Route
from mockserver.web.runner import Runner, learn
from mockserver.wire.bodies.transfers import SettlementQuery, TransferGroup, TransferQuery
from mockserver.wire.replies import Members, reply_of


def create(call: OperationCall[TransferGroup, None]) -> list[Members]:
    """Create a group of transfers: all of them, or none."""
    made = transfers.create(call.step, call.body.command())
    return [reply_of("TransferReply", transfer) for transfer in made]


def get(call: OperationCall[None, None]) -> Members:
    """Get a transfer."""
    return reply_of("TransferReply", transfers.get(call.step, call.path["transfer_id"]))


def settlements(call: OperationCall[None, SettlementQuery]) -> list[Members]:
    """List settlements: a bare list."""
    rows = transfers.settlements(call.sandbox, call.query.start_date, call.query.end_date)
    return [reply_of("SettlementReply", row) for row in rows]


async def settle_ahead(_: Runner, step: Step) -> None:
    """Lets the index learn on which days charges moved money, a few thousand a step: nothing but
    this list asks for it, so nobody pays for it before."""
    await learn(step.sandbox.charges, "money_day")


LIST = ListOf(searches.TRANSFERS, "TransfersReply", TransferQuery)


ROUTES = (
    Route(
        "POST",
        "/transfer",
        "transfer.create",
        create,
        reply="list of TransferReply",
        body=TransferGroup,
        creates=True,
        summary="Create a group of transfers",
        source="published facts, 1.1 row 69",
    ),
    Route(
        "GET",
        "/transfer/{transfer_id}",
        "transfer.get",
        get,
        reply="TransferReply",
        summary="Get a transfer",
        source="published facts, 1.1 row 70",
    ),
    Route(
        "GET",
        "/transfer",
        "transfer.search",
        LIST,
        reply="TransfersReply",
        query=TransferQuery,
        ahead=LIST.find,
        summary="Search transfers",
        source="published facts, 1.1 row 71",
    ),
    Route(
        "GET",
        "/settlements",
        "settlement.search",
        settlements,
        reply="list of SettlementReply",
        query=SettlementQuery,
        ahead=settle_ahead,
        summary="List settlements",
        source="published facts, 1.1 row 76",
    ),
)
