"""The journal of a sandbox: every step with its decisions, changes and answer
(``/__admin/journal``), found by filters and by the search language of ``q``; a request of it sent
again, or shown so that another client can send it.

Source: docs/control-api.md (``/__admin/journal``, ``q``).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import partial
from itertools import pairwise
from operator import attrgetter
from sys import getsizeof
from typing import Annotated, Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from pydantic import Field

from mockserver.domain.clock import duration_text, iso, parse_duration, parse_instant
from mockserver.domain.codes import Code
from mockserver.domain.errors import Problem, invalid, nearest
from mockserver.domain.masking import (
    mask_field,
    mask_headers,
    mask_query,
    mask_start,
    mask_text,
    sendable_field,
)
from mockserver.domain.money import number_text
from mockserver.domain.reading import number_of, whole_of
from mockserver.domain.record import record
from mockserver.domain.states import Event
from mockserver.engine.journal import Described, Journal, JournalEntry, size_of
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.decisions import (
    Firing,
    StageDecision,
    fired_in,
    reasons,
    unnamed_before,
)
from mockserver.scenario.director import Ruleset
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.scenario.transport import FaultKind
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.control.raised import raised
from mockserver.web.journaled import asking_of, fields_of, operation_of, request_of
from mockserver.web.runner import Runner, for_each
from mockserver.web.watching import SENT_BY, is_own_page
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import digits
from mockserver.wire.fields import Fields
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import ShownField, mask_body
from mockserver.wire.profile import WireProfile, assumptions_used, profile_of
from mockserver.wire.replies import Members, reply_of


class JournalQuery(ControlBody):
    """Which entries of the journal."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )
    q: str = Field(
        "",
        description=(
            'words, "phrases" and operators that must all hold, a hyphen before one excludes: '
            "status:4xx op:charge.create rule:x code:15 ref:order-5 (ref:=order-5 exactly) "
            "id:3f2a amount:12.50 currency:AUD card:1111 customer:3f2a email:a@b.c method:POST "
            "path:/charge/card since:10m until:2031-03-01 "
            "is:failed|declined|refused|fault|finding|due|repeat|scripted; other words are "
            "looked for in all that is shown"
        ),
    )
    op: str | None = Field(
        None,
        description="operation by name or glob, such as charge.create or charge.*",
    )
    status: str | None = Field(None, description="status of the answer, or its class such as 4xx")
    rule: str | None = Field(None, description="rule that fired")
    method: str | None = Field(None, description="HTTP method")
    path: str | None = Field(None, description="path of the request")
    subject: str | None = Field(None, description="id of an object that changed")
    after: Annotated[int, digits(0)] | None = Field(
        None, description="entries after this number, oldest first; without it the newest ones"
    )
    limit: Annotated[int, digits(1, 1000)] = Field(100, description="at most this many entries")


class RepeatedRequest(ControlBody):
    """What of the request is sent otherwise."""

    body: Any = Field(
        None,
        description="its body; what stands in it as ``GET .../request`` shows it is sent as it "
        "came",
    )
    query: dict[str, Any] | None = Field(None, description="its query by name")


class TimelineQuery(ControlBody):
    """Which lines of the journal."""

    since: str | None = Field(
        None,
        description="after this mark, or after the journal entry of this number",
    )
    q: str = Field("", description="a search as in the journal")
    after: Annotated[int, digits(0)] | None = Field(
        None, description="lines after this number; without it the newest ones"
    )
    before: Annotated[int, digits(0)] = Field(0, description="the newest lines before this number")
    limit: Annotated[int, digits(0)] = Field(2000, description="at most this many, 2000")
    bars: Annotated[int, digits(0)] = Field(
        0, description="parts of the histogram of calls and failures, at most this many, 200"
    )


_LONGEST = 200


