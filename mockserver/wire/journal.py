"""Journal entries as the control API shows them: everything that explains an answer, nothing that must stay secret.

Source: control document, Control API (``/__admin/journal``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.events import Event
from mockserver.domain.masking import mask_headers, mask_query, mask_text
from mockserver.wire.dates import moment
from mockserver.wire.masking import mask_body
from mockserver.wire.profile import WireProfile


class LostReply(TypedDict):
    """A rule that came before the one that fired, and the first of its tests that failed."""

    rule: str
    why: str


class DecisionReply(TypedDict):
    """One decision of the scenario; ``rule`` is null when none fired, ``choice`` the place of its outcome in a sequence
    or chance, from 1. ``delay`` is a duration, such as ``800ms``."""

    stage: str
    rule: str | None
    choice: int | None
    delay: str
    lost: list[LostReply]


class EventReply(TypedDict):
    """One change of state; ``before`` is null for an object that began."""

    subject: str
    id: str
    what: str
    before: str | None
    after: str | None
    at: str


class FaultReply(TypedDict):
    """What spoiled the answer, or stopped the request before anything happened (``at`` is ``receive`` then)."""

    at: str
    kind: str


class RequestReply(TypedDict):
    """A request as it came, card numbers, ccv and keys masked."""

    method: str
    path: str
    query: dict[str, object]
    headers: dict[str, object]
    body: object


class EntryReply(TypedDict):
    """One step. ``request``, ``status`` and ``answer`` are null for work that came due without a request. ``call`` is
    the number of the request among those of its operation, from 1; null for a request that is not an operation of the
    service."""

    id: int
    at: str
    op: str
    call: int | None
    status: int | None
    fault: FaultReply | None
    latency: str
    request: RequestReply | None
    answer: object
    decisions: list[DecisionReply]
    events: list[EventReply]
    assumptions: list[str]
    ignored: list[str]
    webhooks: list[str]
    warnings: list[str]


class JournalReply(TypedDict):
    """A part of the journal: ``count`` entries fit, ``last`` is the newest number, ``dropped`` were pushed out."""

    count: int
    last: int
    dropped: int
    entries: list[EntryReply]


def request_reply(method: str, path: str, query: bytes, headers: Mapping[str, str], raw: bytes) -> RequestReply | None:
    """The request of an entry, or None when there was none."""
    if not method:
        return None
    return {
        "method": method,
        "path": mask_text(path),
        "query": mask_query(query),
        "headers": mask_headers(headers),
        "body": mask_body(raw),
    }


def answer_reply(raw: bytes) -> object:
    """The answer of an entry."""
    return mask_body(raw)


def decision_reply(
    stage: str, rule: str | None, choice: int | None, delay: Micros, lost: list[tuple[str, str]]
) -> DecisionReply:
    """A decision with the rules that lost."""
    return {
        "stage": stage,
        "rule": rule,
        "choice": choice,
        "delay": duration_text(delay),
        "lost": [{"rule": name, "why": mask_text(why)} for name, why in lost],
    }


def event_reply(event: Event, profile: WireProfile) -> EventReply:
    """A change of state."""
    return {
        "subject": event.subject.value,
        "id": event.subject_id,
        "what": str(event.what),
        "before": None if event.before is None else profile.word(event.before),
        "after": None if event.after is None else profile.word(event.after),
        "at": moment(event.at),
    }
