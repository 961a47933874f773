"""The journal of a sandbox: every step with its decisions, changes and answer (``/__admin/journal``)."""

from __future__ import annotations

from mockserver.domain.clock import duration_text
from mockserver.domain.codes import Code
from mockserver.domain.errors import NotFound
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import whole_of
from mockserver.engine.journal import JournalEntry
from mockserver.web.control.call import ControlCall
from mockserver.web.control.journal_facts import status_of
from mockserver.web.control.journal_search import filters_of, fitting
from mockserver.web.slices import one_by_one, with_pauses
from mockserver.wire.dates import moment
from mockserver.wire.journal import (
    EntryReply,
    JournalReply,
    answer_reply,
    decision_reply,
    event_reply,
    request_reply,
)
from mockserver.wire.profile import WireProfile, assumptions_used, profile_of

_MOST_NAMES = 1_000
_LONGEST_NAME = 200


async def listing(call: ControlCall) -> tuple[int, JournalReply]:
    """Entries, oldest first: those after the number ``after``, or without it the newest; at most ``limit`` of them."""
    sandbox, query = call.sandbox(), call.query
    journal = sandbox.journal
    filters = filters_of(sandbox, query)
    fits = await with_pauses(fitting(journal.since(max(query.after or 0, call.since(sandbox))), filters))
    page = fits[-query.limit :] if query.after is None else fits[: query.limit]
    profile = profile_of(sandbox.assumed)
    reply: JournalReply = {"count": len(fits), "last": journal.last, "dropped": journal.dropped, "entries": []}
    reply["entries"] = await one_by_one(shown(entry, profile) for entry in page)
    return 200, reply


def get(call: ControlCall) -> tuple[int, EntryReply]:
    """One entry. Raises ``NotFound`` (1) for an unknown number or an entry that was dropped."""
    number, sandbox = call.path["entry_id"], call.sandbox()
    journal = sandbox.journal
    entry = journal.get(whole_of(number) or 0)
    if entry is None:
        kept = f"{journal.dropped + 1} to {journal.last}" if journal.entries else "none"
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": f"got '{number[:20]}', kept entries: {kept}"}, message="Not Found")
    return 200, shown(entry, profile_of(sandbox.assumed))


def shown(entry: JournalEntry, profile: WireProfile) -> EntryReply:
    """An entry with everything secret masked."""
    step, answer = entry.step, answer_reply(entry.answer)
    return {
        "id": entry.number,
        "at": moment(entry.at),
        "op": step.op,
        "call": step.call,
        "status": status_of(entry),
        "fault": {"at": entry.fault.at.value, "kind": entry.fault.kind.value} if entry.fault else None,
        "latency": duration_text(step.latency),
        "request": request_reply(entry.method, entry.path, entry.query, step.headers, entry.raw),
        "answer": answer,
        "decisions": [
            decision_reply(one.stage.value, one.rule, one.choice, one.delay, one.lost()) for one in step.decisions
        ],
        "events": [event_reply(event, profile) for event in step.events],
        "assumptions": sorted({*step.assumed, *assumptions_used(answer)}),
        "ignored": [mask_start(name, _LONGEST_NAME) for name in step.ignored[:_MOST_NAMES]],
        "webhooks": list(step.webhooks),
        "warnings": list(step.warnings),
    }
