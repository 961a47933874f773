"""Sending a request of the journal again (``/__admin/journal/{entry_id}/repeat``)."""

from __future__ import annotations

from contextlib import suppress

from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound
from mockserver.domain.reading import whole_of
from mockserver.engine.journal import JournalEntry
from mockserver.web.asgi import Message, Scope
from mockserver.web.control.call import ControlCall
from mockserver.web.faults import Cut
from mockserver.web.operation import OperationEndpoint
from mockserver.wire.masking import mask_body


async def repeat(call: ControlCall) -> tuple[int, object]:
    """Take a request again as it came, as a new request with an entry of its own: ``status`` and ``answer`` are those
    of a client; ``status`` is null when it would have been given none.

    Raises ``NotFound`` (1) for an entry that is not kept, ``Invalid`` (90) for one that is no request of the API.
    """
    sandbox, number = call.sandbox(), whole_of(call.path["entry_id"]) or 0
    entry = sandbox.journal.get(number)
    if entry is None:
        raise NotFound(Code.UNKNOWN_ERROR, {"Id": f"no entry {number} is kept"}, message="Not Found")
    endpoint = entry.endpoint
    if not isinstance(endpoint, OperationEndpoint):
        raise Invalid(Code.VALIDATION_ERROR, {"Id": f"entry {number} is no request that can be sent again"})
    status, raw = await _sent(endpoint, entry)
    return 200, {"status": status, "answer": mask_body(raw), "entry": sandbox.journal.last}


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
