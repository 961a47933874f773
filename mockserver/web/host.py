"""One server's world: its settings, its scenarios, its sandboxes, its clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from mockserver.assumptions import Assumed, Profile
from mockserver.assumptions.table import KEYS_BOTH, WEBHOOK_TIMEOUT
from mockserver.domain.clock import SECOND, ClockMode, Micros, iso, parse_instant
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, Refused, Unauthorised
from mockserver.domain.rate import RateLimit
from mockserver.domain.slices import Slices
from mockserver.engine import deliveries, due
from mockserver.engine.config import SandboxConfig, ServerConfig
from mockserver.engine.journal_room import JournalRoom
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.sandboxes import Sandboxes
from mockserver.engine.step import Step
from mockserver.findings.policy import DEFAULT
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.scenario import ClockPlan, Scenario
from mockserver.settings import Settings
from mockserver.web.activity import SERVER, Activity
from mockserver.web.slices import with_pauses
from mockserver.web.watching import FindingLine
from mockserver.web.webhook_bodies import tell
from mockserver.wire.jsonio import dumps

T = TypeVar("T")

Headers = Mapping[str, str]


class ScenarioReader(Protocol):
    """Where scenarios come from."""

    def load(self) -> list[Scenario]:
        """The scenarios of the settings. Raises ``ScenarioRefused``."""
        ...

    def read_text(self, text: str, name: str) -> Scenario:
        """The scenario of a YAML or JSON text. Raises ``ScenarioRefused``."""
        ...

    def shipped(self) -> list[tuple[str, str, str]]:
        """Name, description and text of the scenarios that come with the product."""
        ...


class Logged(Protocol):
    """A request as the log tells it."""

    @property
    def level(self) -> str:
        """How grave it is: one of ``LOG_LEVELS``."""
        ...

    def lines(self, *, as_json: bool) -> list[str]:
        """Its lines, without line ends."""
        ...


class RouteTable(Protocol):
    """Sends webhooks."""

    def send_all(self, sandbox: Sandbox) -> None:
        """Begin a try of everything that is to be sent."""
        ...

    def sending(self, sandbox: Sandbox) -> AbstractSet[str]:
        """The ids of the deliveries that are being tried."""
        ...

    def next_end(self, sandbox: Sandbox) -> asyncio.Future[None]:
        """Done when one of the tries under way ends."""
        ...

    def end_soon(self) -> None:
        """The server has been asked to stop: what is being sent has a few seconds left."""
        ...


class Ticker(Protocol):
    """Runs the work of sandboxes when it comes due."""

    def note(self, sandbox: Sandbox) -> None:
        """Something may have changed in a sandbox."""
        ...


def _nothing() -> None:
    return None


def _unprepared(sandbox: Sandbox) -> None:
    return None


@dataclass(slots=True)
class Host:
    """What every endpoint shares.

    ``real_clock`` tells the machine's time; ``on_request`` is called for each request; ``prepare`` runs the set-up
    calls of a sandbox that opens; ``streams`` counts open event streams, which end when ``stopping``.
    ``moving`` holds the sandboxes whose clock is being moved, each with what is set when that has ended.
    ``uses`` counts what has happened in all sandboxes, so that each can tell when it was last used.
    ``rate_limit`` goes by the machine's time, because it spares the machine, and because a sandbox whose clock stands
    still would never be let in again.
    Raises ``ScenarioRefused`` when the scenarios of the settings cannot be used.
    """

    settings: Settings
    real_clock: Callable[[], Micros]
    reader: ScenarioReader
    on_request: Callable[[], None] = _nothing
    prepare: Callable[[Sandbox], None] = _unprepared
    log: Callable[[Logged], None] | None = None
    dispatcher: RouteTable | None = None
    ticker: Ticker | None = None
    moving: dict[Sandbox, asyncio.Event] = field(default_factory=dict)
    activity: Activity = field(default_factory=Activity)
    ready_problems: list[str] = field(default_factory=list)
    streams: int = 0
    uses: int = 0
    stopping: bool = False
    rate_limit: RateLimit | None = field(init=False)
    server_config: ServerConfig = field(init=False)
    config: SandboxConfig = field(init=False)
    sandboxes: Sandboxes = field(init=False)

    def __post_init__(self) -> None:
        per_second = self.settings.rate_limit
        self.rate_limit = RateLimit(per_second) if per_second else None
        self.server_config = _server_config(self.settings)
        self.config = self.server_config.config(self.reader.load())
        room = JournalRoom(self.settings.journal_memory)
        self.sandboxes = Sandboxes(lambda: self.config, self._opened, self.settings.keys, room)

    def _opened(self, sandbox: Sandbox) -> None:
        self.prepare(sandbox)
        self.activity.notify(SERVER)

    @property
    def assumed(self) -> Assumed:
        """The assumptions in force where no sandbox is known."""
        return self.config.assumed

    def reload(self) -> None:
        """Read the scenario files again. Bad ones leave the old rules in force and are told by ``ready_problems``."""
        before = self.config
        try:
            self.config = self.server_config.config(self.reader.load())
        except (ScenarioRefused, Refused) as refused:
            self.ready_problems[:] = str(refused).splitlines()
            return
        self.ready_problems.clear()
        for sandbox in self.sandboxes:
            if sandbox.config is before:
                sandbox.apply_config(self.config)

    def put_in_force(self, sandbox: Sandbox, scenarios: Sequence[Scenario]) -> Sandbox:
        """Give one sandbox its own scenarios. One that was not used since it opened is opened anew: seed, clock and
        set-up count.

        Raises ``Invalid`` (90) for an assumption or a set-up call that is refused, and for a clock that a used sandbox
        does not have already; then nothing has changed.
        """
        builtin = [scenario for scenario in self.config.scenarios if scenario.builtin]
        config = self.server_config.config([*scenarios, *builtin])
        if sandbox.is_untouched():
            if not any(scenario.clock for scenario in scenarios):
                config = _keeping_time(config, sandbox, self.real_clock())
            return self.sandboxes.reopen(sandbox, config, self.real_clock(), own=sandbox.own)
        _check_clock(sandbox, scenarios)
        sandbox.apply_config(config)
        return sandbox

    def known(self, headers: Headers) -> Sandbox:
        """The sandbox of the request's secret key, as it stands. Raises ``Unauthorised`` (40)."""
        return self.sandboxes.open(headers.get("x-secretkey"), self.real_clock())

    def known_by_either_key(self, headers: Headers) -> Sandbox:
        """The sandbox of the public key when there is one, else of the secret key (assumption ``keys.both``). Raises
        ``Unauthorised`` (40)."""
        public_key = headers.get("x-publickey")
        if public_key is None:
            return self.known(headers)
        try:
            return self.sandboxes.open_by_public_key(public_key, self.real_clock())
        except Unauthorised:
            if "x-secretkey" in headers and self.assumed[KEYS_BOTH] == "either":
                return self.known(headers)
            raise

    def known_to_control(self, headers: Headers, *, changes: bool) -> Sandbox:
        """The sandbox of the secret key when there is one, else of the id by which the list of sandboxes names it, else
        of the public key, which many know: it changes nothing. Raises ``Unauthorised`` (40)."""
        if "x-secretkey" in headers or not {"x-sandbox", "x-publickey"} & headers.keys():
            return self.known(headers)
        if "x-sandbox" in headers:
            found = self.sandboxes.with_id(headers["x-sandbox"])
            if found is None:
                told = "no open sandbox has this id, GET /__admin/sandboxes lists them"
                raise Unauthorised(Code.INVALID_AUTHENTICATION, {"XSandbox": told})
            return found
        if changes:
            told = "a public key changes nothing: send x-secretkey, or x-sandbox with an id of GET /__admin/sandboxes"
            raise Unauthorised(Code.INVALID_AUTHENTICATION, {"XPublickey": told})
        return self.known_by_either_key(headers)

    async def in_slices(self, sandbox: Sandbox, work: Slices[T]) -> T:
        """What long work makes, letting others have their turn meanwhile; the sandbox is in the present at the end."""
        made = await with_pauses(work)
        await self.catch_up(sandbox)
        return made

    def run(self, sandbox: Sandbox, real: Micros | None = None) -> None:
        """Run a slice of the work that is due, by now or when the machine's time is ``real``; send what is to be
        sent."""
        ran = sandbox.schedule.ran
        due.run_slice(sandbox, sandbox.clock.read(self.real_clock() if real is None else real))
        if sandbox.schedule.ran > ran:
            self.changed(sandbox)

    async def catch_up(self, sandbox: Sandbox) -> None:
        """Bring a sandbox to the present, letting others have their turn meanwhile."""
        real = self.real_clock()
        self.run(sandbox, real)
        while due.is_behind(sandbox):
            await asyncio.sleep(0)
            self.run(sandbox, real)

    async def catch_up_all(self) -> list[Sandbox]:
        """Every sandbox, each of them brought to the present."""
        sandboxes = list(self.sandboxes)
        for sandbox in sandboxes:
            await self.catch_up(sandbox)
        return sandboxes

    def changed(self, sandbox: Sandbox) -> None:
        """Something may have changed in a sandbox: send what is to be sent, wake those who wait for it."""
        if self.dispatcher is not None:
            self.dispatcher.send_all(sandbox)
        if self.ticker is not None:
            self.ticker.note(sandbox)
        self.activity.notify(sandbox.key)

    def on_change(self, sandbox: Sandbox) -> None:
        """Something has been asked of a sandbox."""
        self.uses += 1
        sandbox.used = self.uses
        if sandbox.watch is not None and sandbox.watch.ledger.unreported:
            for finding in sandbox.watch.ledger.news():
                if self.log is not None:
                    self.log(FindingLine(finding, masked_key(sandbox.key), self.real_clock()))
        self.changed(sandbox)

    def answered(self, sandbox: Sandbox, step: Step) -> None:
        """A step has been answered: its webhooks may go out. What else is due by now may be long, and can wait."""
        deliveries.release(sandbox, step)
        self.run(sandbox)
        self.on_change(sandbox)

    async def flush_webhooks(self, sandbox: Sandbox, step: Step) -> None:
        """Send the webhooks of a step that a scenario wants before its answer, and wait until they are tried."""
        await self.catch_up(sandbox)
        end = self.real_clock() + 2 * sandbox.assumed[WEBHOOK_TIMEOUT]
        while not self.sending(sandbox).isdisjoint(step.webhooks) and await self.try_ends(sandbox, end):
            pass

    def sending(self, sandbox: Sandbox) -> AbstractSet[str]:
        """The ids of the deliveries of a sandbox that are being tried."""
        return self.dispatcher.sending(sandbox) if self.dispatcher is not None else frozenset()

    async def try_ends(self, sandbox: Sandbox, end: Micros, leaving: asyncio.Task[None] | None = None) -> bool:
        """Wait until one of the tries under way in a sandbox ends, or ``leaving``; False when the machine's time has
        reached ``end``, or the server stops."""
        left = end - self.real_clock()
        if left <= 0 or self.stopping or self.dispatcher is None:
            return False
        ends = {self.dispatcher.next_end(sandbox), *([leaving] if leaving is not None else [])}
        await asyncio.wait(ends, timeout=left / SECOND, return_when=asyncio.FIRST_COMPLETED)
        return True


