"""Which failures the calls of some tests have met, of all that there are for the operations that they use.

A failure counts where it struck: in a run of an exploration, or by a rule of any scenario that did the same. Source:
docs/explore.md, Failure coverage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mockserver.domain.clock import SECOND
from mockserver.domain.record import record
from mockserver.scenario.failures import FAULTS, OWN_AXES, operations_of
from mockserver.scenario.file_model import read_model
from mockserver.scenario.outcome import Outcome, OutcomeMap
from mockserver.scenario.outcome_catalogue import PROVIDER_DOWN, PROVIDER_TIMEOUT
from mockserver.scenario.provider_outcome import Approve, Challenge, Decline, Pending
from mockserver.scenario.transport import FaultKind
from mockserver.scenario.webhook_plan import Signature

TRIED, SURVIVED, UNSAFE = "tried", "survived", "unsafe"
"""How a failure went, the worst last: it struck; a run under it survived; a run under it was not safe."""

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
    if (fault := outcome.transport) is not None:
        kind = _SAME.get(fault.kind, fault.kind.value)
        if fault.status is not None:
            kind = "5xx" if fault.status >= 500 and fault.status != 503 else str(fault.status)
        elif fault.kind is FaultKind.DELAY:
            kind = "time" if fault.virtual and fault.goes_on else "slow" if fault.delay >= _PATIENCE else ""
        yield f"{fault.at} {kind}"
    if (plan := outcome.webhook) is not None:
        wrong = "unsigned" if plan.forged is Signature.NONE else "forged" if plan.forged is not None else "edited"
        said_of = {
            "lost": plan.drop,
            "twice": plan.copies > 1,
            "early": plan.before_answer,
            "late": bool(plan.delay),
            "swapped": bool(plan.swap_with_next),
            wrong: plan.forged is not None or plan.is_edited,
        }
        yield from (f"webhook {word}" for word, holds in said_of.items() if holds)
    if outcome.batch is not None:
        firsts = [row for row in outcome.batch.rows if row.at is not None and row.decline is not None]
        yield from (f"row {number}" for row in firsts for number in row.at or ())
        if outcome.batch.stall_at is not None:
            yield "batch stops"
    if outcome.lag:
        yield "lag"
    yield from ("returned" for one in outcome.later if one.changes.get("to") == "FAILED")


_FAULTS = {name: fault for name, fault in FAULTS.items() if fault.at not in OWN_AXES}
_KNOWN = {
    name: frozenset(_traits(read_model(OutcomeMap, fault.timed().then_of(rows=9)).outcome))
    for name, fault in _FAULTS.items()
}


def met(op: str, outcome: Outcome) -> Iterator[str]:
    """The failures of the table that an outcome makes an operation meet."""
    traits = frozenset(_traits(outcome))
    for name, known in _KNOWN.items():
        # Which row is the last, and what time does to an object, a rule does not say.
        if (
            known
            and known <= traits
            and _FAULTS[name].rows < 2
            and not _FAULTS[name].uses
            and op in operations_of(name)
        ):
            yield name


@record
class Coverage:
    """How it went with each failure (``states``) at each operation that was used."""

    operations: frozenset[str]
    states: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, operations: Iterable[str], struck: Iterable[tuple[str, str, str]]) -> Coverage:
        """Of operations that were used, and what struck: operation, failure and how it went; the worst counts."""
        states: dict[tuple[str, str], str] = {}
        for op, name, state in struck:
            if _STATES.index(state) >= _STATES.index(states.get((op, name), TRIED)):
                states[op, name] = state
        return cls(frozenset(operations), states)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Coverage:
        """As ``shown`` words it. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
        struck = [(row["op"], name, state) for row in given["map"] for name, state in row["failures"].items()]
        return cls.of([row["op"] for row in given["map"]], [one for one in struck if one[2] is not None])

    def __add__(self, other: Coverage) -> Coverage:
        struck = [(op, name, state) for one in (self, other) for (op, name), state in one.states.items()]
        return Coverage.of(self.operations | other.operations, struck)

    @property
    def rows(self) -> dict[str, list[str]]:
        """The failures that there are, by operation."""
        return {
            op: names for op in sorted(self.operations) if (names := [n for n in _FAULTS if op in operations_of(n)])
        }

    @property
    def columns(self) -> list[str]:
        """The failures that there are at any of the operations, in the order of the table."""
        there = {name for names in self.rows.values() for name in names}
        return [name for name in _FAULTS if name in there]

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
        """One line."""
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
