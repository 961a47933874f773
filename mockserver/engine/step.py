"""One step of a sandbox: a request, or one piece of due work, taken at one instant of its clock.

A step is an argument of every use case, and gone when it is over: the journal keeps its two halves (``result``), which
do not refer to the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from mockserver.assumptions import Assumption
from mockserver.domain.events import Event, Subject
from mockserver.domain.record import replace
from mockserver.engine.indexed_table import Table
from mockserver.engine.query import TableRow
from mockserver.engine.result import Asked, Result
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Decision

R = TypeVar("R", bound=TableRow)
T = TypeVar("T")


class Step:
    """What is taken in one sandbox at one instant of its clock: what came in, and what came of it so far."""

    __slots__ = ("asked", "result", "sandbox")

    def __init__(self, sandbox: Sandbox, asked: Asked, result: Result | None = None) -> None:
        self.sandbox = sandbox
        self.asked = asked
        self.result = result or Result()

    def learn(self, request: Mapping[str, object]) -> None:
        """What due work stands for is known once its object has been found."""
        self.asked = replace(self.asked, request=request)

    def begin_answer(self) -> None:
        """An answer is to be given: webhooks wait for it, and the sandbox is in use until then."""
        self.result.answered = False
        self.sandbox.under_way += 1

    def end_answer(self) -> None:
        """It was given, or nobody waits for it any more."""
        if not self.result.answered:
            self.result.answered = True
            self.sandbox.under_way -= 1

    def assume(self, row: Assumption[T]) -> T:
        """The value of an assumption, remembered as one that shaped this step."""
        self.result.assumed.append(row.key)
        value: T = self.sandbox.assumed.values[row.key]
        return value

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
        result.note(decision)
        if decision.rule is not None:
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
