"""What has happened in all sandboxes of one server since it started, counted where it happens, for ``GET /metrics``.

Rule ids are what somebody wrote: only those of the server's own files are counted by name, and of these a bounded
number. A fork at a journal entry lives its story again, and is counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mockserver.domain.masking import mask_text
from mockserver.scenario.director import Decision

MOST_RULES = 200
"""Rules that are counted by name."""

OTHER = "other"
"""Name of all other rules together: those that a sandbox was given by itself, and those beyond ``MOST_RULES``."""

_LONGEST_NAME = 100


class Counts:
    """``rules`` that fired by id, ``faults`` by kind, tries of ``webhooks`` by what the delivery is then."""

    def __init__(self) -> None:
        self._named: frozenset[str] = frozenset()
        self.rules: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.webhooks: Counter[str] = Counter()

    def name(self, rules: Iterable[str]) -> None:
        """Count these rules by name from now on, but none that looks like a card number or is overlong; what was
        counted of others stays, under ``OTHER``."""
        fit = [rule for rule in rules if len(rule) <= _LONGEST_NAME and rule.isprintable() and mask_text(rule) == rule]
        self._named = frozenset(fit[:MOST_RULES])
        for rule in self.rules.keys() - self._named - {OTHER}:
            self.rules[OTHER] += self.rules.pop(rule)

    def decided(self, decision: Decision) -> None:
        """A rule has fired, if any did."""
        rule, fault = decision.rule, decision.outcome.transport
        if rule is not None:
            self.rules[rule if rule in self._named else OTHER] += 1
            if fault is not None:
                self.faults[fault.kind.value] += 1
