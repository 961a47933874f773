"""Which sandbox belongs to which key, and which scenarios are in force in it; and which connections
are reset as they are made, before a sandbox is known: only the files of the server say so.

A secret key opens a sandbox with its first call, a public key belongs to the secret key that it is
derived from. In a sandbox are in force the scenarios of the server's files, until somebody brings
others for it alone (``put_in_force``). Files that are read again (``reload``) reach only sandboxes
that still have the server's: a test that has brought its own must not lose them to somebody who
edits a file.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.clock import ClockMode, Micros, iso, parse_instant
from mockserver.domain.codes import Code
from mockserver.domain.errors import NotFound, Refused, Unauthorised, invalid
from mockserver.domain.record import made_of
from mockserver.engine.config import MakeObserver, SandboxConfig, ServerConfig
from mockserver.engine.journal import JournalQuota
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.sandboxes import Sandboxes
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Director
from mockserver.scenario.operations import CONNECTION
from mockserver.scenario.problems import ScenarioRefused
from mockserver.scenario.rule import Rule
from mockserver.scenario.scenario import ClockPlan, Scenario, ScenarioReader
from mockserver.scenario.transport import WITHOUT_CONNECTION
from mockserver.settings import Settings
from mockserver.wire.webhooks import webhook_body, webhook_text

Headers = Mapping[str, str]

MOST_RULES, MOST_SEARCHES = 20_000, 1_000
"""Rules that the scenarios of one sandbox have together, and tests with ``contains`` or ``matches``
that these have: each goes through a text, for every request that it may be about. Only those that
clients bring are limited: who starts the server answers for its files."""


class Directory:
    """The sandboxes of one server. ``config`` is that of a sandbox that opens, ``server_config``
    what makes one of scenarios; ``ready_problems`` say why the scenario files cannot be used by
    now. ``has_upload_rules`` says whether a rule of any sandbox may be asked while a body is sent,
    ``connections`` decides on those that rules of the files may reset, and counts them.

    Raises ``ScenarioRefused`` when the scenarios of the settings cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        real_clock: Callable[[], Micros],
        reader: ScenarioReader,
        on_open: Callable[[Sandbox], None],
        observers: tuple[MakeObserver, ...],
    ) -> None:
        self.reader = reader
        self.ready_problems: list[str] = []
        self.has_upload_rules = False
        self._cuts_connections = True
        self.server_config = _server_config(settings, real_clock(), observers)
        self.config = self.config_of(reader.load())
        self.connections = Director(self.config.rules, self.config.seed, CONNECTION)
        self.config.counts.name(self.config.rules.by_id)
        self._real_clock = real_clock
        quota = JournalQuota(settings.journal_memory)
        self.sandboxes = Sandboxes(
            self._config_now, on_open, settings.keys, quota, settings.most_sandboxes
        )

    def _config_now(self) -> SandboxConfig:
        """The config of a sandbox that opens now: files that are read again change it."""
        return self.config

    def config_of(self, scenarios: Sequence[Scenario]) -> SandboxConfig:
        """The config of the server under some scenarios. Raises ``Invalid`` (90)."""
        if not self._cuts_connections:
            _check_no_cuts(scenarios)
        config = self.server_config.config(scenarios)
        # Never false again: while it is, no request is asked about, and that saves time for all.
        if config.rules.stages & {Stage.UPLOAD, Stage.CONNECT}:
            self.has_upload_rules = True
        return config

    def cut_no_connections(self) -> None:
        """Refuse from now on scenarios that cut connections: another server than ours holds them.
        Raises ``Invalid`` (90) when one that is in force does."""
        _check_no_cuts(self.config.scenarios)
        self._cuts_connections = False

    def refuses_connection(self) -> bool:
        """Whether the connection that is being made is to be reset: a rule of the files says so."""
        if Stage.CONNECT not in self.config.rules.stages:
            return False
        decision = self.connections.decide(Stage.CONNECT, Attempt(CONNECTION, 0))
        self.config.counts.decided(decision)
        return decision.outcome.transport is not None

    async def reload(self) -> None:
        """Read the scenario files again, in a thread, and put them in force; once at a time. Bad
        ones leave the old rules in force; ``ready_problems`` say why."""
        before = self.config

        def read_files() -> SandboxConfig:
            return _prepared(self.config_of(self.reader.load()))

        try:
            self.config = await asyncio.to_thread(read_files)
        except (ScenarioRefused, Refused) as refused:
            self.ready_problems[:] = str(refused).splitlines()
            return
        self.ready_problems.clear()
        self.connections.replace(self.config.rules)
        self.config.counts.name(self.config.rules.by_id)
        for sandbox in self.sandboxes:
            if sandbox.config is before:
                sandbox.apply_config(self.config)

    def config_under(self, scenarios: Sequence[Scenario]) -> SandboxConfig:
        """The config of a sandbox with scenarios of its own, its rules ready to be asked. Touches
        no sandbox. Raises ``Invalid`` (90) as ``brought``."""
        builtin = [scenario for scenario in self.config.scenarios if scenario.builtin]
        return _prepared(self.brought([*scenarios, *builtin]))

    def brought(self, scenarios: Sequence[Scenario]) -> SandboxConfig:
        """The config of a sandbox under scenarios that a client has brought, beside some of the
        server. Raises ``Invalid`` (90) for an assumption that is refused, for more than
        ``MOST_RULES`` rules and for more than ``MOST_SEARCHES`` tests that search."""
        # By identity: a client may bring what looks like one of the server's.
        of_server = {id(scenario) for scenario in self.config.scenarios}
        rules: list[Rule] = []
        for scenario in scenarios:
            if id(scenario) not in of_server:
                rules += scenario.rules
        if len(rules) > MOST_RULES:
            words = f"got {len(rules)} rules in all scenarios"
            raise invalid({"Rules": f"{words}, wanted at most {MOST_RULES} in a sandbox"})
        searches = sum(test.searches for rule in rules for test in rule.when.tests)
        if searches > MOST_SEARCHES:
            words = f"got {searches} of contains and matches in all scenarios"
            raise invalid({"Rules": f"{words}, wanted at most {MOST_SEARCHES} in a sandbox"})
        return self.config_of(scenarios)

    def put_in_force(self, sandbox: Sandbox, config: SandboxConfig) -> Sandbox:
        """Give one sandbox a config of its own. One that was not used since it opened is opened
        anew: seed, clock and set-up count. Where none of them says anything new it stays, with the
        journal of what was asked and came to nothing.

        Raises ``Invalid`` (90) for a set-up call that is refused, for rules that only the server
        can have, and for a clock that a used sandbox does not have already; then nothing has
        changed.
        """
        scenarios = [scenario for scenario in config.scenarios if not scenario.builtin]
        known = (*self.config.scenarios, *sandbox.config.scenarios)
        # One of the server's files may say so, and comes back when a client adds another.
        brought = [scenario for scenario in scenarios if scenario not in known]
        _check_no_connections(brought)
        has_journal = sandbox.journal.last > 0
        keeps_journal = has_journal and not _begins_otherwise(config, sandbox.config)
        if sandbox.is_untouched() and not keeps_journal:
            real = self._real_clock()
            if not any(scenario.clock for scenario in scenarios):
                config = _keeping_time(config, sandbox, real)
            elif config.clock == ClockPlan(mode=ClockMode.MANUAL):
                # It says that time stands, not when: it stands where it is.
                config = replace(
                    config, clock=ClockPlan(sandbox.clock.read(real), ClockMode.MANUAL)
                )
            return self.sandboxes.reopen(
                sandbox.key, replace(sandbox.beginning, config=config), real
            )
        _check_clock(sandbox, scenarios)
        sandbox.apply_config(config)
        return sandbox

    def of_secret_key(self, headers: Headers) -> Sandbox:
        """The sandbox of the request's secret key, as it stands. Raises ``Unauthorised`` (40)."""
        key = headers.get("x-secretkey", "")
        sandbox = self.sandboxes.in_memory.get(key)
        if sandbox is not None:
            return sandbox
        # ``open`` tells a missing key from a blank one.
        return self.sandboxes.open(headers.get("x-secretkey"), self._real_clock())

    def of_public_key(self, key: str | None) -> Sandbox:
        """The sandbox that a public key belongs to. Raises ``Unauthorised`` (40)."""
        return self.sandboxes.open_by_public_key(key, self._real_clock())

    def of_either_key(self, headers: Headers) -> Sandbox:
        """The sandbox of the public key when there is one, else of the secret key (assumption
        ``keys.both``). Raises ``Unauthorised`` (40)."""
        public_key = headers.get("x-publickey")
        if public_key is None:
            return self.of_secret_key(headers)
        try:
            return self.of_public_key(public_key)
        except Unauthorised:
            # It opens nothing. Whether a secret key beside it does, the sandbox of that one says.
            of_secret_key = self.sandboxes.get(headers.get("x-secretkey"))
            assumed = self.config.assumed
            if of_secret_key is not None:
                assumed = of_secret_key.assumed
            if "x-secretkey" in headers and assumed["keys.both"] == "either":
                return self.of_secret_key(headers)
            raise

    def of_any_key(self, headers: Headers) -> Sandbox | None:
        """The sandbox of the key that came with a request; None without one that opens any: for
        requests that are answered with or without a sandbox."""
        try:
            if "x-secretkey" in headers:
                return self.of_secret_key(headers)
            return self.of_public_key(headers.get("x-publickey"))
        except Refused:
            return None

    def of_control(self, headers: Headers, *, changes: bool) -> Sandbox:
        """The sandbox of the secret key when there is one, else of the id by which the list of
        sandboxes names it, else of the public key, which many know: it changes nothing. A call that
        only reads opens none, and sees what would open. Raises ``Unauthorised`` (40), and
        ``NotFound`` (1) for the id of no open sandbox."""
        real = self._real_clock()
        if "x-secretkey" in headers or not {"x-sandbox", "x-publickey"} & headers.keys():
            return self.sandboxes.open(headers.get("x-secretkey"), real, keep=changes)
        if "x-sandbox" in headers:
            sandbox = self.sandboxes.with_id(headers["x-sandbox"])
            if sandbox is None:
                reason = "no open sandbox has this id, GET /__admin/sandboxes lists them"
                raise NotFound(Code.UNKNOWN_ERROR, {"XSandbox": reason}, message="Not Found")
            return sandbox
        if changes:
            reason = (
                "a public key changes nothing: send x-secretkey, or x-sandbox with an id of "
                "GET /__admin/sandboxes"
            )
            raise Unauthorised(Code.INVALID_AUTHENTICATION, {"XPublickey": reason})
        return self.sandboxes.open_by_public_key(headers["x-publickey"], real, keep=False)

    def of_inbox(self, headers: Headers, public_key: str | None) -> Sandbox:
        """The sandbox of a webhook that arrives; a public key, which may be known to others, opens
        none. Raises ``Unauthorised`` (40)."""
        if public_key is None:
            public_key = headers.get("x-publickey")
        if public_key is not None:
            sandbox = self.sandboxes.named({"x-publickey": public_key})
            if sandbox is not None:
                return sandbox
        if "x-secretkey" in headers:
            return self.of_secret_key(headers)
        if public_key is None:
            reason = "say whose inbox this is: header x-secretkey or x-publickey, or ?publicKey="
            raise Unauthorised(Code.INVALID_AUTHENTICATION, {"XSecretkey": reason})
        reason = (
            "no sandbox with this public key is open; the first call with its secret key opens it"
        )
        raise Unauthorised(Code.INVALID_AUTHENTICATION, {"PublicKey": reason})

    async def holding(self, table: str, object_id: str, public_key: str | None) -> Sandbox | None:
        """The sandbox that holds the object of a table that the address of a page names. Raises
        ``NotKept`` (43).

        A copy of a sandbox holds it too: ``public_key`` picks one, else the original answers, and
        while there is none the oldest copy.
        """
        sandboxes, table_of = self.sandboxes, attrgetter(table)
        # A store brings those that have the object into memory.
        keys = await sandboxes.storage.fetch_with_page(object_id)
        if public_key is not None:
            for key in sandboxes.keys_of({"x-publickey": public_key}):
                if key not in sandboxes.in_memory:
                    continue
                named = sandboxes.get(key)
                if named is not None and object_id in table_of(named):
                    return named
                return None
            return None
        copy = None
        # What a store does not know by now is in memory.
        for key in keys or tuple(sandboxes.in_memory):
            sandbox = sandboxes.get(key)
            if sandbox is not None and object_id in table_of(sandbox):
                if not sandbox.is_copy:
                    return sandbox
                copy = copy or sandbox
        if copy is None or not sandboxes.is_live(copy):
            return None
        return copy


