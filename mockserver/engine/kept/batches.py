"""Batches as a store keeps them: they alone change in place, and may have 100,000 rows.

A batch is a row without its transactions; those are kept by the block, and only the blocks in which one has ended are
written again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from operator import is_
from typing import Any

from mockserver.domain.batch import Batch, BatchRow, RowFailure
from mockserver.domain.record import replace
from mockserver.domain.states import BatchState
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.indexed_table import Table
from mockserver.engine.kept.forms import Forms
from mockserver.engine.kept.parts import Changes, JsonWriter, KeptRow

BLOCK = 200
"""Transactions of a block: as many as are taken in one go."""

_BLOCKS = 1 << 20
"""Blocks that a batch can have."""


class BatchPart:
    """The batches of a sandbox, and their transactions."""

    name = "batches"

    __slots__ = ("_ahead", "_batch", "_counts", "_failure", "_known", "_table")

    def __init__(self, table: Table[Batch], forms: Forms) -> None:
        self._table = table
        self._batch = forms.of(Batch)
        self._failure = forms.of(RowFailure | None)
        self._known: list[tuple[object, ...]] = []
        self._counts: list[int] = []
        self._ahead: dict[int, tuple[list[BatchRow], bytes]] = {}

    def write_ahead(self, writer: JsonWriter) -> bool:
        """Write a block of the transactions of a new batch, of which there may be 100,000; False when all are written.
        One that moves afterwards is another value, and its block is written again."""
        for batch in self._table.rows[len(self._known) :]:
            for block in range(math.ceil(len(batch.rows) / BLOCK)):
                number, rows = _block(batch, block)
                if number not in self._ahead:
                    self._ahead[number] = rows, writer.text([self._write_row(row) for row in rows])
                    return True
        return False

    def gather(self, changes: Changes) -> None:
        """Batches that have moved, and the transactions that have."""
        for batch in self._table.rows[len(self._known) :]:
            self._known.append(())
            batch.news_of_rows()
            self._put_rows(changes, batch, range(len(batch.rows)))
        for batch, known in zip(self._table.rows, self._known, strict=True):
            stands = _standing(batch)
            if stands != known:
                self._known[batch.seq] = stands
                plain = self._batch.to_plain(replace(batch, rows=[]))
                changes.put(self.name, batch.seq, [plain, len(batch.rows)])
                self._put_rows(changes, batch, batch.news_of_rows())

    def _put_rows(self, changes: Changes, batch: Batch, moved: Iterable[int]) -> None:
        for block in sorted({place // BLOCK for place in moved}):
            number, rows = _block(batch, block)
            known, text = self._ahead.pop(number, ([], b""))
            if len(known) != len(rows) or not all(map(is_, known, rows)):
                text = changes.writer.text([self._write_row(row) for row in rows])
            changes.puts.append((BatchRowsPart.name, number, text))

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """The batches, without their transactions. Raises ``ValueError`` when one is missing."""
        for place, (seq, (plain, count)) in enumerate(rows):
            if place != seq:
                raise ValueError(f"row {place} is missing")
            self._table.add(self._batch.to_value(plain, cards))
            self._counts.append(count)

    def load_rows(self, rows: Iterable[KeptRow]) -> None:
        """The transactions. Raises ``ValueError`` when some are missing."""
        for number, block in rows:
            self._table.rows[number // _BLOCKS].rows.extend(map(self._read_row, block))
        for batch, count in zip(self._table.rows, self._counts, strict=True):
            if len(batch.rows) != count:
                raise ValueError(f"batch {batch.batch_id} has {len(batch.rows)} transactions, wanted {count}")
            batch.news_of_rows()
            self._known.append(_standing(batch))

    def _write_row(self, row: BatchRow) -> list[object]:
        plain: list[object] = [row.payment_method_id, str(row.amount), row.currency, row.reference]
        if row.status is not BatchState.RECEIVED or row.stalls is not None:
            plain += [row.status.value, row.charge_id, self._failure.to_plain(row.failure), row.stalls]
        return plain

    def _read_row(self, raw: Any) -> BatchRow:
        method_id, amount, currency, reference, *after = raw
        if not after:
            return BatchRow(method_id, Decimal(amount), currency, reference)
        status, charge_id, failure, stalls = after
        return BatchRow(
            method_id,
            Decimal(amount),
            currency,
            reference,
            status=BatchState(status),
            charge_id=charge_id,
            failure=self._failure.to_value(failure),
            stalls=stalls,
        )


class BatchRowsPart:
    """The transactions of batches, which ``BatchPart`` says with them."""

    name = "batch_rows"

    __slots__ = ("_batches",)

    def __init__(self, batches: BatchPart) -> None:
        self._batches = batches

    def gather(self, changes: Changes) -> None:
        """Nothing: what has changed stands beside its batch."""

    def load(self, rows: Sequence[KeptRow], cards: CardRegistry) -> None:
        """Every transaction, once the batches are there. Raises ``ValueError`` when some are missing."""
        self._batches.load_rows(rows)


def _block(batch: Batch, block: int) -> tuple[int, list[BatchRow]]:
    """The number of a block among those of all batches, and its transactions."""
    return batch.seq * _BLOCKS + block, batch.rows[block * BLOCK : (block + 1) * BLOCK]


def _standing(batch: Batch) -> tuple[object, ...]:
    return batch.status, batch.success, batch.failure, batch.stalled
