"""Verification: what should have been asked of a sandbox, and the expectations of its rules.

Source: docs/control-api.md (``/__admin/verify``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from heapq import nsmallest
from typing import Any, TypeVar

from pydantic import Field

from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.engine.journal import JournalEntry
from mockserver.engine.journaling import asked_with
from mockserver.findings.catalogue import Severity, kind_of
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.matching import Difference
from mockserver.scenario.problems import Problems, ScenarioRefused
from mockserver.scenario.rule import Expectation
from mockserver.scenario.values import excerpt
from mockserver.scenario.when import When, compile_when, is_test, operations_of
from mockserver.web.control.books import broken, sentences
from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.control.findings import at_least, end_story, idle_of
from mockserver.web.control.findings import shown as finding_shown
from mockserver.web.control.raised import watch_of
from mockserver.web.journaled import fields_of
from mockserver.web.request import Reply
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import Severity as SeverityWord
from mockserver.wire.field_types import Switch
from mockserver.wire.profile import profile_of
from mockserver.wire.replies import reply_of


class SinceQuery(ControlBody):
    """From where on."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )


class Expectations(ControlBody):
    """What should have happened."""

    requests: list[Any] | None = Field(
        None,
        description="a list of {op, where, count: {exactly | min, max}}",
    )
    findings: SeverityWord | None = Field(
        None, description="the least severity that fails; none allows no finding at all"
    )
    rules: Switch = Field(False, description="whether every expect of a rule must be met too")
    money: list[Any] | None = Field(
        None,
        description="sentences that must hold of the money, such as net(*) <= 20",
    )
    finish: Switch = Field(
        False,
        description="report what was left open first, and list every finding: the end of a test",
    )
    allow: list[Any] | None = Field(
        None,
        description="findings that may be there, such as authorisation-forgotten",
    )


T = TypeVar("T")

_KEYS = ("op", "where", "count")
_ELSEWHERE: Mapping[str, str] = {
    "op": "give it beside where",
    "nth": "use count",
    "state": "what is stored has changed since; test what the request says",
}
"""Keys of ``when`` that mean nothing afterwards."""

_MOST_TESTS = 1_000

_LEAST = {"none": Severity.NOTE, "warning": Severity.WARNING, "error": Severity.ERROR}
"""The least severity that fails a verification, by its word: ``none`` allows no finding at all."""


async def verify(call: ControlCall[Expectations, SinceQuery]) -> object:
    """200 when every expectation holds, else 409 with the differences and the near misses. Raises
    ``Invalid`` (90) naming every fault of the expectations themselves."""
    sandbox = call.sandbox()
    expected, money, allowed, body = _wanted(call)
    after = call.since(sandbox, call.query.since)
    wrong_money = await broken(sandbox, money, after)
    watch = watch_of(sandbox)
    if wrong_money and watch is not None:
        watch.webhooks.disproved(None, sandbox.now)
    if body.finish:
        end_story(call, sandbox)
    # All of one instant: entries are noted, and pushed out, while others are served.
    journal = sandbox.journal
    entries, loss = tuple(journal.since(after)), journal.loss() if journal.dropped else None
    unmet = (
        [*sandbox.director.unmet(), *await broken(sandbox, sentences(sandbox))]
        if body.rules
        else []
    )
    unmet += wrong_money
    raised = at_least(sandbox, _LEAST[body.findings], after) if body.findings is not None else []
    bad = [one for one in raised if one.kind.name not in allowed]
    found = at_least(sandbox, Severity.NOTE, after) if body.finish else bad
    findings = [finding_shown(one, profile_of(sandbox.assumed)) for one in found]
    idle = {"idle": idle_of(sandbox)} if body.finish else {}
    verdicts = [await judge(one, entries, loss) for one in expected]
    failed = [str(verdict) for verdict in verdicts if not verdict.holds]
    differences = [*failed, *unmet, *(f"{one.kind.name}: {one.kind.title}" for one in bad)]
    answer = {
        "verified": not differences,
        "message": "; ".join(differences) or "All expectations hold",
        "differences": differences,
        "requests": [verdict.shown() for verdict in verdicts],
        "rules": unmet,
        "findings": findings,
        **idle,
    }
    return Reply(409, answer) if differences else answer


