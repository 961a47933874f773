"""One compiled scenario: what a file says, checked and ready for use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from mockserver.domain.clock import ClockMode, Micros
from mockserver.domain.provider import CAPABILITIES
from mockserver.domain.record import record
from mockserver.scenario.part import part
from mockserver.scenario.provider_outcome import LatencyWord
from mockserver.scenario.rule import Rule
from mockserver.scenario.scalars import Flag, Id, Number, Text, whole


@record
class ClockPlan:
    """Where a scenario's clock starts (None: now) and how it runs; ``rate`` counts in mode ``fast`` only."""

    start: Micros | None = None
    mode: ClockMode = ClockMode.REAL
    rate: int = 1


class Certificate(StrEnum):
    """What is wrong with the certificate of the TLS port."""

    EXPIRED = "expired"
    WRONG_NAME = "wrong_name"
    UNTRUSTED_CHAIN = "untrusted_chain"


_NONE = Field(json_schema_extra={"default": 0})


@part
class CostMap:
    """What a provider costs."""

    fixed: Annotated[Number, _NONE] = Decimal(0)
    percent: Annotated[Number, _NONE] = Decimal(0)


@part
class ProviderMap:
    """A provider that exists when the sandbox opens."""

    id: Id
    type: Annotated[Text, WithJsonSchema({"enum": list(CAPABILITIES)})] = "dummy"
    name: Text | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Za-z]{3}$")] = "AUD"
    country: Text | None = None
    fallback: Text | None = None
    latency: LatencyWord | None = None
    cost: CostMap | None = None


@part
class ReplyMap:
    """What the answer must hold: named members of the body, exactly; others are not looked at."""

    status: Annotated[int, whole(100, 599)] | None = None
    body: Any = None
    headers: dict[str, Any] | None = None
    fault: Flag = False


@record
class SetupCall:
    """An ordinary API call of ``setup`` or an example; texts may hold ``{id.path}`` of an earlier call's answer, until
    it is made ready. ``expect`` is None when any answer will do."""

    method: str
    path: str
    id: str | None = None
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    expect: ReplyMap | None = None
    line: int = 0

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@record
class Advance:
    """Move the sandbox's clock forward by so many microseconds, doing all due work."""

    by: Micros
    line: int = 0


@record
class Wait:
    """Wait until an answer is as expected: the call is repeated and time moves on, at most ``timeout``
    of sandbox time.
    """

    call: SetupCall
    timeout: Micros
    line: int = 0


ExampleStep = SetupCall | Advance | Wait


@record
class Example:
    """An example of the scenario, as calls with their expected answers."""

    name: str
    steps: tuple[ExampleStep, ...]
    line: int = 0


@record
class Scenario:
    """What one file says. ``builtin`` marks the test values, which are asked after everything else; ``source`` is the
    plain data of the file, ``text`` the file as it was written."""

    name: str
    file: str
    description: str = ""
    seed: int | None = None
    clock: ClockPlan | None = None
    assumptions: Mapping[str, object] = field(default_factory=dict)
    providers: tuple[ProviderMap, ...] = ()
    setup: tuple[SetupCall, ...] = ()
    rules: tuple[Rule, ...] = ()
    findings: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    certificate: Certificate | None = None
    builtin: bool = False
    source: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    text: str = field(default="", repr=False, compare=False)
