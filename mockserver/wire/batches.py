"""Batches on the wire.

Source: service document, Batches, and Resources, Batch; published facts, 1.2, 2.10, 8 (row 11).
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from pydantic import Field, StringConstraints

from mockserver.domain.batch import LONGEST_DESCRIPTION, Batch
from mockserver.domain.commands import NewBatch
from mockserver.wire.base import Body, Map, Required, Whole
from mockserver.wire.dates import moment
from mockserver.wire.shapes import ListQuery, PageReply, ReplyAmount, ReplyDateTime, WebhookConfig, plain_map

Description = Annotated[str, StringConstraints(max_length=LONGEST_DESCRIPTION)]


class BatchCreation(Body):
    """Submit a batch of payments with stored methods."""

    count: Whole = Field(description="number of transactions in the text")
    description: Description
    batch: Required = Field(description="CSV: PaymentMethodId,ReplyAmount,Currency,Reference and a line each")
    webhook: WebhookConfig | None = Field(None, json_schema_extra={"also": ["webhookConfig"]})
    metadata: Map | None = None

    def command(self) -> NewBatch:
        """The command that this body makes."""
        return NewBatch(
            count=self.count,
            description=self.description,
            text=self.batch,
            webhook=self.webhook.target() if self.webhook else None,
            metadata=self.metadata,
        )


class BatchQuery(ListQuery):
    """Every parameter of the list of batches."""

    description: str | None = None
    status: str | None = None


class BatchStatusReply(TypedDict):
    """How far a batch has come."""

    batchId: str
    count: int
    success: int
    failure: int
    description: str
    status: str
    progress: ReplyAmount
    dateAdded: ReplyDateTime
    metadata: dict[str, str] | None


class BatchReply(BatchStatusReply):
    """A batch with its results as CSV text."""

    results: str


class BatchesReply(PageReply):
    """A page of batches; ``count`` is the number of all matches."""

    batches: list[BatchStatusReply]


def batch_status_reply(batch: Batch) -> BatchStatusReply:
    """A batch without its results."""
    return {
        "batchId": batch.batch_id,
        "count": len(batch.rows),
        "success": batch.success,
        "failure": batch.failure,
        "description": batch.description,
        "status": batch.status.value,
        "progress": batch.progress,
        "dateAdded": moment(batch.added),
        "metadata": plain_map(batch.metadata),
    }


def batch_reply(batch: Batch, results: str) -> BatchReply:
    """A batch with its results, however far it has come."""
    return {**batch_status_reply(batch), "results": results}
