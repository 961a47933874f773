"""A scenario, as a file says it and as it is used. The models check shapes and outcomes; what other
words mean (operations, paths) is checked where a file is compiled. ``mockserver schema`` is made
from them.

Units: durations are texts with a unit, amounts exact decimals, instants ISO 8601 in UTC.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field, fields
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from mockserver.domain.clock import ClockMode, Micros
from mockserver.domain.invariants import Invariant
from mockserver.domain.provider import CAPABILITIES
from mockserver.domain.record import record
from mockserver.scenario.file_model import file_model, keys_of
from mockserver.scenario.finding_names import finding_names, known_finding
from mockserver.scenario.problems import Path
from mockserver.scenario.provider_outcome import LatencyWord
from mockserver.scenario.rule import RandomScope, Rule
from mockserver.scenario.scalars import (
    Duration,
    Flag,
    Id,
    Instant,
    Number,
    Text,
    ZoneName,
    read_text,
    whole,
)
from mockserver.scenario.values import excerpt


@record
class ClockPlan:
    """Where a scenario's clock starts (None: now) and how it runs; ``rate`` counts in mode ``fast``
    only."""

    start: Micros | None = None
    mode: ClockMode = ClockMode.REAL
    rate: int = 1


Certificate = StrEnum("Certificate", "EXPIRED WRONG_NAME UNTRUSTED_CHAIN")
"""What is wrong with the certificate of the TLS port."""


def _version_text(value: object) -> object:
    """YAML reads 1.2 without quotes as a number."""
    if isinstance(value, Decimal):
        return str(value)
    return value


@file_model
class TlsMap:
    """What is wrong with the TLS port of the server: files given with ``--scenario`` say it, as no
    sandbox is known yet."""

    certificate: Certificate | None = None
    refuse: Literal["handshake"] | None = None
    hang: Literal["handshake"] | None = None
    min_version: Annotated[
        Literal["1.2", "1.3"] | None,
        BeforeValidator(_version_text, Literal["1.2", "1.3"] | float | None),
    ] = None

    def __post_init__(self) -> None:
        if self.refuse is not None and self.hang is not None:
            raise ValueError("got refuse and hang, only one of them is allowed")
        if not self.words:
            raise ValueError(f"got nothing, wanted at least one of {', '.join(keys_of(TlsMap))}")

    @property
    def words(self) -> str:
        words: list[str] = []
        for key in fields(self):
            value = getattr(self, key.name)
            if value is not None:
                words.append(f"{key.name}: {value}")
        return ", ".join(words)


@file_model
class CostMap:
    """What a provider costs."""

    fixed: Number = Decimal(0)
    percent: Number = Decimal(0)


_ProviderType = Annotated[str, Field(json_schema_extra={"enum": list(CAPABILITIES)})]


@file_model
class ProviderMap:
    """A provider that exists when the sandbox opens."""

    id: Id
    type: Annotated[str, BeforeValidator(read_text, _ProviderType)] = "dummy"
    name: Text | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Za-z]{3}$")] = "AUD"
    country: Text | None = None
    fallback: Text | None = None
    latency: LatencyWord | None = None
    cost: CostMap | None = None


@file_model
class ReplyMap:
    """What the answer must hold: named members of the body, exactly; others are not looked at."""

    status: Annotated[int, whole(100, 599)] | None = None
    body: object = None
    headers: dict[str, object] | None = None
    fault: Flag = False


@file_model
class CallMap:
    """An API call; texts may hold {id.path} of an earlier answer."""

    _: KW_ONLY
    id: Id | None = None
    call: Annotated[str, Field(pattern=r"^(GET|POST|PUT|DELETE) /\S*$")]
    headers: dict[str, Text] | None = None
    body: Any = None
    expect: ReplyMap | None = None

    @property
    def method(self) -> str:
        return self.call.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.call.partition(" ")[2]

    def __str__(self) -> str:
        return self.call


@file_model
class AdvanceMap:
    """Move the clock forward."""

    advance: Duration


@file_model
class WaitMap:
    """Repeat a GET while time moves on, until the answer is as expected."""

    wait: Annotated[str, Field(pattern=r"^GET /\S*$")]
    expect: ReplyMap
    headers: dict[str, Text] | None = None
    timeout: Duration = 60_000_000

    @property
    def call(self) -> CallMap:
        return CallMap(call=self.wait, headers=self.headers, expect=self.expect)


@file_model
class TogetherMap:
    """Calls at the same time."""

    together: Annotated[list[CallMap], Field(min_length=2, max_length=20)]


def _step_kind(value: object) -> str:
    """Which model a step of an example is, by the key that only that one has: else its faults
    would be told four times, once for each model."""
    if isinstance(value, dict):
        for kind in ("advance", "wait", "together"):
            if kind in value:
                return f"<{kind}>"
    return "<call>"


StepWord = Annotated[
    Annotated[CallMap, Tag("<call>")]
    | Annotated[AdvanceMap, Tag("<advance>")]
    | Annotated[WaitMap, Tag("<wait>")]
    | Annotated[TogetherMap, Tag("<together>")],
    Discriminator(_step_kind),
]


@file_model
class ExampleMap:
    """An example of the scenario, as calls."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    calls: Annotated[list[StepWord], Field(min_length=1, max_length=1000)]