def _prepared(config: SandboxConfig) -> SandboxConfig:
    """A config whose rules are ready to be asked: what they need is made before it is in force, as
    with thousands of rules that takes longer than a request may."""
    config.rules.prepare()
    return config


def _server_config(
    settings: Settings, started: Micros, observers: tuple[MakeObserver, ...]
) -> ServerConfig:
    """The settings of the same names, and what others of them amount to; the server ``started`` at
    that instant."""
    return made_of(
        ServerConfig,
        settings,
        assumed=Assumed(Profile(settings.profile)),
        clock=_plan_of(settings.clock),
        started=started,
        public_url=settings.url,
        render=webhook_body,
        write=webhook_text,
        observers=observers,
    )


def _begins_otherwise(config: SandboxConfig, known: SandboxConfig) -> bool:
    """Whether a sandbox that opens under a config begins otherwise than under another."""
    begins = any(scenario.clock or scenario.said.setup for scenario in config.scenarios)
    return begins or config.seed != known.seed


def _keeping_time(config: SandboxConfig, sandbox: Sandbox, real: Micros) -> SandboxConfig:
    """The config with the clock as it stands, when that was moved or changed: no scenario turns
    time back."""
    clock, opened = sandbox.clock, config.start_clock(sandbox.clock.real)
    if (clock.mode, clock.virtual, clock.rate) == (opened.mode, opened.virtual, opened.rate):
        return config
    return replace(config, clock=ClockPlan(clock.read(real), clock.mode, clock.rate))