def _server_config(settings: Settings) -> ServerConfig:
    return ServerConfig(
        seed=settings.seed,
        assumed=Assumed(Profile(settings.profile)),
        clock=_plan_of(settings.clock),
        public_url=settings.url,
        strict=settings.strict,
        test_cards_only=settings.test_cards_only,
        webhook_key=settings.webhook_key,
        journal_limit=settings.journal_limit,
        render=tell,
        write=dumps,
        findings=DEFAULT if settings.findings == "on" else None,
    )


def _keeping_time(config: SandboxConfig, sandbox: Sandbox, real: Micros) -> SandboxConfig:
    """The config with the clock as it stands, when that was moved or changed: no scenario turns time back unasked."""
    clock, opened = sandbox.clock, config.start_clock(sandbox.clock.real)
    if (clock.mode, clock.virtual, clock.rate) == (opened.mode, opened.virtual, opened.rate):
        return config
    return replace(config, clock=ClockPlan(clock.read(real), clock.mode, clock.rate))


def _check_clock(sandbox: Sandbox, scenarios: Sequence[Scenario]) -> None:
    """A used sandbox lives in its own time: a scenario may say again what it began with, and nothing else. Raises
    ``Invalid`` (90)."""
    known = [sandbox.config.clock, *(scenario.clock for scenario in sandbox.config.scenarios)]
    if any(scenario.clock is not None and scenario.clock not in known for scenario in scenarios):
        told = (
            f"this sandbox has been used, and its clock stands at {iso(sandbox.now)}; the clock of a scenario counts "
            "when a sandbox opens: reset it first (POST /__admin/reset), or leave the clock out and use /__admin/clock"
        )
        raise Invalid(Code.VALIDATION_ERROR, {"Clock": told})


def _plan_of(clock: str) -> ClockPlan:
    """The clock of ``--clock``: real, manual (standing still at the opening), or standing still at a given instant."""
    if clock in (ClockMode.REAL, ClockMode.MANUAL):
        return ClockPlan(mode=ClockMode(clock))
    return ClockPlan(start=parse_instant(clock), mode=ClockMode.MANUAL)