def _with_names(schema: dict[str, object]) -> None:
    """Let editors offer the names. A function: their file is read when a schema is wanted."""
    schema["enum"] = list(finding_names())


FindingName = Annotated[str, AfterValidator(known_finding), Field(json_schema_extra=_with_names)]


@file_model
class ClockMap:
    """The sandbox's clock when it opens; a sandbox that has been used refuses another."""

    start: Instant | None = None
    mode: ClockMode = ClockMode.REAL
    rate: Annotated[int, whole(1, 1_000_000)] | None = None
    zone: ZoneName = None


@file_model
class FindingsMap:
    """Limits for findings; what is left out stays as it is."""

    allow: Annotated[list[FindingName], Field(max_length=100), AfterValidator(frozenset)] | None = (
        None
    )
    retry_limit: Annotated[int, whole(0, 1_000)] | None = None
    retry_window: Duration | None = None
    timeout: Duration | None = None
    slow_receiver: Duration | None = None
    poll_limit: Annotated[int, whole(1, 1_000)] | None = None


def _invariant_text(text: str) -> str:
    """The sentence as it was read. Raises ``ValueError`` for one that is not understood."""
    return Invariant(text).text


_Invariant = Annotated[str, AfterValidator(_invariant_text)]
"""A sentence about the money that must hold when a run has ended."""


def _no_flag(version: object) -> object:
    """In Python true equals 1, and ``version: true`` is a slip."""
    if isinstance(version, bool):
        raise ValueError(f"got {excerpt(version)}, allowed: 1")
    return version


@file_model
class ScenarioFile:
    """A scenario: what the pretend providers, the network, the webhooks, the batches and the clock
    do."""

    version: Annotated[Literal[1], BeforeValidator(_no_flag)]
    name: Id | None = None
    description: Text = ""
    seed: Annotated[int, whole(0, 2**63 - 1)] | None = None
    draws: RandomScope = RandomScope.SANDBOX
    clock: ClockMap | None = None
    assumptions: dict[str, object] = field(default_factory=dict)
    providers: Annotated[list[ProviderMap], Field(max_length=1000)] = field(default_factory=list)
    setup: Annotated[list[CallMap], Field(max_length=1000)] = field(default_factory=list)
    # Plain data here: rules are read one by one, so that a fault of one hides none of another.
    rules: Annotated[list[object], Field(max_length=10_000)] = field(default_factory=list)
    findings: FindingsMap | None = None
    tls: TlsMap | None = None
    money: Annotated[list[_Invariant], Field(max_length=1000)] = field(default_factory=list)
    examples: Annotated[list[ExampleMap], Field(max_length=100)] = field(default_factory=list)


@record
class Scenario:
    """What one file says, and its rules, ready to be asked. ``builtin`` marks the test values,
    which are asked after everything else; ``source`` is the plain data of the file, ``text`` the
    file as it was written."""

    name: str
    file: str
    said: ScenarioFile
    clock: ClockPlan | None = None
    rules: tuple[Rule, ...] = ()
    builtin: bool = False
    source: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    text: str = field(default="", repr=False, compare=False)
    lines: Mapping[Path, int] = field(default_factory=dict, repr=False, compare=False)

    def line(self, *path: str | int) -> int:
        """The line of a call of ``setup``, of an example or of a call of one."""
        return self.lines.get(path, 1)


@record
class ScenarioReader:
    """Where scenarios come from. ``read_text`` gives the scenario of a YAML or JSON text and of a
    name, ``load`` those of the settings: both raise ``ScenarioRefused``. ``shipped`` gives name,
    description and text of those that come with the product, ``schema_text`` the JSON Schema of
    files."""

    read_text: Callable[[str, str], Scenario]
    shipped: Callable[[], list[tuple[str, str, str]]]
    schema_text: Callable[[], str]
    load: Callable[[], list[Scenario]]