def _check_no_connections(scenarios: Sequence[Scenario]) -> None:
    """Connections and certificates are the server's. Raises ``Invalid`` (90)."""
    for scenario in scenarios:
        why = (
            "the sandbox is not known when a connection is made: give this file to the server "
            "with --scenario"
        )
        if scenario.said.tls is not None:
            raise invalid({"Tls": f"got {scenario.said.tls.words}, and {why}"})
        for rule in scenario.rules:
            if rule.stage is Stage.CONNECT:
                raise invalid({"Rules": f"rule '{rule.id}' is at: connect, and {why}"})


def _check_clock(sandbox: Sandbox, scenarios: Sequence[Scenario]) -> None:
    """A used sandbox lives in its own time: a scenario may say again what it began with, and
    nothing else. Raises ``Invalid`` (90)."""
    known = [sandbox.config.clock, *(scenario.clock for scenario in sandbox.config.scenarios)]
    if any(scenario.clock is not None and scenario.clock not in known for scenario in scenarios):
        reason = (
            f"this sandbox has been used, and its clock stands at {iso(sandbox.now)}; the clock "
            "of a scenario counts "
            "when a sandbox opens: reset it first (POST /__admin/reset), or leave the clock out "
            "and use /__admin/clock"
        )
        raise invalid({"Clock": reason})


