"""What rules would have done to the requests that the journal keeps; nothing changes by it.

Source: control document, Control API (``/__admin/scenarios/dry-run``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import nsmallest

from mockserver.domain.slices import Slices
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Director
from mockserver.scenario.matching import Difference
from mockserver.scenario.rule import Rule
from mockserver.scenario.ruleset import Ruleset
from mockserver.scenario.scenario import Scenario

MOST_NAMED = 20
"""Entries that are named of those on which a rule would have fired."""

MOST_NEAR = 5
"""Near misses of a rule, those with the fewest mismatches first, the newest before older ones."""

_SLICE = 5


@dataclass(slots=True)
class DryRule:
    """One rule: ``concerned`` entries were of its operations, it would have fired on ``fired`` of them."""

    rule: Rule
    builtin: bool
    concerned: int = 0
    fired: int = 0
    entries: list[int] = field(default_factory=list)
    missed: list[tuple[JournalEntry, list[Difference]]] = field(default_factory=list)

    def near(self) -> list[tuple[JournalEntry, list[Difference]]]:
        """The entries on which it came nearest to firing."""
        return nsmallest(MOST_NEAR, self.missed, key=lambda miss: (len(miss[1]), -miss[0].number))


def dry_run(sandbox: Sandbox, scenarios: list[Scenario], only: Scenario | None = None) -> Slices[list[DryRule]]:
    """The rules of scenarios, in the order of asking, asked about every kept entry with fresh counters; ``only`` those
    of one of them are told.

    Tests of stored objects (``state.``) see them as they are now.
    """
    rules = Ruleset.of(scenarios)
    director = Director(rules, sandbox.config.seed, sandbox.key)
    built_in = {rule.text for scenario in scenarios if scenario.builtin for rule in scenario.rules}
    found = {rule.id: DryRule(rule, rule.text in built_in) for rule in rules.rules}
    if only is not None:
        texts = {rule.text for rule in only.rules}
        found = {name: told for name, told in found.items() if told.rule.text in texts}
    for number, entry in enumerate(tuple(sandbox.journal.entries)):
        if number % _SLICE == _SLICE - 1:
            yield
        before, sandbox.step = sandbox.step, entry.step
        try:
            _ask(director, found, entry)
        finally:
            sandbox.step = before
    return list(found.values())


def _ask(director: Director, found: dict[str, DryRule], entry: JournalEntry) -> None:
    fired, asked = set(), []
    for stage, attempt in _attempts(entry):
        asked.append((stage, attempt))
        decision = director.decide(stage, attempt)
        if decision.rule is not None:
            fired.add(decision.rule)
    for rule_id, told in found.items():
        rule = told.rule
        meant = [
            attempt
            for stage, attempt in asked
            if stage is rule.stage and (attempt.op in rule.operations or attempt.also in rule.operations)
        ]
        if not meant:
            continue
        told.concerned += 1
        if rule_id in fired:
            told.fired += 1
            told.entries = [*told.entries, entry.number][-MOST_NAMED:]
        else:
            told.missed.append((entry, min((_mismatches(rule, attempt) for attempt in meant), key=len)))


def _mismatches(rule: Rule, attempt: Attempt) -> list[Difference]:
    """Every test that an attempt fails; empty for a rule that an earlier one kept from firing, or that was used up."""
    found = [difference for test in rule.tests if (difference := test.difference(attempt)) is not None]
    outside = rule.window.difference(attempt.now, attempt.now) if rule.window is not None else None
    return [*found, outside] if outside is not None else found


def _attempts(entry: JournalEntry) -> list[tuple[Stage, Attempt]]:
    """What rules are asked with: the arrival of a request, and each try of a provider."""
    step = entry.step
    asked = [(Stage.PROVIDER, attempt) for attempt in step.attempts if attempt.provider is not None]
    if not step.answers:
        return asked
    arrived = next((attempt for attempt in step.attempts if attempt.provider is None), None)
    if arrived is None:
        arrived = Attempt(op=step.op, now=entry.at, request=step.request, headers=step.headers, subject=step.named)
        if asked:
            arrived = replace(arrived, state=asked[0][1].state)
    return [(Stage.ARRIVAL, arrived), *asked]
