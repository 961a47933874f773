"""The parts of a scenario file that say what happens: models of outcomes, level by level.

Units: durations are texts with a unit, amounts exact decimals, rows of a batch count from 1.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from mockserver.domain.errors import nearest
from mockserver.scenario.catalogue import DECLINES
from mockserver.scenario.outcome import At, BatchEnd, Settlement
from mockserver.scenario.scalars import Count, Duration, Flag, Number, Share, Switch, Text, whole


def _unknown(key: str, known: list[str]) -> str:
    return f"unknown key '{key[:60]}'{nearest(key, known) or ', allowed: ' + ', '.join(known)}"


def _again(fault: ErrorDetails) -> PydanticCustomError:
    return PydanticCustomError(fault["type"], "{text}", {**fault.get("ctx", {}), "text": fault["msg"]})


def _fault(kind: Literal["unknown_key"], text: str, place: tuple[str, ...]) -> InitErrorDetails:
    return InitErrorDetails(type=PydanticCustomError(kind, "{text}", {"text": text}), loc=place, input=None)


class Part(BaseModel):
    """Base of all parts of a file: no unknown keys, nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _know_the_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Name the nearest known key for each unknown one, besides every other fault of the part."""
        if not isinstance(data, dict):
            return handler(data)
        known = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = [key for key in data if key not in known]
        if not unknown:
            return handler(data)
        faults = [_fault("unknown_key", _unknown(str(key), known), (str(key),)) for key in unknown]
        try:
            handler({key: value for key, value in data.items() if key in known})
        except ValidationError as problem:
            faults += [
                InitErrorDetails(
                    type=PydanticCustomError(fault["type"], "{text}", {**fault.get("ctx", {}), "text": fault["msg"]}),
                    loc=fault["loc"],
                    input=fault["input"],
                )
                for fault in problem.errors(include_url=False)
            ]
        raise ValidationError.from_exception_data(cls.__name__, faults)


class Empty(Part):
    """Nothing more to say: ``{}``."""


class DeclineMap(Part):
    """A refusal: a row of the catalogue with single fields replaced, or all one's own (then errorCode is required)."""

    name: Text | None = Field(None, description="a row of the catalogue, or a name of one's own")
    error_code: Annotated[int, whole(0, 9999)] | None = Field(None, alias="errorCode")
    error_message: Text | None = Field(None, alias="errorMessage")
    gateway_code: Text | None = Field(None, alias="gatewayCode")
    gateway_message: Text | None = Field(None, alias="gatewayMessage")
    is_retryable: Flag | None = Field(None, alias="isRetryable")


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


_DeclineName = Annotated[str, Field(json_schema_extra={"enum": list(DECLINES)})]
DeclineWord = Annotated[
    DeclineMap,
    BeforeValidator(
        _named, json_schema_input_type=Annotated[str, Field(json_schema_extra={"enum": list(DECLINES)})] | DeclineMap
    ),
]


class PendingMap(Part):
    """The provider answers later."""

    settle: Settlement = Field(Settlement.SUCCESS, description="how it ends")
    after: Duration | None = Field(None, description="default: the assumption charge.pending_settles_after")


class ChallengeMap(Part):
    """3-D Secure: the payer must act; ``payer`` lets the sandbox act for the payer."""

    payer: Literal["passes", "fails", "abandons"] | None = Field(None, description="absent: the hosted page decides")
    after: Duration | None = Field(None, description="how long the payer takes; default 30s")


class LatencyMap(Part):
    """Time a provider takes: a range, or the two percentiles of a skewed distribution."""

    min: Duration | None = None
    max: Duration | None = None
    p50: Duration | None = None
    p99: Duration | None = None


def _fixed(value: object) -> object:
    return value if isinstance(value, dict) else {"min": value}


LatencyWord = Annotated[LatencyMap, BeforeValidator(_fixed, json_schema_input_type=Duration | LatencyMap)]


class Dribble(Part):
    """The answer in small pieces."""

    chunk: Annotated[int, whole(1, 1_000_000)] = Field(description="bytes of a piece")
    every: Duration = Field(description="pause between pieces")