async def listing(call: ControlCall[ControlBody, JournalQuery]) -> object:
    """Entries, oldest first. ``count`` fit, ``last`` is the newest number, ``dropped`` were pushed
    out."""
    sandbox, query = call.sandbox(), call.query
    tests = filters_of(sandbox, query)
    after = max(query.after or 0, call.since(sandbox, query.since))
    found = await look_through(call.world.runner, sandbox.journal, tests, after)
    entries = await for_each(
        found.page(query.limit, query.after is not None), lambda entry: shown(entry, sandbox)
    )
    return {
        "count": len(found.entries),
        "last": found.last,
        "dropped": found.dropped,
        "entries": entries,
    }


async def lines(call: ControlCall[ControlBody, TimelineQuery]) -> object:
    """Lines of the journal, oldest first. ``count`` fit the search among those asked for,
    ``meanings`` say what the operations are called, ``bars`` are a histogram of them all."""
    sandbox, query = call.sandbox(), call.query
    after = max(
        -1 if query.after is None else query.after, call.since(sandbox, call.query.since) or -1
    )
    tests, profile = searched(sandbox, query.q), profile_of(sandbox.assumed)
    found = await look_through(call.world.runner, sandbox.journal, tests, after, query.before)
    page = found.page(min(query.limit, 2_000), after >= 0)
    shown = await for_each(page, lambda entry: _line(entry, profile))
    meanings = {entry.op: OPERATIONS[entry.op].meaning for entry in page if entry.op in OPERATIONS}
    summary = {
        "last": found.last,
        "dropped": found.dropped,
        "count": len(found.entries),
        "meanings": meanings,
    }
    return {**summary, "lines": shown, "bars": await _bars(found.entries, min(query.bars, 200))}


