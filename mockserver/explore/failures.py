"""The failures that a client can meet, one table (``faults.csv``), and which of them were met.

A failure is an outcome in the words of the scenario language: what exploration tries is what a user
can write in a file. So a row needs no code, and at which calls it makes sense is asked of the
language, which knows what can happen where (``operations_of``). A trial writes it as a rule for one
call (``Fault.rule``).

The coverage of failures counts those that have struck some tests, in an exploration or by a rule of
any scenario. Users write rules of their own, with other delays and other codes. So an outcome is
reduced to what a client notices of it (``_traits``), and has met a failure of the table when it
does all that the failure does (``met``).

Source: docs/explore.md, What it runs, Failure coverage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, TypeGuard

from mockserver.domain.clock import SECOND, Micros, duration_text, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.facts import UncertainResult
from mockserver.domain.record import read_table, record, replace
from mockserver.scenario.batch_script import BatchScript
from mockserver.scenario.file_model import read_model
from mockserver.scenario.operations import (
    ALL_OPERATIONS,
    MONEY,
    NOTIFYING,
    TAKING,
    UNREQUESTED,
    operations_like,
)
from mockserver.scenario.outcome import Outcome, OutcomeMap, applicability
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


@dataclass(frozen=True, slots=True, order=True)
class InjectionPoint:
    """One call of a run: its operation, and its number among the calls of that operation, from 1.

    ``notifies`` says that it caused webhooks in the run without faults, ``uses`` whether it needs a
    ``token``, an item of the ``vault`` or a ``hold`` that is still there; ``card`` are the first
    six and the last four digits of the card that it charged, ``rows`` how many rows its batch has.
    What comes due without a call is counted the same way.
    """

    op: str
    nth: int
    notifies: bool = False
    uses: str = ""
    card: str = ""
    rows: int = 0

    @property
    def number(self) -> tuple[str, int]:
        """What it is known by from run to run: what else is known of a call may differ."""
        return (self.op, self.nth)

    @property
    def row(self) -> tuple[Any, ...]:
        """What makes it again, as plain data."""
        return (self.op, self.nth, self.notifies, self.uses, self.card, self.rows)

    @property
    def is_counted(self) -> bool:
        """Whether a rule must count for itself to find it: it has no number among the calls."""
        return self.op in UNREQUESTED

    def __str__(self) -> str:
        return f"{self.op}#{self.nth}"


CLIENT_TIMEOUT: Micros = 30 * SECOND
"""How long a client is taken to wait for an answer, unless given."""

_CLIENT_TIMEOUT = "{client_timeout}"
"""Stands in the table for a moment later than that."""

_GIVEN_UP = {
    "transport": {"at": "answer", "delay": _CLIENT_TIMEOUT, "virtual": True, "reset": True}
}
"""An answer that comes too late where the clock is set by hand. A real delay would take the time
that a manual clock saves: so the sandbox's clock moves on, and the client that has given up by then
sees no answer."""


CRASH, TWICE = "crash", "twice"
OWN_AXES = (CRASH, TWICE)
"""Places of faults that an option of their own adds: the command is killed there and run again, or
run a second time beside itself. They strike calls that move money."""


AT_START = "twice_at_start"
"""The fault that strikes two whole runs: the first call of each, whatever it is."""


@record
class Fault:
    """One way in which a call can fail. ``at`` is the place in the operation's life, ``what`` what
    happens, ``then`` the outcome of a rule that makes it happen, ``weight`` how much it shows about
    a client, 10 the most; ``is_usual`` that it is tried unless faults are named.

    It fits operations like ``ops`` that use a token, a vault item or a hold (``uses``), and batches
    of so many ``rows``. One that ``stays`` strikes later calls with the same card too: a lost card
    does not work again when it is tried again. It has struck when what ``comes_due`` has.
    ``moves_money``: it takes or withholds money itself, and the client is not to blame. ``waits``
    are the seconds of real time that nothing happens because of it."""

    name: str
    at: str
    what: str
    then: Mapping[str, Any]
    weight: int
    is_usual: bool = True
    ops: str = ""
    uses: str = ""
    rows: int = 0
    stays: bool = False
    comes_due: str = ""
    moves_money: bool = False
    waits: float = 0

    @property
    def is_at_start(self) -> bool:
        """Whether it strikes the first calls of two runs, and no call in particular."""
        return self.name == AT_START

    def fits(self, point: InjectionPoint) -> bool:
        """Whether it makes sense at a call: the operation can fail so, and there is what would be
        spoilt, such as a webhook or a hold. Elsewhere it would strike nothing, or the same as
        another fault."""
        if "webhook" in self.then and not point.notifies:
            return False
        if self.uses and self.uses != point.uses:
            return False
        return point.op in operations_of(self.name) and point.rows >= self.rows

    def timed(self, client_timeout: Micros = CLIENT_TIMEOUT, *, is_manual: bool = False) -> Fault:
        """The fault for a client that waits so long, by a clock that is set by hand or by the
        machine's."""
        then = self.then
        text, late = json.dumps(then, default=float), client_timeout + SECOND
        if _CLIENT_TIMEOUT in text:
            text = json.dumps(_GIVEN_UP) if is_manual else text
            then = json.loads(text.replace(_CLIENT_TIMEOUT, duration_text(late)))
        return replace(self, then=then, waits=_waits(then, is_manual=is_manual))

    @property
    def unforged(self) -> Fault | None:
        """The same without the forged webhook that it sends, but with the decline that this denies;
        None where it sends none."""
        webhook = self.then.get("webhook") or {}
        is_forged = webhook.get("bad_signature") or "signature" in webhook
        then = {name: what for name, what in self.then.items() if name != "webhook"}
        # A forgery alone denies nothing: the run beside it is that without a fault.
        if not is_forged or not then:
            return None
        return replace(self, name=f"{self.name}-not", then=then)

    def rule(self, point: InjectionPoint) -> dict[str, Any]:
        """A rule of a scenario file that makes it happen at one call, and nowhere else."""
        rule: dict[str, Any] = {
            "id": f"{self.name}-{point.op}-{point.nth}",
            "when": self._when(point),
        }
        if point.is_counted:
            # Such rules count by themselves, each operation apart.
            rule["key"] = ["op"]
        return {**rule, "then": self.then_of(point.rows)}

    def _when(self, point: InjectionPoint) -> dict[str, Any]:
        """When the rule of a call fires."""
        if self.is_at_start:
            # The first run waits at its first call, so the next call is that of the second.
            return {"nth": {"lte": 2}}
        if point.is_counted:
            when: dict[str, Any] = {"op": point.op, "nth": point.nth}
            if self.at == "provider":
                # Where a provider declines, a fallback may be asked: that is an attempt of the same
                # row, and must not be counted as the next one.
                when["attempt"] = 1
            return when
        if self.stays and point.card and point.op in TAKING:
            # From this call on, whatever else is tried with the card.
            card = {"bin": point.card[:6], "last4": point.card[-4:]}
            return {"op": point.op, "call": {"gte": point.nth}, "card": card}
        return {"op": point.op, "call": point.nth}

    def then_of(self, rows: int) -> dict[str, Any]:
        """What happens to a batch of so many rows: the table names its middle and its last one."""
        text = json.dumps(self.then, default=float)
        text = text.replace('"{middle}"', str((rows + 1) // 2)).replace('"{last}"', str(rows))
        then: dict[str, Any] = json.loads(text, parse_float=Decimal)
        return then


def _waits(then: Mapping[str, Any], *, is_manual: bool) -> float:
    """The seconds of real time that nothing happens in a run because an outcome keeps an answer or
    a webhook back. A clock that is set by hand waits for no delay, but for a call that is held."""
    transport, webhook = then.get("transport") or {}, then.get("webhook") or {}
    lengths = [transport.get("hold")]
    if not is_manual:
        if not transport.get("virtual", False):
            lengths.append(transport.get("delay"))
        lengths += [webhook.get(name) for name in ("delay", "gap", "swap_with_next")]
    return sum(parse_duration(length) for length in lengths if _is_duration(length)) / SECOND


def _is_duration(word: object) -> TypeGuard[str]:
    """Whether a word of an outcome is so many seconds, and not until when."""
    return isinstance(word, str) and word[:1].isdigit()


def _fault(**row: str) -> Fault:
    """A row of the table; an empty cell is 0, or no."""
    return Fault(
        name=row["name"],
        at=row["at"],
        what=row["what"],
        then=json.loads(row["then"], parse_float=Decimal),
        weight=int(row["weight"]),
        is_usual=bool(row["is_usual"]),
        ops=row["ops"],
        uses=row["uses"],
        rows=int(row["rows"] or 0),
        stays=bool(row["stays"]),
        comes_due=row["comes_due"],
        moves_money=bool(row["moves_money"]),
    )


FAULTS: Mapping[str, Fault] = {
    row.name: row for row in read_table("faults", _fault, Path(__file__).parent)
}
"""Every fault by its name, in the order in which reports show them."""


def fault(name: str) -> Fault:
    """The fault of that name. Raises ``ValueError`` with the nearest known name."""
    found = FAULTS.get(name)
    if found is None:
        hint = nearest(name, FAULTS) or f", allowed: {', '.join(FAULTS)}"
        raise ValueError(f"got '{name[:60]}', which is not a fault{hint}")
    return found


_DUE = {
    "provider": frozenset({"batch.row"}),
    "later": frozenset({"subscription.renew"}),
    "notify": frozenset({"webhook.deliver"}),
}
"""What comes due without a call, and can fail there."""


@cache
def _outcome_of(name: str) -> Outcome:
    """What a fault makes happen, to a batch of nine rows: so many that its first, middle and last
    one differ."""
    return read_model(OutcomeMap, FAULTS[name].timed().then_of(rows=9)).outcome


@cache
def operations_of(name: str) -> frozenset[str]:
    """The operations in which everything that a fault says can happen, and that a client can call,
    or that come due by themselves."""
    fault = FAULTS[name]
    outcome = _outcome_of(name)
    # A crash, or a second run, between two reads shows nothing: what is at stake is money.
    is_at_money = fault.at in OWN_AXES and not fault.is_at_start
    called = (MONEY if is_at_money else ALL_OPERATIONS) - UNREQUESTED
    operations = called | _DUE.get(fault.at, frozenset())
    if fault.ops:
        operations &= frozenset[str]().union(*map(operations_like, fault.ops.split()))
    for _, fit in applicability(outcome):
        operations &= fit
    if outcome.webhook is not None:
        operations &= NOTIFYING
    return operations


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
        case Decline() as said:
            yield "refused, retry" if said.is_retryable else "refused"
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
        return "time"
    return "slow" if transport.delay >= _PATIENCE else ""


def _trait_of_status(transport: Transport, status: int) -> str:
    """A status in place of the answer. Of 5xx only 503 is told apart, which asks to wait; and the
    HTML page of a proxy, which a client cannot read as JSON."""
    if transport.doubt is UncertainResult.BAD_GATEWAY:
        return "page"
    is_some_error = status >= 500 and status != UNAVAILABLE
    return "5xx" if is_some_error else str(status)


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
    """What a fault does to a client. A webhook counts without the decline that it denies."""
    traits = frozenset(_traits(_outcome_of(name)))
    return traits if traits.isdisjoint(_DENYING) else traits - {"refused, retry"}


def met(op: str, outcome: Outcome) -> Iterator[str]:
    """The failures of the table that an outcome makes an operation meet: those of which it does
    all."""
    traits = frozenset(_traits(outcome))
    for name, fault in _FAULTS.items():
        known = _known(name)
        # Which row is the last, and what time does to an object, a rule does not say.
        is_told = fault.rows < 2 and not fault.uses
        if known and known <= traits and is_told and op in operations_of(name):
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
            if _STATES.index(state) >= _STATES.index(states.get((op, name), TRIED)):
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
        return 100 * self.covered // self.failures if self.failures else 100

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