def _plan_of(clock: str) -> ClockPlan:
    """The clock of ``--clock``: real, manual (standing still since the server started), or standing
    still at a given instant."""
    if clock in (ClockMode.REAL, ClockMode.MANUAL):
        return ClockPlan(mode=ClockMode(clock))
    return ClockPlan(start=parse_instant(clock), mode=ClockMode.MANUAL)


def _check_no_cuts(scenarios: Iterable[Scenario]) -> None:
    """Refuse what only our own server can do: it alone hands a connection over to be cut, and has a
    certificate to spoil. Raises ``Invalid`` (90)."""
    but = "no headers that say another length"
    why = "this is not the server of 'mockserver serve', which alone can do that"
    for scenario in scenarios:
        if scenario.said.tls is not None:
            raise invalid({"Tls": f"got {scenario.said.tls.words}, allowed: none; {why}"})
        for rule in scenario.rules:
            for outcome in rule.plan.outcomes:
                fault = outcome.transport
                if fault is not None and fault.cuts:
                    got = f"rule '{rule.id}' ({rule.file}:{rule.line}): got {fault.words}"
                    allowed = f"allowed: {', '.join(WITHOUT_CONNECTION)}, {but}"
                    raise invalid({"Rules": f"{got}, {allowed}; {why}"})
