"""Connections that are reset as they are made, before their sandbox is known.

Source: docs/scenario-language.md, transport (``at``). Only the files of the server say so: a sandbox is known by a
request.
"""

from __future__ import annotations

from collections.abc import Iterable

from mockserver.domain.errors import invalid
from mockserver.engine.counts import Counts
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Director, RuleReport
from mockserver.scenario.operations import CONNECTION
from mockserver.scenario.ruleset import Ruleset
from mockserver.scenario.scenario import Scenario
from mockserver.scenario.transport import WITHOUT_CONNECTION


class Connections:
    """The connections of one server, counted for its rules. ``has_rules`` says whether there are any such rules."""

    def __init__(self, rules: Ruleset, seed: int, counts: Counts) -> None:
        self._counts = counts
        self._director = Director(rules, seed, CONNECTION)
        self.has_rules = rules.connects

    def apply(self, rules: Ruleset) -> None:
        """Put other rules in force; those that stay count on."""
        self._director.replace(rules)
        self.has_rules = rules.connects

    def reports(self) -> dict[str, RuleReport]:
        """How the rules stand that are asked of connections, by their ids."""
        return {one.rule.id: one for one in self._director.rules() if one.rule.stage is Stage.CONNECT}

    def refuses(self) -> bool:
        """Whether the connection that is being made is to be reset."""
        if not self.has_rules:
            return False
        decision = self._director.decide(Stage.CONNECT, Attempt(CONNECTION, 0))
        self._counts.decided(decision)
        return decision.outcome.transport is not None


def check_no_cuts(scenarios: Iterable[Scenario]) -> None:
    """Refuse what only our own server can do: it alone hands a connection over to be cut, and has a certificate to
    spoil. Raises ``Invalid`` (90)."""
    but = "no headers that say another length"
    why = "this is not the server of 'mockserver serve', which alone can do that"
    for scenario in scenarios:
        if scenario.certificate is not None:
            raise invalid({"Tls": f"got certificate: {scenario.certificate}, allowed: none; {why}"})
        for rule in scenario.rules:
            for outcome in rule.plan.outcomes:
                if outcome.transport is not None and outcome.transport.cuts:
                    got = f"rule '{rule.id}' ({rule.file}:{rule.line}): got {outcome.transport.words}"
                    raise invalid({"Rules": f"{got}, allowed: {', '.join(WITHOUT_CONNECTION)}, {but}; {why}"})
