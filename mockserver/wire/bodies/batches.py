"""Batches: payments with stored methods, as lines of CSV.

Source: docs/spec/service.md, Batches.
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from mockserver.domain.commands import NewBatch
from mockserver.wire.bodies.shared import ListQuery, WebhookConfig, receiver_of
from mockserver.wire.field_types import NonEmpty, Text100, TextMap, Whole32
from mockserver.wire.fields import Body


class BatchCreation(Body):
    """Submit a batch of payments with stored methods."""

    count: Whole32 = Field(description="number of transactions in the text")
    description: Text100
    batch: NonEmpty = Field(
        description="CSV: PaymentMethodId,Amount,Currency,Reference and a line each",
    )
    webhook: WebhookConfig | None = None
    metadata: TextMap | None = None

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

    description: str | None = None
    status: str | None = None
