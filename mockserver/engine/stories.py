"""The story of each object: its changes with the rules that caused them, longer than the journal keeps the requests.

A change is kept as one flat tuple of values that others hold too: a million charges pass through here.
Source: docs/control-api.md (``/__admin/objects``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from mockserver.domain.clock import Micros
from mockserver.domain.events import Event, Subject
from mockserver.domain.record import record
from mockserver.domain.remembered import Remembered, one_of_equals
from mockserver.engine.result import Asked, Result
from mockserver.scenario.provider_outcome import Decline

PER_ENTRY = 20
"""Changes that are kept for each entry that the journal may hold."""

MOST = 200_000
"""Changes that are kept at most."""

_SIZE = 400
"""Bytes that a change takes, as measured with ordinary charges."""

_MOST_CAUSES = 1_000


class Cause(NamedTuple):
    """A rule that said what a provider, a batch or time does in the step of a change; ``attempt`` counts the providers
    that were tried, from 1, ``choice`` is the place of the outcome in the rule's sequence or chance, from 1."""

    rule: str
    attempt: int
    choice: int | None
    code: int | None
    message: str | None


_Causes: TypeAlias = tuple[Cause, ...]
Kept: TypeAlias = tuple[int, str, _Causes, Subject, str, str | None, str | None, Micros]


@record
class Change:
    """One change of one object: the number of its journal entry, the operation, the event without its data, and the
    rules that fired and had a part in it."""

    number: int
    op: str
    event: Event
    causes: tuple[Cause, ...]


class Stories:
    """The newest changes by the id of their object, oldest first; the oldest of all go when there are too many.
    ``on_change`` hears of the changes of an entry, by its number."""

    __slots__ = ("_by_subject", "_known", "_order", "most", "on_change")

    def __init__(self, journal_limit: int) -> None:
        self.most = min(PER_ENTRY * journal_limit, MOST)
        self._by_subject: dict[str, list[Kept]] = {}
        self._order: deque[str] = deque()
        self._known: Remembered[_Causes, _Causes] = one_of_equals(_MOST_CAUSES)
        self.on_change: Callable[[int, list[tuple[str, Kept]]], None] | None = None

    def __len__(self) -> int:
        return len(self._order)

    @property
    def oldest(self) -> int:
        """The number of the entry of the oldest change, 0 without one."""
        return self._by_subject[self._order[0]][0][0] if self._order else 0

    @property
    def size(self) -> int:
        """Roughly the memory that they take, in bytes."""
        return len(self._order) * _SIZE

    def by_entry(self) -> dict[int, list[tuple[str, Kept]]]:
        """Every change by the number of its entry, oldest first."""
        found: dict[int, list[tuple[str, Kept]]] = {}
        places: dict[str, int] = {}
        for subject_id in self._order:
            place = places.get(subject_id, 0)
            places[subject_id] = place + 1
            change = self._by_subject[subject_id][place]
            found.setdefault(change[0], []).append((subject_id, change))
        return found

    def take_over(self, changes: Iterable[tuple[str, Kept]]) -> None:
        """Go on with the changes of a store, oldest first."""
        for subject_id, (number, op, causes, subject, what, before, after, at) in changes:
            self._put(subject_id, (number, op, self._known[causes], subject, what, before, after, at))

    def note(self, number: int, asked: Asked, result: Result) -> int:
        """Keep the changes of a step; by how many bytes all that is kept has grown, roughly counted."""
        causes = self._known[_causes(result)] if result.ruled else ()
        changes: list[tuple[str, Kept]] = [
            (one.subject_id, (number, asked.op, causes, one.subject, one.what, one.before, one.after, one.at))
            for one in result.events
        ]
        for subject_id, change in changes:
            self._put(subject_id, change)
        if self.on_change is not None:
            self.on_change(number, changes)
        return len(changes) * _SIZE - self.shrink(self.most)

    def shrink(self, most: int) -> int:
        """Drop the oldest changes until ``most`` are left; how many bytes they took."""
        dropped = max(len(self._order) - most, 0)
        for _ in range(dropped):
            self._drop(self._order.popleft())
        return dropped * _SIZE

    def of(self, subject_id: str) -> list[Change]:
        """The changes of one object that are kept."""
        return [
            Change(number, op, Event(subject, subject_id, what, before, after, at), causes)
            for number, op, causes, subject, what, before, after, at in self._by_subject.get(subject_id, ())
        ]

    def _drop(self, subject_id: str) -> None:
        changes = self._by_subject[subject_id]
        del changes[0]
        if not changes:
            del self._by_subject[subject_id]

    def _put(self, subject_id: str, change: Kept) -> None:
        self._by_subject.setdefault(subject_id, []).append(change)
        self._order.append(subject_id)


def _causes(result: Result) -> _Causes:
    found = []
    for decision in result.decisions:
        outcome = decision.outcome
        # A lost answer, a slow one or a spoilt webhook changes no object.
        if decision.rule is not None and (outcome.provider or outcome.batch or outcome.later):
            said = outcome.provider
            code, message = (said.error_code, said.error_message) if isinstance(said, Decline) else (None, None)
            found.append(Cause(decision.rule, decision.number, decision.choice, code, message))
    return tuple(found)
