"""Verification: what should have been asked of a sandbox, and the expectations of its rules (``/__admin/verify``)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest

from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.engine.journal import JournalEntry
from mockserver.findings.catalogue import Severity
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.expecting import Expected, expectations
from mockserver.scenario.matching import Difference
from mockserver.web.control.call import ControlCall
from mockserver.web.control.findings import at_least, shown
from mockserver.web.runner import for_each
from mockserver.wire.profile import profile_of

_LEAST = {"none": Severity.NOTE, "warning": Severity.WARNING, "error": Severity.ERROR}
"""The least severity that fails a verification, by its word: ``none`` allows no finding at all."""


async def verify(call: ControlCall) -> tuple[int, object]:
    """200 when every expectation holds, else 409 with the differences and the near misses.

    Raises ``Invalid`` (90) naming every fault of the expectations themselves.
    """
    sandbox = call.sandbox()
    expected, faults = expectations(call.document.get("requests", []))
    body = call.body_beside({place[:1].upper() + place[1:]: words for place, words in faults.items()})
    least = body.findings
    if not (body.requests or body.rules or least):
        raise invalid({"Requests": "give requests, rules: true or findings: else nothing is verified"})
    after = call.since(sandbox)
    # All of one instant: entries are noted, and pushed out, while others are served.
    journal = sandbox.journal
    entries, loss = tuple(journal.since(after)), journal.loss() if journal.dropped else None
    unmet = sandbox.director.unmet() if body.rules else []
    found = at_least(sandbox, _LEAST[least], after) if least is not None else []
    findings = [shown(one, profile_of(sandbox.assumed)) for one in found]
    verdicts = [await judge(one, entries, loss) for one in expected]
    failed = [verdict for verdict in verdicts if not verdict.holds]
    differences = [*map(_words, failed), *unmet, *(f"{one.kind.name}: {one.kind.title}" for one in found)]
    return 409 if differences else 200, {
        "verified": not differences,
        "message": "; ".join(differences) or "All expectations hold",
        "differences": differences,
        "requests": [_shown(verdict) for verdict in verdicts],
        "rules": unmet,
        "findings": findings,
    }


def _words(verdict: Verification) -> str:
    words = f"{verdict.expected.text}: wanted {verdict.expected.bounds}, got {verdict.count}"
    if verdict.doubt is not None:
        return f"{words}, but {verdict.doubt}"
    if verdict.near and verdict.count < verdict.expected.bounds.least:
        nearest = verdict.near[0]
        words += f" (nearest is entry {nearest.entry.number}: {', '.join(map(str, nearest.differences))})"
    return mask_text(words)


def _shown(verdict: Verification) -> dict[str, object]:
    return {
        "op": verdict.expected.text,
        "holds": verdict.holds,
        "wanted": str(verdict.expected.bounds),
        "got": verdict.count,
        "doubt": verdict.doubt,
        "matched": [entry.number for entry in verdict.matched],
        "nearMisses": [
            {
                "entry": miss.entry.number,
                "op": miss.entry.asked.op,
                "differences": [mask_text(str(difference)) for difference in miss.differences],
            }
            for miss in verdict.near
        ]
        if not verdict.holds
        else [],
    }


MOST_SHOWN = 5
"""Near misses and matches that a verdict names."""


@record
class NearMiss:
    """An entry of the expected operation, and every test that it fails."""

    entry: JournalEntry
    differences: list[Difference]


@record
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


async def judge(expected: Expected, entries: Sequence[JournalEntry], loss: str | None) -> Verification:
    """Count what was expected among some entries of a journal, while others are served; ``loss`` says why others are no
    longer there."""
    found = await for_each(entries, lambda entry: _compare(expected, entry))
    count = sum(times for times, _ in found)
    matched = [entry for entry, (times, _) in zip(entries, found, strict=True) if times]
    missed = [miss for _, miss in found if miss is not None]
    near = nsmallest(MOST_SHOWN, missed, key=lambda miss: (len(miss.differences), -miss.entry.number))
    return Verification(expected, count, matched[-MOST_SHOWN:], near, _doubt(loss, expected, count))


def _compare(expected: Expected, entry: JournalEntry) -> tuple[int, NearMiss | None]:
    """How often an entry is what was expected, and what it lacks where it is of the expected operation and is not.

    A request counts once, however many providers were tried; a step that was not asked for by a request of that
    operation (rows of a batch, renewals) counts once for each payment in it.
    """
    attempts = [attempt for attempt in _attempts(entry) if expected.concerns(attempt)]
    if not attempts:
        return 0, None
    lacks = [expected.when.differences(attempt) for attempt in attempts]
    fits = [attempt for attempt, differences in zip(attempts, lacks, strict=True) if not differences]
    if not fits:
        return 0, NearMiss(entry, min(lacks, key=len))
    if entry.asked.op in expected.operations:
        return 1, None
    return len({(fit.row, fit.subject, fit.attempt) for fit in fits if fit.attempt == 1}) or 1, None


def _attempts(entry: JournalEntry) -> Sequence[Attempt]:
    asked = entry.asked
    if entry.result.attempts:
        return entry.result.attempts
    return [Attempt(op=asked.op, now=entry.at, request=asked.request, headers=asked.headers, call=asked.call)]


def _doubt(loss: str | None, expected: Expected, count: int) -> str | None:
    return None if expected.bounds.most is None and expected.bounds.hold(count) else loss
