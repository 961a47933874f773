"""What has happened in all sandboxes of one server since it started, counted where it happens, for
``GET /metrics``.

Rule ids are what somebody wrote: only those of the server's own files are counted by name, and of
these a bounded number. A fork at a journal entry lives its story again, and is counted again.
"""

from collections import Counter
from collections.abc import Iterable

from mockserver.domain.masking import mask_text
from mockserver.engine.result import Result
from mockserver.scenario.director import Decision
from mockserver.scenario.outcome import Outcome

MOST_RULES = 200
"""Rules that are counted by name."""

MOST_STRUCK = 10_000
"""Kinds of outcomes that are remembered."""

OTHER = "other"
"""Name of all other rules together: those that a sandbox was given by itself, and those beyond
``MOST_RULES``."""

_LONGEST_NAME = 100


class Counts:
    """``rules`` that fired by id, ``faults`` by kind, tries of ``webhooks`` by what the delivery is
    then; ``operations`` that were called, and each kind of outcome that ``struck`` one."""

    def __init__(self) -> None:
        self._named: frozenset[str] = frozenset()
        self.rules: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.webhooks: Counter[str] = Counter()
        self.operations: set[str] = set()
        self.struck: dict[tuple[str, str], Outcome] = {}

    def name(self, rules: Iterable[str]) -> None:
        """Count these rules by name from now on, but none that looks like a card number or is
        overlong; what was counted of others stays, under ``OTHER``."""
        fit = [
            rule
            for rule in rules
            if len(rule) <= _LONGEST_NAME and rule.isprintable() and mask_text(rule) == rule
        ]
        self._named = frozenset(fit[:MOST_RULES])
        for rule in self.rules.keys() - self._named - {OTHER}:
            self.rules[OTHER] += self.rules.pop(rule)

    def strike(self, result: Result) -> None:
        """Remember which kinds of outcomes a step has met, for ``coverage``: what of a scenario the
        tests of a client have really been through. Of a webhook only where something was to be
        told."""
        for decision in result.decisions:
            attempt, outcome = decision.attempt, decision.outcome
            if decision.rule is None or attempt is None or len(self.struck) >= MOST_STRUCK:
                continue
            webhook = outcome.webhook
            if webhook is not None and not result.webhooks:
                # Where none was planned, a rule has struck only if it dropped them itself.
                has_dropped = webhook.drop and result.events
                if not has_dropped:
                    continue
            self.struck.setdefault((attempt.also or attempt.op, outcome.words), outcome)

    def decided(self, decision: Decision) -> None:
        """A rule has fired, if any did."""
        rule, fault = decision.rule, decision.outcome.transport
        if rule is not None:
            self.rules[rule if rule in self._named else OTHER] += 1
            if fault is not None:
                self.faults[fault.kind.value] += 1