class TransportMap(Part):
    """A fault of the network, and its place in the operation's life."""

    at: At = Field(description="receive: nothing has happened; answer: it has happened and the client does not know")
    status: Annotated[int, whole(200, 599)] | None = Field(None, description="answer with this HTTP status")
    body: Any = Field(None, description="body of that answer; default: an error object")
    headers: dict[str, Text] | None = Field(None, description="headers of that answer")
    retry_after: Annotated[int, whole(0, 86_400)] | None = Field(None, description="its Retry-After, in seconds")
    delay: Duration | None = Field(None, description="wait first; may join any other fault")
    reset: Switch | None = Field(None, description="reset the connection")
    close_after: Annotated[int, whole(0, 10_000_000)] | None = Field(None, description="close after so many bytes")
    truncate: Switch | None = Field(None, description="promise the whole body, send half of it, close")
    dribble: Dribble | None = Field(None, description="send the answer in small pieces")
    garbage: Switch | None = Field(None, description="send bytes that are no answer")
    hang: Switch | None = Field(None, description="never answer")
    malformed_json: Switch | None = Field(None, description="answer with broken JSON")


def _receiver(value: object) -> object:
    if value == "timeout" or (isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599):
        return value
    raise ValueError(f"got '{value}', wanted an HTTP status from 100 to 599 or timeout")


Receiver = Annotated[
    int | str,
    BeforeValidator(_receiver),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"const": "timeout"}]}),
]


class WebhookMap(Part):
    """What becomes of the webhooks that the operation causes."""

    drop: Flag = Field(False, description="never send them")
    delay: Duration = Field(0, description="send them so much later")
    copies: Annotated[int, whole(1, 100)] = Field(1, description="how often each is sent")
    gap: Duration = Field(0, description="pause between copies")
    before_answer: Flag = Field(False, description="send them before the API call is answered")
    swap_with_next: Flag = Field(False, description="let the next one overtake")
    stale: Flag = Field(False, description="tell the state before the last change")
    bad_signature: Flag = Field(False, description="sign with a wrong key")
    authorization: Text | None = Field(None, description="Authorization header to send instead")
    receiver: Annotated[list[Receiver], Field(max_length=100)] = Field(
        default_factory=list, description="pretend that the receiver answered so, in turn, without calling it"
    )


class BatchRowMap(Part):
    """Rows of a batch and what becomes of them; rows count from 1."""

    at: Annotated[list[Count], Field(min_length=1)] | None = Field(None, description="numbers of rows")
    every: Count | None = Field(None, description="every nth row")
    where: dict[str, Any] | None = Field(None, description="tests of paymentMethodId, amount, currency, reference")
    share: Share | None = Field(None, description="a share of the rows, drawn by the seed")
    decline: DeclineWord | None = None
    approve: Empty | None = None
    provider_down: Empty | None = None
    provider_timeout: Empty | None = None


class ProgressMap(Part):
    """A point of the progress curve."""

    reach: Share
    after: Duration


class ResultsMap(Part):
    """What is wrong with the results text."""

    omit_rows: list[Count] = Field(default_factory=list, description="numbers of rows to leave out")
    shuffle: Flag = Field(False, description="rows in another order")
    cut: Annotated[int, whole(0, 100_000_000)] | None = Field(None, description="cut the text after so many characters")


class BatchMap(Part):
    """What becomes of a batch."""

    rows: list[BatchRowMap] = Field(default_factory=list, description="first match wins, row by row")
    progress: list[ProgressMap] = Field(default_factory=list)
    stall_at: Share | None = Field(None, description="progress at which it stops for good")
    end: BatchEnd | None = None
    results: ResultsMap | None = None


class LaterAmount(Part):
    """How much is captured or refunded; absent: all."""

    amount: Number | None = None
    comment: Text | None = None


class LaterMap(Part):
    """Something that happens on its own afterwards: exactly one of set, capture, void, refund, settle, delete."""

    after: Duration
    set: dict[str, Any] | None = Field(None, description="fields by path, such as payto.status: ACTIVE")
    capture: LaterAmount | None = None
    void: Empty | None = None
    refund: LaterAmount | None = None
    settle: Settlement | None = Field(None, description="end a pending charge")
    delete: Empty | None = None


class OutcomeMap(Part):
    """What happens, level by level; one outcome may combine several levels."""

    approve: Empty | None = None
    decline: DeclineWord | None = None
    pending: PendingMap | None = None
    challenge: ChallengeMap | None = None
    provider_down: Empty | None = None
    provider_timeout: Empty | None = None
    partial_approve: Number | None = Field(None, description="the provider approves this part of the amount only")
    latency: LatencyWord | None = Field(None, description="time the provider takes")
    transport: TransportMap | None = None
    webhook: WebhookMap | None = None
    batch: BatchMap | None = None
    later: list[LaterMap] = Field(default_factory=list)


class ThenMap(OutcomeMap):
    """What happens; or, alone, where its name stands."""

    outcome_from: Text | None = Field(None, description="path of the request that holds the name of an outcome")


class StepMap(OutcomeMap):
    """A step of a sequence."""

    times: Count = Field(1, description="how often it is taken")
