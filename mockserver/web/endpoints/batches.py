"""Batch operations."""

from __future__ import annotations

from mockserver.domain.batch_states import BatchState
from mockserver.domain.codes import Code
from mockserver.domain.errors import nearest
from mockserver.domain.faults import Faults
from mockserver.engine import batches
from mockserver.engine.listing import Paging
from mockserver.web.route import Call
from mockserver.wire.batches import (
    BatchesReply,
    BatchQuery,
    BatchReply,
    BatchStatusReply,
    batch_reply,
    batch_status_reply,
)


def create(call: Call) -> BatchStatusReply:
    """Hand in a batch."""
    return batch_status_reply(batches.create(call.box, call.body.command()))


def status(call: Call) -> BatchStatusReply:
    """Read how far a batch has come."""
    return batch_status_reply(batches.get(call.box, call.path["batch_id"]))


def get(call: Call) -> BatchReply:
    """Read a batch with its results."""
    return batch_reply(batches.get(call.box, call.path["batch_id"]))


def search(call: Call) -> BatchesReply:
    """List batches."""
    query: BatchQuery = call.query
    faults = Faults()
    state = _state(query.status, faults)
    wanted = batches.BatchFilter(query.description, state, query.added_after, query.added_before)
    page = batches.search(call.box, wanted, Paging(query.limit, query.skip, query.sort_by, query.sort_order), faults)
    return {
        "limit": page.limit,
        "skip": page.skip,
        "count": page.count,
        "batches": [batch_status_reply(batch) for batch in page.rows],
    }


def _state(word: str | None, faults: Faults) -> BatchState | None:
    if not word:
        return None
    known = [state.value for state in BatchState]
    if word.upper() not in known:
        told = f"got '{word[:40]}', wanted one of {', '.join(known)}{nearest(word, known)}"
        faults.add(Code.VALIDATION_ERROR, "Status", told)
        return None
    return BatchState(word.upper())
