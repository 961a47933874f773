"""Verification: whether in a sandbox happened what a test expects (``/__admin/verify``).

An expectation is an operation, tests as in a rule's ``when``, and how often. ``expectations`` reads
it from plain data, ``judge`` counts it in the journal, and says of one that does not hold which
entries came nearest: those that fail the fewest of its tests. The tests see what rules saw then,
which the journal has kept (``_attempts``). Tests of the state are refused, since what is stored has
changed meanwhile.

What was pushed out of the journal cannot be counted. So a count is certain only if it may be
exceeded and is reached already; else the answer says that it does not hold, and why it is not known
(``Verification.doubt``). A verification must not pass by forgetting.

Source: docs/control-api.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from heapq import nsmallest
from typing import NamedTuple, TypeVar

from pydantic import Field

from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.engine.journal import JournalEntry
from mockserver.engine.journaling import asked_with
from mockserver.findings.catalogue import Severity, kind_of
from mockserver.findings.ledger import Finding
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.matching import Difference
from mockserver.scenario.problems import Problems, ScenarioRefused
from mockserver.scenario.rule import Expectation
from mockserver.scenario.values import excerpt
from mockserver.scenario.when import When, compile_when, is_test, operations_of
from mockserver.web.control.books import broken, sentences
from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.control.findings import at_least, end_story, finding_reply, idle_of
from mockserver.web.control.raised import watch_of
from mockserver.web.journaled import fields_of
from mockserver.web.request import Reply
from mockserver.web.runner import for_each
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import Severity as SeverityWord
from mockserver.wire.field_types import Switch
from mockserver.wire.profile import profile_of
from mockserver.wire.replies import Members, reply_of


class SinceQuery(ControlBody):
    """From where on."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )


