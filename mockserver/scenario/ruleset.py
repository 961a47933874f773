"""All rules in force, in the order in which they are asked, indexed so that the many that cannot match cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from mockserver.domain.record import record
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.matching import FieldTest, Reader, Value, canonical
from mockserver.scenario.rule import Rule, outcomes_of
from mockserver.scenario.scenario import Scenario

_SELECTIVE = ("request.", "header.", "bank_account.", "card.test", "card.last4", "provider", "source", "card.")
"""Fields by which rules are indexed, the most selective first. None of them changes once an attempt is made."""


@record
class Placed:
    """A rule with its place in the order of asking."""

    place: int
    rule: Rule


class Bucket:
    """The rules of one stage and operation. ``candidates`` are those whose indexed test holds, in order."""

    __slots__ = ("_always", "_given", "_indexes", "rules")

    def __init__(self, rules: Iterable[Placed]) -> None:
        self.rules = tuple(rules)
        always: list[Placed] = []
        given: dict[str, tuple[Reader, list[Placed]]] = {}
        tables: dict[str, tuple[Reader, dict[Value, list[Placed]]]] = {}
        for placed in self.rules:
            test = indexed_test(placed.rule)
            if test is None:
                always.append(placed)
            elif test.anyhow is None:
                given.setdefault(test.path, (test.read, []))[1].append(placed)
            else:
                _, table = tables.setdefault(test.path, (test.read, {}))
                for value in test.anyhow:
                    table.setdefault(value, []).append(placed)
        self._always = tuple(always)
        self._given = tuple((read, tuple(found)) for read, found in given.values())
        self._indexes: tuple[tuple[Reader, Callable[[Any], tuple[Placed, ...] | None], Sequence[Placed]], ...] = tuple(
            (read, {value: tuple(found) for value, found in table.items()}.get, table.get(None, ()))
            for read, table in tables.values()
        )

    def candidates(self, attempt: Attempt) -> Sequence[Placed]:
        """Rules that may match, in the order of asking."""
        found: Sequence[Placed] = self._always
        merged = False
        for read, waiting in self._given:
            if read(attempt) is not None:
                merged = merged or bool(found)
                found = [*found, *waiting]
        for read, rules_by, of_none in self._indexes:
            got = read(attempt)
            hits: Sequence[Placed] | None = of_none
            if got is not None:
                hits = rules_by(canonical(got))
            if hits:
                merged = merged or bool(found)
                found = [*found, *hits]
        return sorted(found, key=lambda placed: placed.place) if merged else found


def indexed_test(rule: Rule) -> FieldTest | None:
    """The test by which a rule is found, when it has one: a plain equality, else that a field is there at all when
    that is what it asks first."""
    plain = [test for test in rule.tests if test.anyhow is not None]
    for prefix in _SELECTIVE:
        for test in plain:
            if test.path.startswith(prefix):
                return test
    first = rule.tests[0] if rule.tests else None
    return first if first is not None and first.wants_presence and first.path.startswith(_SELECTIVE) else None


class Ruleset:
    """The rules of some scenarios: later files before earlier ones, built-in test values last, each file
    in its order.

    ``longest_lag`` is how far back a read may have to see, ``replays`` says whether answers may be given again,
    ``uploads`` and ``connects`` whether a rule is asked while a body is sent, or a connection made.
    """

    __slots__ = ("_buckets", "by_id", "connects", "longest_lag", "replays", "rules", "scenarios", "uploads")

    def __init__(self, scenarios: Sequence[Scenario], rules: Sequence[Rule]) -> None:
        self.scenarios = tuple(scenarios)
        self.rules = tuple(rules)
        self.by_id = {rule.id: rule for rule in self.rules}
        outcomes = [outcome for rule in self.rules for outcome in outcomes_of(rule.plan)]
        self.longest_lag = max((outcome.lag for outcome in outcomes), default=0)
        self.uploads = any(rule.stage is Stage.UPLOAD for rule in self.rules)
        self.connects = any(rule.stage is Stage.CONNECT for rule in self.rules)
        self.replays = any(outcome.replay for outcome in outcomes)
        self._buckets: dict[Stage, dict[str | tuple[str, str], Bucket | None]] = {stage: {} for stage in Stage}

    @classmethod
    def of(cls, scenarios: Sequence[Scenario]) -> Ruleset:
        """The rules of scenarios in the order in which they were given. A rule id used twice is distinguished by its
        file's name.
        """
        asked = [one for one in reversed(scenarios) if not one.builtin] + [one for one in scenarios if one.builtin]
        rules: list[Rule] = []
        taken: set[str] = set()
        for scenario in asked:
            for rule in scenario.rules:
                name = rule.id if rule.id not in taken else f"{scenario.name}/{rule.id}"
                count = 2
                while name in taken:
                    name = f"{scenario.name}-{count}/{rule.id}"
                    count += 1
                taken.add(name)
                rules.append(rule if name == rule.id else replace(rule, id=name))
        return cls(scenarios, rules)

    def prepare(self) -> None:
        """Sort the rules by stage and operation before they are asked."""
        for stage, op in dict.fromkeys((rule.stage, op) for rule in self.rules for op in rule.operations):
            self.bucket(stage, op)

    def bucket(self, stage: Stage, op: str, also: str | None = None) -> Bucket | None:
        """The rules of a stage that name the operation, or the second name of the step; None when there are none."""
        known, key = self._buckets[stage], op if also is None else (op, also)
        if key in known:
            return known[key]
        rules = [
            Placed(place, rule)
            for place, rule in enumerate(self.rules)
            if rule.stage is stage and (op in rule.operations or also in rule.operations)
        ]
        bucket = known[key] = Bucket(rules) if rules else None
        return bucket
