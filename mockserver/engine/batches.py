"""Batch use cases: submit, prepare, start, find, and take the rows: each is a charge like any
other, when its time comes.

The text of a batch is read as a whole before anything changes (``reading``), which may take a
thread seconds; the batch is then taken in within one step (``create``). Its pace says when each row
is due. Rows are not entries of the schedule, as 100,000 of them would be: the batch has one entry,
for the next row, and a run takes all rows that are due by then, but not past anything else that is
due before them (``_take_due_rows``). What a scenario wants of single rows is drawn once, when the
batch is taken in, so that a row has its outcome however the batch is run.

Sources: docs/spec/service.md, Batch, Batches, and States and transitions; assumptions
``batch.flow``, ``batch.maximum``; settled fact ``batch.count_mismatch``; docs/scenario-language.md,
batch, rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import NamedTuple

from mockserver.domain.batch import (
    MOST_FAULTS,
    Batch,
    BatchPace,
    BatchRow,
    PacePoint,
    ResultsFault,
    RowFailure,
    in_drawn_order,
    read_lines,
)
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewBatch, NewCharge
from mockserver.domain.errors import Invalid, Refused
from mockserver.domain.ids import Salt, digest
from mockserver.domain.reading import snake
from mockserver.domain.record import made_of, record, replace
from mockserver.domain.sources import MethodSource
from mockserver.domain.states import BatchEvent, ChargeState, Subject
from mockserver.engine import charges, journaling, step_effects
from mockserver.engine.charges import Origin
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, finder
from mockserver.scenario.batch_script import ROW_FIELDS, BatchEnd, BatchScript, RowRule, Stall
from mockserver.scenario.provider_outcome import ProviderOutcome

_Outcomes = dict[int, ProviderOutcome | Stall]

_ORIGIN = Origin("batch", op="batch.row", three_ds="batch.three_ds", three_ds_fails="row_fails")

_COLUMNS = {name: attrgetter(snake(name)) for name in ROW_FIELDS}
"""Columns of a row by the names that rules call them."""

ROWS_OF_STEP = 600
"""Rows taken in one step, at most: other sandboxes and their callers wait no longer than that
takes, some 20 ms."""

ROWS_OF_WEBHOOK = 3
"""How many of them a webhook counts as."""

get = finder(Batch, Code.INVALID_BATCH)
"""A batch. Raises ``NotFound`` (101)."""


@record
class Reading:
    """A batch as read: its rows, what is wrong with its text by line, what the scenario says of it,
    with the salt of its draws, of which rows (from 1) the outcome is settled by that, and what the
    rows mean."""

    rows: list[BatchRow]
    faults: dict[str, str]
    script: BatchScript
    salt: str
    outcomes: _Outcomes
    meaning: str


def reading(step: Step, text: str) -> Reading:
    """Read the text of a batch that is being submitted. Nothing changes, so that a long one may be
    read in a thread. What it means is asked for those who watch alone."""
    script, salt = _script_of(step)
    rows: list[BatchRow] = []
    faults: dict[str, str] = {}
    meaning = 0
    for line, row_or_fault in read_lines(text):
        if isinstance(row_or_fault, BatchRow):
            rows.append(row_or_fault)
            if step.sandbox.observers:
                meaning += _meaning_of(row_or_fault)
        elif row_or_fault is not None and len(faults) < MOST_FAULTS:
            faults[f"Batch.Line{line}"] = f"line {line}: {row_or_fault}"
    outcomes: _Outcomes = {}
    if not faults:
        outcomes = _scripted(rows, script.rows, salt)
    return Reading(rows, faults, script, salt, outcomes, f"{len(rows)} rows {meaning:x}")


class _SaltedScript(NamedTuple):
    """What the scenario says of a batch, and the salt of its draws."""

    script: BatchScript
    salt: str


def _script_of(step: Step) -> _SaltedScript:
    """What the scenario says of the batch; without a rule for it, that nothing is unusual."""
    for decision in step.result.decisions:
        if decision.outcome.batch is not None:
            return _SaltedScript(decision.outcome.batch, decision.salt)
    return _SaltedScript(BatchScript(), "")


def _meaning_of(row: BatchRow) -> int:
    """What a row asks for, as a number whose sum over a batch is equal, in one process, for the
    same rows in whatever order and words: a batch that is sent twice is found so, by those who
    watch, without its rows being kept a second time. The hash of a tuple is hashed once more as a
    text: the sum of two may stay when their members change places."""
    asked_for = row.payment_method_id, row.amount, row.currency.upper(), row.reference
    return hash(str(hash(asked_for)))


def create(step: Step, command: NewBatch, read: Reading | None = None) -> Batch:
    """Take a batch in; ``read`` is what was read of it ahead. Raises ``Invalid`` 102 naming every
    faulty line (at most 20), or a wrong count: a batch is taken as a whole or not at all, as nobody
    could say afterwards which of its rows were paid."""
    sandbox = step.sandbox
    read = read or reading(step, command.text)
    most = step.assume("batch.maximum")
    faults = read.faults or _faults_of_count(command.count, len(read.rows), most)
    if faults:
        raise Invalid(Code.INVALID_BATCH_DATA, faults)
    batch = made_of(
        Batch,
        command,
        batch_id=sandbox.ids.hex32("batch"),
        added=sandbox.now,
        pace=_pace(step, len(read.rows), read.script),
        rows=read.rows,
        results_fault=_results_fault(read.script, read.salt),
    )
    batch.meaning = read.meaning
    if read.script.rows:
        _follow_script(sandbox, batch, read.outcomes)
    created, started, _ = step.assume("batch.flow")
    sandbox.schedule.plan(sandbox.now + created, Due.BATCH_PREPARED, batch.batch_id)
    sandbox.schedule.plan(sandbox.now + started, Due.BATCH_STARTED, batch.batch_id)
    return step.add(batch, "received")


def _faults_of_count(wanted: int, got: int, most: int) -> Mapping[str, str]:
    """What is wrong with how many transactions a batch has."""
    if got != wanted:
        return {"Count": f"got {wanted}, the batch has {got} transactions"}
    if not got:
        return {"Batch": "wanted at least one transaction after the header"}
    if got > most:
        return {"Batch": f"got {got} transactions, wanted at most {most}"}
    return {}


def _follow_script(sandbox: Sandbox, batch: Batch, outcomes: _Outcomes) -> None:
    """Keep what the providers of rows will say, and mark the rows that stall."""
    script: dict[int, ProviderOutcome] = {}
    for number, outcome in outcomes.items():
        if isinstance(outcome, Stall):
            place = number - 1
            batch.rows[place] = replace(batch.rows[place], stalls=True)
        else:
            script[number] = outcome
    sandbox.scripts[batch.batch_id] = script


def prepare(step: Step, batch: Batch) -> None:
    """The transactions of a batch are ready for the service."""
    with step.sandbox.batches.changing(batch):
        move(step, batch, BatchEvent.PREPARED)


def start(step: Step, batch: Batch) -> None:
    """The transactions of a batch are being processed from now on."""
    with step.sandbox.batches.changing(batch):
        move(step, batch, BatchEvent.STARTED)
    first = batch.pace.steps[0].after
    # One that breaks down or stalls before its first row still has an end that must come due.
    if batch.pace.last > 0:
        first = batch.pace.after(1)
    at = max(batch.added + first, step.sandbox.now)
    step.sandbox.schedule.plan(at, Due.BATCH_ROWS, batch.batch_id)


def move(step: Step, batch: Batch, event: BatchEvent) -> None:
    """Move by the state table, inside ``changing`` of the table of batches."""
    before = batch.status
    batch.move(event)
    step.emit(Subject.BATCH, batch.batch_id, event, before, batch.status)


def run(step: Step, batch: Batch) -> None:
    """Take the rows that are due, up to the next thing that is due before them, and end the batch
    after the last."""
    with step.sandbox.batches.changing(batch):
        has_tried_last = _take_due_rows(step.sandbox, batch)
        if has_tried_last:
            _end(step, batch)


def _take_due_rows(sandbox: Sandbox, batch: Batch) -> bool:
    """Take the rows that are due; whether that was the last that is tried.

    It stops before a row that is not due yet, before anything else that comes first, and when it
    has taken so many that others have waited long enough; the schedule brings it back to that
    row."""
    script = sandbox.scripts.get(batch.batch_id, {})
    left = ROWS_OF_STEP
    first = batch.reached + 1
    numbers = range(first, batch.pace.last + 1)
    for number, after in zip(numbers, batch.pace.times(first), strict=False):
        if batch.rows[number - 1].stalls:
            # Its turn has come and is over: the rows behind it go on.
            batch.stalled = (batch.stalled or 0) + 1
            continue
        at = batch.added + after
        if left <= 0 or at > sandbox.horizon or _must_let_pass(sandbox, at):
            sandbox.schedule.plan(max(at, sandbox.now), Due.BATCH_ROWS, batch.batch_id)
            return False
        sandbox.now = max(sandbox.now, at)
        row_step = _step_of_row(sandbox, batch, number, script.get(number))
        _take(row_step, batch, number - 1)
        step_effects.plan(row_step)
        result = row_step.result
        left -= 1 + ROWS_OF_WEBHOOK * len(result.webhooks)
        # A row that went as usual is told by the results of the batch: 100,000 entries would push
        # everything else out of the journal.
        if any(decision.rule is not None for decision in result.decisions):
            journaling.note_due(row_step)
            sandbox.config.counts.strike(result)
    return True


def _must_let_pass(sandbox: Sandbox, at: Micros) -> bool:
    """Whether something else comes before a row that is due at an instant.

    What is due at the same instant comes first, however far this run may go: else the order of rows
    of batches side by side followed from that. At the present instant the row itself is what has
    come due."""
    entries = sandbox.schedule.entries
    if not entries:
        return False
    earliest = entries[0].at
    return earliest < at or earliest == at > sandbox.now


def _step_of_row(
    sandbox: Sandbox, batch: Batch, number: int, scripted: ProviderOutcome | None
) -> Step:
    """The step in which a row (from 1) is taken. Rules see its columns as fields of a request."""
    row = batch.rows[number - 1]
    request: dict[str, object] = {name: read(row) for name, read in _COLUMNS.items()}
    request["metadata"] = batch.metadata
    return Step(sandbox, Asked("batch.row", request=request, row=number, scripted=scripted))


def _take(step: Step, batch: Batch, place: int) -> None:
    """Take the payment of a row, and note in it what came of that. What an API call would be
    refused for ends the row alone."""
    sandbox = step.sandbox
    row = batch.rows[place]
    step.result.about["batch"] = batch
    wanted = NewCharge(
        source=MethodSource(row.payment_method_id),
        amount=row.amount,
        currency=row.currency or None,
        reference=row.reference or None,
        batch_id=batch.batch_id,
    )
    try:
        charge = charges.create(step, wanted, _ORIGIN)
    except Refused as refused:
        batch.end_row(place, _refusal(refused), None, row.amount)
        return
    batch.end_row(place, _failure_of(charge), charge.charge_id, charge.amount)
    if batch.results_fault is None:
        # A client cannot be blamed for what spoilt results made it believe.
        for observer in sandbox.observers:
            observer.row_charged(charge, sandbox.now, sandbox.journal.last)


def _end(step: Step, batch: Batch) -> None:
    """After the last row that is tried: the batch has finished, breaks down, or stands still for
    good."""
    if batch.pace.breaks:
        move(step, batch, BatchEvent.BROKE_DOWN)
    elif batch.done == len(batch.rows):
        move(step, batch, BatchEvent.FINISHED)
    else:
        return
    step.sandbox.scripts.pop(batch.batch_id, None)


def _failure_of(charge: Charge) -> RowFailure | None:
    """Why the payment of a row failed; None when it did not."""
    if charge.status is not ChargeState.FAILED:
        return None
    last = charge.failed_attempts[-1]
    return RowFailure(
        last.error_message, last.gateway_code, last.gateway_message, last.is_retryable
    )


def _refusal(refused: Refused) -> RowFailure:
    """Why a row was refused before any provider was asked."""
    reason = refused.message
    if refused.details:
        details = "; ".join(f"{field}: {text}" for field, text in refused.details.items())
        reason = f"{reason} ({details})"
    return RowFailure(reason)


def _pace(step: Step, count: int, script: BatchScript) -> BatchPace:
    """When the rows are due, as the progress of the script wants it, after that at the usual pace;
    and the last that is tried: a batch that stalls or breaks down leaves the rest open."""
    _, started, for_each_row = step.assume("batch.flow")
    steps = [PacePoint(0, started)]
    for point in script.progress:
        # No row is done before the service has started on the batch.
        after = max(point.after, steps[-1].after)
        steps.append(PacePoint(int(point.reach * count), after))
    reached = steps[-1]
    open_rows = count - reached.rows
    if open_rows > 0:
        steps.append(PacePoint(count, reached.after + for_each_row * open_rows))
    last = count
    breaks = script.end is BatchEnd.FAILED
    if script.stall_at is not None:
        last = int(script.stall_at * count)
    elif breaks:
        last = reached.rows
    return BatchPace(tuple(steps), last, breaks)


def _results_fault(script: BatchScript, salt: str) -> ResultsFault | None:
    """What is wrong with the results text, as the scenario wants it; None when nothing is."""
    wrong = script.results
    shuffled = Salt(_number(salt, "shuffle")) if wrong.shuffle else None
    omitted = tuple(sorted(wrong.omit_rows))
    fault = ResultsFault(omitted, shuffled, wrong.cut)
    nothing_wrong = ResultsFault()
    return None if fault == nothing_wrong else fault


def _scripted(rows: Sequence[BatchRow], rules: tuple[RowRule, ...], salt: str) -> _Outcomes:
    """Rows (from 1) and what becomes of them; the first rule that a row meets counts."""
    by_row: _Outcomes = {}
    # From the last: earlier rules take the rows back.
    for place, rule in reversed(list(enumerate(rules))):
        # Each draws by a salt of its own, so that two shares do not mean the same rows.
        rule_salt = _number(salt, place)
        for number in _meeting(rows, rule, rule_salt):
            by_row[number] = rule.outcome
    return by_row


def _meeting(rows: Sequence[BatchRow], rule: RowRule, salt: int) -> Iterable[int]:
    """The numbers of the rows that a rule means, from 1."""
    count = len(rows)
    if rule.at is not None:
        return [number for number in rule.at if number <= count]
    if rule.every is not None:
        return range(rule.every, count + 1, rule.every)
    if rule.share is not None:
        # The share is met exactly: of all rows in an order drawn by the seed, so many of the first.
        nearest_whole = int(rule.share * count + Decimal("0.5"))
        return in_drawn_order(range(1, count + 1), salt)[:nearest_whole]
    tests = [(test, _COLUMNS[test.path]) for test in rule.where or ()]
    return [
        number
        for number, row in enumerate(rows, 1)
        if all(test.holds(read(row)) for test, read in tests)
    ]


def _number(salt: str, purpose: object) -> int:
    """The salt of one of the draws of a batch: the same for the same call of the same rule."""
    return int.from_bytes(digest("batch", salt, purpose, size=8), "big")
