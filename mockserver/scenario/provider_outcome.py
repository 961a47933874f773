"""What a provider can say to a step: each is a part of a file and the value that runs, and says
where it fits and what a charge becomes.

``outcomes.csv`` has a name for all of it, with the codes. Those above ``refer_to_card_issuer`` are
test values under the names that payment developers know. From there on it holds every issuer code
of published facts, 3.1 that means a refusal (908, 910, 911, 916 and 932 are approvals of a kind),
named as published: ``gateway_code`` is the two-digit response code of ISO 8583, ``error_code`` 900
+ that code. Source: docs/scenario-language.md, outcome.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from math import exp, log
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar, get_args

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetPydanticSchema
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function

from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.codes import MESSAGES, Code
from mockserver.domain.record import read_table, record, replace, updated
from mockserver.domain.states import ChargeEvent
from mockserver.scenario.file_model import Empty, file_model, short_for
from mockserver.scenario.operations import FOREIGN_DECLINES, PROVIDER_OPERATIONS, TAKING, hint
from mockserver.scenario.scalars import Duration, Flag, Period, Positive, Text, whole

_SPREAD = 1 << 32
"""Equal shares of a skewed latency, of which a draw picks one."""

_LN_99 = 4.59511985013459
"""ln 99: the logarithm of the odds at a share of 99 of 100."""


class OutcomeTraits:
    """What each outcome says of itself besides its ``words`` for explanations.

    ``word`` is its key in a file, ``fits`` the operations in which it can happen, ``by_name`` those
    of them in which it happens only to a rule that names them in full: one that means all payments
    of a card does not mean their refunds. ``event`` is how a charge that is answered so begins;
    None takes or authorises it, as the request asks.
    """

    word: ClassVar[str]
    fits: ClassVar[frozenset[str]]
    by_name: ClassVar[frozenset[str]] = frozenset()
    event: ClassVar[ChargeEvent | None] = None

    def approved(self, amount: Decimal) -> Decimal:
        """How much of an amount is charged; what the currency cannot hold is cut off."""
        return amount


@file_model
class Approve(OutcomeTraits):
    """The provider takes the payment; ``copies`` above 1: as many times, by a fault of its own."""

    word = "approve"
    fits = PROVIDER_OPERATIONS

    copies: Annotated[int, whole(1, 10)] = 1

    @property
    def words(self) -> str:
        if self.copies == 1:
            return "approve"
        return f"approve, taken {self.copies} times"


@record
class Decline(OutcomeTraits):
    """The provider refuses, in the words of one row of the catalogue (or of the file); also outages
    and time-outs.

    ``own_code`` and ``own_message`` are those that the file itself gives. They count also where an
    operation answers a refusal with a code of its own (``REFUSALS``).
    """

    word = "decline"
    fits = PROVIDER_OPERATIONS
    event = ChargeEvent.DECLINED

    name: str
    error_code: int
    error_message: str
    gateway_code: str | None
    gateway_message: str | None
    is_retryable: bool
    own_code: int | None = field(default=None, compare=False)
    own_message: str | None = field(default=None, compare=False)

    @property
    def words(self) -> str:
        facts = [f"code {self.error_code}"]
        if self.gateway_code is not None:
            facts.append(f"gateway {self.gateway_code}")
        facts.append("retryable" if self.is_retryable else "not retryable")
        return f"decline {self.name} ({', '.join(facts)})"


class Settlement(StrEnum):
    """How a pending charge ends."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@file_model
class Pending(OutcomeTraits):
    """The provider answers later."""

    word = "pending"
    by_name = frozenset({"charge.capture", "charge.refund"})
    fits = TAKING | {"charge.challenge"} | by_name
    event = ChargeEvent.PENDING

    settle: Settlement = Settlement.SUCCESS
    after: Duration | None = None

    @property
    def words(self) -> str:
        words = f"pending, then {self.settle}"
        if self.after is not None:
            words += f" after {duration_text(self.after)}"
        return words


PayerAnswer = StrEnum("PayerAnswer", "PASSES FAILS ABANDONS")
"""What the payer of a challenge does."""


@file_model
class Challenge(OutcomeTraits):
    """3-D Secure: the payer must act; ``payer`` lets the sandbox act for the payer."""

    word = "challenge"
    fits = TAKING | {"token.create"}
    event = ChargeEvent.CHALLENGED

    payer: PayerAnswer | None = None
    after: Duration | None = None

    def __post_init__(self) -> None:
        if self.payer is None and self.after is not None:
            raise ValueError("after says when the payer acts: it needs payer")

    @property
    def words(self) -> str:
        return "3-D Secure challenge"


