"""Batch operations."""

from __future__ import annotations

from mockserver.domain.batch import results_text
from mockserver.domain.slices import Slices, at_once
from mockserver.engine import batches, searches
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.web.endpoints.lists import ListOf
from mockserver.web.routes import OperationCall
from mockserver.wire.batches import (
    BatchQuery,
    BatchReply,
    BatchStatusReply,
    batch_reply,
    batch_status_reply,
)


def read_ahead(sandbox: Sandbox, step: Step) -> Slices[object]:
    """Read the transactions of a batch that is being submitted."""
    text = step.request.get("batch")
    if not isinstance(text, str):
        return None
    return (yield from batches.reading(step, text, is_watched=sandbox.watch is not None))


def write_ahead(sandbox: Sandbox, step: Step) -> Slices[object]:
    """Write the answer about a batch as it stands now."""
    batch = sandbox.batches.get(step.path["batch_id"])
    if batch is None:
        return None
    kept = batch.copied()
    return batch_reply(kept, (yield from results_text(kept)))


def create(call: OperationCall) -> BatchStatusReply:
    """Submit a batch."""
    return batch_status_reply(batches.create(call.sandbox, call.body.command(), call.ready))


def status(call: OperationCall) -> BatchStatusReply:
    """Read how far a batch has come."""
    return batch_status_reply(batches.get(call.sandbox, call.path["batch_id"]))


def get(call: OperationCall) -> BatchReply:
    """Read a batch with its results."""
    batch = batches.get(call.sandbox, call.path["batch_id"])
    reply: BatchReply = call.ready or batch_reply(batch, at_once(results_text(batch)))
    return reply


search = ListOf("List batches.", searches.BATCHES, BatchQuery, "batches", lambda _, batch: batch_status_reply(batch))
