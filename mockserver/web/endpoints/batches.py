"""Batch operations."""

from __future__ import annotations

from mockserver.domain.batch import results_text
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


def read_ahead(sandbox: Sandbox, step: Step) -> object:
    """What reads the transactions of a batch that is being submitted."""
    text = step.request.get("batch")
    return batches.reading(step, text, is_watched=sandbox.watch is not None) if isinstance(text, str) else None


def create(call: OperationCall) -> BatchStatusReply:
    """Submit a batch."""
    return batch_status_reply(batches.create(call.sandbox, call.body.command(), call.ready))


def status(call: OperationCall) -> BatchStatusReply:
    """Read how far a batch has come."""
    return batch_status_reply(batches.get(call.sandbox, call.path["batch_id"]))


def get(call: OperationCall) -> BatchReply:
    """Read a batch with its results."""
    batch = batches.get(call.sandbox, call.path["batch_id"])
    return batch_reply(batch, results_text(batch))


search = ListOf("List batches.", searches.BATCHES, BatchQuery, "batches", lambda _, batch: batch_status_reply(batch))
