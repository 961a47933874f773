"""Which failures of the table some tests have met: the coverage of failures.

Counted are those that have struck, in an exploration or by a rule of any scenario. Users write
rules of their own, with other delays and other codes. So an outcome is reduced to what a client
notices of it (``_traits``), and has met a failure of the table when it does all that the failure
does (``met``).

Source: docs/explore.md, Failure coverage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, TypedDict

from mockserver.domain.clock import SECOND
from mockserver.domain.facts import UncertainResult
from mockserver.domain.record import record
from mockserver.explore.failures import FAULTS, OWN_AXES, operations_of, outcome_of
from mockserver.scenario.batch_script import BatchScript
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import (
    PROVIDER_DOWN,
    PROVIDER_TIMEOUT,
    Approve,
    Challenge,
    Decline,
    Pending,
)
from mockserver.scenario.transport import UNAVAILABLE, FaultKind, Transport
from mockserver.scenario.webhook_plan import Signature, WebhookPlan

TRIED, SURVIVED, UNSAFE = "tried", "survived", "unsafe"
"""How a failure went, the worst last: it struck; a run under it survived; a run under it was not
safe."""

_STATES = (TRIED, SURVIVED, UNSAFE)
_PATIENCE = 10 * SECOND
"""A delay of an answer that is too long for most clients."""

_SAME: Mapping[FaultKind, str] = {
    FaultKind.HANG: "slow",
    FaultKind.DRIBBLE: "slow",
    FaultKind.CLOSE_AFTER: "cut",
    FaultKind.TRUNCATE: "cut",
    FaultKind.GARBAGE: "garbage",
    FaultKind.MALFORMED_JSON: "garbage",
}
"""Kinds of spoilt answers that are one to a client: it gets nothing, a part, or no JSON."""


def _traits(outcome: Outcome) -> Iterator[str]:
    """What an outcome does to a client, in words by which two of them are compared: not how long,
    how often or with which code, as far as a client does the same about it."""
    yield from _traits_of_provider(outcome)
    if outcome.transport is not None:
        yield f"{outcome.transport.at} {_trait_of_transport(outcome.transport)}"
    if outcome.webhook is not None:
        yield from (f"webhook {trait}" for trait in _traits_of_webhook(outcome.webhook))
    if outcome.batch is not None:
        yield from _traits_of_batch(outcome.batch)
    if outcome.lag:
        yield "lag"
    if any(later.settle == "FAILED" for later in outcome.later):
        yield "returned"


def _traits_of_provider(outcome: Outcome) -> Iterator[str]:
    """What a provider has said. A decline that may be tried again and one that is final are two
    things to a client."""
    match outcome.provider:
        case Decline() as said if said in (PROVIDER_DOWN, PROVIDER_TIMEOUT):
            yield "down"
        case Decline() as said if said.is_retryable:
            yield "refused, retry"
        case Decline():
            yield "refused"
        case Pending() as said:
            yield f"pending {said.settle}"
        case Challenge():
            yield "challenge"
        case Approve() as said if said.copies > 1:
            yield "taken twice"


def _trait_of_transport(transport: Transport) -> str:
    """What is wrong with a request or an answer; empty for a delay that clients wait for."""
    if transport.status is not None:
        return _trait_of_status(transport, transport.status)
    if transport.kind is not FaultKind.DELAY:
        return _SAME.get(transport.kind, transport.kind.value)
    if transport.virtual and transport.goes_on:
        # The sandbox's clock alone moves: the client waits for nothing.
        return "time"
    if transport.delay >= _PATIENCE:
        return "slow"
    return ""


def _trait_of_status(transport: Transport, status: int) -> str:
    """A status in place of the answer. Of 5xx only 503 is told apart, which asks to wait; and the
    HTML page of a proxy, which a client cannot read as JSON."""
    if transport.doubt is UncertainResult.BAD_GATEWAY:
        return "page"
    if status >= 500 and status != UNAVAILABLE:
        return "5xx"
    return str(status)


def _traits_of_webhook(plan: WebhookPlan) -> Iterator[str]:
    """What is wrong with a webhook. One that was edited and wrongly signed is a forgery: what it
    says is not to be read."""
    has_copies, is_rightly_signed = plan.copies > 1, plan.forged is None
    traits = {
        "lost": plan.drop,
        "twice": has_copies and not plan.together,
        "twice at once": has_copies and plan.together,
        "early": plan.before_answer,
        "late": plan.delay,
        "swapped": plan.swap_with_next,
        "unsigned": plan.forged is Signature.NONE,
        "forged": not is_rightly_signed and plan.forged is not Signature.NONE,
        "foreign": is_rightly_signed and plan.foreign,
        "edited": is_rightly_signed and plan.is_edited and not plan.foreign,
        "respelt": plan.respelt,
    }
    return (trait for trait, holds in traits.items() if holds)


def _traits_of_batch(script: BatchScript) -> Iterator[str]:
    """Which rows of a batch are declined, and whether it stops."""
    for row in script.rows:
        if row.decline is not None:
            yield from (f"row {number}" for number in row.at or ())
    if script.stall_at is not None:
        yield "batch stops"


_FAULTS = {name: fault for name, fault in FAULTS.items() if fault.at not in OWN_AXES}
"""The faults that coverage counts: a rule alone kills nothing, and runs nothing twice."""


_DENYING = {f"webhook {what}" for what in ("forged", "unsigned", "foreign", "edited")}
"""What is wrong with webhooks that say of a payment that was declined that it was made."""


@cache
def _known(name: str) -> frozenset[str]:
    """What a fault does to a client. A webhook counts without the decline that it denies: rules of
    users may send it beside any end of a payment."""
    traits = frozenset(_traits(outcome_of(name)))
    if traits.isdisjoint(_DENYING):
        return traits
    return traits - {"refused, retry"}


def met(op: str, outcome: Outcome) -> Iterator[str]:
    """The failures of the table that an outcome makes an operation meet: those of which it does
    all."""
    traits = frozenset(_traits(outcome))
    for name, fault in _FAULTS.items():
        if fault.rows >= 2 or fault.uses:
            # Which row is the last, and what time does to an object, a rule does not say.
            continue
        known = _known(name)
        # What has no trait, as a partial approval, would be met by every outcome.
        does_all = bool(known) and known <= traits
        if does_all and op in operations_of(name):
            yield name


class Struck(NamedTuple):
    """A failure that has struck at an operation, and how that went."""

    op: str
    fault: str
    state: str


class _CoverageRow(TypedDict):
    op: str
    failures: dict[str, str | None]


class CoverageAnswer(TypedDict):
    """Coverage as the control API and reports show it; a failure that was never tried is null."""

    covered: int
    failures: int
    percent: int
    map: list[_CoverageRow]


@record
class Coverage:
    """How it went with each failure (``states``) at each operation that was used."""

    operations: frozenset[str]
    states: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, operations: Iterable[str], struck: Iterable[Struck]) -> Coverage:
        """Of operations that were used, and what struck; of the same failure that went otherwise
        elsewhere the worst counts."""
        states: dict[tuple[str, str], str] = {}
        for op, name, state in struck:
            before = states.get((op, name), TRIED)
            if _STATES.index(state) >= _STATES.index(before):
                states[op, name] = state
        return cls(frozenset(operations), states)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Coverage:
        """As ``shown`` words it. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything
        else."""
        struck = [
            Struck(row["op"], name, state)
            for row in given["map"]
            for name, state in row["failures"].items()
            if state is not None
        ]
        return cls.of([row["op"] for row in given["map"]], struck)

    def __add__(self, other: Coverage) -> Coverage:
        struck = [Struck(*key, state) for key, state in self.states.items()]
        struck += [Struck(*key, state) for key, state in other.states.items()]
        return Coverage.of(self.operations | other.operations, struck)

    @property
    def rows(self) -> dict[str, list[str]]:
        """The failures that there are, by operation."""
        rows = {}
        for op in sorted(self.operations):
            names = [name for name in _FAULTS if op in operations_of(name)]
            if names:
                rows[op] = names
        return rows

    @property
    def covered(self) -> int:
        """How many failures have struck, each at each operation."""
        return sum((op, name) in self.states for op, names in self.rows.items() for name in names)

    @property
    def failures(self) -> int:
        """How many there are."""
        return sum(map(len, self.rows.values()))

    @property
    def percent(self) -> int:
        """The share that struck, rounded down: 100 means all of them."""
        if not self.failures:
            # Operations at which nothing can fail leave nothing to cover.
            return 100
        return 100 * self.covered // self.failures

    @property
    def words(self) -> str:
        return f"failures covered: {self.covered:,} of {self.failures:,}, {self.percent} %"

    def shown(self) -> CoverageAnswer:
        """As the control API and reports show it."""
        rows: list[_CoverageRow] = [
            {"op": op, "failures": {name: self.states.get((op, name)) for name in names}}
            for op, names in self.rows.items()
        ]
        return {
            "covered": self.covered,
            "failures": self.failures,
            "percent": self.percent,
            "map": rows,
        }
