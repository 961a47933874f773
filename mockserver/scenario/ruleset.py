"""All rules in force, in the order in which they are asked, indexed by what most of them test."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from mockserver.domain.clock import DAY
from mockserver.domain.record import replace
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.matching import FieldTest, Reader, Value, canonical
from mockserver.scenario.rule import Rule
from mockserver.scenario.scalars import LAST_MOVE
from mockserver.scenario.scenario import Scenario

_SELECTIVE = ("request.", "header.", "bank_account.", "card.test", "card.last4", "provider", "source", "card.")
"""Fields by which rules are indexed, the most selective first. None of them changes once an attempt is made."""


class Bucket:
    """The rules of one stage and operation, each with its place in the order of asking."""

    def __init__(self, rules: Sequence[tuple[int, Rule]]) -> None:
        self.rules = tuple(rule for _, rule in rules)
        self._always: list[tuple[int, Rule]] = []
        self._given: dict[str, tuple[Reader, list[tuple[int, Rule]]]] = {}
        self._indexes: dict[str, tuple[Reader, dict[Value, list[tuple[int, Rule]]]]] = {}
        for placed in rules:
            test = indexed_test(placed[1])
            if test is None:
                self._always.append(placed)
            elif test.equals is None:
                self._given.setdefault(test.path, (test.read, []))[1].append(placed)
            else:
                _, index = self._indexes.setdefault(test.path, (test.read, {}))
                for value in test.equals:
                    index.setdefault(value, []).append(placed)

    def candidates(self, attempt: Attempt) -> list[Rule]:
        """Rules whose indexed test holds, in the order of asking."""
        found = self._always.copy()
        for read, waiting in self._given.values():
            found += waiting if read(attempt) is not None else ()
        for read, index in self._indexes.values():
            value = read(attempt)
            found += index.get(value if value is None else canonical(value), ())
        return [rule for _, rule in sorted(found, key=itemgetter(0))] if found else []


def indexed_test(rule: Rule) -> FieldTest | None:
    """The test by which a rule is found, when it has one: a plain equality, else that a field is there at all when
    that is what it asks first."""
    plain = [test for test in rule.when.tests if test.equals is not None]
    for prefix in _SELECTIVE:
        for test in plain:
            if test.path.startswith(prefix):
                return test
    first = next(iter(rule.when.tests), None)
    return first if first is not None and first.wants_presence and first.path.startswith(_SELECTIVE) else None


class Ruleset:
    """The rules of some scenarios: later files before earlier ones, built-in test values last, each file
    in its order.

    ``asked`` are the stages and operations in which any rule is asked: in others no attempt need be described.
    ``longest_lag`` is how far back a read may have
    to see, ``replays`` says whether answers may be given again, ``uploads`` and ``connects`` whether a rule is asked
    while a body is sent, or a connection made, ``overlaps`` whether one looks at the calls that are under way.
    """

    def __init__(self, scenarios: Sequence[Scenario], rules: Sequence[Rule]) -> None:
        self.scenarios = tuple(scenarios)
        self.rules = tuple(rules)
        self.by_id = {rule.id: rule for rule in self.rules}
        self.asked = frozenset((rule.stage, op) for rule in self.rules for op in rule.operations)
        outcomes = [outcome for rule in self.rules for outcome in rule.plan.outcomes]
        self.longest_lag = max((DAY if one.lag == LAST_MOVE else one.lag for one in outcomes), default=0)
        self.uploads = any(rule.stage is Stage.UPLOAD for rule in self.rules)
        self.connects = any(rule.stage is Stage.CONNECT for rule in self.rules)
        tested = {test.path for rule in self.rules for test in rule.when.tests}
        self.overlaps = not tested.isdisjoint(("in_flight", "overlaps"))
        self.connections = any(rule.by_connection for rule in self.rules)
        self.replays = any(outcome.replay for outcome in outcomes)
        self._buckets: dict[tuple[Stage, str, str | None], Bucket | None] = {}

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
        key = stage, op, also
        if key not in self._buckets:
            rules = [
                (place, rule)
                for place, rule in enumerate(self.rules)
                if rule.stage is stage and (op in rule.operations or also in rule.operations)
            ]
            self._buckets[key] = Bucket(rules) if rules else None
        return self._buckets[key]
