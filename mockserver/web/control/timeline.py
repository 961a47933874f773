"""What the control page lists: short lines of the journal, objects by kind, and the state tables.

Everything here is in the control API too, at greater length; these calls are cheap enough for ten thousand lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.money import number_text
from mockserver.domain.states import TABLES
from mockserver.engine.facts import KINDS
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.engine.store import Query
from mockserver.web.control.call import ControlCall
from mockserver.web.control.journal import status_of
from mockserver.web.lazy import loaded
from mockserver.web.route import Answer, Call, Route
from mockserver.web.routes import ROUTES
from mockserver.wire.dates import moment
from mockserver.wire.jsonio import dumps
from mockserver.wire.masking import mask_body
from mockserver.wire.profile import WireProfile, profile_of

MOST_LINES = 2_000
MOST_OBJECTS = 1_000

_LONGEST_PATH = 500
_LABELS = ("reference", "title", "name", "description", "url", "email")
_READERS: Mapping[str, Route] = {
    row.op.removesuffix(".get"): row for row in ROUTES if row.method == "GET" and row.op.endswith(".get")
}


def lines(call: ControlCall) -> tuple[int, object]:
    """Lines of the journal after the number ``after``, oldest first, at most ``limit``."""
    sandbox = call.sandbox()
    journal, after = sandbox.journal, max(call.whole("after", 0), call.since(sandbox))
    limit = min(call.whole("limit", MOST_LINES), MOST_LINES)
    profile = profile_of(sandbox.assumed)
    found: list[object] = []
    for entry in journal.since(after):
        if len(found) >= limit:
            break
        found.append(_line(entry, profile))
    return 200, {"last": journal.last, "dropped": journal.dropped, "lines": found}


def objects(call: ControlCall) -> tuple[int, object]:
    """Objects of a ``kind``, newest first; without one, how many there are of each."""
    sandbox = call.sandbox()
    counts = {kind: len(table(sandbox)) for kind, (_, table) in KINDS.items()}
    kind = call.query.get("kind")
    if kind is None:
        return 200, {"counts": counts}
    _, table = _known(kind)
    limit = min(call.whole("limit", MOST_OBJECTS), MOST_OBJECTS)
    rows = table(sandbox)
    page = rows.search(Query(limit=limit, skip=call.whole("skip", 0)))
    profile = profile_of(sandbox.assumed)
    shown = [_row(row, rows.id_of(row), profile) for row in page.rows]
    return 200, {"counts": counts, "count": page.count, "objects": shown}


def one(call: ControlCall) -> tuple[int, object]:
    """One object as the payments API shows it, card numbers and ccv masked, and the state it is in."""
    sandbox, kind, object_id = call.sandbox(), call.path["kind"], call.path["object_id"]
    id_name, table = _known(kind)
    row = table(sandbox).get(object_id)
    if row is None:
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": f"no {kind} '{mask_start(object_id, 64)}'"}, message="Not Found")
    reader = _READERS.get(kind)
    shown = _read(sandbox, reader, {id_name: object_id}) if reader is not None else None
    return 200, {**_row(row, object_id, profile_of(sandbox.assumed)), "kind": kind, "object": shown}


def states(call: ControlCall) -> tuple[int, object]:
    """Every state table: how an object begins, and each legal move, in the words of the sandbox that is named."""
    word = profile_of(call.assumed()).word
    return 200, {
        name: {
            "subject": table.subject,
            "begins": (
                {str(event): word(state) for event, state in table.begins.items()}
                if isinstance(table.begins, Mapping)
                else {"": word(table.begins)}
            ),
            "moves": {
                word(state): {str(event): word(after) for event, after in row.items()}
                for state, row in table.moves.items()
            },
        }
        for name, table in TABLES.items()
    }


def _line(entry: JournalEntry, profile: WireProfile) -> list[object]:
    step = entry.step
    rules = [decision.rule for decision in step.decisions if decision.rule]
    return [
        entry.number,
        moment(entry.at),
        entry.method,
        mask_start(entry.path, _LONGEST_PATH),
        step.op,
        status_of(entry),
        step.latency,
        rules[-1] if rules else None,
        entry.fault.kind.value if entry.fault else None,
        [f"{event.subject.value} {profile.word(event.after or event.what)}" for event in step.events],
    ]


def _row(row: Any, row_id: str, profile: WireProfile) -> dict[str, object]:
    state = getattr(row, "status", None) or getattr(row, "state", None)
    amount, label = getattr(row, "amount", None), None
    for name in _LABELS:
        label = label or getattr(row, name, None)
    return {
        "id": row_id,
        "added": moment(row.added),
        "state": profile.word(state) if state is not None else None,
        "amount": f"{getattr(row, 'currency', None) or ''} {number_text(amount)}".strip()
        if amount is not None
        else None,
        "label": mask_start(str(label), 120) if label else None,
    }


def _read(sandbox: Sandbox, route: Route, path: Mapping[str, str]) -> object:
    """The answer of an ordinary read, which nobody asked for: it is not journaled and no rule sees it."""
    sandbox.step = Step("page.view", path=path)
    call = Call(
        sandbox=sandbox, profile=profile_of(sandbox.assumed), path=path, body=None, query=None, headers={}, resource=""
    )
    reply = loaded(route.handle)(call)
    return mask_body(dumps(reply.body if isinstance(reply, Answer) else reply))


def _known(kind: str) -> tuple[str, Any]:
    if kind not in KINDS:
        told = f"got '{mask_start(kind, 40)}', wanted one of {', '.join(KINDS)}{nearest(kind, KINDS)}"
        raise Invalid(Code.VALIDATION_ERROR, {"Kind": told})
    return KINDS[kind]
