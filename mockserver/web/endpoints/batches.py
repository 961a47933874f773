"""Batch operations."""

from __future__ import annotations

from collections.abc import Awaitable

from mockserver.domain.batch import results_text
from mockserver.engine import batches, searches
from mockserver.engine.step import Step
from mockserver.web.endpoints.use_cases import ListOf
from mockserver.web.routes import OperationCall
from mockserver.web.runner import in_steps
from mockserver.wire.batches import batch_reply, batch_status_reply
from mockserver.wire.replies import Members


def read_ahead(step: Step) -> Awaitable[object] | None:
    """Reads the transactions of a batch that is being submitted."""
    text, is_watched = step.asked.request.get("batch"), step.sandbox.watch is not None
    return in_steps(batches.reading(step, text, is_watched=is_watched)) if isinstance(text, str) else None


def create(call: OperationCall) -> Members:
    """Submit a batch."""
    return batch_status_reply(batches.create(call.step, call.body.command(), call.ready))


def status(call: OperationCall) -> Members:
    """Read how far a batch has come."""
    return batch_status_reply(batches.get(call.step, call.path["batch_id"]))


def get(call: OperationCall) -> Members:
    """Read a batch with its results."""
    batch = batches.get(call.step, call.path["batch_id"])
    return batch_reply(batch, results_text(batch))


search = ListOf("List batches.", searches.BATCHES, "BatchQuery", "batches", lambda _, batch: batch_status_reply(batch))
