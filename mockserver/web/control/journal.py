"""The journal of a sandbox: every step with its decisions, changes and answer (``/__admin/journal``)."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.domain.clock import duration_text
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound
from mockserver.domain.masking import mask_start
from mockserver.engine.journal import Entry
from mockserver.scenario.outcome import FaultKind
from mockserver.web.control.call import ControlCall
from mockserver.web.host import one_by_one
from mockserver.wire.dates import moment
from mockserver.wire.journal import (
    EntryReply,
    JournalReply,
    answer_reply,
    decision_reply,
    event_reply,
    request_reply,
)
from mockserver.wire.spoken import spoken

_PAGE = 100
_LARGEST_PAGE = 1_000
_MOST_NAMES = 1_000
_LONGEST_NAME = 200

_FILTERS: dict[str, Callable[[Entry, str], bool]] = {
    "op": lambda entry, wanted: entry.turn.op == wanted,
    "status": lambda entry, wanted: _status_fits(status_of(entry), wanted),
    "rule": lambda entry, wanted: any(decision.rule == wanted for decision in entry.turn.decisions),
    "method": lambda entry, wanted: entry.method == wanted.upper(),
    "path": lambda entry, wanted: entry.path == wanted,
    "subject": lambda entry, wanted: any(event.subject_id == wanted for event in entry.turn.events),
}
"""Filters of the list: the query parameter, and whether an entry fits it."""


async def listing(call: ControlCall) -> tuple[int, JournalReply]:
    """Entries, oldest first: those after the number ``after``, or without it the newest; at most ``limit`` of them."""
    wanted = _filters(call)
    limit, after = _whole(call, "limit", _PAGE, 1, _LARGEST_PAGE), _whole(call, "after", -1, 0, None)
    sandbox = call.box()
    journal = sandbox.journal
    fits = [
        entry
        for entry in journal.since(max(after, call.since(sandbox)))
        if all(_FILTERS[name](entry, value) for name, value in wanted.items())
    ]
    page = fits[:limit] if after >= 0 else fits[-limit:]
    reply: JournalReply = {"count": len(fits), "last": journal.last, "dropped": journal.dropped, "entries": []}
    reply["entries"] = await one_by_one(shown(entry) for entry in page)
    return 200, reply


def get(call: ControlCall) -> tuple[int, EntryReply]:
    """One entry. Raises ``NotFound`` (1) for a number that never was or is no longer kept."""
    number, journal = call.path["entry_id"], call.box().journal
    entry = journal.get(int(number)) if number.isascii() and number.isdecimal() and len(number) < 19 else None
    if entry is None:
        kept = f"{journal.dropped + 1} to {journal.last}" if journal.entries else "none"
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": f"got '{number[:20]}', kept entries: {kept}"}, message="Not Found")
    return 200, shown(entry)


def status_of(entry: Entry) -> int | None:
    """The status that the client was given, None when it was given none by us."""
    if entry.fault is not None and entry.fault.kind is FaultKind.STATUS:
        return entry.fault.status
    return entry.status


def shown(entry: Entry) -> EntryReply:
    """An entry with everything secret starred."""
    turn, answer = entry.turn, answer_reply(entry.answer)
    return {
        "id": entry.number,
        "at": moment(entry.at),
        "op": turn.op,
        "status": status_of(entry),
        "fault": {"at": entry.fault.at.value, "kind": entry.fault.kind.value} if entry.fault else None,
        "latency": duration_text(turn.latency),
        "request": request_reply(entry.method, entry.path, entry.query, turn.headers, entry.raw),
        "answer": answer,
        "decisions": [
            decision_reply(decision.stage.value, decision.rule, decision.delay, decision.lost())
            for decision in turn.decisions
        ],
        "events": [event_reply(event) for event in turn.events],
        "assumptions": sorted({*turn.assumed, *spoken(answer)}),
        "ignored": [mask_start(name, _LONGEST_NAME) for name in turn.ignored[:_MOST_NAMES]],
        "webhooks": list(turn.webhooks),
        "warnings": list(turn.warnings),
    }


def _filters(call: ControlCall) -> dict[str, str]:
    return {name: value for name, value in call.query.items() if name in _FILTERS}


def _whole(call: ControlCall, name: str, default: int, least: int, most: int | None) -> int:
    text = call.query.get(name)
    if text is None:
        return default
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
    if number is None or number < least or (most is not None and number > most):
        allowed = f"{least} to {most}" if most is not None else f"{least} or more"
        raise Invalid(
            Code.VALIDATION_ERROR, {name.capitalize(): f"got '{text[:20]}', wanted a whole number, {allowed}"}
        )
    return number


def _status_fits(status: int | None, wanted: str) -> bool:
    """Whether a status is the wanted one, or of its class when that is written ``4xx``."""
    text = str(status)
    return status is not None and (text == wanted or (wanted[1:].lower() == "xx" and text[:1] == wanted[:1]))
