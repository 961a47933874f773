"""What a rule can make happen: closed sets of outcomes, one group per level of an operation's life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from math import exp, log

from mockserver.domain.clock import Micros
from mockserver.scenario.matching import FieldTest


@dataclass(frozen=True, slots=True)
class Approve:
    """The provider takes the payment."""


@dataclass(frozen=True, slots=True)
class Decline:
    """The provider refuses, in the words of one row of the catalogue (or of the file); also outages and time-outs.

    ``own_code`` and ``own_message`` are those that the file itself gives. They count also where an operation answers a
    refusal with a code of its own (capture 47, void 48, refund 45).
    """

    name: str
    error_code: int
    error_message: str
    gateway_code: str | None
    gateway_message: str | None
    is_retryable: bool
    own_code: int | None = field(default=None, compare=False)
    own_message: str | None = field(default=None, compare=False)


class Settlement(StrEnum):
    """How a pending charge ends."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Pending:
    """The provider answers later; None means the assumption ``charge.pending_settles_after``."""

    settle: Settlement = Settlement.SUCCESS
    after: Micros | None = None


@dataclass(frozen=True, slots=True)
class Challenge:
    """The payer must pass 3-D Secure first."""


@dataclass(frozen=True, slots=True)
class PartialApprove:
    """The provider approves a part of the amount only."""

    amount: Decimal


ProviderOutcome = Approve | Decline | Pending | Challenge | PartialApprove


@dataclass(frozen=True, slots=True)
class Latency:
    """Time a provider takes: uniform between ``low`` and ``high``, or skewed as networks are, through ``p50`` and
    ``p99``.
    """

    low: Micros = 0
    high: Micros = 0
    p50: Micros | None = None
    p99: Micros | None = None


class At(StrEnum):
    """Where in an operation's life a transport fault strikes: before anything happened, or after all of it did."""

    RECEIVE = "receive"
    ANSWER = "answer"


class FaultKind(StrEnum):
    """Everything that the network can be told to do to an answer."""

    STATUS = "status"
    DELAY = "delay"
    RESET = "reset"
    CLOSE_AFTER = "close_after"
    TRUNCATE = "truncate"
    DRIBBLE = "dribble"
    GARBAGE = "garbage"
    HANG = "hang"
    MALFORMED_JSON = "malformed_json"


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The service's own error object, worded when it is sent. ``code`` is None for the one that fits the status and the
    operation, ``message`` for the text of the code."""

    code: int | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Transport:
    """A fault of the network or of the service's front door. Each field belongs to the kinds that name it.

    ``delay`` may come before any kind; ``status``, ``body``, ``headers`` belong to STATUS; ``count`` (bytes) to
    CLOSE_AFTER; ``chunk`` (bytes) and ``every`` to DRIBBLE.
    """

    at: At
    kind: FaultKind
    delay: Micros = 0
    status: int = 0
    body: object = None
    headers: Mapping[str, str] | None = None
    count: int = 0
    chunk: int = 0
    every: Micros = 0


@dataclass(frozen=True, slots=True)
class WebhookPlan:
    """What becomes of the webhooks that an operation causes; ``receiver`` is what the pretend receiver answers, in
    turn.
    """

    drop: bool = False
    delay: Micros = 0
    copies: int = 1
    gap: Micros = 0
    before_answer: bool = False
    swap_with_next: bool = False
    stale: bool = False
    bad_signature: bool = False
    authorization: str | None = None
    receiver: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a batch's progress curve: reach this share of the rows this long after the batch began."""

    reach: Decimal
    after: Micros


class Move(StrEnum):
    """What can happen to an object on its own, besides a change of its fields."""

    SET = "set"
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"
    SETTLE = "settle"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Later:
    """What happens to the object on its own, this long after the operation.

    ``changes`` are the fields of SET by dotted path (``payto.status``), or the details of any other move: ``amount``
    of CAPTURE and REFUND, ``comment`` of REFUND, ``to`` (SUCCESS or FAILED) of SETTLE; VOID and DELETE have none.
    """

    after: Micros
    move: Move
    changes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RowRule:
    """Which rows of a batch meet ``outcome``: numbers counted from 1, every nth, a share of them, or a test of their
    fields.

    ``share`` is 0 to 1. Exactly one of the four is given; ``where`` reads paymentMethodId, amount, currency and
    reference.
    """

    outcome: ProviderOutcome
    at: frozenset[int] | None = None
    every: int | None = None
    share: Decimal | None = None
    where: tuple[FieldTest, ...] | None = None


@dataclass(frozen=True, slots=True)
class ResultsPlan:
    """What is wrong with the results text: rows left out (from 1), rows in another order, cut after so
    many characters.
    """

    omit_rows: frozenset[int] = frozenset()
    shuffle: bool = False
    cut: int | None = None


class BatchEnd(StrEnum):
    """How a batch ends as a whole (service document, States and transitions, Batch)."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class BatchScript:
    """What becomes of a batch: its rows, how fast it gets on, where it stops for good (0 to 1), how it ends, what is
    told.
    """

    rows: tuple[RowRule, ...] = ()
    progress: tuple[Progress, ...] = ()
    stall_at: Decimal | None = None
    end: BatchEnd | None = None
    results: ResultsPlan = ResultsPlan()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that one rule makes happen, level by level; None or empty where it says nothing."""

    provider: ProviderOutcome | None = None
    latency: Latency | None = None
    transport: Transport | None = None
    webhook: WebhookPlan | None = None
    batch: BatchScript | None = None
    later: tuple[Later, ...] = ()


NOTHING = Outcome()
"""No rule spoke: everything goes its ordinary way."""

_SPREAD = 1 << 32
_LN_99 = 4.59511985013459


def draw_latency(latency: Latency, draw: int) -> Micros:
    """The time that a draw (any integer of 0 or more) picks, in microseconds.

    Uniform from ``low`` to ``high``; with ``p50`` and ``p99`` log-logistic, so that half of the draws lie under the
    one and 99 of 100 under the other, and none above ten times ``p99``.
    """
    if latency.p50 is None or latency.p99 is None:
        return latency.low + draw % (latency.high - latency.low + 1)
    if latency.p50 == 0:
        return 0
    share = (draw % _SPREAD + 0.5) / _SPREAD
    odds = log(share / (1 - share)) / _LN_99
    spread = log(latency.p99 / latency.p50)
    return min(round(latency.p50 * exp(spread * odds)), 10 * latency.p99)
