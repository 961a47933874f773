"""Whether what was expected of a sandbox has happened, judged by its journal; and what came near it.

Source: control document, Control API (``/__admin/verify``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

from mockserver.engine.journal import Journal, JournalEntry
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.expecting import Expected, closest
from mockserver.scenario.matching import Difference

MOST_SHOWN = 5
"""Near misses and matches that a verdict names."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An entry of the expected operation, and every test that it fails."""

    entry: JournalEntry
    differences: list[Difference]


@dataclass(frozen=True, slots=True)
class Verification:
    """How often something happened. ``doubt`` says why a count that looks right may be wrong."""

    expected: Expected
    count: int
    matched: list[JournalEntry]
    near: list[NearMiss]
    doubt: str | None

    @property
    def holds(self) -> bool:
        """Whether the expectation is met for certain."""
        return self.doubt is None and self.expected.bounds.hold(self.count)


def judge(journal: Journal, expected: Expected, after: int = 0) -> Verification:
    """Count what was expected among the entries that are kept, those after a number.

    A request counts once, however many providers were tried; a step that was not asked for by a request of that
    operation (rows of a batch, renewals) counts once for each payment in it.
    """
    count = 0
    matched: list[JournalEntry] = []
    missed: list[NearMiss] = []
    for entry in journal.since(after):
        attempts = [attempt for attempt in _attempts(entry) if expected.concerns(attempt)]
        if not attempts:
            continue
        fits = [attempt for attempt in attempts if not expected.differences(attempt)]
        if fits:
            whole = entry.step.op in expected.operations
            count += 1 if whole else len({(fit.row, fit.subject, fit.attempt) for fit in fits if fit.attempt == 1}) or 1
            matched.append(entry)
        else:
            missed.append(NearMiss(entry, closest(attempts, expected)))
    near = nsmallest(MOST_SHOWN, missed, key=lambda miss: (len(miss.differences), -miss.entry.number))
    return Verification(expected, count, matched[-MOST_SHOWN:], near, _doubt(journal, expected, count))


def _attempts(entry: JournalEntry) -> Sequence[Attempt]:
    step = entry.step
    if step.attempts:
        return step.attempts
    return [Attempt(op=step.op, now=entry.at, request=step.request, headers=step.headers, call=step.call)]


def _doubt(journal: Journal, expected: Expected, count: int) -> str | None:
    if not journal.dropped or (expected.bounds.most is None and expected.bounds.hold(count)):
        return None
    return journal.loss()
