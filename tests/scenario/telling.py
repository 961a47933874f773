"""Short ways to tell a scenario, an attempt and a decision in a test."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.adapters.scenario_files import read_text
from mockserver.domain.cards import TEST_CARDS, CardNumber, read_number
from mockserver.domain.clock import parse_instant
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.decisions import kept_decisions, reasons
from mockserver.scenario.director import Decision, Director, Ruleset
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.provider_outcome import Decline
from mockserver.scenario.scenario import Scenario
from mockserver.settings import Settings
from mockserver.web.app import Application
from tests.driving import application

NOW = parse_instant("2031-03-01T18:00:00Z")


class Given:
    """A reader that gives the scenarios of a test."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = scenarios

    def load(self) -> list[Scenario]:
        return list(self._scenarios)

    def read_text(self, text: str, name: str) -> Scenario:
        return read_text(text, name)


def open_app(scenarios: Sequence[Scenario]) -> Application:
    return application(Settings(), lambda: NOW, Given(scenarios))


def told(rules: str, head: str = "") -> Scenario:
    """The scenario with these rules, written as the items of the list under ``rules``."""
    return read_text(f"version: 1\nname: story\n{head}rules:\n{rules}", "story.yaml")


def one(when: str = "{}", what: str = "then: {decline: expired_card}", more: str = "") -> str:
    """A rule with the id ``r``."""
    return f"  - id: r\n    when: {when}\n    {what}\n" + (f"    {more}\n" if more else "")


def directing(*scenarios: Scenario, seed: int = 1, sandbox: str = "sandbox") -> Director:
    return Director(Ruleset(scenarios), seed, sandbox)


def card(name: str = "visa") -> CardNumber:
    return read_number(TEST_CARDS[name], "salt")


def attempt(op: str = "charge.create", now: int = NOW, **facts: Any) -> Attempt:
    return Attempt(op, now, **facts)


def stored(**objects: Mapping[str, object]) -> Any:
    """A resolver of state paths over plain maps."""

    def resolve(path: str) -> object:
        value: object = objects
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    return resolve


def ask(director: Director, stage: Stage = Stage.PROVIDER, **facts: Any) -> Decision:
    return director.decide(stage, attempt(**facts))


def lost(director: Director, decision: Decision) -> list[tuple[str, str]]:
    """The rules that came before the one that fired, and why they did not, as a page words it."""
    attempt = decision.attempt
    assert attempt is not None
    of_step = [*decision.passing, decision]
    (kept,) = kept_decisions(of_step, attempt.request, most_failed=10_000)
    deciding = kept.fired[-1] if kept.fired else None
    return reasons(kept, deciding, director.ruleset, lambda: attempt)


def said(decision: Decision) -> str | None:
    """The name of the refusal, or None when nothing was refused."""
    provider = decision.outcome.provider
    return provider.name if isinstance(provider, Decline) else None


def fires(when: str, head: str = "", **facts: Any) -> bool:
    """Whether a rule with this ``when`` fires on such an attempt."""
    return ask(directing(told(one(when), head)), **facts).rule == "r"


def faults(text: str) -> list[str]:
    """Every problem of a text, as it is printed."""
    try:
        read_text(text, "bad.yaml")
    except ScenarioRefused as refused:
        return [str(problem) for problem in refused.problems]
    return []


def fault(rule: str, head: str = "") -> str:
    """The only problem of a file with this rule."""
    found = faults(f"version: 1\n{head}rules:\n{rule}")
    assert len(found) == 1, found
    return found[0]
