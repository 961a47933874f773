"""Batches on the wire.

Source: docs/spec/service.md, Batches, and Resources, Batch; docs/spec/published-facts.md, 1.2, 2.10, 8 (row 11).
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from mockserver.domain.batch import LONGEST_DESCRIPTION, Batch
from mockserver.domain.commands import NewBatch
from mockserver.wire.base import Body, Map, Required, Whole
from mockserver.wire.replies import Members, reply_of
from mockserver.wire.shapes import WebhookConfig

Description = Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]


class BatchCreation(Body):
    """Submit a batch of payments with stored methods."""

    makes = NewBatch
    named: ClassVar = {"batch": "text"}
    also: ClassVar = {"webhookConfig": "webhook"}

    count: Whole = Field(description="number of transactions in the text")
    description: Description
    batch: Required = Field(description="CSV: PaymentMethodId,ReplyAmount,Currency,Reference and a line each")
    webhook: WebhookConfig | None = None
    metadata: Map | None = None


def batch_status_reply(batch: Batch) -> Members:
    """A batch without its results."""
    return reply_of("BatchStatusReply", batch, count=len(batch.rows))


def batch_reply(batch: Batch, results: str) -> Members:
    """A batch with its results, however far it has come."""
    return reply_of("BatchReply", batch, count=len(batch.rows), results=results)
