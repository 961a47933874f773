"""Connections that are reset as they are made, before their sandbox is known.

Source: docs/scenario-language.md, transport (``at``). Only the files of the server say so: a sandbox is known by a
request.
"""

from __future__ import annotations

from mockserver.engine.counts import Counts
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Director, RuleReport
from mockserver.scenario.operations import CONNECTION
from mockserver.scenario.ruleset import Ruleset


class Connections:
    """The connections of one server, counted for its rules. ``is_heard`` says whether there are any such rules."""

    def __init__(self, rules: Ruleset, seed: int, counts: Counts) -> None:
        self._counts = counts
        self._director = Director(rules, seed, CONNECTION)
        self.is_heard = rules.connects

    def apply(self, rules: Ruleset) -> None:
        """Put other rules in force; those that stay count on."""
        self._director.replace(rules)
        self.is_heard = rules.connects

    def reports(self) -> dict[str, RuleReport]:
        """How the rules stand that are asked of connections, by their ids."""
        return {report.id: report for report in self._director.rules() if report.stage is Stage.CONNECT}

    def refuses(self) -> bool:
        """Whether the connection that is being made is to be reset."""
        if not self.is_heard:
            return False
        decision = self._director.decide(Stage.CONNECT, Attempt(CONNECTION, 0))
        self._counts.decided(decision)
        return decision.outcome.transport is not None
