"""What rules would have done to the requests that the journal keeps; nothing changes by it.

Source: docs/control-api.md (``/__admin/scenarios/dry-run``).
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from heapq import nsmallest

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


@mutable
class DryRule:
    """One rule: ``concerned`` entries were of its operations, it would have fired on ``fired`` of
    them."""

    rule: Rule
    concerned: int = 0
    fired: int = 0
    entries: list[int] = field(default_factory=list)
    _misses: list[tuple[int, int, JournalEntry, Attempt]] = field(default_factory=list)

    def miss(self, entry: JournalEntry, meant: list[Attempt]) -> None:
        failed, place = min(
            (len(list(self.rule.when.differences(attempt))), place)
            for place, attempt in enumerate(meant)
        )
        self._misses.append((failed, -entry.number, entry, meant[place]))

    def near(self) -> list[tuple[JournalEntry, list[Difference]]]:
        """The nearest misses, and what differed."""
        nearest = nsmallest(MOST_NEAR, self._misses)
        return [
            (entry, list(self.rule.when.differences(attempt))) for _, _, entry, attempt in nearest
        ]


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
        tried = {rule.text for one in (scenarios if only is None else [only]) for rule in one.rules}
        count = sum(len(one.rules) for one in (scenarios if only is None else [only]))
        if count > MOST_RULES:
            raise invalid(
                {"Rules": f"got {count} rules, wanted at most {MOST_RULES}: try a part of them"}
            )
        ruleset = Ruleset(scenarios)
        self._director = Director(ruleset, sandbox.config.seed, sandbox.key)
        self.rules = [DryRule(rule) for rule in ruleset.rules if rule.text in tried]
        # Rules of scenarios hear no set-up call.
        kept = tuple(entry for entry in sandbox.journal.entries if not entry.is_setup)
        self.entries = kept[-max(_MOST_TRIALS // max(len(self.rules), 1), 1) :]

    def ask(self, entry: JournalEntry) -> None:
        """Ask all rules about the next of the entries."""
        fired: set[str] = set()
        meant: dict[str, tuple[DryRule, list[Attempt]]] = {}
        for stage, attempt in self._attempts(entry):
            decision = self._director.decide(stage, attempt)
            if decision.rule is not None:
                fired.add(decision.rule)
            for asked in self.rules:
                if asked.rule.stage is stage and not asked.rule.operations.isdisjoint(
                    (attempt.op, attempt.also)
                ):
                    meant.setdefault(asked.rule.id, (asked, []))[1].append(attempt)
        for rule_id, (asked, attempts) in meant.items():
            asked.concerned += 1
            if rule_id in fired:
                asked.fired += 1
                asked.entries = [*asked.entries, entry.number][-MOST_NAMED:]
            else:
                asked.miss(entry, attempts)

    def _attempts(self, entry: JournalEntry) -> list[tuple[Stage, Attempt]]:
        """What rules are asked with: the arrival of a request, and each try of a provider."""
        # A kept body is read at every look: once is enough for all rules.
        request = dict(self._fields_of(entry).items())
        attempts = attempts_of(self._sandbox, entry, request)
        asked = [(Stage.PROVIDER, attempt) for attempt in attempts if attempt.provider is not None]
        if not entry.method:
            return asked
        arrived = next((attempt for attempt in attempts if attempt.provider is None), None)
        if arrived is None:
            arrived = Attempt(
                op=entry.op,
                now=entry.at,
                request=request,
                headers=entry.headers,
                subject=key_text(next(iter(entry.placeholders.values()), None)),
            )
            if asked:
                arrived.state = asked[0][1].state
        return [(Stage.ARRIVAL, arrived), *asked]
