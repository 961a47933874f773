"""Verification: what should have been asked of a sandbox, and the expectations of its rules (``/__admin/verify``)."""

from __future__ import annotations

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid
from mockserver.domain.masking import mask_text
from mockserver.engine.verify import Verification, judge
from mockserver.findings.catalogue import Severity
from mockserver.scenario.expecting import expectations
from mockserver.web.control.call import ControlCall
from mockserver.web.control.findings import at_least, shown
from mockserver.wire.profile import profile_of

_LEAST = {"none": Severity.NOTE, "warning": Severity.WARNING, "error": Severity.ERROR}
"""The least severity that fails a verification, by its word: ``none`` allows no finding at all."""


def verify(call: ControlCall) -> tuple[int, object]:
    """200 when every expectation holds, else 409 with the differences and the near misses.

    Raises ``Invalid`` (90) naming every fault of the expectations themselves.
    """
    sandbox = call.sandbox()
    expected, faults = expectations(call.document.get("requests", []))
    body = call.body_beside({place[:1].upper() + place[1:]: words for place, words in faults.items()})
    least = body.findings
    if not (body.requests or body.rules or least):
        words = "give requests, rules: true or findings: else nothing is verified"
        raise Invalid(Code.VALIDATION_ERROR, {"Requests": words})
    after = call.since(sandbox)
    verdicts = [judge(sandbox.journal, one, after) for one in expected]
    unmet = sandbox.director.unmet() if body.rules else []
    failed = [verdict for verdict in verdicts if not verdict.holds]
    found = at_least(sandbox, _LEAST[least], after) if least is not None else []
    differences = [*map(_words, failed), *unmet, *(f"{one.kind.name}: {one.kind.title}" for one in found)]
    return 409 if differences else 200, {
        "verified": not differences,
        "message": "; ".join(differences) or "All expectations hold",
        "differences": differences,
        "requests": [_shown(verdict) for verdict in verdicts],
        "rules": unmet,
        "findings": [shown(one, profile_of(sandbox.assumed)) for one in found],
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
                "op": miss.entry.step.op,
                "differences": [mask_text(str(difference)) for difference in miss.differences],
            }
            for miss in verdict.near
        ]
        if not verdict.holds
        else [],
    }
