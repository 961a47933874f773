"""The rows of a batch, each of them a charge like any other, taken one after the other as their time comes.

Sources: docs/spec/service.md, Batch; assumption ``batch.flow``; docs/scenario-language.md, rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal

from mockserver.assumptions.table import PROVIDER_LATENCY
from mockserver.domain.batch import Batch, BatchRow, RowFailure
from mockserver.domain.charge import Charge
from mockserver.domain.clock import DAY
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Faults, Refused
from mockserver.domain.money import CURRENCIES
from mockserver.domain.provider import Provider
from mockserver.domain.record import record, replace
from mockserver.domain.sources import MethodSource
from mockserver.domain.states import BatchEvent, BatchState, ChargeState
from mockserver.engine import amount_check, batches, charges, step_effects
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step
from mockserver.scenario.attempt import Stage

_VARYING = frozenset({"request.amount", "request.reference"})
"""What like rows of a batch, of the same method and currency, may differ in."""

SLICE = 600
"""Like rows taken in one go, at most: other sandboxes and their callers wait no longer than that takes."""

WHOLE = 3
"""How many of them one that goes the whole way counts as."""


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
    models: dict[tuple[str, str | None], _Model | None] = {}
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
        if at > sandbox.now:
            sandbox.now = at
        scripted = scripts.get(row) if scripts else None
        left -= 1
        if scripted is None and _take_alike(sandbox, batch, row - 1, models):
            continue
        left -= WHOLE - 1
        row_step = sandbox.step = Step("batch.row", row=row, scripted=scripted)
        _take(sandbox, batch, row - 1)
        step_effects.plan(sandbox)
        left -= WHOLE * len(row_step.webhooks)
        if scripted is None:
            kind = _kind(batch.rows[row - 1])
            models[kind] = _model_of(sandbox, batch.rows[row - 1]) or models.get(kind)
        for decision in row_step.decisions:
            if decision.rule is not None:
                sandbox.journal.note_due(sandbox.now, row_step)
                break
    sandbox.step = step
    _end(sandbox, batch)


@record
class _Model:
    """The charge of an ordinary row, which those of like rows of the same day differ from in few fields. ``amounts``
    are those that were checked, each with its cost, by the amount of the row."""

    charge: Charge
    provider: Provider
    day: int
    amounts: dict[Decimal, tuple[Decimal, Decimal | None]] = field(default_factory=dict)


def _kind(row: BatchRow) -> tuple[str, str | None]:
    return row.payment_method_id, row.currency


def _model_of(sandbox: Sandbox, row: BatchRow) -> _Model | None:
    """What like rows can be taken by: None where anything may become of a row but a payment that nobody hears of."""
    step = sandbox.step
    charge = sandbox.charges.get(row.charge_id or "")
    method = sandbox.payment_methods.get(row.payment_method_id)
    is_plain = charge is not None and charge.status is ChargeState.SUCCESS and not charge.failed_attempts
    is_quiet = len(step.events) == len(step.attempts) == 1 and not (step.warnings or sandbox.webhook_subscriptions.rows)
    if charge is None or method is None or method.payto_id is not None or not (is_plain and is_quiet):
        return None
    provider = sandbox.providers.get(charge.provider.provider_id)
    if provider is None or provider.latency is not None or sandbox.assumed[PROVIDER_LATENCY] != (0, 0):
        return None
    is_silent = sandbox.director.is_silent(Stage.PROVIDER, step.attempts[0], _VARYING)
    return _Model(charge, provider, sandbox.now // DAY) if is_silent else None


def _take_alike(
    sandbox: Sandbox, batch: Batch, place: int, models: Mapping[tuple[str, str | None], _Model | None]
) -> bool:
    """Take a row as one like it was taken; False, and nothing has happened, where it must go the whole way."""
    row = batch.rows[place]
    model = models.get(_kind(row))
    if model is None or model.day != sandbox.now // DAY:
        return False
    known = model.amounts.get(row.amount) or _checked(sandbox, row.amount, model)
    if known is None:
        return False
    amount, cost = known
    charge_id = sandbox.ids.hex32("charge")
    sandbox.charges.add(
        replace(
            model.charge,
            charge_id=charge_id,
            provider_charge_id=charges.provider_charge_id(charge_id),
            amount=amount,
            added=sandbox.now,
            reference=row.reference or None,
            authorised=amount,
            succeeded=sandbox.now,
            estimated_cost=cost,
        )
    )
    batch.end_row(place, None, charge_id, amount)
    return True


def _checked(sandbox: Sandbox, amount: Decimal, model: _Model) -> tuple[Decimal, Decimal | None] | None:
    """An amount of a row and its cost; None when it is refused."""
    money, card = CURRENCIES[model.charge.currency], model.charge.instrument.card
    found = amount_check.of_currency(sandbox, amount, money, Faults())
    if found is None:
        return None
    cost = model.provider.cost_of(found.amount, money, card.number if card else None)
    model.amounts[amount] = found.amount, cost
    return found.amount, cost


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
