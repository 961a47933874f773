"""What a sandbox is opened with: the server's settings and the scenarios in force, worked out once for many
sandboxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mockserver.assumptions import Assumed
from mockserver.domain.clock import Clock, Micros
from mockserver.domain.delivery import WebhookMessage
from mockserver.domain.notice import Notice
from mockserver.domain.provider import Provider
from mockserver.engine.counts import Counts
from mockserver.engine.provider_plans import planned
from mockserver.findings.policy import Policy
from mockserver.scenario.ruleset import Ruleset
from mockserver.scenario.scenario import ClockPlan, Scenario

RenderWebhook: TypeAlias = Callable[[str, WebhookMessage, Notice, Assumed], dict[str, object]]
"""The body of a webhook by its id, type and content, as the assumptions word it."""


def render_nothing(message_id: str, message: WebhookMessage, notice: Notice, assumed: Assumed) -> dict[str, object]:
    """Nothing, where nobody says what webhooks say."""
    return {}


def unwritten(value: object) -> bytes:
    """An empty object, where nobody says how values are written."""
    return b"{}"


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """How a sandbox begins. ``public_url`` has no trailing slash; ``counts`` are those of the server."""

    seed: int
    assumed: Assumed
    rules: Ruleset
    clock: ClockPlan
    scenarios: tuple[Scenario, ...] = ()
    public_url: str = "http://127.0.0.1:4111"
    strict: bool = False
    test_cards_only: bool = False
    webhook_key: str = field(default="", repr=False)
    journal_limit: int = 1_000
    render: RenderWebhook = render_nothing
    write: Callable[[object], bytes] = unwritten
    findings: Policy | None = None
    counts: Counts = field(default_factory=Counts, repr=False, compare=False)

    def start_clock(self, real: Micros) -> Clock:
        """The clock of a sandbox that opens when the machine's says ``real``."""
        plan = self.clock
        return Clock(plan.mode, real if plan.start is None else plan.start, real, plan.rate)

    def providers(self, now: Micros) -> list[Provider]:
        """The providers that the scenarios describe, as they are when these come into force; of an id given twice the
        later scenario's."""
        plans = {plan.id: plan for scenario in self.scenarios for plan in scenario.providers}
        return [planned(plan, now) for plan in plans.values()]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The part of a config that the server's settings fix for every sandbox."""

    seed: int
    assumed: Assumed
    clock: ClockPlan
    public_url: str
    strict: bool
    test_cards_only: bool
    webhook_key: str = field(repr=False)
    journal_limit: int
    render: RenderWebhook = render_nothing
    write: Callable[[object], bytes] = unwritten
    findings: Policy | None = None
    counts: Counts = field(default_factory=Counts, repr=False, compare=False)

    def config(self, scenarios: Sequence[Scenario]) -> SandboxConfig:
        """The config under some scenarios: of what several of them say, the last one counts. Raises ``Invalid``
        (90)."""
        seed, clock = self.seed, self.clock
        overrides: dict[str, object] = {}
        judging: dict[str, Any] = {}
        for scenario in scenarios:
            overrides.update(scenario.assumptions)
            seed = scenario.seed if scenario.seed is not None else seed
            clock = scenario.clock or clock
            judging.update(scenario.findings)
        return SandboxConfig(
            seed=seed,
            assumed=self.assumed.with_overrides(overrides) if overrides else self.assumed,
            rules=Ruleset.of(scenarios),
            clock=clock,
            scenarios=tuple(scenarios),
            public_url=self.public_url,
            strict=self.strict,
            test_cards_only=self.test_cards_only,
            webhook_key=self.webhook_key,
            journal_limit=self.journal_limit,
            render=self.render,
            write=self.write,
            findings=replace(self.findings, **judging) if self.findings is not None else None,
            counts=self.counts,
        )
