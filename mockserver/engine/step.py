"""One step of a sandbox: a request, or one piece of due work, taken at one instant of its clock; and the stored objects
that it finds by the ids that callers give.

A step is an argument of every use case, and gone when it is over: the journal keeps its two halves (``result``), which
do not refer to the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar
from weakref import proxy

from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults, NotFound
from mockserver.domain.events import Event, Subject
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.record import entity, record, replace
from mockserver.domain.states import NetworkTokenState, PayToState, Presence, TransitionTable
from mockserver.engine.query import TableRow
from mockserver.engine.result import Asked, Result
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.state_facts import reader_of, under_way
from mockserver.engine.tables import TABLE_NAMES
from mockserver.scenario.director import Decision
from mockserver.scenario.matching import Attempt, Stage
from mockserver.scenario.paths import STORED

R = TypeVar("R", bound=TableRow)


@record
class _Kind:
    """What is known of the objects of a class: their name in events, the name of their table, their id and how they
    stand."""

    subject: Subject
    name: str
    table: str
    id_of: Callable[[Any], str]
    state_of: Callable[[Any], str | None]


def _kind(rows: type, subject: Subject) -> _Kind:
    state = next((one.name for one in fields(rows) if one.name in ("status", "state")), None)
    state_of = attrgetter(state) if state is not None else lambda row: None
    return _Kind(subject, subject.value, TABLE_NAMES[rows], attrgetter(f"{subject}_id"), state_of)


_KINDS = {rows: _kind(rows, Subject(name)) for name, rows in STORED.items()}


@entity
class Step:
    """What is taken in one sandbox at one instant of its clock: what came in, and what came of it so far."""

    sandbox: Sandbox
    asked: Asked
    result: Result = field(default_factory=Result)

    def learn(self, request: Mapping[str, object]) -> None:
        """What due work stands for is known once its object has been found."""
        self.asked = replace(self.asked, request=request)

    def attempt(self, op: str, **more: Any) -> Attempt:
        """What rules may test of an operation of this step, with ``more`` of its facts."""
        asked, sandbox = self.asked, self.sandbox
        return Attempt(
            op,
            sandbox.now,
            request=asked.request,
            headers=asked.headers,
            state=reader_of(sandbox, asked, self.result.about),
            call=asked.call,
            connection=asked.connection,
            under_way=partial(under_way, proxy(sandbox), asked) if sandbox.config.rules.overlaps else tuple,
            **more,
        )

    def assume(self, key: str) -> Any:
        """The value of an assumption, remembered as one that shaped this step."""
        self.result.assumed.append(key)
        return self.sandbox.assumed.values[key]

    def add(self, row: R, what: str = "created") -> R:
        """Store a new object, which the step is about from now on."""
        kind = _KINDS[type(row)]
        self.result.about[kind.name] = getattr(self.sandbox, kind.table).add(row)
        event = Event(kind.subject, kind.id_of(row), what, None, kind.state_of(row), self.sandbox.now)
        self.result.events += (event,)
        return row

    def change(self, before: R, after: R, what: str | None = None) -> R:
        """Put the next value of a stored object in the place of the one before: the one way in which objects change.
        ``what`` is the event that tells of it, None for a change that nobody hears of."""
        kind = _KINDS[type(before)]
        getattr(self.sandbox, kind.table).replace(before, after)
        about = self.result.about
        about.update({name: after for name, known in about.items() if known is before})
        if what is not None:
            self.emit(kind.subject, kind.id_of(after), what, kind.state_of(before), kind.state_of(after))
        return after

    def found(self, rows: type[R], row_id: str, refusal: Code) -> R:
        """The object of an id in a path, which the step is about from now on. Raises ``NotFound`` with the code."""
        kind = _KINDS[rows]
        row: R | None = getattr(self.sandbox, kind.table).get(row_id)
        name = kind.name
        if row is None:
            raise NotFound(refusal, {f"{name}_id".title().replace("_", ""): unknown(name, row_id)})
        self.result.about[name] = row
        return row

    def emit(self, subject: Subject, subject_id: str, what: str, before: str | None, after: str | None) -> None:
        """Record that something happened now."""
        self.result.events += (Event(subject, subject_id, what, before, after, self.sandbox.now),)

    def ask(self, stage: Stage, attempt: Attempt) -> Decision:
        """Let the scenario decide, and remember the decision."""
        decision, result = self.sandbox.director.decide(stage, attempt), self.result
        result.attempts += (attempt,)
        result.decisions += (*decision.passing, decision)
        if decision.rule is not None:
            result.ruled = True
            for one in (*decision.passing, decision):
                self.sandbox.config.counts.decided(one)
        return decision

    def warn(self, text: str) -> None:
        """Warn, once in the life of the sandbox."""
        if text not in self.sandbox.warned:
            self.sandbox.warned.add(text)
            self.result.warnings += (text,)


def unnoted(sandbox: Sandbox, path: Mapping[str, str] | None = None) -> Step:
    """A step that no journal keeps: somebody looks at a page."""
    return Step(sandbox, Asked("page.view", path=path or {}))


def finder(rows: type[R], refusal: Code) -> Callable[[Step, str], R]:
    """The use case that reads an object by the id in a path. It raises ``NotFound`` with the code."""
    return lambda step, row_id: step.found(rows, row_id, refusal)


def unknown(kind: str, row_id: str) -> str:
    """What to say of an id that names no object of a kind."""
    name = "vault item" if kind == "vault" else kind.replace("_", " ")
    return f"no {name} '{row_id[:64]}' in this sandbox"


def turn_to(
    step: Step,
    row: Agreement | NetworkToken | None,
    table: TransitionTable[Any, Any],
    status: PayToState | NetworkTokenState,
) -> bool:
    """Bring an object to a status where its state table has a way; one that has moved on stays as it is. Whether it has
    that status now."""
    event: Any = table.event_to(status)
    if row is None or event not in table.moves[row.status]:
        return row is not None and row.status is status
    step.change(row, row.after(event), event)
    return True


def method_in_use(step: Step, method_id: str, field: str, faults: Faults) -> PaymentMethod | None:
    """The payment method that a body names, or None and a fault: 56 (unknown), 73 (removed)."""
    method = step.sandbox.payment_methods.get(method_id)
    if method is None:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID, field, unknown("payment_method", method_id))
        return None
    if method.state is Presence.REMOVED:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID_REMOVED, field, "this payment method was removed")
        return None
    return method