def _wanted(
    call: ControlCall[Expectations, SinceQuery],
) -> tuple[list[Expected], list[Invariant], set[str], Expectations]:
    """What is to be verified: expectations, sentences about money, the findings that are allowed,
    and the body with the rest. Raises ``Invalid`` (90) naming every fault, and for nothing at
    all."""
    expected, faults = expectations(call.document.get("requests", []))
    money = _read(Invariant, call.document, "money", faults)
    allowed = {kind.name for kind in _read(kind_of, call.document, "allow", faults)}
    body = call.body_beside(
        {place[:1].upper() + place[1:]: words for place, words in faults.items()}
    )
    if not (body.requests or body.rules or money or body.finish or body.findings):
        raise invalid(
            {
                "Requests": "give requests, rules: true, money, finish: true or findings: nothing "
                "is verified"
            }
        )
    return expected, money, allowed, body


def _read(
    read: Callable[[str], T], document: Mapping[str, Any], name: str, faults: dict[str, str]
) -> list[T]:
    """What is read of each text of a list; ``faults`` gets those that cannot be."""
    given, found = document.get(name) or [], list[T]()
    for place, text in enumerate(given if isinstance(given, list) else []):
        try:
            found.append(read(text if isinstance(text, str) else repr(text)))
        except ValueError as fault:
            faults[f"{name}[{place}]"] = mask_text(str(fault))
        if len(faults) >= MOST_FAULTS:
            break
    return found


MOST_SHOWN = 5
"""Near misses and matches that a verdict names."""


@record
class Verification:
    """How often something happened: the numbers of the newest entries of it, and those nearest to
    it with every test that they fail. ``doubt`` says why a count that looks right may be wrong."""

    expected: Expected
    count: int
    matched: list[int]
    near: list[tuple[JournalEntry, list[str]]]
    doubt: str | None

    @property
    def holds(self) -> bool:
        """Whether the expectation is met for certain."""
        return self.doubt is None and self.expected.bounds.hold(self.count)

    def __str__(self) -> str:
        words = f"{self.expected.text}: wanted {self.expected.bounds}, got {self.count}"
        if self.doubt is not None:
            return f"{words}, but {self.doubt}"
        if self.near and self.count < self.expected.bounds.least:
            entry, differences = self.near[0]
            words += f" (nearest is entry {entry.number}: {', '.join(differences)})"
        return mask_text(words)

    def shown(self) -> dict[str, object]:
        """The verdict as the answer has it; near misses only of one that does not hold."""
        near = [] if self.holds else self.near
        misses = [
            reply_of("NearMissAnswer", entry, differences=list(map(mask_text, lacks)))
            for entry, lacks in near
        ]
        return reply_of(
            "VerifiedRequestAnswer", self, wanted=str(self.expected.bounds), nearMisses=misses
        )


async def judge(
    expected: Expected, entries: Sequence[JournalEntry], loss: str | None
) -> Verification:
    """Count what was expected among some entries of a journal, while others are served; ``loss``
    says why others are no longer there."""
    found = await for_each(entries, lambda entry: _compare(expected, entry))
    count = sum(times for times, _ in found)
    matched = [entry.number for entry, (times, _) in zip(entries, found, strict=True) if times]
    missed = [(entry, lacks) for entry, (_, lacks) in zip(entries, found, strict=True) if lacks]
    closest = nsmallest(MOST_SHOWN, missed, key=lambda miss: (len(miss[1]), -miss[0].number))
    near = [(entry, list(map(str, lacks))) for entry, lacks in closest]
    doubt = None if expected.bounds.most is None and expected.bounds.hold(count) else loss
    return Verification(expected, count, matched[-MOST_SHOWN:], near, doubt)


def _compare(expected: Expected, entry: JournalEntry) -> tuple[int, Sequence[Difference]]:
    """How often an entry is what was expected, and the tests that it fails where it is of the
    expected operation and is not.

    A request counts once, however many providers were tried; a step that was not asked for by a
    request of that operation (rows of a batch, renewals) counts once for each payment in it.
    """
    attempts = _attempts(entry, expected.operations)
    if not attempts:
        return 0, ()
    lacks = [list(expected.when.differences(attempt)) for attempt in attempts]
    fits = [
        attempt for attempt, differences in zip(attempts, lacks, strict=True) if not differences
    ]
    if not fits:
        return 0, min(lacks, key=len)
    if entry.op in expected.operations:
        return 1, ()
    return len({(fit.row, fit.subject, fit.attempt) for fit in fits if fit.attempt == 1}) or 1, ()


