"""The journal of a sandbox: every step with its decisions, changes and answer (``/__admin/journal``); a request of it
sent again, or shown so that another client can send it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from mockserver.domain.errors import invalid
from mockserver.domain.events import Event
from mockserver.domain.masking import mask_field, mask_headers, mask_query, mask_start, mask_text, sendable_field
from mockserver.domain.reading import whole_of
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.director import Decision
from mockserver.web.control.call import ControlCall, missing
from mockserver.web.control.journal_search import filters_of, look_through, status_of
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import again
from mockserver.web.runner import for_each
from mockserver.web.watching import SENT_BY, is_own_page
from mockserver.wire.jsonio import MalformedJson, dumps, loads
from mockserver.wire.masked_bodies import ShownField, mask_body
from mockserver.wire.profile import WireProfile, assumptions_used, profile_of
from mockserver.wire.replies import reply_of

_MOST_NAMES = 1_000
_LONGEST_NAME = 200


async def listing(call: ControlCall) -> object:
    """Entries, oldest first. ``count`` fit, ``last`` is the newest number, ``dropped`` were pushed out."""
    sandbox, query = call.sandbox(), call.query
    tests, profile = filters_of(sandbox, query), profile_of(sandbox.assumed)
    found = await look_through(sandbox.journal, tests, max(query.after or 0, call.since(sandbox)))
    page = found.page(query.limit, from_oldest=query.after is not None)
    entries = await for_each(page, lambda entry: shown(entry, profile))
    return {"count": len(found.entries), "last": found.last, "dropped": found.dropped, "entries": entries}


def get(call: ControlCall) -> object:
    """One entry. Raises ``NotFound`` (1) for an unknown number or an entry that was dropped."""
    sandbox, entry = _entry(call)
    return shown(entry, profile_of(sandbox.assumed))


def shown(entry: JournalEntry, profile: WireProfile) -> dict[str, object]:
    """An entry with everything secret masked. ``by`` is null for what a client asked, else ``control page``, ``repeat``
    or ``proxy``: it was sent again from there, and the findings pass over it. ``request``, ``status`` and ``answer``
    are null for work that came due without a request, ``call`` for a request that is no operation of the service: it
    counts those of the operation, from 1. ``fault`` is what spoiled the answer, or stopped the request before anything
    happened (at ``receive``)."""
    asked, result, answer = entry.asked, entry.result, mask_body(entry.answer)
    return reply_of(
        "JournalEntryAnswer",
        entry,
        by=asked.headers.get(SENT_BY),
        status=status_of(entry),
        request=_request(entry, asked.headers) if entry.method else None,
        answer=answer,
        decisions=[_decision(one) for one in result.decisions],
        events=[reply_of("JournalEventAnswer", event, **moved(event, profile)) for event in result.events],
        assumptions=sorted({*result.assumed, *assumptions_used(answer)}),
        ignored=[mask_start(name, _LONGEST_NAME) for name in result.ignored[:_MOST_NAMES]],
    )


def _request(entry: JournalEntry, headers: Mapping[str, str], field: ShownField = mask_field) -> dict[str, object]:
    """The request of an entry, card numbers, ccv and keys masked; ``field`` shows those of query and body."""
    return reply_of(
        "JournalRequestAnswer",
        entry,
        query=mask_query(entry.query, field),
        headers=mask_headers(headers),
        body=mask_body(entry.raw, field=field),
    )


def _decision(one: Decision) -> dict[str, object]:
    """A decision of the scenario with the rules that came before the one that fired, each with the first of its tests
    that failed. ``rule`` is null when none fired, ``choice`` the place of its outcome in a sequence or chance, from 1.
    """
    lost = [{"rule": name, "why": mask_text(why)} for name, why in one.lost()]
    return reply_of("JournalDecisionAnswer", one, lost=lost)


def moved(event: Event, profile: WireProfile) -> dict[str, object]:
    """The states before and after a change; the first is null for an object that began."""
    states = {"before": event.before, "after": event.after}
    return {name: None if state is None else profile.word(state) for name, state in states.items()}


async def repeat(call: ControlCall) -> object:
    """Send a request again as it came, or with another ``body`` or ``query``, as a new request with its own entry:
    ``status`` and ``answer`` are those of a client; ``status`` is null when a client would have got none.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that is not a request of the API.
    """
    wanted, (sandbox, entry) = call.body, _entry(call)
    endpoint = entry.endpoint
    if not isinstance(endpoint, OperationEndpoint):
        raise invalid({"Id": f"entry {entry.number} is not a request that can be sent again"})
    asked = again(entry)
    if wanted.query is not None:
        asked.query = _query_with(wanted.query, entry.query)
    if wanted.body is not None:
        asked.raw = _body_with(wanted.body, entry.raw)
    status, raw = await endpoint.send(asked, "control page" if is_own_page(call.headers) else "repeat")
    return {"status": status, "answer": mask_body(raw), "entry": sandbox.journal.last}


def _body_with(given: object, raw: bytes) -> bytes:
    """A body in which stands what is given, and as it came what is given as it was shown: a card number, for one."""
    shown = mask_body(raw, field=sendable_field)
    if given == shown:
        return raw
    try:
        came = loads(raw)
    except MalformedJson:
        came = None
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
            name: _edited(value, shown[name], came[name]) if name in shown and name in came else value
            for name, value in given.items()
        }
    if isinstance(given, list) and isinstance(shown, list) and isinstance(came, list):
        known = zip(given, shown, came, strict=False)
        return [_edited(*three) for three in known] + given[min(len(shown), len(came)) :]
    return given


def request(call: ControlCall) -> object:
    """A request as another client can send it: published test numbers as they came, any other card number as
    ``$CARD_NUMBER``, each ccv as a test value. Keys and credentials stay masked.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that came due without a request.
    """
    _, entry = _entry(call)
    own = {name: value for name, value in entry.asked.headers.items() if name != SENT_BY}
    if not entry.method:
        raise invalid({"Id": f"entry {entry.number} came due without a request"})
    return _request(entry, own, sendable_field)


def _entry(call: ControlCall) -> tuple[Sandbox, JournalEntry]:
    sandbox, number = call.sandbox(), call.path["entry_id"]
    journal = sandbox.journal
    entry = journal.get(whole_of(number) or 0)
    if entry is None:
        kept = f"{journal.dropped + 1} to {journal.last}" if journal.entries else "none"
        raise missing("Id", f"got '{number[:20]}', kept entries: {kept}")
    return sandbox, entry
