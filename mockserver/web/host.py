"""One server's world: its settings, its scenario, its sandboxes, its clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.clock import Clock, ClockMode, Micros, parse_instant
from mockserver.domain.errors import Unauthorised
from mockserver.engine import due
from mockserver.engine.provider_plans import planned
from mockserver.engine.sandbox import Charter, Sandbox
from mockserver.engine.sandboxes import Sandboxes
from mockserver.scenario.ruleset import Ruleset
from mockserver.scenario.scenario import ClockPlan, Scenario
from mockserver.settings import Settings

Headers = Mapping[str, str]


def _nothing() -> None:
    return None


@dataclass(slots=True)
class Host:
    """What every endpoint shares. ``real_clock`` tells the machine's time; ``on_request`` is called for each
    request."""

    settings: Settings
    real_clock: Callable[[], Micros]
    scenarios: Sequence[Scenario] = ()
    on_request: Callable[[], None] = _nothing
    ready_problems: list[str] = field(default_factory=list)
    assumed: Assumed = field(init=False)
    sandboxes: Sandboxes = field(init=False)
    _charter: Charter = field(init=False)
    _clock: ClockPlan = field(init=False)

    def __post_init__(self) -> None:
        self.sandboxes = Sandboxes(lambda: self._charter, self._start_clock, self.settings.keys)
        self.adopt(self.scenarios)

    def adopt(self, scenarios: Sequence[Scenario]) -> None:
        """Make these scenarios the ones that sandboxes open with from now on."""
        settings = self.settings
        overrides: dict[str, object] = {}
        for scenario in reversed(scenarios):
            overrides.update(scenario.assumptions)
        self.scenarios = scenarios
        self.assumed = Assumed(Profile(settings.profile), overrides)
        self._clock = next((scenario.clock for scenario in scenarios if scenario.clock), None) or _plan_of(
            settings.clock
        )
        self._charter = Charter(
            seed=next((scenario.seed for scenario in scenarios if scenario.seed is not None), settings.seed),
            assumed=self.assumed,
            rules=Ruleset.of(scenarios),
            public_url=(settings.public_url or f"http://{settings.host}:{settings.port}").rstrip("/"),
            strict=settings.strict,
            test_cards_only=settings.test_cards_only,
            webhook_key=settings.webhook_key,
            providers=tuple(planned(plan) for scenario in scenarios for plan in scenario.providers),
        )

    def enter(self, headers: Headers) -> Sandbox:
        """The sandbox of the request's secret key, brought to the present. Raises ``Unauthorised`` (40)."""
        return self.present(self.sandboxes.open(headers.get("x-secretkey"), self.real_clock()))

    def enter_by_either_key(self, headers: Headers) -> Sandbox:
        """The sandbox of the public key when there is one, else of the secret key. Raises ``Unauthorised`` (40)."""
        public_key = headers.get("x-publickey")
        if public_key is None:
            return self.enter(headers)
        try:
            return self.present(self.sandboxes.open_by_public_key(public_key, self.real_clock()))
        except Unauthorised:
            if "x-secretkey" in headers:
                return self.enter(headers)
            raise

    def present(self, box: Sandbox) -> Sandbox:
        """Run what has come due meanwhile."""
        due.run_due(box, self.real_clock())
        return box

    def _start_clock(self, real: Micros) -> Clock:
        plan = self._clock
        return Clock(plan.mode, real if plan.start is None else plan.start, real, plan.rate)


def _plan_of(clock: str) -> ClockPlan:
    """The clock of ``--clock``: real, manual (standing still at the opening), or standing still at a given instant."""
    if clock in (ClockMode.REAL, ClockMode.MANUAL):
        return ClockPlan(mode=ClockMode(clock))
    return ClockPlan(start=parse_instant(clock), mode=ClockMode.MANUAL)