def _attempts(entry: JournalEntry, operations: Set[str]) -> list[Attempt]:
    """What rules were asked with in an entry, or could have been, where that is one of some
    operations, by its first or second name."""
    asked = [decision for decision in entry.decisions if decision.is_about_request]
    request, headers = fields_of(entry), entry.headers
    if not asked and entry.op in operations:
        return [Attempt(entry.op, entry.at, request=request, headers=headers, call=entry.call)]
    return [
        asked_with(decision, entry, request)
        for decision in asked
        if not operations.isdisjoint((decision.op, decision.also))
    ]


@record
class Expected:
    """One expectation. ``text`` is the operation as the caller wrote it."""

    text: str
    operations: frozenset[str]
    when: When
    bounds: Expectation


def expectations(given: object) -> tuple[list[Expected], dict[str, str]]:
    """The expectations of plain data, and every fault by its place: with a fault they mean
    nothing."""
    problems = Problems("verify", {})
    if not isinstance(given, list):
        return [], {"Requests": "wanted a list of {op, where, count}"}
    found: list[Expected] = []
    for place, raw in enumerate(given):
        if len(problems.faults) >= MOST_FAULTS:
            break
        with suppress(ScenarioRefused):
            found += _expected(raw, problems.below("requests", place))
    return found, {problem.path: problem.message for problem in problems.faults}


def _expected(raw: object, problems: Problems) -> Iterator[Expected]:
    if isinstance(raw, str):
        raw = {"op": raw}
    if not isinstance(raw, Mapping):
        problems.add(
            (), f"got {excerpt(raw)}, wanted an operation or an object with {', '.join(_KEYS)}"
        )
        return
    where = raw.get("where") or {}
    if not isinstance(where, Mapping):
        problems.add(("where",), f"got {excerpt(where)}, wanted tests as in when")
    elif len(where) > _MOST_TESTS:
        problems.add(("where",), f"got {len(where)} tests, wanted at most {_MOST_TESTS}")
    else:
        tests = _tests(raw, where, problems)
        operations = operations_of(raw, problems)
        when = compile_when(tests, problems.below("where"), operations)
        yield Expected(
            str(raw.get("op", "*")),
            operations,
            when,
            _bounds(raw.get("count"), problems.below("count")),
        )


def _tests(
    raw: Mapping[Any, object], where: Mapping[Any, object], problems: Problems
) -> dict[Any, object]:
    """The tests of an expectation: those of ``where``, and those that stand beside ``op`` as in a
    rule."""
    tests = dict(where)
    for key, wanted in raw.items():
        if key not in _KEYS and is_test(str(key)):
            tests.setdefault(key, wanted)
        elif key not in _KEYS:
            allowed = f"allowed: {', '.join(_KEYS)} and tests such as request.amount"
            problems.add((str(key),), f"unknown key{nearest(str(key), _KEYS)}, {allowed}")
    for key in list(tests):
        if (first := str(key).partition(".")[0]) in _ELSEWHERE:
            problems.add(("where", str(key)), f"not here: {_ELSEWHERE[first]}")
            del tests[key]
    return tests


def _bounds(raw: object, problems: Problems) -> Expectation:
    found = Expectation()
    if raw is None:
        return found
    counts = {"exactly": raw} if type(raw) is int else raw
    with problems.at():
        if (
            not isinstance(counts, Mapping)
            or not counts
            or counts.keys() - {"exactly", "min", "max"}
        ):
            raise ValueError(f"got {excerpt(raw)}, wanted exactly, or min and max")
        if any(
            type(number) is not int or not 0 <= number <= 1_000_000_000
            for number in counts.values()
        ):
            raise ValueError("wanted whole numbers of 0 or more")
        if "exactly" in counts and len(counts) > 1:
            raise ValueError("got exactly and another bound, wanted one of them")
        least, most = (counts.get(bound, counts.get("exactly")) for bound in ("min", "max"))
        found = Expectation(least or 0, most)
    return found


ROUTES = (
    ControlRoute(
        "POST",
        "/__admin/verify",
        verify,
        query=SinceQuery,
        body=Expectations,
        keyed=True,
        reply="VerifyAnswer",
        answers={409: "Something does not hold: differences and near misses"},
        example={
            "body": {
                "requests": [
                    {"op": "charge.create", "where": {"request.reference": "order-1"}, "count": 1}
                ],
                "money": ["net(*) <= 20"],
                "finish": True,
            }
        },
        summary="Verify what was asked, with near misses",
    ),
)
