"""The verdict on a run: what its findings, the shop's books and the money say. Source: docs/explore.md, Verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mockserver.domain.record import record
from mockserver.explore.aftermath import RunEnd
from mockserver.explore.run_money import MoneyDifference, RunMoney, differences
from mockserver.explore.trial import Verdict

_UNKNOWN_END = "doubt-left-open"


@record
class Reference:
    """What runs are compared with: the money of the run without a fault, None where two of them moved different money;
    ``shared`` are the orders that come again in each run. ``of_two``: the command was run twice, so that only orders
    of the same reference are compared, and findings, which judge one client, say nothing."""

    money: RunMoney | None = None
    shared: Collection[str] = ()
    of_two: bool = False


@record
class Judged:
    """A verdict, and in money what happened."""

    verdict: Verdict
    words: Sequence[str] = ()


def judged(code: int | None, after: RunEnd, reference: Reference, *, has_books: bool, has_fired: bool) -> Judged:
    """The verdict on a run with this exit code (None: not in time), with what it says in money; without the shop's
    books its money is compared with that of the run without a fault. ``has_fired``: the fault has struck.

    Money that moved wrongly counts whatever else is true. A fault that never struck says nothing of the command.
    """
    told = _lines(after.differing)
    findings = after.differing if reference.of_two else after.findings
    if after.broken or any(row["severity"] == "error" for row in findings):
        return Judged(Verdict.UNSAFE, [*after.broken, *told])
    if not has_fired:
        return Judged(Verdict.NOT_REACHED)
    if code is None:
        return Judged(Verdict.HUNG)
    if code != 0 or after.failed:
        return Judged(Verdict.FAILED, [after.failed] if after.failed else ())
    if not has_books:
        return _by_money(after, reference)
    early = _lines(after.differed)
    return Judged(Verdict.DOUBTFUL if told else Verdict.HEALED if early else Verdict.SURVIVED, told or early)


def _lines(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """What findings say first."""
    return [str(row["evidence"][0]["line"]) for row in findings]


def excused(made: Judged, after: RunEnd) -> Judged:
    """The verdict where the fault itself takes or withholds money and the shop's books are not known: only they can say
    whether the client has done wrong."""
    is_its_own = made.verdict is Verdict.UNSAFE and not after.broken
    return Judged(Verdict.DOUBTFUL, made.words) if is_its_own else made


def _by_money(after: RunEnd, reference: Reference) -> Judged:
    """Without the shop's books: what the shop did with the money, beside the run without a fault."""
    found: Sequence[MoneyDifference] = ()
    if reference.money is not None:
        found = differences(reference.money, after.money, reference.shared, totals=not reference.of_two)
    harm = [one.words for one in found if one.is_harm]
    ends = () if reference.of_two else after.findings
    unknown = _lines(row for row in ends if row["finding"] == _UNKNOWN_END)
    harm += [f"customer paid, and nobody has looked: {line}" for line in unknown]
    if harm:
        return Judged(Verdict.UNSAFE, harm)
    return Judged(Verdict.DOUBTFUL if found else Verdict.SURVIVED, [one.words for one in found])
