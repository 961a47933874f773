"""The failures that a client can meet, one table: ``faults.csv``. Source: docs/explore.md, What it
runs.

Each row is a rule of the scenario language. Where it fits follows from what the language lets
happen there. And which of them the calls of some tests have met: one counts where it struck, in a
run of an exploration, or by a rule of any scenario that did the same (docs/explore.md, Failure
coverage).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from mockserver.domain.clock import SECOND, Micros, duration_text, parse_duration
from mockserver.domain.errors import nearest
from mockserver.domain.facts import UncertainResult
from mockserver.domain.record import read_table, record, replace
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
"""Stands for that time in the table."""

_GIVEN_UP = {
    "transport": {"at": "answer", "delay": _CLIENT_TIMEOUT, "virtual": True, "reset": True}
}
"""An answer that comes too late where the clock is set by hand: time passes, and the client that
has given up by then sees no answer."""


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
    of so many ``rows``. One that ``stays`` strikes later calls with the same card too. It has
    struck when what ``comes_due`` has. ``is_ours``: it takes or withholds money itself, and the
    client is not to blame. ``waits`` are the seconds of real time that nothing happens because of
    it."""

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
    is_ours: bool = False
    waits: float = 0

    @property
    def is_at_start(self) -> bool:
        """Whether it strikes the first calls of two runs, and no call in particular."""
        return self.name == AT_START

    def fits(self, point: InjectionPoint) -> bool:
        """Whether it makes sense at a call; a webhook can only be spoilt where there was one."""
        is_there = ("webhook" not in self.then or point.notifies) and self.uses in ("", point.uses)
        return is_there and point.op in operations_of(self.name) and point.rows >= self.rows

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
        """The same without the forged webhook that it sends; None where it sends none."""
        webhook = self.then.get("webhook") or {}
        if not webhook.get("bad_signature") and "signature" not in webhook:
            return None
        then = {name: what for name, what in self.then.items() if name != "webhook"}
        return replace(self, name=f"{self.name}-not", then=then) if then else None

    def rule(self, point: InjectionPoint) -> dict[str, Any]:
        """A rule of a scenario file that makes it happen at one call, and nowhere else."""
        when = {"op": point.op, **self._when(point)}
        return {
            "id": f"{self.name}-{point.op}-{point.nth}",
            # The first run waits at its first call, so the next call is that of the second.
            "when": {"nth": {"lte": 2}} if self.is_at_start else when,
            **({"key": ["op"]} if point.is_counted else {}),
            "then": self.then_of(point.rows),
        }

    def _when(self, point: InjectionPoint) -> dict[str, Any]:
        if point.is_counted:
            return {"nth": point.nth, **({"attempt": 1} if self.at == "provider" else {})}
        if self.stays and point.card and point.op in TAKING:
            return {
                "call": {"gte": point.nth},
                "card": {"bin": point.card[:6], "last4": point.card[-4:]},
            }
        return {"call": point.nth}

    def then_of(self, rows: int) -> Any:
        """What happens to a batch of so many rows."""
        text = json.dumps(self.then, default=float).replace('"{middle}"', str((rows + 1) // 2))
        return json.loads(text.replace('"{last}"', str(rows)), parse_float=Decimal)


def _waits(then: Mapping[str, Any], *, is_manual: bool) -> float:
    """The seconds of real time that nothing happens in a run because an outcome keeps an answer or
    a webhook back."""
    transport, webhook = then.get("transport") or {}, then.get("webhook") or {}
    lengths = [transport.get("hold")]
    if not is_manual:
        is_virtual = transport.get("virtual", False)
        lengths += [] if is_virtual else [transport.get("delay")]
        lengths += [webhook.get(name) for name in ("delay", "gap", "swap_with_next")]
    return sum(parse_duration(length) for length in lengths if _is_duration(length)) / SECOND


def _is_duration(word: object) -> TypeGuard[str]:
    """Whether a word of an outcome is so many seconds, and not until when."""
    return isinstance(word, str) and word[:1].isdigit()


def _fault(**row: Any) -> Fault:
    numbers = {name: int(row[name] or 0) for name in ("weight", "rows")}
    flags = {name: bool(row[name]) for name in ("is_usual", "stays", "is_ours")}
    return Fault(
        **{**row, **numbers, **flags, "then": json.loads(row["then"], parse_float=Decimal)}
    )


FAULTS: Mapping[str, Fault] = {
    one.name: one for one in read_table("faults", _fault, Path(__file__).parent)
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
    """What a fault makes happen, to a batch of nine rows."""
    return read_model(OutcomeMap, FAULTS[name].timed().then_of(rows=9)).outcome


@cache
def operations_of(name: str) -> frozenset[str]:
    """The operations in which everything that a fault says can happen, and that a client can
    call."""
    fault = FAULTS[name]
    outcome = _outcome_of(name)
    moves_money = fault.at in OWN_AXES and not fault.is_at_start
    operations = (MONEY if moves_money else ALL_OPERATIONS) - UNREQUESTED | _DUE.get(
        fault.at, frozenset()
    )
    if fault.ops:
        operations &= frozenset[str]().union(*map(operations_like, fault.ops.split()))
    for _, fit in applicability(outcome):
        operations &= fit
    return operations & NOTIFYING if outcome.webhook is not None else operations


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


def _traits(outcome: Outcome) -> Iterator[str]:
    """What an outcome does to a client, in words by which two of them are compared."""
    yield from _answer_of(outcome)
    if outcome.transport is not None:
        yield f"{outcome.transport.at} {_kind_of(outcome.transport)}"
    if outcome.webhook is not None:
        yield from (f"webhook {word}" for word, holds in _WEBHOOK.items() if holds(outcome.webhook))
    if outcome.batch is not None:
        firsts = [
            row for row in outcome.batch.rows if row.at is not None and row.decline is not None
        ]
        yield from (f"row {number}" for row in firsts for number in row.at or ())
        if outcome.batch.stall_at is not None:
            yield "batch stops"
    if outcome.lag:
        yield "lag"
    yield from ("returned" for one in outcome.later if one.settle == "FAILED")


def _answer_of(outcome: Outcome) -> Iterator[str]:
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


def _kind_of(fault: Transport) -> str:
    if fault.status is not None:
        if fault.doubt is UncertainResult.BAD_GATEWAY:
            return "page"
        return "5xx" if fault.status >= 500 and fault.status != UNAVAILABLE else str(fault.status)
    if fault.kind is FaultKind.DELAY:
        return (
            "time"
            if fault.virtual and fault.goes_on
            else "slow"
            if fault.delay >= _PATIENCE
            else ""
        )
    return _SAME.get(fault.kind, fault.kind.value)


_WEBHOOK: Mapping[str, Callable[[WebhookPlan], object]] = {
    "lost": lambda plan: plan.drop,
    "twice": lambda plan: plan.copies > 1 and not plan.together,
    "twice at once": lambda plan: plan.copies > 1 and plan.together,
    "early": lambda plan: plan.before_answer,
    "late": lambda plan: plan.delay,
    "swapped": lambda plan: plan.swap_with_next,
    "unsigned": lambda plan: plan.forged is Signature.NONE,
    "forged": lambda plan: plan.forged not in (None, Signature.NONE),
    "foreign": lambda plan: plan.forged is None and plan.foreign,
    "edited": lambda plan: plan.forged is None and plan.is_edited and not plan.foreign,
    "respelt": lambda plan: plan.respelt,
}
"""What is wrong with a webhook."""


_FAULTS = {name: fault for name, fault in FAULTS.items() if fault.at not in OWN_AXES}


_DENYING = {f"webhook {what}" for what in ("forged", "unsigned", "foreign", "edited")}
"""What is wrong with webhooks that say of a payment that was declined that it was made."""


@cache
def _known(name: str) -> frozenset[str]:
    """What a fault does to a client. A webhook counts without the decline that it denies."""
    traits = frozenset(_traits(_outcome_of(name)))
    return traits if traits.isdisjoint(_DENYING) else traits - {"refused, retry"}


def met(op: str, outcome: Outcome) -> Iterator[str]:
    """The failures of the table that an outcome makes an operation meet."""
    traits = frozenset(_traits(outcome))
    for name, fault in _FAULTS.items():
        known = _known(name)
        # Which row is the last, and what time does to an object, a rule does not say.
        is_told = fault.rows < 2 and not fault.uses
        if known and known <= traits and is_told and op in operations_of(name):
            yield name


@record
class Coverage:
    """How it went with each failure (``states``) at each operation that was used."""

    operations: frozenset[str]
    states: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, operations: Iterable[str], struck: Iterable[tuple[str, str, str]]) -> Coverage:
        """Of operations that were used, and what struck: operation, failure and how it went; the
        worst counts."""
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
            (row["op"], name, state)
            for row in given["map"]
            for name, state in row["failures"].items()
        ]
        return cls.of(
            [row["op"] for row in given["map"]], [one for one in struck if one[2] is not None]
        )

    def __add__(self, other: Coverage) -> Coverage:
        struck = [
            (op, name, state) for one in (self, other) for (op, name), state in one.states.items()
        ]
        return Coverage.of(self.operations | other.operations, struck)

    @property
    def rows(self) -> dict[str, list[str]]:
        """The failures that there are, by operation."""
        return {
            op: names
            for op in sorted(self.operations)
            if (names := [n for n in _FAULTS if op in operations_of(n)])
        }

    @property
    def counts(self) -> tuple[int, int]:
        """How many struck, and how many there are."""
        cells = [(op, name) for op, names in self.rows.items() for name in names]
        return sum(cell in self.states for cell in cells), len(cells)

    @property
    def percent(self) -> int:
        """The share that struck, rounded down."""
        struck, there = self.counts
        return 100 * struck // there if there else 100

    @property
    def words(self) -> str:
        struck, there = self.counts
        return f"failures covered: {struck:,} of {there:,}, {self.percent} %"

    def shown(self) -> dict[str, Any]:
        """As the control API and reports show it; a failure that was never tried is null."""
        struck, there = self.counts
        rows = [
            {"op": op, "failures": {name: self.states.get((op, name)) for name in names}}
            for op, names in self.rows.items()
        ]
        return {"covered": struck, "failures": there, "percent": self.percent, "map": rows}
