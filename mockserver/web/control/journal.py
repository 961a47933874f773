"""The journal of a sandbox: every step with its decisions, changes and answer (``/__admin/journal``)."""

from __future__ import annotations

import re
from collections.abc import Callable

from mockserver.domain.clock import duration_text
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import whole_of
from mockserver.engine.journal import Journal, JournalEntry
from mockserver.engine.schedule import Due
from mockserver.scenario.operations import OPERATIONS, operations_like
from mockserver.scenario.outcome import FaultKind
from mockserver.web.control.call import ControlCall
from mockserver.web.slices import one_by_one
from mockserver.wire.assumptions_used import assumptions_used
from mockserver.wire.dates import moment
from mockserver.wire.journal import (
    EntryReply,
    JournalReply,
    answer_reply,
    decision_reply,
    event_reply,
    request_reply,
)
from mockserver.wire.profile import WireProfile, profile_of

_PAGE = 100
_LARGEST_PAGE = 1_000
_MOST_NAMES = 1_000
_LONGEST_NAME = 200

Filter = Callable[[JournalEntry], bool]

_FILTERS: dict[str, Callable[[Journal, str], Filter]] = {
    "op": lambda journal, wanted: _by_operation(journal, wanted),
    "status": lambda journal, wanted: _by_status(wanted),
    "rule": lambda journal, wanted: lambda entry: any(one.rule == wanted for one in entry.step.decisions),
    "method": lambda journal, wanted: lambda entry: entry.method == wanted.upper(),
    "path": lambda journal, wanted: lambda entry: entry.path == wanted,
    "subject": lambda journal, wanted: lambda entry: any(one.subject_id == wanted for one in entry.step.events),
}
"""Filters of the list: the query parameter, and what makes a test of an entry of its value. They raise ``ValueError``
for one that no entry could ever have."""

_STATUS = re.compile(r"[1-5](?:[0-9]{2}|[xX]{2})")


async def listing(call: ControlCall) -> tuple[int, JournalReply]:
    """Entries, oldest first: those after the number ``after``, or without it the newest; at most ``limit`` of them."""
    limit, after = call.whole("limit", _PAGE, 1, _LARGEST_PAGE), call.whole("after", -1)
    sandbox = call.sandbox()
    journal = sandbox.journal
    filters = _filters(call, journal)
    since = journal.since(max(after, call.since(sandbox)))
    fits = [entry for entry in since if all(passes(entry) for passes in filters)]
    page = fits[:limit] if after >= 0 else fits[-limit:]
    profile = profile_of(sandbox.assumed)
    reply: JournalReply = {"count": len(fits), "last": journal.last, "dropped": journal.dropped, "entries": []}
    reply["entries"] = await one_by_one(shown(entry, profile) for entry in page)
    return 200, reply


def get(call: ControlCall) -> tuple[int, EntryReply]:
    """One entry. Raises ``NotFound`` (1) for a number that never was or is no longer kept."""
    number, sandbox = call.path["entry_id"], call.sandbox()
    journal = sandbox.journal
    entry = journal.get(whole_of(number) or 0)
    if entry is None:
        kept = f"{journal.dropped + 1} to {journal.last}" if journal.entries else "none"
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": f"got '{number[:20]}', kept entries: {kept}"}, message="Not Found")
    return 200, shown(entry, profile_of(sandbox.assumed))


def status_of(entry: JournalEntry) -> int | None:
    """The status that the client was given, None when it was given none by us."""
    if entry.fault is not None and entry.fault.kind is FaultKind.STATUS:
        return entry.fault.status
    return entry.status


def shown(entry: JournalEntry, profile: WireProfile) -> EntryReply:
    """An entry with everything secret masked."""
    step, answer = entry.step, answer_reply(entry.answer)
    return {
        "id": entry.number,
        "at": moment(entry.at),
        "op": step.op,
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


def _filters(call: ControlCall, journal: Journal) -> list[Filter]:
    """What an entry must pass. Raises ``Invalid`` (90) naming every filter that means nothing."""
    found, faults = [], {}
    for name, value in call.query.items():
        if name in _FILTERS:
            try:
                found.append(_FILTERS[name](journal, value))
            except ValueError as fault:
                faults[name.capitalize()] = str(fault)
    if faults:
        raise Invalid(Code.VALIDATION_ERROR, faults)
    return found


def _by_operation(journal: Journal, wanted: str) -> Filter:
    """Operations by name or glob: those of the service, of the clock, and whatever else the journal holds."""
    known = {*OPERATIONS, *(f"clock.{due}" for due in Due), *(entry.step.op for entry in journal.entries)}
    allowed = operations_like(wanted, known)
    return lambda entry: entry.step.op in allowed


def _by_status(wanted: str) -> Filter:
    """A status, or those of its class when that is written ``4xx``."""
    if _STATUS.fullmatch(wanted) is None:
        raise ValueError(f"got '{wanted[:20]}', wanted a status such as 404, or a class of them such as 4xx")
    beginning = wanted.lower().rstrip("x")
    return lambda entry: str(status_of(entry) or "").startswith(beginning)
