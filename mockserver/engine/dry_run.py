"""What rules would have done to the requests that the journal keeps; nothing changes by it.

The author of a scenario tries it on what the client has just sent, instead of running the client
again: on which requests each rule fires, and by how little it misses others. The rules are asked
as they would have been, in the order of the journal, so that counts and chances come out alike.

Source: docs/control-api.md (``/__admin/scenarios/dry-run``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from heapq import nsmallest
from typing import NamedTuple

from mockserver.domain.errors import invalid
from mockserver.domain.record import mutable
from mockserver.engine.journal import JournalEntry
from mockserver.engine.journaling import attempts_of
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Director, Ruleset
from mockserver.scenario.matching import Difference
from mockserver.scenario.rule import Rule, key_text
from mockserver.scenario.scenario import Scenario

MOST_NAMED = 20
"""Entries that are named of those on which a rule would have fired."""

MOST_NEAR = 5
"""Near misses of a rule, those with the fewest mismatches first, the newest before older ones."""

MOST_RULES = 1_000
"""Rules that are tried in one go."""

_MOST_TRIALS = 25_000
"""Trials of a rule on an entry: of more rules fewer entries are looked at."""


class _Miss(NamedTuple):
    """An entry on which a rule would not have fired, with the attempt that came nearest. Misses
    sort by the number of their mismatches, the newest entry first."""

    mismatches: int
    age: int
    entry: JournalEntry
    attempt: Attempt


@mutable
class DryRule:
    """One rule: ``concerned`` entries were of its operations, it would have fired on ``fired`` of
    them."""

    rule: Rule
    concerned: int = 0
    fired: int = 0
    entries: list[int] = field(default_factory=list)
    _misses: list[_Miss] = field(default_factory=list)

    def ask(self, entry: JournalEntry, attempts: Sequence[Attempt], *, has_fired: bool) -> None:
        """Note whether it would have fired on an entry, by the attempts of its operations."""
        self.concerned += 1
        if has_fired:
            self.fired += 1
            self.entries = [*self.entries, entry.number][-MOST_NAMED:]
            return
        # A charge may be tried by several providers: the try that came nearest tells most.
        nearest, fewest = attempts[0], self._count_mismatches(attempts[0])
        for attempt in attempts[1:]:
            mismatches = self._count_mismatches(attempt)
            if mismatches < fewest:
                nearest, fewest = attempt, mismatches
        self._misses.append(_Miss(fewest, -entry.number, entry, nearest))

    def _count_mismatches(self, attempt: Attempt) -> int:
        """How many tests of the rule an attempt does not pass."""
        return len(list(self.rule.when.differences(attempt)))

    def near(self) -> list[tuple[JournalEntry, list[Difference]]]:
        """The nearest misses, and what differed."""
        nearest = nsmallest(MOST_NEAR, self._misses)
        return [(miss.entry, list(self.rule.when.differences(miss.attempt))) for miss in nearest]


class DryRun:
    """The ``rules`` of scenarios, in the order of asking, each to be asked with fresh counters
    about the newest kept ``entries``; with ``only`` those of that scenario alone. ``fields_of``
    reads the fields of a request.

    Tests of stored objects (``state.``) see them as they are now. Raises ``Invalid`` (90) for more
    than ``MOST_RULES``.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        scenarios: list[Scenario],
        fields_of: Callable[[JournalEntry], Mapping[str, object]],
        only: Scenario | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._fields_of = fields_of
        tried = scenarios if only is None else [only]
        texts = [rule.text for scenario in tried for rule in scenario.rules]
        if len(texts) > MOST_RULES:
            words = f"got {len(texts)} rules, wanted at most {MOST_RULES}: try a part of them"
            raise invalid({"Rules": words})
        tried_texts = set(texts)
        ruleset = Ruleset(scenarios)
        self._director = Director(ruleset, sandbox.config.seed, sandbox.key)
        self.rules = [DryRule(rule) for rule in ruleset.rules if rule.text in tried_texts]
        # Rules of scenarios hear no set-up call.
        entries = tuple(entry for entry in sandbox.journal.entries if not entry.is_setup)
        rules = max(len(self.rules), 1)
        most = max(_MOST_TRIALS // rules, 1)
        self.entries = entries[-most:]

    def ask(self, entry: JournalEntry) -> None:
        """Ask all rules about the next of the entries."""
        fired: set[str] = set()
        attempts_by_rule: dict[str, list[Attempt]] = {}
        for stage, attempt in self._attempts(entry):
            decision = self._director.decide(stage, attempt)
            if decision.rule is not None:
                fired.add(decision.rule)
            names = {attempt.op, attempt.also}
            for dry_rule in self.rules:
                rule = dry_rule.rule
                if rule.stage is stage and not rule.operations.isdisjoint(names):
                    attempts_by_rule.setdefault(rule.id, []).append(attempt)
        for dry_rule in self.rules:
            rule_id = dry_rule.rule.id
            if rule_id in attempts_by_rule:
                attempts = attempts_by_rule[rule_id]
                dry_rule.ask(entry, attempts, has_fired=rule_id in fired)

    def _attempts(self, entry: JournalEntry) -> list[tuple[Stage, Attempt]]:
        """What rules are asked with: the arrival of a request, and each try of a provider."""
        # A kept body is read at every look: once is enough for all rules.
        request = dict(self._fields_of(entry).items())
        attempts = attempts_of(self._sandbox, entry, request)
        tries = [(Stage.PROVIDER, attempt) for attempt in attempts if attempt.provider is not None]
        if not entry.method:
            # Time caused it: nothing has arrived.
            return tries
        arrived = next((attempt for attempt in attempts if attempt.provider is None), None)
        if arrived is None:
            arrived = Attempt(
                op=entry.op,
                now=entry.at,
                request=request,
                headers=entry.headers,
                subject=key_text(next(iter(entry.placeholders.values()), None)),
            )
            if tries:
                _, first_try = tries[0]
                arrived.state = first_try.state
        return [(Stage.ARRIVAL, arrived), *tries]