class Expectations(ControlBody):
    """What should have happened."""

    requests: list[object] | None = Field(
        None,
        description="a list of {op, where, count: {exactly | min, max}}",
    )
    findings: SeverityWord | None = Field(
        None, description="the least severity that fails; none allows no finding at all"
    )
    rules: Switch = Field(False, description="whether every expect of a rule must be met too")
    money: list[object] | None = Field(
        None,
        description="sentences that must hold of the money, such as net(*) <= 20",
    )
    finish: Switch = Field(
        False,
        description="report what was left open first, and list every finding: the end of a test",
    )
    allow: list[object] | None = Field(
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
"""Tests of one expectation, each of which is asked of every entry."""

_COUNTS = frozenset({"exactly", "min", "max"})
_MOST = 1_000_000_000
"""The greatest number in a count."""

_LEAST = {"none": Severity.NOTE, "warning": Severity.WARNING, "error": Severity.ERROR}
"""The least severity that fails a verification, by its word: ``none`` allows no finding at all."""


async def verify(call: ControlCall[Expectations, SinceQuery]) -> object:
    """200 when every expectation holds, else 409 with the differences and the near misses. Raises
    ``Invalid`` (90) naming every fault of the expectations themselves."""
    sandbox = call.sandbox()
    wanted = _wanted(call)
    after = call.since(sandbox, call.query.since)
    broken_money = await broken(sandbox, wanted.money, after)
    watch = watch_of(sandbox)
    if broken_money and watch is not None:
        # Money that is wrong shows that the shop has believed the forged webhooks it was sent.
        watch.webhooks.disproved(None, sandbox.now)
    if wanted.finish:
        end_story(call, sandbox)
    # All of one instant: entries are noted, and pushed out, while others are served.
    journal = sandbox.journal
    entries = tuple(journal.since(after))
    loss = None
    if journal.dropped:
        loss = journal.loss()
    unmet: list[str] = []
    if wanted.rules:
        unmet += sandbox.director.unmet()
        unmet += await broken(sandbox, sentences(sandbox))
    unmet += broken_money
    failing: list[Finding] = []
    if wanted.severity is not None:
        raised = at_least(sandbox, wanted.severity, after)
        failing = [finding for finding in raised if finding.kind.name not in wanted.allowed]
    listed = failing
    idle: list[str] | None = None
    if wanted.finish:
        # The end of a test lists whatever there is, also what fails nothing.
        listed = at_least(sandbox, Severity.NOTE, after)
        idle = idle_of(sandbox)
    profile = profile_of(sandbox.assumed)
    findings = [finding_reply(finding, profile) for finding in listed]
    verdicts = [await judge(expected, entries, loss) for expected in wanted.requests]
    differences = [str(verdict) for verdict in verdicts if not verdict.holds]
    differences += unmet
    differences += [f"{finding.kind.name}: {finding.kind.title}" for finding in failing]
    answer: dict[str, object] = {
        "verified": not differences,
        "message": "; ".join(differences) or "All expectations hold",
        "differences": differences,
        "requests": [verdict.reply() for verdict in verdicts],
        "rules": unmet,
        "findings": findings,
    }
    if idle is not None:
        answer["idle"] = idle
    if differences:
        return Reply(409, answer)
    return answer


@record
class _Wanted:
    """What is to be verified: ``requests``, sentences about ``money``, the least ``severity`` of a
    finding that fails (None: none fails) unless its kind is ``allowed``, the expectations of
    ``rules``; with ``finish`` a test has ended."""

    requests: list[Expected]
    money: list[Invariant]
    severity: Severity | None
    allowed: set[str]
    rules: bool
    finish: bool


def _wanted(call: ControlCall[Expectations, SinceQuery]) -> _Wanted:
    """What the body asks to verify. Raises ``Invalid`` (90) naming every fault, and for nothing at
    all: a misspelt verification must not pass."""
    # These are read from the document: their faults name the place in the list, which the types of
    # the body could not.
    requests, faults = expectations(call.document.get("requests", []))
    money = _read_each(Invariant, call.document, "money", faults)
    allowed = {kind.name for kind in _read_each(kind_of, call.document, "allow", faults)}
    body = call.body_beside(
        {place[:1].upper() + place[1:]: words for place, words in faults.items()}
    )
    expects_something = body.requests or body.rules or money or body.findings
    # To end a story is reason enough to ask.
    if not expects_something and not body.finish:
        raise invalid(
            {
                "Requests": "give requests, rules: true, money, finish: true or findings: nothing "
                "is verified"
            }
        )
    severity = None
    if body.findings is not None:
        severity = _LEAST[body.findings]
    return _Wanted(requests, money, severity, allowed, body.rules, body.finish)


def _read_each(
    read: Callable[[str], T], document: Mapping[str, object], name: str, faults: dict[str, str]
) -> list[T]:
    """What ``read`` makes of each text of the list of a name; ``faults`` gets the words of those
    that it refuses, by place. Anything but a list is left to the types of the body."""
    texts = document.get(name)
    if not isinstance(texts, list):
        return []
    values: list[T] = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            # It is refused in the words for a text that means nothing.
            text = repr(text)
        try:
            values.append(read(text))
        except ValueError as fault:
            faults[f"{name}[{place}]"] = mask_text(str(fault))
        if len(faults) >= MOST_FAULTS:
            break
    return values


MOST_SHOWN = 5
"""Near misses and matches that a verdict names."""


class NearMiss(NamedTuple):
    """An entry that is nearly what was expected, with every test that it fails."""

    entry: JournalEntry
    differences: list[str]


@record
class Verification:
    """How often something happened: the numbers of the newest entries of it, and those nearest to
    it. ``doubt`` says why a count that looks right may be wrong."""

    expected: Expected
    count: int
    matched: list[int]
    near: list[NearMiss]
    doubt: str | None

    @property
    def holds(self) -> bool:
        """Whether the expectation is met for certain."""
        return self.doubt is None and self.expected.bounds.hold(self.count)

    def __str__(self) -> str:
        words = f"{self.expected.text}: wanted {self.expected.bounds}, got {self.count}"
        if self.doubt is not None:
            return f"{words}, but {self.doubt}"
        # Where too many have come, what nearly was one more explains nothing.
        if self.near and self.count < self.expected.bounds.least:
            nearest_miss = self.near[0]
            differences = ", ".join(nearest_miss.differences)
            words += f" (nearest is entry {nearest_miss.entry.number}: {differences})"
        return mask_text(words)

    def reply(self) -> dict[str, object]:
        """The verdict as the answer has it; near misses only of one that does not hold."""
        misses: list[Members] = []
        if not self.holds:
            for miss in self.near:
                differences = list(map(mask_text, miss.differences))
                misses.append(reply_of("NearMissAnswer", miss.entry, differences=differences))
        return reply_of(
            "VerifiedRequestAnswer", self, wanted=str(self.expected.bounds), nearMisses=misses
        )


async def judge(
    expected: Expected, entries: Sequence[JournalEntry], loss: str | None
) -> Verification:
    """Count what was expected among some entries of a journal, while others are served; ``loss``
    says why others are no longer there."""
    comparisons = await for_each(entries, partial(_compare, expected))
    count = sum(comparison.times for comparison in comparisons)
    matched = [comparison.entry.number for comparison in comparisons if comparison.times]
    missed = [comparison for comparison in comparisons if comparison.failed]
    # Of those that fail as many tests the newest come first.
    closest = nsmallest(MOST_SHOWN, missed, key=lambda miss: (len(miss.failed), -miss.entry.number))
    near = [NearMiss(miss.entry, list(map(str, miss.failed))) for miss in closest]
    # What was pushed out can only add to a count, which spoils none that may be exceeded.
    is_certain = expected.bounds.most is None and expected.bounds.hold(count)
    doubt = loss
    if is_certain:
        doubt = None
    return Verification(expected, count, matched[-MOST_SHOWN:], near, doubt)


@record
class _Comparison:
    """How often an ``entry`` is what was expected, and the tests that it ``failed`` where it is of
    the expected operation and is not."""

    entry: JournalEntry
    times: int
    failed: Sequence[Difference] = ()


def _compare(expected: Expected, entry: JournalEntry) -> _Comparison:
    """How an entry compares with what was expected.

    A request counts once, however many providers were tried; a step that was not asked for by a
    request of that operation (rows of a batch, renewals) counts once for each payment in it.
    """
    attempts = _attempts(entry, expected.operations)
    if not attempts:
        return _Comparison(entry, 0)
    passing: list[Attempt] = []
    failed: list[list[Difference]] = []
    for attempt in attempts:
        differences = list(expected.when.differences(attempt))
        if differences:
            failed.append(differences)
        else:
            passing.append(attempt)
    if not passing:
        # A step has an attempt for each provider: the one that came nearest says most.
        return _Comparison(entry, 0, min(failed, key=len))
    if entry.op in expected.operations:
        return _Comparison(entry, 1)
    payments = {(attempt.row, attempt.subject) for attempt in passing if attempt.attempt == 1}
    # One that fits only at a later provider is a payment too.
    return _Comparison(entry, len(payments) or 1)


def _attempts(entry: JournalEntry, operations: Set[str]) -> list[Attempt]:
    """What rules were asked with in an entry, or could have been, where that is one of some
    operations, by its first or second name. Where no rule was asked, as none was in force, the
    request is there all the same."""
    decisions = [decision for decision in entry.decisions if decision.is_about_request]
    request, headers = fields_of(entry), entry.headers
    if not decisions and entry.op in operations:
        return [Attempt(entry.op, entry.at, request=request, headers=headers, call=entry.call)]
    attempts: list[Attempt] = []
    for decision in decisions:
        is_of_operation = decision.op in operations or decision.also in operations
        if is_of_operation:
            attempts.append(asked_with(decision, entry, request))
    return attempts


@record
class Expected:
    """One expectation. ``text`` is the operation as the caller wrote it."""

    text: str
    operations: frozenset[str]
    when: When
    bounds: Expectation


def expectations(document: object) -> tuple[list[Expected], dict[str, str]]:
    """The expectations of plain data, and every fault by its place: with a fault they mean
    nothing."""
    problems = Problems("verify", {})
    if not isinstance(document, list):
        return [], {"Requests": "wanted a list of {op, where, count}"}
    requests: list[Expected] = []
    for place, raw in enumerate(document):
        if len(problems.faults) >= MOST_FAULTS:
            break
        # The fault is among the problems already.
        with suppress(ScenarioRefused):
            requests += _expected(raw, problems.below("requests", place))
    return requests, {problem.path: problem.message for problem in problems.faults}


def _expected(raw: object, problems: Problems) -> Iterator[Expected]:
    """The expectation of one item of the list; none where ``problems`` say why it is none."""
    # ``charge.create`` alone is short for {op: charge.create}.
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
        bounds = _bounds(raw.get("count"), problems.below("count"))
        yield Expected(str(raw.get("op", "*")), operations, when, bounds)


def _tests(
    raw: Mapping[str, object], where: Mapping[str, object], problems: Problems
) -> dict[str, object]:
    """The tests of an expectation: those of ``where``, and those that stand beside ``op`` as in a
    rule."""
    tests = dict(where)
    for key, wanted in raw.items():
        if key in _KEYS:
            continue
        if is_test(key):
            tests.setdefault(key, wanted)
        else:
            allowed = f"allowed: {', '.join(_KEYS)} and tests such as request.amount"
            problems.add((key,), f"unknown key{nearest(key, _KEYS)}, {allowed}")
    for key in list(tests):
        first_part = key.partition(".")[0]
        if first_part in _ELSEWHERE:
            problems.add(("where", key), f"not here: {_ELSEWHERE[first_part]}")
            del tests[key]
    return tests


def _bounds(raw: object, problems: Problems) -> Expectation:
    """How often something is expected: at least once without a ``count``."""
    bounds = Expectation()
    if raw is None:
        return bounds
    counts = raw
    # ``count: 1`` is short for ``count: {exactly: 1}``; true is no number here.
    if type(raw) is int:
        counts = {"exactly": raw}
    with problems.at():
        if not isinstance(counts, Mapping) or not counts or counts.keys() - _COUNTS:
            raise ValueError(f"got {excerpt(raw)}, wanted exactly, or min and max")
        if not all(type(number) is int and 0 <= number <= _MOST for number in counts.values()):
            raise ValueError("wanted whole numbers of 0 or more")
        if "exactly" in counts and len(counts) > 1:
            raise ValueError("got exactly and another bound, wanted one of them")
        exactly = counts.get("exactly")
        bounds = Expectation(counts.get("min", exactly) or 0, counts.get("max", exactly))
    return bounds


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
