"""Batches on the wire.

Source: docs/spec/service.md, Batches, and Resources, Batch; docs/spec/published-facts.md, 1.2, 2.10, 8 (row 11).
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from mockserver.domain.batch import LONGEST_DESCRIPTION, Batch
from mockserver.domain.commands import NewBatch
from mockserver.domain.marks import Bounds
from mockserver.wire.base import Body, Map, Required, Whole, field
from mockserver.wire.replies import reply_of
from mockserver.wire.shapes import ListQuery, ReplyAmount, ReplyDateTime, WebhookConfig, page_of

Description = Annotated[str, Bounds(max_length=LONGEST_DESCRIPTION)]


class BatchCreation(Body):
    """Submit a batch of payments with stored methods."""

    count: Whole = field(description="number of transactions in the text")
    description: Description
    batch: Required = field(description="CSV: PaymentMethodId,ReplyAmount,Currency,Reference and a line each")
    webhook: WebhookConfig | None = field(None, also="webhookConfig")
    metadata: Map | None = None

    def command(self) -> NewBatch:
        return self.made(NewBatch, text=self.batch)


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


BatchesReply = page_of("BatchesReply", "batches", batches=BatchStatusReply)


def batch_status_reply(batch: Batch) -> BatchStatusReply:
    """A batch without its results."""
    return reply_of(BatchStatusReply, batch, count=len(batch.rows))


def batch_reply(batch: Batch, results: str) -> BatchReply:
    """A batch with its results, however far it has come."""
    return {**batch_status_reply(batch), "results": results}
