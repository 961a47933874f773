"""What the journal keeps of a step: its entry, made as the step ends; and what the rules were asked
with, made again of an entry."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial

from mockserver.domain.charge import Charge
from mockserver.engine.journal import Cause, Described, JournalEntry
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step, named, objects_of, state_of
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.decisions import StageDecision, attempt_of, kept_decisions
from mockserver.scenario.director import Decision
from mockserver.scenario.provider_outcome import Decline


def entry_of(step: Step) -> JournalEntry:
    """The next entry of the journal: all of a step but the request that it answers."""
    sandbox, asked, result = step.sandbox, step.asked, step.result
    # By their places: every request makes an entry, and names would take as long again.
    return JournalEntry(
        sandbox.journal.last + 1,
        sandbox.now,
        asked.op,
        asked.headers,
        asked.path,
        asked.call,
        asked.connection,
        asked.row,
        asked.is_setup,
        named(step) if result.about else (),
        _described(step) if result.about else None,
        kept_decisions(result.decisions, asked.request) if result.decisions else (),
        _causes(result.decisions) if result.ruled else (),
        result.events,
        result.latency,
        result.is_repeat,
        tuple(result.assumed),
        result.ignored,
        result.webhooks,
        result.warnings,
    )


def note_due(step: Step) -> None:
    """Keep a piece of due work, unless it found nothing left to do: of an authorisation that was
    captured, the entry of its expiry comes due and means nothing."""
    result = step.result
    if result.events or result.decisions or result.warnings:
        entry = entry_of(step)
        entry.request = step.asked.request
        step.sandbox.journal.note(entry)


def _described(step: Step) -> Described | None:
    """What lists of the journal say of an entry at a glance: reference and amount of the charge,
    else of the object after whose kind the operation is called."""
    about = step.result.about
    charge = about.get("charge")
    if isinstance(charge, Charge):
        return Described("charge", charge.reference, charge.amount, charge.currency)
    kind, _, _ = step.asked.op.partition(".")
    row = about.get(kind)
    if row is None:
        return None
    amount = getattr(row, "amount", None)
    if not isinstance(amount, Decimal):
        amount = None
    return Described(kind, getattr(row, "reference", None), amount, getattr(row, "currency", None))


def _causes(decisions: Sequence[Decision]) -> tuple[Cause, ...]:
    """The rules that fired and had a part in the changes of a step."""
    causes: list[Cause] = []
    for decision in decisions:
        outcome, said = decision.outcome, decision.outcome.provider
        # A lost answer, a slow one or a spoilt webhook changes no object.
        if decision.rule is None or not (said or outcome.batch or outcome.later):
            continue
        code, message = None, None
        if isinstance(said, Decline):
            code, message = said.error_code, said.error_message
        causes.append(Cause(decision.rule, decision.number, decision.choice, code, message))
    return tuple(causes)


def attempts_of(
    sandbox: Sandbox, entry: JournalEntry, request: Mapping[str, object]
) -> list[Attempt]:
    """What rules were asked with about the whole ``request`` of an entry. What is stored is seen as
    it is now."""
    asked = Asked(entry.op, path=entry.placeholders, request=request)
    about = objects_of(sandbox, entry.about)
    attempts = [
        asked_with(decision, entry, request)
        for decision in entry.decisions
        if decision.is_about_request
    ]
    for attempt in attempts:
        attempt.state = partial(state_of, sandbox, asked, about)
    return attempts


def asked_with(
    decision: StageDecision, entry: JournalEntry, request: Mapping[str, object]
) -> Attempt:
    """What the rules of a decision were asked with, by the ``request`` of its entry."""
    return attempt_of(decision, request, entry.headers, entry.call, entry.connection)
