"""The models of a scenario file: what may stand where. ``mockserver schema`` is made from them.

They check shapes and outcomes; what other words mean (operations, paths) is checked where a file is compiled. Units:
durations are texts with a unit, amounts exact decimals, instants ISO 8601 in UTC.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, GetPydanticSchema, Tag, WithJsonSchema

from mockserver.assumptions import ROWS
from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import ClockMode
from mockserver.findings.catalogue import CATALOGUE as FINDINGS
from mockserver.findings.catalogue import kind_of
from mockserver.scenario.matching import OPERATORS
from mockserver.scenario.operations import OPERATIONS, SOURCES
from mockserver.scenario.outcome import OutcomeMap, StepMap, ThenMap
from mockserver.scenario.part import adapter, given, given_as, needs, one_of, part
from mockserver.scenario.paths import CARD_FACTS
from mockserver.scenario.rule import AtEnd, Draws
from mockserver.scenario.scalars import (
    Count,
    Duration,
    Id,
    Instant,
    Period,
    Point,
    Positive,
    Share,
    Text,
    ZoneName,
    whole,
)
from mockserver.scenario.scenario import CallMap, Certificate, ExampleMap, ProviderMap
from mockserver.scenario.transport import At

MAX_RULES = 10_000
MAX_STEPS = 10_000
PLANS = ("then", "sequence", "chance")
"""What a rule makes happen: it has exactly one of them."""

_PLAIN: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
TEST_SCHEMA: dict[str, Any] = {
    "anyOf": [
        _PLAIN,
        {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {
                **dict.fromkeys(OPERATORS, _PLAIN),
                "in": {"type": "array", "items": _PLAIN, "minItems": 1},
                "between": {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2},
                "exists": {"type": "boolean"},
            },
        },
    ]
}


def _one_of(*words: str) -> dict[str, Any]:
    """The schema of a test of a field that holds one of some words."""
    known, first = {"enum": list(words)}, words[0]
    members = {
        "eq": {**known, "description": "equal", "examples": [first]},
        "ne": {**known, "description": "not equal", "examples": [first]},
        "in": {"items": known, "description": "one of", "examples": [[first]]},
    }
    return {"anyOf": [known, {"allOf": [TEST_SCHEMA["anyOf"][1], {"properties": members}]}]}


_CARD_TESTS = {
    **dict.fromkeys(CARD_FACTS, TEST_SCHEMA),
    # In any letter case; editors offer two.
    "brand": _one_of(*Brand, *(brand.value.lower() for brand in Brand)),
    "test": _one_of(*TEST_CARDS),
}
_OPERATION: dict[str, Any] = {
    "anyOf": [{"enum": list(OPERATIONS)}, {"type": "string", "pattern": r"\*"}],
    "description": "an operation, or a glob such as charge.*",
}
_WHEN: dict[str, Any] = {
    "type": "object",
    "description": "all of it must hold; absent: always",
    "additionalProperties": False,
    "properties": {
        "op": {"anyOf": [_OPERATION, {"type": "array", "items": _OPERATION, "minItems": 1}]},
        "source": _one_of(*SOURCES),
        "provider": TEST_SCHEMA,
        "card": {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {fact: {"description": text, **_CARD_TESTS[fact]} for fact, text in CARD_FACTS.items()},
        },
        "bank_account.accountNumber": {"description": "the account charged, from whatever source", **TEST_SCHEMA},
        "attempt": {"description": "nth provider asked within one operation", **TEST_SCHEMA},
        "call": {"description": "nth request of this operation in the sandbox, whatever its key", **TEST_SCHEMA},
        "nth": {"description": "nth call that this rule has seen of its key", **TEST_SCHEMA},
        "clock": {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "not": {"required": ["to", "for"]},
            "properties": {
                "from": {
                    "type": "string",
                    "description": "included: a time of day (18:05) in the zone of the clock, or an ISO date-time",
                },
                "to": {"type": "string", "description": "excluded"},
                "for": {"type": "string", "description": "a duration, from `from` or from the scenario's start"},
            },
        },
    },
    "patternProperties": {r"^(request|state|header)\.[^.].*$": TEST_SCHEMA},
}


@part
class ChanceOne:
    """Strikes with probability ``p``; otherwise the rule passes and later rules are asked."""

    p: Share
    then: OutcomeMap


@part
class ChanceWeighted:
    """One of several outcomes, by weight."""

    weight: Positive
    then: OutcomeMap


ChanceWord = Annotated[
    Annotated[ChanceOne, Tag("<one>")] | Annotated[list[ChanceWeighted], Field(min_length=1), Tag("<weighted>")],
    Discriminator(lambda value: "<weighted>" if isinstance(value, list) else "<one>"),
]


@part
class ClockWindow:
    """A span of sandbox time. Times of day repeat every day; ``for`` alone counts from the scenario's start."""

    from_: Annotated[Point | None, Field(alias="from")] = None
    to: Point | None = None
    for_: Annotated[Duration | None, Field(alias="for")] = None


