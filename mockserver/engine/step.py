"""One step of a sandbox: a request, or one piece of due work, taken at one instant of its clock; and the stored objects
that it finds by the ids that callers give.

A step is an argument of every use case, and gone when it is over: the journal keeps its two halves (``result``), which
do not refer to the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeVar

from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults, NotFound
from mockserver.domain.events import Event, Subject
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.record import entity, replace
from mockserver.domain.states import Presence
from mockserver.engine.indexed_table import Table
from mockserver.engine.query import TableRow
from mockserver.engine.result import Asked, Result
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Decision

R = TypeVar("R", bound=TableRow)


@entity
class Step:
    """What is taken in one sandbox at one instant of its clock: what came in, and what came of it so far."""

    sandbox: Sandbox
    asked: Asked
    result: Result = field(default_factory=Result)

    def learn(self, request: Mapping[str, object]) -> None:
        """What due work stands for is known once its object has been found."""
        self.asked = replace(self.asked, request=request)

    def assume(self, key: str) -> Any:
        """The value of an assumption, remembered as one that shaped this step."""
        self.result.assumed.append(key)
        return self.sandbox.assumed.values[key]

    def replace(self, table: Table[R], before: R, after: R) -> R:
        """Put the next value of a stored object in the place of the one before: the one way in which objects change."""
        table.replace(before, after)
        about = self.result.about
        for kind, known in about.items():
            if known is before:
                about[kind] = after
        return after

    def emit(self, subject: Subject, subject_id: str, what: str, before: str | None, after: str | None) -> None:
        """Record that something happened now."""
        self.result.events += (Event(subject, subject_id, what, before, after, self.sandbox.now),)

    def ask(self, stage: Stage, attempt: Attempt) -> Decision:
        """Let the scenario decide, and remember the decision."""
        decision, result = self.sandbox.director.decide(stage, attempt), self.result
        result.attempts += (attempt,)
        result.decisions += (decision,)
        if decision.rule is not None:
            result.ruled = True
            self.sandbox.config.counts.decided(decision)
        return decision

    def warn(self, text: str) -> None:
        """Warn, once in the life of the sandbox."""
        if text not in self.sandbox.warned:
            self.sandbox.warned.add(text)
            self.result.warnings += (text,)


def unnoted(sandbox: Sandbox, path: Mapping[str, str] | None = None) -> Step:
    """A step that no journal keeps: somebody looks at a page."""
    return Step(sandbox, Asked("page.view", path=path or {}))


def found(step: Step, table: Table[R], kind: str, row_id: str, code: Code) -> R:
    """The object of an id in a path, which the step is about from now on. Raises ``NotFound`` with the code."""
    row = table.get(row_id)
    if row is None:
        field = f"{kind}_id".title().replace("_", "")
        raise NotFound(code, {field: unknown(kind, row_id)})
    step.result.about[kind] = row
    return row


def unknown(kind: str, row_id: str) -> str:
    """What to say of an id that names no object of a kind."""
    name = "vault item" if kind == "vault" else kind.replace("_", " ")
    return f"no {name} '{row_id[:64]}' in this sandbox"


def check_in_use(method: PaymentMethod | None, method_id: str, field: str, faults: Faults) -> None:
    """A fault when a body names no payment method (56), or one that was removed (73)."""
    if method is None:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID, field, unknown("payment_method", method_id))
    elif method.state is Presence.REMOVED:
        faults.add(Code.INVALID_PAYMENT_METHOD_ID_REMOVED, field, "this payment method was removed")
