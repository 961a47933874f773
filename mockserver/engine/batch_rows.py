"""The rows of a batch, each of them a charge like any other, taken one after the other as their time comes.

Sources: docs/spec/service.md, Batch; assumption ``batch.flow``; docs/scenario-language.md, rows.
"""

from __future__ import annotations

from mockserver.domain.batch import Batch, RowFailure
from mockserver.domain.charge import Charge
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Refused
from mockserver.domain.sources import MethodSource
from mockserver.domain.states import BatchEvent, BatchState, ChargeState
from mockserver.engine import batches, charges, step_effects
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step

SLICE = 600
"""Rows taken in one go, at most: other sandboxes and their callers wait no longer than that takes, some 20 ms."""

WEBHOOK = 3
"""How many of them a webhook counts as."""


def run(sandbox: Sandbox, batch_id: str) -> None:
    """Take the rows that are due, up to the next thing that is due before them, and end the batch after the last."""
    batch = sandbox.batches.get(batch_id)
    if batch is None or batch.status is not BatchState.IN_PROGRESS:
        return
    with sandbox.batches.changing(batch):
        _run(sandbox, batch)


def _run(sandbox: Sandbox, batch: Batch) -> None:
    batch_id = batch.batch_id
    step = sandbox.step
    entries, scripts = sandbox.schedule.entries, sandbox.scripts.get(batch_id)
    last, left = batch.pace.last, SLICE
    for row, after in enumerate(batch.pace.times(batch.reached + 1), batch.reached + 1):
        if row > last:
            break
        if batch.rows[row - 1].stalls:
            batch.stalled = (batch.stalled or 0) + 1
            continue
        at = batch.added + after
        # What is due at the instant of the next row comes first, however far this run may go: else the order of rows
        # of batches side by side followed from that.
        waits = entries and (entries[0].at < at or entries[0].at == at > sandbox.now)
        if left <= 0 or at > sandbox.horizon or waits:
            sandbox.schedule.plan(max(at, sandbox.now), Due.BATCH_ROWS, batch_id)
            sandbox.step = step
            return
        sandbox.now = max(sandbox.now, at)
        row_step = sandbox.step = Step("batch.row", row=row, scripted=scripts.get(row) if scripts else None)
        _take(sandbox, batch, row - 1)
        step_effects.plan(sandbox)
        left -= 1 + WEBHOOK * len(row_step.webhooks)
        if any(decision.rule is not None for decision in row_step.decisions):
            sandbox.journal.note_due(sandbox.now, row_step)
    sandbox.step = step
    _end(sandbox, batch)


def _take(sandbox: Sandbox, batch: Batch, place: int) -> None:
    step, row = sandbox.step, batch.rows[place]
    step.about["batch"] = batch
    step.request = {
        "paymentMethodId": row.payment_method_id,
        "amount": row.amount,
        "currency": row.currency,
        "reference": row.reference,
        "metadata": batch.metadata,
    }
    try:
        charge = charges.create(
            sandbox,
            NewCharge(
                source=MethodSource(row.payment_method_id),
                amount=row.amount,
                currency=row.currency or None,
                reference=row.reference or None,
                batch_id=batch.batch_id,
            ),
        )
    except Refused as refused:
        batch.end_row(place, _refusal(refused), None, row.amount)
        return
    batch.end_row(place, _failure_of(charge), charge.charge_id, charge.amount)
    if sandbox.watch is not None and batch.results_fault is None:
        # A client cannot be blamed for what spoilt results made it believe.
        sandbox.watch.charged(charge, sandbox.now, sandbox.journal.last)


def _end(sandbox: Sandbox, batch: Batch) -> None:
    """After the last row that is tried: the batch has finished, breaks down, or stands still for good."""
    if batch.pace.breaks:
        batches.move(sandbox, batch, BatchEvent.BROKE_DOWN)
    elif batch.done == len(batch.rows):
        batches.move(sandbox, batch, BatchEvent.FINISHED)
    else:
        return
    sandbox.scripts.pop(batch.batch_id, None)


def _failure_of(charge: Charge) -> RowFailure | None:
    """Why a charge failed; a pending one is on its way."""
    if charge.status is not ChargeState.FAILED:
        return None
    said = charge.failed_attempts[-1]
    return RowFailure(said.error_message, said.gateway_code, said.gateway_message, said.is_retryable)


def _refusal(refused: Refused) -> RowFailure:
    """The words of a refusal."""
    details = "; ".join(f"{field}: {text}" for field, text in (refused.details or {}).items())
    return RowFailure(f"{refused.message} ({details})" if details else refused.message)
