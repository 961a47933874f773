"""The journal of a sandbox: every step with its decisions, changes and answer
(``/__admin/journal``), in full or as short lines of a timeline; a request of it sent again, or
shown so that another client can send it.

The journal keeps requests and answers as they came, secrets included, since a request must be sent
again as it was. All that leaves here is masked on the way out (``entry_reply``), and that again is
all that a search finds (``mockserver/web/control/journal_search.py``).

Source: docs/control-api.md (``/__admin/journal``, ``q``).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from pydantic import Field

from mockserver.domain.clock import duration_text, iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import (
    mask_field,
    mask_headers,
    mask_query,
    mask_start,
    mask_text,
    sendable_field,
)
from mockserver.domain.reading import whole_of
from mockserver.domain.states import Event
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.attempt import Attempt
from mockserver.scenario.decisions import (
    Firing,
    StageDecision,
    fired_in,
    reasons,
    unnamed_before,
)
from mockserver.scenario.director import Ruleset
from mockserver.scenario.operations import OPERATIONS
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute, missing
from mockserver.web.control.entry_facts import LONGEST_FACT, facts_of, is_failed, status_of
from mockserver.web.control.journal_search import FILTERS, filter_tests, look_through, search_tests
from mockserver.web.journaled import attempt_reader, endpoint_of, request_of
from mockserver.web.runner import for_each
from mockserver.web.watching import SENT_BY
from mockserver.wire.control_body import ControlBody
from mockserver.wire.field_types import digits
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

    body: object = Field(
        None,
        description="its body; what stands in it as ``GET .../request`` shows it is sent as it "
        "came",
    )
    query: dict[str, object] | None = Field(None, description="its query by name")


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


async def listing(call: ControlCall[ControlBody, JournalQuery]) -> object:
    """Entries, oldest first. ``count`` fit, ``last`` is the newest number, from which a client goes
    on with ``after``, ``dropped`` were pushed out. Who gives ``after`` reads on from there; any
    other wants the newest."""
    sandbox, query = call.sandbox(), call.query
    tests = search_tests(sandbox, query.q)
    filters = {name: getattr(query, name) for name in FILTERS}
    tests += filter_tests(sandbox, filters)
    after = max(query.after or 0, call.since(sandbox, query.since))
    matches = await look_through(call.world.runner, sandbox.journal, tests, after)
    page = matches.page(query.limit, from_oldest=query.after is not None)
    return {
        "count": len(matches.entries),
        "last": matches.last,
        "dropped": matches.dropped,
        "entries": await for_each(page, partial(entry_reply, sandbox=sandbox)),
    }


async def lines(call: ControlCall[ControlBody, TimelineQuery]) -> object:
    """Lines of the journal, oldest first. ``count`` fit the search among those asked for,
    ``meanings`` say what the operations are called, ``bars`` are a histogram of them all."""
    sandbox, query = call.sandbox(), call.query
    tests, profile = search_tests(sandbox, query.q), profile_of(sandbox.assumed)
    since = call.since(sandbox, query.since)
    after = max(query.after or 0, since)
    matches = await look_through(call.world.runner, sandbox.journal, tests, after, query.before)
    # ``after=0`` asks for the oldest lines, a mark before the first entry for the newest.
    is_from_oldest = query.after is not None or since > 0
    page = matches.page(min(query.limit, 2_000), from_oldest=is_from_oldest)
    timeline = await for_each(page, partial(_timeline_row, profile=profile))
    meanings: dict[str, str] = {}
    for entry in page:
        # Moves of the clock and calls of unknown paths are no operations.
        if entry.op in OPERATIONS:
            meanings[entry.op] = OPERATIONS[entry.op].meaning
    return {
        "last": matches.last,
        "dropped": matches.dropped,
        "count": len(matches.entries),
        "meanings": meanings,
        "lines": timeline,
        "bars": await _bars(matches.entries, min(query.bars, 200)),
    }


async def _bars(entries: Sequence[JournalEntry], most: int) -> list[dict[str, object]]:
    """A histogram of at most so many parts, each with its calls and how many of them failed. They
    are of the same length in time, or where no time has passed in entries. ``since`` and ``until``
    search for a part."""
    # What came due was not called, and what begins so is no call of the service.
    calls = [entry for entry in entries if entry.method and not entry.path.startswith("/__")]
    if not calls or not most:
        return []
    is_timed = calls[0].at < calls[-1].at
    place_of: Callable[[JournalEntry], int] = attrgetter("at" if is_timed else "number")
    places = await for_each(calls, place_of)
    first, last = min(places), max(places)
    # A little more than a part of the whole, so that the last place lies in the last part.
    length = (last - first) // most + 1
    all_calls, failed = Counter[int](), Counter[int]()
    for place, entry in zip(places, calls, strict=True):
        part = (place - first) // length
        all_calls[part] += 1
        failed[part] += is_failed(entry)

    def edge(place: int) -> str:
        """Where a part begins, in the words of a search: one by number finds what comes after it,
        one by time what comes from it on."""
        if is_timed:
            return iso(place)
        return str(place - 1)

    edges = [edge(place) for place in range(first, last + length + 1, length)]
    return [
        {"since": since, "until": until, "calls": all_calls[part], "failed": failed[part]}
        for part, (since, until) in enumerate(pairwise(edges))
    ]


def get(call: AnyCall) -> object:
    """One entry. Raises ``NotFound`` (1) for an unknown number or an entry that was dropped."""
    sandbox, entry = _entry(call)
    return entry_reply(entry, sandbox)


def entry_reply(entry: JournalEntry, sandbox: Sandbox) -> Members:
    """An entry with everything secret masked. ``by`` is null for what a client asked, else
    ``control page``, ``repeat`` or ``proxy``: it was sent again from there, and the findings pass
    over it. ``request``, ``status`` and ``answer`` are null for work that came due without a
    request, ``call`` for a request that is no operation of the service: it counts those of the
    operation, from 1. ``fault`` is what spoiled the answer, or stopped the request before anything
    happened (at ``receive``). A decision names the rules that came before the one that fired, each
    with the first of its tests that failed; its ``rule`` is null when none fired, ``choice`` the
    place of its outcome, from 1."""
    answer, profile = mask_body(entry.answer), profile_of(sandbox.assumed)
    request = None
    if entry.method:
        request = _request_reply(entry, entry.headers)
    events = [
        reply_of("JournalEventAnswer", event, **states_of(event, profile)) for event in entry.events
    ]
    return reply_of(
        "JournalEntryAnswer",
        entry,
        by=entry.headers.get(SENT_BY),
        status=status_of(entry),
        request=request,
        answer=answer,
        decisions=_decision_replies(entry, sandbox.config.rules),
        events=events,
        assumptions=sorted({*entry.assumed, *assumptions_used(answer)}),
        ignored=[mask_start(name, LONGEST_FACT) for name in entry.ignored[:1_000]],
    )


def _decision_replies(entry: JournalEntry, rules: Ruleset) -> list[Members]:
    """The decisions of an entry, one for each rule that fired, and one for a stage in which none
    did: why nothing has failed is what the author of a scenario asks most."""
    attempt_of = attempt_reader(entry)
    replies: list[Members] = []
    for decision in entry.decisions:
        attempt = partial(attempt_of, decision)
        for firing in decision.fired or (None,):
            replies.append(_decision_reply(decision, firing, rules, attempt))
    return replies


def _decision_reply(
    decision: StageDecision,
    firing: Firing | None,
    rules: Ruleset,
    attempt: Callable[[], Attempt],
) -> Members:
    """One decision, with the rules that were asked in vain before its ``firing``, in the words of
    the ``rules`` that are in force now: the journal keeps which test failed, not how that is said.
    ``attempt`` reads the request again where a word needs it."""
    losing = [
        {"rule": name, "why": mask_text(why)}
        for name, why in reasons(decision, firing, rules, attempt)
    ]
    rule = choice = None
    delay = 0
    if firing is not None:
        rule, choice, delay = firing.rule, firing.choice, firing.delay
    more: dict[str, int] = {}
    # Of the rules that were asked in vain a decision keeps the first.
    unnamed = unnamed_before(decision, firing)
    if unnamed:
        more["more"] = unnamed
    return reply_of(
        "JournalDecisionAnswer",
        decision,
        rule=rule,
        choice=choice,
        delay=duration_text(delay),
        lost=losing,
        **more,
    )


def _timeline_row(entry: JournalEntry, profile: WireProfile) -> list[object]:
    """An entry as a row without names, as there may be 2,000 in an answer: the page
    (``static/admin-requests.js``) knows the places."""
    rules = fired_in(entry.decisions)
    changes = [
        f"{event.subject.value} {profile.word(event.after or event.what)}" for event in entry.events
    ]
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
        changes,
        facts_of(entry),
    ]


def _request_reply(
    entry: JournalEntry, headers: Mapping[str, str], field: ShownField = mask_field
) -> dict[str, object]:
    """The request of an entry, card numbers, ccv and keys masked; ``field`` says how those of query
    and body are shown: as asterisks, or as what can be sent in their place."""
    query, body = mask_query(entry.query, field), mask_body(entry.raw, field=field)
    return reply_of(
        "JournalRequestAnswer", entry, query=query, headers=mask_headers(headers), body=body
    )


def states_of(event: Event, profile: WireProfile) -> dict[str, object]:
    """The states before and after a change; the first is null for an object that began, the second
    for one that is gone. In the words of a profile, as answers have them."""
    return {
        "before": None if event.before is None else profile.word(event.before),
        "after": None if event.after is None else profile.word(event.after),
    }


async def repeat(call: ControlCall[RepeatedRequest, ControlBody]) -> object:
    """Send a request again as it came, or with another ``body`` or ``query``, as a new request with
    its own entry: ``status`` and ``answer`` are those of a client; ``status`` is null when a client
    would have got none.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that is not a
    request of the API.
    """
    changes = call.body
    sandbox, entry = _entry(call)
    operation = endpoint_of(entry, call.world)
    if operation is None:
        raise invalid({"Id": f"entry {entry.number} is not a request that can be sent again"})
    again = request_of(entry)
    if changes.query is not None:
        again.query = _edited_query(changes.query, entry.query)
    if changes.body is not None:
        again.raw = _edited_body(changes.body, entry.raw)
    status, answer = await operation.send(again, call.sender("repeat"))
    return {"status": status, "answer": mask_body(answer), "entry": sandbox.journal.last}


def _edited_body(edited: object, raw: bytes) -> bytes:
    """The body to send where somebody has ``edited`` what was shown of ``raw``."""
    masked = mask_body(raw, field=sendable_field)
    if edited == masked:
        # To the byte, as it may be the spelling that is tried again.
        return raw
    original: object = None
    with suppress(MalformedJson):
        original = loads(raw)
    return dumps(_unmasked(edited, masked, original))


def _edited_query(edited: Mapping[str, object], query: bytes) -> bytes:
    """As ``_edited_body``, of a query."""
    original = dict(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True))
    unmasked = _unmasked(edited, mask_query(query, sendable_field), original)
    # Of three objects it is one too.
    parameters = unmasked if isinstance(unmasked, dict) else {}
    return urlencode(parameters).encode()


def _unmasked(edited: object, masked: object, original: object) -> object:
    """What somebody has edited who saw only the masked form. Wherever it still says what was shown,
    the original is meant: a card number that was shown as ``$CARD_NUMBER`` is sent as it came."""
    if edited == masked:
        return original
    if isinstance(edited, dict) and isinstance(masked, Mapping) and isinstance(original, Mapping):
        unmasked = dict(edited)
        for name in edited.keys() & masked.keys() & original.keys():
            unmasked[name] = _unmasked(edited[name], masked[name], original[name])
        return unmasked
    if isinstance(edited, list) and isinstance(masked, list) and isinstance(original, list):
        pairs = zip(edited, masked, original, strict=False)
        items = [_unmasked(*triple) for triple in pairs]
        # Those that were added at the end.
        return items + edited[len(items) :]
    return edited


def request(call: AnyCall) -> object:
    """A request as another client can send it: published test numbers as they came, any other card
    number as ``$CARD_NUMBER``, each ccv as a test value. Keys and credentials stay masked.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that came due
    without a request.
    """
    _, entry = _entry(call)
    if not entry.method:
        raise invalid({"Id": f"entry {entry.number} has no request: it came due, or by hand"})
    # The client did not send that header: it says who sent the request again.
    headers = {name: value for name, value in entry.headers.items() if name != SENT_BY}
    return _request_reply(entry, headers, sendable_field)


def _entry(call: AnyCall) -> tuple[Sandbox, JournalEntry]:
    """The sandbox and the entry that a call names. Raises ``NotFound`` (1), saying which are kept:
    the oldest are pushed out as new ones come."""
    sandbox, number = call.sandbox(), call.path["entry_id"]
    journal = sandbox.journal
    # No entry has the number 0.
    entry = journal.get(whole_of(number) or 0)
    if entry is None:
        numbers = "none"
        if journal.entries:
            numbers = f"{journal.dropped + 1} to {journal.last}"
        raise missing("Id", f"got '{number[:20]}', kept entries: {numbers}")
    return sandbox, entry


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
