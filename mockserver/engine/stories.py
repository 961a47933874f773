"""The story of each object: its changes with the rules that caused them, longer than the journal keeps the requests.

Source: control document, Control API (``/__admin/objects``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mockserver.domain.events import Event
from mockserver.domain.record import record
from mockserver.scenario.outcome import Decline

if TYPE_CHECKING:
    from mockserver.engine.step import Step

PER_ENTRY = 20
"""Changes that are kept for each entry that the journal may hold."""

MOST = 200_000
"""Changes that are kept at most."""


@record
class Cause:
    """A rule that fired in the step of a change; ``attempt`` counts the providers that were tried, from 1, ``choice``
    is the place of the outcome in the rule's sequence or chance, from 1."""

    rule: str
    attempt: int
    choice: int | None
    code: int | None
    message: str | None


@record
class Change:
    """One change of one object: the number of its journal entry, the operation, and the rules that fired."""

    number: int
    op: str
    event: Event
    causes: tuple[Cause, ...]


class Stories:
    """The newest changes by the id of their object, oldest first; the oldest of all go when there are too many."""

    __slots__ = ("_by_subject", "_order", "most")

    def __init__(self, journal_limit: int) -> None:
        self.most = min(PER_ENTRY * journal_limit, MOST)
        self._by_subject: dict[str, deque[Change]] = {}
        self._order: deque[str] = deque()

    def note(self, number: int, step: Step) -> None:
        """Keep the changes of a step."""
        if not step.events or not self.most:
            return
        causes = _causes(step)
        for event in step.events:
            self._by_subject.setdefault(event.subject_id, deque()).append(Change(number, step.op, event, causes))
            self._order.append(event.subject_id)
        while len(self._order) > self.most:
            self._drop(self._order.popleft())

    def of(self, subject_id: str) -> Sequence[Change]:
        """The changes of one object that are kept."""
        return tuple(self._by_subject.get(subject_id, ()))

    def _drop(self, subject_id: str) -> None:
        changes = self._by_subject[subject_id]
        changes.popleft()
        if not changes:
            del self._by_subject[subject_id]


def _causes(step: Step) -> tuple[Cause, ...]:
    found = []
    for decision in step.decisions:
        if decision.rule is not None:
            said = decision.outcome.provider
            code, message = (said.error_code, said.error_message) if isinstance(said, Decline) else (None, None)
            found.append(Cause(decision.rule, decision.number, decision.choice, code, message))
    return tuple(found)
