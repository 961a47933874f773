"""Batches: many payments in one text, and what became of each.

Source: docs/spec/service.md, Batches.
"""

from collections.abc import Awaitable
from functools import partial

from mockserver.domain.batch import LINES, BatchRow, WrittenRows, result_rows, write_rows
from mockserver.engine import batches, searches
from mockserver.engine.step import Step
from mockserver.web.operations import shown
from mockserver.web.operations.lists import ListOf
from mockserver.web.operations.route import OperationCall, Route
from mockserver.web.runner import Runner, for_each, in_thread
from mockserver.wire.bodies.batches import BatchCreation, BatchQuery
from mockserver.wire.replies import Members, reply_of

_LONG = 50_000
"""Characters of a batch that are read in a few milliseconds."""


def create(call: OperationCall[BatchCreation, None]) -> Members:
    """Submit a batch."""
    return reply_of("BatchStatusReply", batches.create(call.step, call.body.command(), call.ready))


def read_batch_ahead(_: Runner, step: Step) -> Awaitable[object] | None:
    """Reads the transactions of a long batch that is being submitted, in a thread: 10 MB of lines
    take seconds, and others are served meanwhile. A short one is read in the step."""
    text = step.asked.request.get("batch")
    if not isinstance(text, str) or len(text) <= _LONG:
        return None
    return in_thread(partial(batches.reading, step, text))


def get_status(call: OperationCall[None, None]) -> Members:
    """Get the status of a batch."""
    return reply_of("BatchStatusReply", batches.get(call.step, call.path["batch_id"]))


def get(call: OperationCall[None, None]) -> Members:
    """Get a batch with its results."""
    return shown.batch_with_results(call, batches.get(call.step, call.path["batch_id"]))


def write_results_ahead(_: Runner, step: Step) -> Awaitable[object] | None:
    """Writes the results of a long batch, piece by piece, with others in between. They change while
    the batch is charged, so no thread may read them."""
    batch = step.sandbox.batches.get(step.asked.path["batch_id"])
    if batch is None or len(batch.rows) <= LINES:
        return None

    def write(rows: list[BatchRow]) -> WrittenRows:
        # Its state may change with the last row, while this goes on.
        return write_rows(rows, batch.status)

    return for_each(result_rows(batch), write)


LIST = ListOf(searches.BATCHES, "BatchesReply", BatchQuery)


ROUTES = (
    Route(
        "POST",
        "/batch/transaction/payment_method",
        "batch.create",
        create,
        reply="BatchStatusReply",
        body=BatchCreation,
        creates=True,
        largest=10_000_000,
        ahead=read_batch_ahead,
        summary="Create a batch of payment-method transactions",
        source="service document, Batches",
    ),
    Route(
        "GET",
        "/batch/{batch_id}/status",
        "batch.status",
        get_status,
        reply="BatchStatusReply",
        summary="Get the status of a batch",
        source="service document, Batches",
    ),
    Route(
        "GET",
        "/batch/{batch_id}",
        "batch.get",
        get,
        reply="BatchReply",
        ahead=write_results_ahead,
        summary="Get a batch with its results",
        source="service document, Batches",
    ),
    Route(
        "GET",
        "/batch",
        "batch.search",
        LIST,
        reply="BatchesReply",
        query=BatchQuery,
        ahead=LIST.find,
        summary="List batches",
        source="published facts, 1.1 row 49",
    ),
)
