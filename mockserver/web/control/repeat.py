"""Sending a request of the journal again (``/__admin/journal/{entry_id}/repeat``), or showing it so that another client
can (``/__admin/journal/{entry_id}/request``)."""

from __future__ import annotations

from contextlib import suppress

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound
from mockserver.domain.masking import mask_query, sendable_field
from mockserver.domain.reading import whole_of
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import Message, Scope
from mockserver.web.control.call import ControlCall
from mockserver.web.faults import Cut
from mockserver.web.operation import OperationEndpoint
from mockserver.wire.journal import RequestReply, request_reply
from mockserver.wire.masking import mask_body, sendable_body


async def repeat(call: ControlCall) -> tuple[int, object]:
    """Send a request again as it came, as a new request with its own entry: ``status`` and ``answer`` are those
    of a client; ``status`` is null when a client would have got none.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that is not a request of the API.
    """
    sandbox, entry = _entry(call)
    endpoint = entry.endpoint
    if not isinstance(endpoint, OperationEndpoint):
        raise Invalid(Code.VALIDATION_ERROR, {"Id": f"entry {entry.number} is not a request that can be sent again"})
    status, raw = await _sent(endpoint, entry)
    return 200, {"status": status, "answer": mask_body(raw), "entry": sandbox.journal.last}


def request(call: ControlCall) -> tuple[int, RequestReply]:
    """A request as another client can send it: published test numbers as they came, any other card number as
    ``$CARD_NUMBER``, each ccv as a test value. Keys and credentials stay masked.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that came due without a request.
    """
    _, entry = _entry(call)
    shown = request_reply(entry.method, entry.path, b"", entry.step.headers, b"")
    if shown is None:
        raise Invalid(Code.VALIDATION_ERROR, {"Id": f"entry {entry.number} came due without a request"})
    return 200, {**shown, "query": mask_query(entry.query, sendable_field), "body": sendable_body(entry.raw)}


def _entry(call: ControlCall) -> tuple[Sandbox, JournalEntry]:
    sandbox, number = call.sandbox(), whole_of(call.path["entry_id"]) or 0
    entry = sandbox.journal.get(number)
    if entry is None:
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": f"no entry {number} is kept"}, message="Not Found")
    return sandbox, entry


async def _sent(endpoint: OperationEndpoint, entry: JournalEntry) -> tuple[int | None, bytes]:
    """The answer to the same request; None and what came of it when the connection broke."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in entry.step.headers.items()]
    scope: Scope = {
        "type": "http",
        "method": entry.method,
        "path": entry.path,
        "raw_path": entry.path.encode(),
        "query_string": entry.query,
        "headers": headers,
        "path_params": dict(entry.step.path),
    }
    answered: list[Message] = []
    waiting = [{"type": "http.request", "body": entry.raw, "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        answered.append(message)

    with suppress(Cut):
        await endpoint(scope, receive, send)
    status = next((one["status"] for one in answered if one["type"] == "http.response.start"), None)
    return status, b"".join(one.get("body", b"") for one in answered if one["type"] == "http.response.body")