async def _bars(entries: Sequence[JournalEntry], most: int) -> list[dict[str, object]]:
    """A histogram: parts of the same length in time, or where no time has passed in entries, each
    with its calls and how many of them failed. ``since`` and ``until`` search for it."""
    calls = (
        [entry for entry in entries if entry.method and not entry.path.startswith("/__")]
        if most
        else []
    )
    if not calls:
        return []
    is_timed = calls[0].at < calls[-1].at
    places = await for_each(calls, attrgetter("at" if is_timed else "number"))
    first, last = min(places), max(places)
    length = max(-((first - last - 1) // most), 1)
    all_calls, failed = Counter[int](), Counter[int]()
    for place, entry in zip(places, calls, strict=True):
        all_calls[(place - first) // length] += 1
        failed[(place - first) // length] += is_failed(entry)

    # A search finds entries after a number, and from a time on.
    def word(place: int) -> str:
        return iso(place) if is_timed else str(place - 1)

    edges = [word(place) for place in range(first, last + length + 1, length)]
    return [
        {"since": since, "until": until, "calls": all_calls[number], "failed": failed[number]}
        for number, (since, until) in enumerate(pairwise(edges))
    ]


def get(call: AnyCall) -> object:
    """One entry. Raises ``NotFound`` (1) for an unknown number or an entry that was dropped."""
    sandbox, entry = _entry(call)
    return shown(entry, sandbox)


def shown(entry: JournalEntry, sandbox: Sandbox) -> Members:
    """An entry with everything secret masked. ``by`` is null for what a client asked, else
    ``control page``, ``repeat`` or ``proxy``: it was sent again from there, and the findings pass
    over it. ``request``, ``status`` and ``answer`` are null for work that came due without a
    request, ``call`` for a request that is no operation of the service: it counts those of the
    operation, from 1. ``fault`` is what spoiled the answer, or stopped the request before anything
    happened (at ``receive``). A decision names the rules that came before the one that fired, each
    with the first of its tests that failed; its ``rule`` is null when none fired, ``choice`` the
    place of its outcome, from 1."""
    answer, profile = mask_body(entry.answer), profile_of(sandbox.assumed)
    return reply_of(
        "JournalEntryAnswer",
        entry,
        by=entry.headers.get(SENT_BY),
        status=status_of(entry),
        request=_request(entry, entry.headers) if entry.method else None,
        answer=answer,
        decisions=_decisions(entry, sandbox.config.rules),
        events=[
            reply_of("JournalEventAnswer", event, **moved(event, profile)) for event in entry.events
        ],
        assumptions=sorted({*entry.assumed, *assumptions_used(answer)}),
        ignored=[mask_start(name, _LONGEST) for name in entry.ignored[:1_000]],
    )


def _decisions(entry: JournalEntry, rules: Ruleset) -> list[Members]:
    """The decisions of an entry, one for each rule that fired, or for a stage in which none did."""
    attempt_of = asking_of(entry)
    return [
        _decision(decision, firing, rules, partial(attempt_of, decision))
        for decision in entry.decisions
        for firing in decision.fired or (None,)
    ]


def _decision(
    decision: StageDecision,
    firing: Firing | None,
    rules: Ruleset,
    attempt: Callable[[], Attempt],
) -> Members:
    lost = [
        {"rule": name, "why": mask_text(why)}
        for name, why in reasons(decision, firing, rules, attempt)
    ]
    unnamed = unnamed_before(decision, firing)
    return reply_of(
        "JournalDecisionAnswer",
        decision,
        rule=firing and firing.rule,
        choice=firing and firing.choice,
        delay=duration_text(firing.delay if firing is not None else 0),
        lost=lost,
        **({"more": unnamed} if unnamed else {}),
    )


def _line(entry: JournalEntry, profile: WireProfile) -> list[object]:
    rules = fired_in(entry.decisions)
    return [
        entry.number,
        iso(entry.at),
        entry.method,
        mask_start(entry.path, 500),
        entry.op,
        status_of(entry),
        entry.latency,
        rules[-1] if rules else None,
        entry.fault.kind.value if entry.fault else None,
        [
            f"{event.subject.value} {profile.word(event.after or event.what)}"
            for event in entry.events
        ],
        facts_of(entry),
    ]


def _request(
    entry: JournalEntry, headers: Mapping[str, str], field: ShownField = mask_field
) -> dict[str, object]:
    """The request of an entry, card numbers, ccv and keys masked; ``field`` shows those of query
    and body."""
    query, body = mask_query(entry.query, field), mask_body(entry.raw, field=field)
    return reply_of(
        "JournalRequestAnswer", entry, query=query, headers=mask_headers(headers), body=body
    )


def moved(event: Event, profile: WireProfile) -> dict[str, object]:
    """The states before and after a change; the first is null for an object that began."""
    states = {"before": event.before, "after": event.after}
    return {name: None if state is None else profile.word(state) for name, state in states.items()}


async def repeat(call: ControlCall[RepeatedRequest, ControlBody]) -> object:
    """Send a request again as it came, or with another ``body`` or ``query``, as a new request with
    its own entry: ``status`` and ``answer`` are those of a client; ``status`` is null when a client
    would have got none.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that is not a
    request of the API.
    """
    wanted, (sandbox, entry) = call.body, _entry(call)
    operation = operation_of(entry, call.world)
    if operation is None:
        raise invalid({"Id": f"entry {entry.number} is not a request that can be sent again"})
    asked = request_of(entry)
    if wanted.query is not None:
        asked.query = _query_with(wanted.query, entry.query)
    if wanted.body is not None:
        asked.raw = _body_with(wanted.body, entry.raw)
    status, raw = await operation.send(
        asked, "control page" if is_own_page(call.headers) else "repeat"
    )
    return {"status": status, "answer": mask_body(raw), "entry": sandbox.journal.last}


def _body_with(given: object, raw: bytes) -> bytes:
    """A body in which stands what is given, and as it came what is given as it was shown: a card
    number, for one."""
    shown = mask_body(raw, field=sendable_field)
    if given == shown:
        return raw
    came: object = None
    with suppress(MalformedJson):
        came = loads(raw)
    return dumps(_edited(given, shown, came))


def _query_with(given: Mapping[str, object], query: bytes) -> bytes:
    came = dict(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True))
    edited = _edited(given, mask_query(query, sendable_field), came)
    return urlencode(edited if isinstance(edited, dict) else {}).encode()


def _edited(given: object, shown: object, came: object) -> object:
    if given == shown:
        return came
    if isinstance(given, dict) and isinstance(shown, Mapping) and isinstance(came, Mapping):
        return {
            name: _edited(value, shown[name], came[name])
            if name in shown and name in came
            else value
            for name, value in given.items()
        }
    if isinstance(given, list) and isinstance(shown, list) and isinstance(came, list):
        known = zip(given, shown, came, strict=False)
        return [_edited(*three) for three in known] + given[min(len(shown), len(came)) :]
    return given


def request(call: AnyCall) -> object:
    """A request as another client can send it: published test numbers as they came, any other card
    number as ``$CARD_NUMBER``, each ccv as a test value. Keys and credentials stay masked.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that came due
    without a request.
    """
    _, entry = _entry(call)
    own = {name: value for name, value in entry.headers.items() if name != SENT_BY}
    if not entry.method:
        raise invalid({"Id": f"entry {entry.number} has no request: it came due, or by hand"})
    return _request(entry, own, sendable_field)


def _entry(call: AnyCall) -> tuple[Sandbox, JournalEntry]:
    sandbox, number = call.sandbox(), call.path["entry_id"]
    journal = sandbox.journal
    if (entry := journal.get(whole_of(number) or 0)) is None:
        kept = f"{journal.dropped + 1} to {journal.last}" if journal.entries else "none"
        raise missing("Id", f"got '{number[:20]}', kept entries: {kept}")
    return sandbox, entry


MOST_CHARACTERS, MOST_WORDS = 500, 20
"""What a search may have."""

_WORD = re.compile(r'(-?)(?:([A-Za-z]+):(?!//))?(?:"([^"]*)"|(\S+))')


@record
class Word:
    """One word of a search. ``operator`` is None for plain text, which is in small letters;
    ``excludes`` negates it."""

    operator: str | None
    value: str
    excludes: bool


def words_of(text: str, operators: Collection[str]) -> list[Word]:
    """The words of a search, all of which must hold. Raises ``ValueError``: too long, or an unknown
    operator."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"got {len(text)} characters, at most {MOST_CHARACTERS}")
    found = []
    for match in _WORD.finditer(text):
        minus, operator, phrase, plain = match.groups()
        value = phrase if phrase is not None else plain
        if operator is None:
            found.append(Word(None, value.lower(), bool(minus)))
        elif operator.lower() in operators:
            found.append(Word(operator.lower(), value, bool(minus)))
        else:
            hint, allowed = nearest(operator, operators), ", ".join(operators)
            raise ValueError(f"unknown operator '{operator[:40]}'{hint}; allowed: {allowed}")
    if len(found) > MOST_WORDS:
        raise ValueError(f"got {len(found)} words, at most {MOST_WORDS}")
    return [word for word in found if word.value]


Test: TypeAlias = Callable[[JournalEntry], bool]
"""Whether an entry fits."""

LAST_DIGITS = 4
"""Digits of a card number that anybody may see."""

_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")
_FAILED = 400


def _by_operation(sandbox: Sandbox, wanted: str) -> Test:
    """Operations by name or glob: those of the service, of the clock, and whatever else the journal
    holds."""
    known = {*OPERATIONS, *(f"clock.{due}" for due in Due)}
    if wanted not in known:
        known |= {entry.op for entry in sandbox.journal.entries}
    allowed = operations_like(wanted, known)
    return lambda entry: entry.op in allowed


def _by_status(_: Sandbox, wanted: str) -> Test:
    """A status, or those of its class when that is written ``4xx``."""
    if _STATUS.fullmatch(wanted) is None:
        raise ValueError(
            f"got '{wanted[:20]}', wanted a status such as 404, or a class of them such as 4xx"
        )
    allowed = {
        status for status in range(100, 600) if str(status).startswith(wanted.lower().rstrip("x"))
    }
    return lambda entry: status_of(entry) in allowed


def _by_rule(_: Sandbox, wanted: str) -> Test:
    if "*" in wanted or "?" in wanted:
        return lambda entry: any(fnmatchcase(rule, wanted) for rule in fired_in(entry.decisions))
    return lambda entry: wanted in fired_in(entry.decisions)


def _by_id(_: Sandbox, wanted: str) -> Test:
    """An id, or a part of it, of what changed or is named in the path; or the number of the
    entry."""
    number = whole_of(wanted)
    return lambda entry: (
        entry.number == number
        or any(wanted in event.subject_id for event in entry.events)
        or any(_shows(part, wanted) for part in entry.placeholders.values())
    )


def _shows(part: str, wanted: str) -> bool:
    """Whether a part of a path has a text in it, as it is shown. Most parts are ids, of which
    masking leaves what it shows as it stands."""
    is_plain = part.isascii() and part.isalnum()
    if is_plain and "*" not in wanted and wanted not in part:
        return False
    return wanted in mask_text(part)


def _by_reference(_: Sandbox, wanted: str) -> Test:
    """A reference that holds a text, or with ``=`` before it the whole of one; the case of letters
    does not count."""
    part = wanted.lower()

    def passes(entry: JournalEntry) -> bool:
        reference = (_reference(entry, _given(entry)) or "").lower()
        return reference == part[1:] if part.startswith("=") else part in reference

    return passes


def _by_card(sandbox: Sandbox, wanted: str) -> Test:
    """The last four digits of a card that a body shows masked."""
    if not (len(wanted) == LAST_DIGITS and wanted.isdecimal()):
        raise ValueError(
            f"got {len(wanted)} characters, wanted the last {LAST_DIGITS} digits of a card"
        )
    return _by_text(sandbox, f"*{wanted}")


def _by_code(_: Sandbox, wanted: str) -> Test:
    code = whole_of(wanted)
    if code is None:
        raise ValueError(f"got '{wanted[:20]}', wanted the number of an error code, such as 15")

    def has_code(entry: JournalEntry) -> bool:
        problem = problem_of(entry)
        return problem is not None and int(problem["code"]) == code

    return has_code


def amount_in(wanted: str) -> Decimal:
    """The amount of a search. Raises ``ValueError``."""
    amount = number_of(wanted)
    if amount is None:
        raise ValueError(f"got '{wanted[:20]}', wanted an amount such as 12.50")
    return amount


def _by_amount(_: Sandbox, wanted: str) -> Test:
    amount = amount_in(wanted)
    return lambda entry: number_of(_given(entry).get("amount")) == amount


def _since(sandbox: Sandbox, wanted: str) -> Test:
    """After a mark, after the entry of a number, from a date-time on, or within a duration before
    now."""
    marks = sandbox.journal.marks
    number = marks.get(wanted, whole_of(wanted))
    if number is not None:
        return lambda entry: entry.number > number
    for read in (parse_instant, lambda text: sandbox.now - parse_duration(text)):
        with suppress(ValueError):
            begin = read(wanted)
            return lambda entry: entry.at >= begin
    words = "wanted a duration such as 10m, a date or date-time, a mark or a number"
    raise ValueError(f"got '{mask_start(wanted, 40)}', {words}{nearest(wanted, marks)}")


def _is(sandbox: Sandbox, wanted: str) -> Test:
    if wanted not in _CONDITIONS:
        raise ValueError(
            f"got '{wanted[:20]}'{nearest(wanted, _CONDITIONS)}, allowed: {', '.join(_CONDITIONS)}"
        )
    return _CONDITIONS[wanted](sandbox)


def _is_finding(sandbox: Sandbox) -> Test:
    numbers = frozenset(line.entry for finding in raised(sandbox) for line in finding.evidence)
    return lambda entry: entry.number in numbers


def is_failed(entry: JournalEntry) -> bool:
    """Whether the client was given an error, or no proper answer."""
    return entry.fault is not None or (status_of(entry) or 0) >= _FAILED


_CONDITIONS: Mapping[str, Callable[[Sandbox], Test]] = {
    "failed": lambda _: is_failed,
    "declined": lambda _: lambda entry: "declined" in [event.what for event in entry.events],
    "refused": lambda _: lambda entry: (status_of(entry) or 0) >= _FAILED and not entry.events,
    "fault": lambda _: lambda entry: entry.fault is not None,
    "finding": _is_finding,
    # What is done by hand, from the control page, has no request either, and was never due.
    "due": lambda _: lambda entry: not entry.method and SENT_BY not in entry.headers,
    "repeat": lambda _: lambda entry: entry.is_repeat,
    "scripted": lambda _: lambda entry: bool(fired_in(entry.decisions)),
}
"""What ``is:`` can ask."""

FILTERS: Mapping[str, Callable[[Sandbox, str], Test]] = {
    "op": _by_operation,
    "status": _by_status,
    "rule": _by_rule,
    "method": lambda _, wanted: lambda entry: entry.method == wanted.upper(),
    "path": lambda _, wanted: lambda entry: entry.path == wanted,
    "subject": lambda _, wanted: (
        lambda entry: wanted in [event.subject_id for event in entry.events]
    ),
}
"""Filters of the query: the parameter, and what makes a test of an entry of its value. They raise
``ValueError`` for one that no entry could ever have."""

OPERATORS: Mapping[str, Callable[[Sandbox, str], Test]] = {
    **FILTERS,
    "id": _by_id,
    "code": _by_code,
    "ref": _by_reference,
    "amount": _by_amount,
    "currency": lambda _, wanted: (
        lambda entry: facts_of(entry).get("currency", "").upper() == wanted.upper()
    ),
    "is": _is,
    "since": _since,
    "until": lambda sandbox, wanted: _but(_since(sandbox, wanted)),
    "card": _by_card,
    **dict.fromkeys(
        ("email", "customer"), lambda sandbox, wanted: _by_text(sandbox, wanted.lower())
    ),
}
"""Operators of ``q``."""


def filters_of(sandbox: Sandbox, query: Any) -> list[Test]:
    """What an entry must pass: the filters and the search of a query. Raises ``Invalid`` (90)
    naming each invalid one."""
    found, faults = searched(sandbox, query.q), {}
    for name, filter_of in FILTERS.items():
        if (value := getattr(query, name)) is not None:
            try:
                found.append(filter_of(sandbox, value))
            except ValueError as fault:
                faults[name.capitalize()] = str(fault)
    if faults:
        raise invalid(faults)
    return found


def searched(sandbox: Sandbox, text: str) -> list[Test]:
    """What an entry must pass to be found by a search. Raises ``Invalid`` (90) for one that means
    nothing."""
    try:
        words = words_of(text, OPERATORS)
        # To look into the text of an entry takes longest.
        return [
            _test(sandbox, word) for word in sorted(words, key=lambda word: word.operator is None)
        ]
    except ValueError as fault:
        raise invalid({"Q": str(fault)}) from None


@record
class Found:
    """The ``entries`` that a search has found, oldest first. When it began, ``last`` was the newest
    number, from which a client goes on, and ``dropped`` entries had been pushed out."""

    entries: list[JournalEntry]
    last: int
    dropped: int

    def page(self, limit: int, from_oldest: bool) -> list[JournalEntry]:
        """At most ``limit`` entries: the oldest, or the newest."""
        return (
            self.entries[:limit]
            if from_oldest
            else self.entries[max(len(self.entries) - limit, 0) :]
        )


_SLICE = 1_000
"""Entries that are looked at in a thread before others may look at something there: to read the
bodies of so many takes a quarter of a second."""


async def look_through(
    runner: Runner, journal: Journal, tests: Sequence[Test], after: int, before: int | None = None
) -> Found:
    """Find the entries between two numbers that pass every test, among those that there are now."""
    among = [entry for entry in journal.since(max(after, 0)) if not before or entry.number < before]
    last, dropped = journal.last, journal.dropped
    if len(among) <= _SLICE or not tests:
        return Found(_passing(among, tests), last, dropped)
    entries: list[JournalEntry] = []
    for begin in range(0, len(among), _SLICE):
        some = among[begin : begin + _SLICE]
        entries += await runner.look_aside(partial(_passing, some, tests))
    return Found(entries, last, dropped)


def _passing(entries: Sequence[JournalEntry], tests: Sequence[Test]) -> list[JournalEntry]:
    passing = list(entries)
    for test in tests:
        passing = [entry for entry in passing if test(entry)]
    return passing


def _test(sandbox: Sandbox, word: Word) -> Test:
    found = (
        OPERATORS[word.operator](sandbox, word.value)
        if word.operator
        else _by_text(sandbox, word.value)
    )
    return _but(found) if word.excludes else found


def _but(test: Test) -> Test:
    """All that a test leaves out."""
    return lambda entry: not test(entry)


def _by_text(sandbox: Sandbox, wanted: str) -> Test:
    profile = profile_of(sandbox.assumed)
    return lambda entry: wanted in text_of(entry, profile)


_MOST_FIELDS = 10
_GIVEN = ("reference", "amount", "currency")


def status_of(entry: JournalEntry) -> int | None:
    """The status that the client was given, None when it was given none by us."""
    if entry.fault is not None and entry.fault.kind is FaultKind.STATUS:
        return entry.fault.status
    return entry.status


PARTED = "A"
"""Stands between the parts of a text that is in small letters, where no word that is in small
letters goes over it."""


def text_of(entry: JournalEntry, profile: WireProfile) -> str:
    """All that is shown of an entry, in small letters: no card number, ccv or key can be found in
    it by guessing. It is kept with the entry, unless it takes more memory than that."""
    if entry.search_text is not None and entry.search_text[0] is profile:
        return entry.search_text[1]
    bodies = [
        dumps(mask_body(one)).decode().lower()
        for one in (entry.raw, entry.answer)
        if one and not one.isspace()
    ]
    text = PARTED.join((_said(entry, profile), *bodies))
    if getsizeof(text) <= size_of(entry):
        entry.search_text = profile, text
    return text


def _said(entry: JournalEntry, profile: WireProfile) -> str:
    """What is shown of an entry besides its bodies, in small letters."""
    said = [entry.method, mask_text(entry.path), entry.op, str(status_of(entry) or "")]
    said += fired_in(entry.decisions)
    for event in entry.events:
        after = profile.word(event.after) if event.after else ""
        said += [event.subject, event.subject_id, event.what, after]
    said += [*entry.webhooks, *entry.warnings]
    query = str(mask_query(entry.query)) if entry.query else ""
    return f"{' '.join(said).lower()}{PARTED}{query.lower()}"


def facts_of(entry: JournalEntry) -> dict[str, Any]:
    """Everything that the row says besides time, operation, status and rule. A fact that is not
    known is left out; ``refused`` says by field what was wrong."""
    given, problem = _given(entry), problem_of(entry)
    # Of what the request leaves open the answer tells what it has shown.
    is_list = entry.op.partition(".")[2] in ("search", "payment_methods")
    is_open = problem is None and given.get("amount") is None and not is_list
    shown = entry.described if is_open else None
    charge = _charge_of(entry)
    amount = number_of(given.get("amount")) if shown is None else shown.amount
    currency = _text(given.get("currency")) or getattr(shown or charge, "currency", None)
    facts = {
        "reference": _reference(entry, given) or _text(getattr(shown, "reference", None)),
        "amount": None if amount is None else mask_text(number_text(amount)),
        "currency": None if amount is None or currency is None else currency[:10],
        **(_refusal(problem) if problem is not None else {}),
        "ignored": [mask_start(name, _LONGEST) for name in entry.ignored[:_MOST_FIELDS]] or None,
        "warnings": len(entry.warnings) or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _charge_of(entry: JournalEntry) -> Described | None:
    """The charge that a step was about."""
    described = entry.described
    return described if described is not None and described.kind == "charge" else None


def problem_of(entry: JournalEntry) -> Problem | None:
    """The error object that a step was answered with."""
    if (entry.status or 0) < _FAILED or not entry.answer.startswith(b"{"):
        return None
    answer: Problem = json.loads(entry.answer)
    return answer


def _refusal(refused: Problem) -> dict[str, Any]:
    facts: dict[str, Any] = {"code": int(refused["code"]), "message": _text(refused["message"])}
    if refused["code"] != Code.VALIDATION_ERROR or refused["details"] is None:
        return facts
    return {**facts, "refused": faults_of(refused)}


def faults_of(refused: Problem) -> dict[str, str]:
    """What an error says of each field, as it may be shown: the first fields, the beginning of each
    text. A journal entry masks the whole text of some fields, such as a ccv's; what an error says
    of them holds no value."""
    first = list((refused["details"] or {}).items())[:_MOST_FIELDS]
    return {mask_start(name, _LONGEST): mask_start(text, _LONGEST) for name, text in first}


def _given(entry: JournalEntry) -> Mapping[str, Any]:
    """What the request gave of the row, from one reading of its text."""
    request = fields_of(entry)
    return (
        request.pick(_GIVEN)
        if isinstance(request, Fields)
        else {name: request.get(name) for name in _GIVEN}
    )


def _reference(entry: JournalEntry, given: Mapping[str, Any]) -> str | None:
    """The reference that the request gave, or that the charge has which it was about."""
    found = given.get("reference") or getattr(_charge_of(entry), "reference", None)
    return mask_start(found, _LONGEST) if isinstance(found, str) else None


def _text(value: object) -> str | None:
    return mask_start(value, _LONGEST) if isinstance(value, str) and value else None


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/journal",
        listing,
        query=JournalQuery,
        keyed=True,
        reply="JournalAnswer",
        example={"op": "charge.create", "limit": "1"},
        summary="Requests, answers, decisions and changes, oldest first",
    ),
    ControlRoute(
        "GET",
        "/__admin/journal/{entry_id}",
        get,
        keyed=True,
        reply="JournalEntryAnswer",
        answers={404: "No such entry is kept"},
        example={"entry_id": "1"},
        summary="One step of the journal",
    ),
    ControlRoute(
        "GET",
        "/__admin/journal/{entry_id}/request",
        request,
        keyed=True,
        reply="JournalRequestAnswer",
        answers={404: "No such entry is kept"},
        example={"entry_id": "1"},
        summary="The request of a step as another client can send it: no secret in it, test cards "
        "as they are",
    ),
    ControlRoute(
        "POST",
        "/__admin/journal/{entry_id}/repeat",
        repeat,
        body=RepeatedRequest,
        keyed=True,
        reply="RepeatAnswer",
        answers={404: "No such entry is kept"},
        example={"entry_id": "1", "body": {}},
        summary="Send a request again as it came, or with another body or query",
    ),
    ControlRoute(
        "GET",
        "/__admin/timeline",
        lines,
        query=TimelineQuery,
        keyed=True,
        reply="TimelineAnswer",
        example={"limit": "2"},
        summary="The journal in short lines",
    ),
)