@file_model
class PartialApprove(OutcomeTraits):
    """The provider approves a part of the amount only."""

    word = "partial_approve"
    fits = TAKING

    amount: Positive

    def approved(self, amount: Decimal) -> Decimal:
        """Never more than was asked for: a small payment is approved as a whole."""
        return min(amount, self.amount)

    @property
    def words(self) -> str:
        return f"approve {self.amount:f} only"


ProviderOutcome = Approve | Decline | Pending | Challenge | PartialApprove
BY_NAME: Mapping[str, frozenset[str]] = {
    kind.word: kind.by_name for kind in get_args(ProviderOutcome)
}


@file_model
class Latency:
    """Time a provider takes: a range, or the two percentiles of a skewed distribution."""

    low: Annotated[Duration, Field(alias="min")] = 0
    high: Annotated[Duration, Field(alias="max")] = 0
    p50: Period | None = None
    p99: Period | None = None

    @classmethod
    def prepare(cls, data: Mapping[str, object]) -> Mapping[str, object]:
        """A range without an end ends where it begins: ``latency: 2s`` is read as ``min: 2s``.
        Refuses a range beside percentiles."""
        said = {key: value for key, value in data.items() if value is not None}
        if said.keys() & {"p50", "p99"} and said.keys() & {"min", "max"}:
            raise ValueError("got a range and percentiles, allowed: min and max, or p50 and p99")
        if "min" in said:
            said.setdefault("max", said["min"])
        return said

    def __post_init__(self) -> None:
        percentiles = {"p50": self.p50, "p99": self.p99}
        known = {name: length for name, length in percentiles.items() if length is not None}
        is_in_order = list(known.values()) == sorted(known.values())
        # One alone says no distribution: the other follows from nothing.
        if len(known) == 1 or not is_in_order:
            got = " and ".join(f"{name} {duration_text(length)}" for name, length in known.items())
            raise ValueError(f"got {got}, wanted both p50 and p99, the shorter first")
        if self.high < self.low:
            low, high = duration_text(self.low), duration_text(self.high)
            raise ValueError(f"got min {low} and max {high}, wanted the shorter first")

    @property
    def words(self) -> str:
        if self.p50 is not None and self.p99 is not None:
            return f"latency p50 {duration_text(self.p50)}, p99 {duration_text(self.p99)}"
        if self.low == self.high:
            return f"latency {duration_text(self.low)}"
        return f"latency {duration_text(self.low)} to {duration_text(self.high)}"


LatencyWord = Annotated[Latency, short_for("min", Duration | Latency)]


def draw_latency(latency: Latency, draw: int) -> Micros:
    """The time that a draw (any integer of 0 or more) picks, in microseconds.

    Uniform from ``low`` to ``high``; with ``p50`` and ``p99`` log-logistic, so that half of the
    draws lie under the one and 99 of 100 under the other, and none above ten times ``p99``.
    """
    if latency.p50 is None or latency.p99 is None:
        return latency.low + draw % (latency.high - latency.low + 1)
    if latency.p50 == 0:
        return 0
    # In the middle of its part of the whole: neither 0 nor 1, at which there is no logarithm.
    share = (draw % _SPREAD + 0.5) / _SPREAD
    # The quantile of the distribution: at a share of a half it is p50, at 99 of 100 it is p99.
    odds = log(share / (1 - share)) / _LN_99
    spread = log(latency.p99 / latency.p50)
    length = round(latency.p50 * exp(spread * odds))
    # The tail is long: with a p99 of ten times p50 one call in a million takes a thousand times it.
    return min(length, 10 * latency.p99)


T = TypeVar("T")


@record
class DeclineRow:
    """One named outcome. ``meaning`` explains the code in plain words; codes are None where nothing
    is refused."""

    name: str
    meaning: str
    provider: ProviderOutcome
    error_code: int | None = None
    error_message: str | None = None
    gateway_code: str | None = None
    gateway_message: str | None = None
    is_retryable: bool | None = None


_TAKEN: Mapping[str, ProviderOutcome] = {
    "approved": Approve(),
    "pending": Pending(),
    "pending_failed": Pending(Settlement.FAILED),
    "three_ds_challenge": Challenge(),
}
"""The outcomes that refuse nothing."""


