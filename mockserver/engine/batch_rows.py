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
from mockserver.engine.result import Asked
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step

SLICE = 600
"""Rows taken in one go, at most: other sandboxes and their callers wait no longer than that takes, some 20 ms."""

WEBHOOK = 3
"""How many of them a webhook counts as."""


def run(step: Step, batch_id: str) -> None:
    """Take the rows that are due, up to the next thing that is due before them, and end the batch after the last."""
    sandbox = step.sandbox
    batch = sandbox.batches.get(batch_id)
    if batch is None or batch.status is not BatchState.IN_PROGRESS:
        return
    with sandbox.batches.changing(batch):
        _run(step, batch)


def _run(step: Step, batch: Batch) -> None:
    sandbox, batch_id = step.sandbox, batch.batch_id
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
            return
        sandbox.now = max(sandbox.now, at)
        scripted = scripts.get(row) if scripts else None
        row_step = Step(sandbox, Asked("batch.row", request=_request(batch, row - 1), row=row, scripted=scripted))
        _take(row_step, batch, row - 1)
        step_effects.plan(row_step)
        result = row_step.result
        left -= 1 + WEBHOOK * len(result.webhooks)
        if any(decision.rule is not None for decision in result.decisions):
            sandbox.journal.note_due(sandbox.now, row_step.asked, result)
    _end(step, batch)


def _request(batch: Batch, place: int) -> dict[str, object]:
    """A row as rules see it."""
    row = batch.rows[place]
    return {
        "paymentMethodId": row.payment_method_id,
        "amount": row.amount,
        "currency": row.currency,
        "reference": row.reference,
        "metadata": batch.metadata,
    }


def _take(step: Step, batch: Batch, place: int) -> None:
    sandbox = step.sandbox
    row = batch.rows[place]
    step.result.about["batch"] = batch
    try:
        charge = charges.create(
            step,
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


def _end(step: Step, batch: Batch) -> None:
    """After the last row that is tried: the batch has finished, breaks down, or stands still for good."""
    if batch.pace.breaks:
        batches.move(step, batch, BatchEvent.BROKE_DOWN)
    elif batch.done == len(batch.rows):
        batches.move(step, batch, BatchEvent.FINISHED)
    else:
        return
    step.sandbox.scripts.pop(batch.batch_id, None)


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