@part
class ExpectMap:
    """How often the rule must have fired when the sandbox is verified."""

    min: Annotated[int, whole(0, 1_000_000_000)] | None = None
    max: Annotated[int, whole(0, 1_000_000_000)] | None = None


@part
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


_RULE: dict[str, Any] = {
    **one_of(PLANS),
    "allOf": [
        needs(given("at_end"), given("sequence")),
        needs(given("per"), {"anyOf": [given("limit"), given("sequence"), given_as("when", given("nth"))]}),
        needs(given_as("then", given_as("transport", given_as("at", {"const": At.CONNECT}))), given("limit")),
        needs(given_as("then", given("replay")), given("key")),
    ],
}


@part
class RuleMap:
    """One rule. Of the rules that are asked at one stage (as the request arrives, as a provider is asked, as a webhook
    is delivered), the first that matches in file order decides."""

    schema = _RULE

    id: Id
    description: Text | None = None
    when: Annotated[dict[str, Any], WithJsonSchema(_WHEN)] = field(default_factory=dict)
    key: Annotated[list[Text], Field(min_length=1, max_length=10)] | None = None
    then: ThenMap | None = None
    sequence: Annotated[list[StepMap], Field(min_length=1, max_length=MAX_STEPS)] | None = None
    at_end: AtEnd | None = None
    chance: ChanceWord | None = None
    limit: LimitWord | None = None
    per: Period | None = None
    for_: Annotated[Duration | None, Field(alias="for")] = None
    expect: ExpectMap | None = None


FindingName = Annotated[
    str,
    AfterValidator(lambda name: kind_of(name).name),
    WithJsonSchema({"type": "string", "enum": list(FINDINGS)}),
]


@part
class ClockMap:
    """The sandbox's clock when it opens; a sandbox that has been used refuses another."""

    schema = needs(given("rate"), given_as("mode", {"const": ClockMode.FAST}))

    start: Instant | None = None
    mode: ClockMode = ClockMode.REAL
    rate: Annotated[int, whole(1, 1_000_000)] | None = None
    zone: ZoneName = None


@part
class FindingsMap:
    """Limits for findings; what is left out stays as it is."""

    allow: Annotated[list[FindingName], Field(max_length=100)] | None = None
    retry_limit: Annotated[int, whole(0, 1_000)] | None = None
    retry_window: Duration | None = None
    timeout: Duration | None = None
    slow_receiver: Duration | None = None
    poll_limit: Annotated[int, whole(1, 1_000)] | None = None


@part
class TlsMap:
    """What is wrong with the TLS port of the server: files given with ``--scenario`` say it, as no sandbox is known
    yet."""

    certificate: Certificate


_Rule = Annotated[
    Any, GetPydanticSchema(get_pydantic_json_schema=lambda _, handler: handler(adapter(RuleMap).core_schema))
]
"""Plain data as far as reading goes; a rule in the schema, whose own model is not made until then."""


@part
class ScenarioFile:
    """A scenario: what the pretend providers, the network, the webhooks, the batches and the clock do."""

    version: Literal[1]
    name: Id | None = None
    description: Text = ""
    seed: Annotated[int, whole(0, 2**63 - 1)] | None = None
    draws: Draws = Draws.SANDBOX
    clock: ClockMap | None = None
    assumptions: Annotated[dict[str, Any], Field(json_schema_extra={"propertyNames": {"enum": list(ROWS)}})] = field(
        default_factory=dict
    )
    providers: Annotated[list[ProviderMap], Field(max_length=1000)] = field(default_factory=list)
    setup: Annotated[list[CallMap], Field(max_length=1000)] = field(default_factory=list)
    # Plain data here: rules are read one by one, so that a fault of one hides none of another.
    rules: Annotated[list[_Rule], Field(max_length=MAX_RULES)] = field(default_factory=list)
    findings: FindingsMap | None = None
    tls: TlsMap | None = None
    examples: Annotated[list[ExampleMap], Field(max_length=100)] = field(default_factory=list)