def _row(
    name: str, code: str, gateway_code: str, gateway_message: str, retry: str, meaning: str
) -> DeclineRow:
    """A row of the catalogue, of the texts of its columns. Messages are not among them: they are
    those of the service's codes."""
    taken = _TAKEN.get(name)
    if taken is not None and not code:
        return DeclineRow(name, meaning, taken)
    if not code:
        raise ValueError(f"{name} has no code")
    error = Code[code]
    if taken is not None:
        # What is not refused may be answered with a code too: a challenge is.
        return DeclineRow(name, meaning, taken, int(error), error.message)
    refusal = Decline(
        name,
        int(error),
        error.message,
        gateway_code or None,
        gateway_message or None,
        is_retryable=retry == "yes",
    )
    return updated(DeclineRow(name, meaning, refusal), refusal)


CATALOGUE: Mapping[str, DeclineRow] = {
    row.name: row for row in read_table("outcomes", _row, Path(__file__).parent)
}
"""Every outcome by its name, in the order in which it is printed."""

DECLINES: Mapping[str, Decline] = {
    row.name: row.provider for row in CATALOGUE.values() if isinstance(row.provider, Decline)
}

REFUSALS: Mapping[str, Code] = {
    "charge.capture": Code.UNABLE_TO_CAPTURE,
    "charge.void": Code.UNABLE_TO_VOID,
    "charge.refund": Code.UNABLE_TO_REFUND,
}
"""The codes of operations that answer a decline with one of their own, its words as details; others
give its own."""

PROVIDER_DOWN = DECLINES["provider_down"]
PROVIDER_TIMEOUT = DECLINES["provider_timeout"]


def decline(name: str) -> Decline:
    """The refusal of that name. Raises ``ValueError`` with the nearest known name."""
    known = DECLINES.get(name)
    if known is None:
        meant = hint(name, FOREIGN_DECLINES, DECLINES) or "; `mockserver outcomes` prints all"
        raise ValueError(f"got '{name[:60]}', which is not a known decline{meant}")
    return known


@file_model
class DeclineMap:
    """A refusal: a row of the catalogue with single fields replaced, or all one's own (then
    errorCode is required)."""

    bare = "errorCode"
    others = "the name of a decline (`mockserver outcomes`), or "

    name: Text | None = None
    error_code: Annotated[Annotated[int, whole(0, 9999)] | None, Field(alias="errorCode")] = None
    error_message: Annotated[Text | None, Field(alias="errorMessage")] = None
    gateway_code: Annotated[Text | None, Field(alias="gatewayCode")] = None
    gateway_message: Annotated[Text | None, Field(alias="gatewayMessage")] = None
    is_retryable: Annotated[Flag | None, Field(alias="isRetryable")] = None

    def decline(self) -> Decline:
        """The refusal. Raises ``ValueError`` for a name that no row has, when nothing else says
        what it means: beside a code of its own it is a name that the file gives."""
        code = self.error_code
        row = DECLINES.get(self.name or "")
        if code is None:
            if self.name is None:
                raise ValueError("wanted the name of a refusal, or an errorCode of your own")
            base = decline(self.name)
            message = base.error_message
        elif row is not None and row.error_code == code:
            base = row
            message = row.error_message
        else:
            base = row or _unlisted(self.name or f"error_{code}", code)
            # Another code than the row's: the service's own words for that, if it has any.
            message = _MESSAGES.get(code, base.error_message)
        # What the file says stands in the place of what the row says.
        return replace(
            updated(base, self),
            error_message=self.error_message or message,
            own_code=code,
            own_message=self.error_message,
        )


def _unlisted(name: str, code: int) -> Decline:
    """A refusal that no row of the catalogue has; whether a retry may help is as in rows of its
    code."""
    return Decline(name, code, "Declined", None, None, is_retryable=code in _RETRYABLE)


_MESSAGES = {int(code): message for code, message in MESSAGES.items()}
_RETRYABLE = frozenset(row.error_code for row in DECLINES.values() if row.is_retryable)


def _read_as(file_model: type[T], meant: Callable[[T], Decline]) -> GetPydanticSchema:
    """Reads what a file says, and gives the refusal that it means."""

    def schema(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(meant, handler(file_model))

    return GetPydanticSchema(schema)


def _by_name(value: object) -> object:
    """``decline: lost_card`` is short for a map with this name."""
    if isinstance(value, str):
        return {"name": value}
    return value


def _down(_: Empty) -> Decline:
    return PROVIDER_DOWN


def _timed_out(_: Empty) -> Decline:
    return PROVIDER_TIMEOUT


DeclineName = Annotated[str, Field(json_schema_extra={"enum": list(DECLINES)})]
DeclineWord = Annotated[
    Decline,
    _read_as(DeclineMap, DeclineMap.decline),
    BeforeValidator(_by_name, DeclineName | DeclineMap),
]
Down = Annotated[Decline, _read_as(Empty, _down)]
TimedOut = Annotated[Decline, _read_as(Empty, _timed_out)]
