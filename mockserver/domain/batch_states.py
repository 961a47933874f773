"""The law of batches and of their rows (service document, States and transitions, Batch)."""

from __future__ import annotations

from enum import StrEnum

from mockserver.domain.codes import Code
from mockserver.domain.law import TransitionTable


class BatchState(StrEnum):
    """Status of a batch and of each of its rows, in the documented words."""

    RECEIVED = "RECEIVED"
    CREATED = "CREATED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


class BatchEvent(StrEnum):
    """What can happen to a batch."""

    PREPARED = "prepared"
    STARTED = "started"
    FINISHED = "finished"
    BROKE_DOWN = "broke_down"


class BatchRowEvent(StrEnum):
    """What can happen to a row of a batch."""

    PREPARED = "prepared"
    STARTED = "started"
    PAID = "paid"
    REFUSED = "refused"
    RETURNED = "returned"


BATCH: TransitionTable[BatchState, BatchEvent] = TransitionTable(
    subject="batch",
    begins=BatchState.RECEIVED,
    moves={
        BatchState.RECEIVED: {BatchEvent.PREPARED: BatchState.CREATED},
        BatchState.CREATED: {BatchEvent.STARTED: BatchState.IN_PROGRESS},
        BatchState.IN_PROGRESS: {
            BatchEvent.FINISHED: BatchState.SUCCESS,
            BatchEvent.BROKE_DOWN: BatchState.FAILED,
        },
        BatchState.SUCCESS: {},
        BatchState.FAILED: {},
    },
    refusal=Code.INVALID_BATCH,
)

BATCH_ROW: TransitionTable[BatchState, BatchRowEvent] = TransitionTable(
    subject="batch row",
    begins=BatchState.RECEIVED,
    moves={
        BatchState.RECEIVED: {BatchRowEvent.PREPARED: BatchState.CREATED},
        BatchState.CREATED: {BatchRowEvent.STARTED: BatchState.IN_PROGRESS},
        BatchState.IN_PROGRESS: {
            BatchRowEvent.PAID: BatchState.SUCCESS,
            BatchRowEvent.REFUSED: BatchState.FAILED,
        },
        BatchState.SUCCESS: {BatchRowEvent.RETURNED: BatchState.FAILED},
        BatchState.FAILED: {},
    },
    refusal=Code.INVALID_BATCH_DATA,
)
