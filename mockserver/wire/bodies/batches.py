"""Batches: payments with stored methods, as lines of CSV.

Source: docs/spec/service.md, Batches.
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from mockserver.domain.commands import NewBatch
from mockserver.wire.bodies.shared import ListQuery, WebhookConfig, receiver_of
from mockserver.wire.field_types import BatchText, Metadata, Text, Text100, Whole32
from mockserver.wire.fields import Body


class BatchCreation(Body):
    """Submit a batch of payments with stored methods."""

    count: Whole32 = Field(description="number of transactions in the text")
    description: Text100
    batch: BatchText = Field(
        description="CSV: PaymentMethodId,Amount,Currency,Reference and a line each",
    )
    webhook: WebhookConfig | None = None
    metadata: Metadata | None = None

    also_read: ClassVar[Mapping[str, str]] = {"webhookConfig": "webhook"}

    def command(self) -> NewBatch:
        """Submit the batch."""
        return NewBatch(
            count=self.count,
            description=self.description,
            text=self.batch,
            webhook=receiver_of(self.webhook),
            metadata=self.metadata,
        )


class BatchQuery(ListQuery):
    """Every parameter of the list of batches."""

    description: Text | None = None
    status: Text | None = None
