"""The models of a scenario file: what may stand where. ``mockserver schema`` is made from them.

They check shapes and outcomes; what other words mean (operations, paths) is checked where a file is compiled. Units:
durations are texts with a unit, amounts exact decimals, instants ISO 8601 in UTC.
"""

from __future__ import annotations

from dataclasses import field
from re import escape
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from mockserver.books.invariants import Invariant
from mockserver.domain.clock import ClockMode
from mockserver.findings.catalogue import CATALOGUE as FINDINGS
from mockserver.findings.catalogue import kind_of
from mockserver.scenario.file_model import file_model, given, given_as, keys_of, needs
from mockserver.scenario.matching import shown
from mockserver.scenario.outcome import OutcomeMap, StepMap, ThenMap
from mockserver.scenario.paths import NAMED
from mockserver.scenario.rule import AtEnd, Expectation, RandomScope
from mockserver.scenario.scalars import (
    Count,
    Duration,
    Id,
    Instant,
    Period,
    Positive,
    Share,
    Text,
    ZoneName,
    whole,
)
from mockserver.scenario.scenario import CallMap, ExampleMap, ProviderMap, TlsMap
from mockserver.scenario.when import KEYS

ALL = "all"
"""The key of all calls."""

MAX_RULES = 10_000
MAX_STEPS = 10_000
PLANS = ("then", "sequence", "chance")
"""What a rule makes happen: it has exactly one of them."""


@file_model
class ChanceOne:
    """Strikes with probability ``p``; otherwise the rule passes and later rules are asked."""

    p: Share
    then: OutcomeMap


@file_model
class ChanceWeighted:
    """One of several outcomes, by weight."""

    weight: Positive
    then: OutcomeMap


ChanceWord = Annotated[
    Annotated[ChanceOne, Tag("<one>")] | Annotated[list[ChanceWeighted], Field(min_length=1), Tag("<weighted>")],
    Discriminator(lambda value: "<weighted>" if isinstance(value, list) else "<one>"),
]


@file_model
class Limit:
    """How often a rule may fire."""

    times: Count
    per: Literal["key"] | None = None


LimitWord = Annotated[
    Limit,
    BeforeValidator(
        lambda value: value if isinstance(value, dict) else {"times": value}, json_schema_input_type=Count | Limit
    ),
]


def _read_key(value: object) -> object:
    if value == ALL:
        return []
    if not isinstance(value, list) or not value:
        raise ValueError(
            f"got {shown(value) if value else 'nothing'}, wanted a list of paths such as [request.reference], or {ALL}"
        )
    return value


_KeyPath = Annotated[
    str,
    WithJsonSchema({"type": "string", "pattern": f"^((request|header|state)\\..+|{'|'.join(map(escape, NAMED))})$"}),
]
KeyWord = Annotated[
    list[Text],
    Field(max_length=10),
    BeforeValidator(_read_key, Annotated[list[_KeyPath], Field(min_length=1, max_length=10)] | Literal["all"]),
]
"""Paths; none when all calls count together."""


@file_model
class RuleMap:
    """One rule. Of the rules that are asked at one stage (as the request arrives, as a provider is asked, as a webhook
    is delivered), the first that matches in file order decides."""

    misplaced: ClassVar[dict[str, str]] = {
        **{word: f"then: {{then: {{{word}: ...}}}}" for word in keys_of(OutcomeMap)},
        **{word: f"when: {{when: {{{word}: ...}}}}" for word in KEYS},
    }

    id: Id
    description: Text | None = None
    when: dict[str, Any] = field(default_factory=dict)
    key: KeyWord | None = None
    then: ThenMap | None = None
    sequence: Annotated[list[StepMap], Field(min_length=1, max_length=MAX_STEPS)] | None = None
    at_end: AtEnd | None = None
    chance: ChanceWord | None = None
    limit: LimitWord | None = None
    per: Period | None = None
    for_: Annotated[Duration | None, Field(alias="for")] = None
    expect: Expectation | None = None


FindingName = Annotated[
    str,
    AfterValidator(lambda name: kind_of(name).name),
    WithJsonSchema({"type": "string", "enum": list(FINDINGS)}),
]


@file_model
class ClockMap:
    """The sandbox's clock when it opens; a sandbox that has been used refuses another."""

    schema = needs(given("rate"), given_as("mode", {"const": ClockMode.FAST}))

    start: Instant | None = None
    mode: ClockMode = ClockMode.REAL
    rate: Annotated[int, whole(1, 1_000_000)] | None = None
    zone: ZoneName = None


@file_model
class FindingsMap:
    """Limits for findings; what is left out stays as it is."""

    allow: Annotated[list[FindingName], Field(max_length=100)] | None = None
    retry_limit: Annotated[int, whole(0, 1_000)] | None = None
    retry_window: Duration | None = None
    timeout: Duration | None = None
    slow_receiver: Duration | None = None
    poll_limit: Annotated[int, whole(1, 1_000)] | None = None


_Invariant = Annotated[str, AfterValidator(lambda text: Invariant(text).text)]
"""A sentence about the money that must hold when a run has ended."""


def _no_flag(version: object) -> object:
    if isinstance(version, bool):
        raise ValueError(f"got {shown(version)}, allowed: 1")
    return version


@file_model
class ScenarioFile:
    """A scenario: what the pretend providers, the network, the webhooks, the batches and the clock do."""

    version: Annotated[Literal[1], BeforeValidator(_no_flag)]
    name: Id | None = None
    description: Text = ""
    seed: Annotated[int, whole(0, 2**63 - 1)] | None = None
    draws: RandomScope = RandomScope.SANDBOX
    clock: ClockMap | None = None
    assumptions: dict[str, Any] = field(default_factory=dict)
    providers: Annotated[list[ProviderMap], Field(max_length=1000)] = field(default_factory=list)
    setup: Annotated[list[CallMap], Field(max_length=1000)] = field(default_factory=list)
    # Plain data here: rules are read one by one, so that a fault of one hides none of another.
    rules: Annotated[list[Any], Field(max_length=MAX_RULES)] = field(default_factory=list)
    findings: FindingsMap | None = None
    tls: TlsMap | None = None
    money: Annotated[list[_Invariant], Field(max_length=1000)] = field(default_factory=list)
    examples: Annotated[list[ExampleMap], Field(max_length=100)] = field(default_factory=list)
