"""The story of each object: its changes with the rules that caused them, longer than the journal keeps the requests.

Source: docs/control-api.md (``/__admin/objects``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from mockserver.domain.events import Event
from mockserver.domain.record import record, replace
from mockserver.engine.result import Asked, Result
from mockserver.scenario.provider_outcome import Decline

PER_ENTRY = 20
"""Changes that are kept for each entry that the journal may hold."""

MOST = 200_000
"""Changes that are kept at most."""

_SIZE = 400
"""Bytes that a change takes, as measured with ordinary charges."""


class Cause(NamedTuple):
    """A rule that said what a provider, a batch or time does in the step of a change; ``attempt`` counts the providers
    that were tried, from 1, ``choice`` is the place of the outcome in the rule's sequence or chance, from 1."""

    rule: str
    attempt: int
    choice: int | None
    code: int | None
    message: str | None


@record
class Change:
    """One change of one object: the number of its journal entry, the operation, the event without its data, and the
    rules that fired and had a part in it."""

    number: int
    op: str
    event: Event
    causes: tuple[Cause, ...]


class Stories:
    """The newest changes by the id of their object, oldest first; the oldest of all go when there are too many."""

    def __init__(self, journal_limit: int) -> None:
        self.most = min(PER_ENTRY * journal_limit, MOST)
        self._by_subject: dict[str, deque[Change]] = {}
        self._order: deque[Change] = deque()

    def __len__(self) -> int:
        return len(self._order)

    @property
    def oldest(self) -> int:
        """The number of the entry of the oldest change, 0 without one."""
        return self._order[0].number if self._order else 0

    @property
    def size(self) -> int:
        """Roughly the memory that they take, in bytes."""
        return len(self._order) * _SIZE

    def __iter__(self) -> Iterator[Change]:
        """Every change, oldest first."""
        return iter(self._order)

    def since(self, after: int) -> Iterator[Change]:
        """Changes of entries with a number above ``after``, oldest first."""
        newer = takewhile(lambda change: change.number > after, reversed(self._order))
        return reversed(list(newer))

    def note(self, number: int, asked: Asked, result: Result) -> int:
        """Keep the changes of a step; by how many bytes all that is kept has grown, roughly counted."""
        causes, changes = _causes(result) if result.ruled else (), []
        for event in result.events:
            bare = event if event.data is None else replace(event, data=None)
            changes.append(Change(number, asked.op, bare, causes))
        self.take(changes)
        return len(changes) * _SIZE - (self.shrink(self.most) if len(self._order) > self.most else 0)

    def take(self, changes: Iterable[Change]) -> None:
        """Keep changes, oldest first."""
        for change in changes:
            self._by_subject.setdefault(change.event.subject_id, deque()).append(change)
            self._order.append(change)

    def shrink(self, most: int) -> int:
        """Drop the oldest changes until ``most`` are left; how many bytes they took."""
        dropped = max(len(self._order) - most, 0)
        for _ in range(dropped):
            subject_id = self._order.popleft().event.subject_id
            changes = self._by_subject[subject_id]
            changes.popleft()
            if not changes:
                del self._by_subject[subject_id]
        return dropped * _SIZE

    def of(self, subject_id: str) -> list[Change]:
        """The changes of one object that are kept."""
        return list(self._by_subject.get(subject_id, ()))


def _causes(result: Result) -> tuple[Cause, ...]:
    found = []
    for decision in result.decisions:
        outcome = decision.outcome
        # A lost answer, a slow one or a spoilt webhook changes no object.
        if decision.rule is not None and (outcome.provider or outcome.batch or outcome.later):
            said = outcome.provider
            code, message = (said.error_code, said.error_message) if isinstance(said, Decline) else (None, None)
            found.append(Cause(decision.rule, decision.number, decision.choice, code, message))
    return tuple(found)
