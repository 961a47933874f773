"""What a sandbox is opened with: the server's settings and the scenarios in force, worked out once
for many sandboxes.

A config never changes: a sandbox that is given other scenarios gets another config. So thousands of
sandboxes share one, with its compiled rules, and a sandbox that is emptied begins as it began.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field, fields
from typing import Any, TypeAlias

from mockserver.assumptions import Assumed
from mockserver.domain.clock import Clock, ClockMode, Micros
from mockserver.domain.delivery import Notice, WebhookMessage
from mockserver.domain.provider import Cost, Provider, ProviderSummary
from mockserver.domain.record import record, replace
from mockserver.engine.counts import Counts
from mockserver.engine.observer import Observer
from mockserver.engine.tables import Tables
from mockserver.scenario.director import Ruleset
from mockserver.scenario.scenario import ClockPlan, FindingsMap, ProviderMap, Scenario

MakeObserver: TypeAlias = Callable[[Tables], Observer]
"""What makes an observer of a sandbox that opens, which may look at the tables of it."""


@record
class ServerConfig:
    """The part of a config that the server's settings fix for every sandbox, as long as no scenario
    says otherwise. ``started`` is the machine's time when the server started; ``public_url`` has no
    trailing slash; ``render`` makes the body of a webhook of its id, type and content, and
    ``write`` its text, as the assumptions word them; ``counts`` are those of the server;
    ``observers`` make those who watch a sandbox that opens."""

    _: KW_ONLY
    seed: int
    assumed: Assumed
    clock: ClockPlan
    started: Micros
    public_url: str = "http://127.0.0.1:4111"
    strict: bool = False
    test_cards_only: bool = False
    webhook_key: str = field(default="", repr=False)
    journal_limit: int = 1_000
    render: Callable[[str, WebhookMessage, Notice, Assumed], dict[str, object]]
    write: Callable[[object, Assumed], bytes]
    observers: tuple[MakeObserver, ...] = ()
    counts: Counts = field(default_factory=Counts, repr=False, compare=False)

    def config(self, scenarios: Sequence[Scenario]) -> "SandboxConfig":
        """The config under some scenarios: of what several of them say, the last one counts. Raises
        ``Invalid`` (90)."""
        settings: dict[str, Any] = {own.name: getattr(self, own.name) for own in fields(self)}
        overrides: dict[str, object] = {}
        for scenario in scenarios:
            overrides.update(scenario.said.assumptions)
            if scenario.said.seed is not None:
                settings["seed"] = scenario.said.seed
            if scenario.clock is not None:
                settings["clock"] = scenario.clock
        if overrides:
            overrides = {**self.assumed.overrides, **overrides}
            settings["assumed"] = Assumed(self.assumed.profile, overrides)
        return SandboxConfig(rules=Ruleset(scenarios), scenarios=tuple(scenarios), **settings)


@record
class SandboxConfig(ServerConfig):
    """How a sandbox begins: what the server's settings and the scenarios in force say together."""

    _: KW_ONLY
    rules: Ruleset
    scenarios: tuple[Scenario, ...] = ()

    @property
    def limits(self) -> list[FindingsMap]:
        """What the scenarios say of findings, for those who watch."""
        findings = [scenario.said.findings for scenario in self.scenarios]
        return [limits for limits in findings if limits is not None]

    def start_clock(self, real: Micros) -> Clock:
        """The clock of a sandbox that opens. One that stands has stood since the server started, so
        that it shows the same to those who look before anything is asked of its sandbox."""
        plan = self.clock
        start = plan.start
        if start is None:
            start = self.started if plan.mode is ClockMode.MANUAL else real
        return Clock(plan.mode, start, real, plan.rate)

    def providers(self, now: Micros, known: Callable[[str], Provider | None]) -> list[Provider]:
        """The providers that the scenarios describe, as they are when these come into force; of an
        id given twice the later scenario's. One that is ``known`` stays as it is in all that they
        do not say."""
        by_id: dict[str, ProviderMap] = {}
        for scenario in self.scenarios:
            for description in scenario.said.providers:
                by_id[description.id] = description
        return [_provider(last, now, known(provider_id)) for provider_id, last in by_id.items()]


def _provider(description: ProviderMap, now: Micros, known: Provider | None) -> Provider:
    """A provider as a scenario describes it; one that is known keeps what the scenario cannot
    say."""
    provider_id, currency = description.id, description.currency.upper()
    summary = ProviderSummary(provider_id, description.type, description.name or provider_id)
    costs: tuple[Cost, ...] = ()
    if description.cost is not None:
        costs = (Cost(description.cost.fixed, description.cost.percent),)
    latency = None
    if description.latency is not None:
        latency = description.latency.low, description.latency.high
    # What the API alone can set, and when it was added, a known one keeps.
    before = known or Provider(provider_id, summary, currency, added=now)
    return replace(
        before,
        summary=summary,
        currency=currency,
        country=description.country,
        fallback_provider_id=description.fallback,
        costs=costs,
        latency=latency,
    )


@record
class Beginning:
    """How one sandbox begins: its config, the assumptions that were set for it alone, and the marks
    that it goes on being judged by."""

    config: SandboxConfig
    own: Assumed | None = None
    marks: Sequence[str] = ()
