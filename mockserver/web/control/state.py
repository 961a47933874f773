"""Export and import of a sandbox as one document (``/__admin/state``), as one JSON object or as
lines.

A document may have 500 MB. So neither way is one step: an export takes copies in one step, which
is short as rows are values, and a thread writes the document of that instant; an import is read in
a thread and put in place in one step, so that a document with a fault changes nothing.
Source: docs/control-api.md.
"""

from collections import deque
from functools import partial

from pydantic import Field

from mockserver.domain.errors import invalid
from mockserver.engine import state_document, state_reading
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.web.control.call import LINES, ControlCall, ControlRoute
from mockserver.web.control.sandboxes import install_reply
from mockserver.web.request import NO_STORE, NOSNIFF, Reply
from mockserver.web.runner import in_thread
from mockserver.wire.control_body import ControlBody, OpenBody
from mockserver.wire.field_types import Switch
from mockserver.wire.jsonio import MalformedJson, loads


class StateQuery(ControlBody):
    """What an export holds."""

    secrets: Switch = Field(False, description="card numbers and ccv too")


class UndoQuery(ControlBody):
    """Whether it can be undone."""

    undo: Switch = Field(False, description="keep the old content for POST /__admin/undo")


class StateDocument(OpenBody):
    """A sandbox as it was exported."""


# As lines an answer has another type than the route says, so it brings its headers itself.
_LINES_HEADERS = ((b"content-type", LINES.encode()), NOSNIFF, NO_STORE)


_PART = 256 * 1024
"""Bytes of a part of an answer: a line by itself costs more to send than to write."""


async def export_state(call: ControlCall[ControlBody, StateQuery]) -> Reply | bytes:
    """Everything as one document, as it stood when it was asked for; card numbers and ccv only with
    ``secrets=true`` and the secret key itself. As lines for those who ask for them, else as one
    object. Others are served while it is written."""
    headers = call.headers
    if call.query.secrets:
        # What else names a sandbox must not show its secrets.
        headers = {"x-secretkey": call.headers.get("x-secretkey", "")}
    sandbox = call.world.directory.of_control(headers, changes=False)
    document = state_document.taken(sandbox, secrets=call.query.secrets)
    if LINES in call.headers.get("accept", "").lower():
        parts = await in_thread(partial(_in_parts, document))
        return Reply(200, b"", headers=_LINES_HEADERS, parts=parts)
    try:
        return await in_thread(document.whole)
    except state_document.TooLong:
        words = (
            f"got a sandbox of more than {state_document.LONGEST_OBJECT} bytes as one object, "
            f"wanted Accept: {LINES}, a document that is lines"
        )
        raise invalid({"Accept": words}) from None


def _in_parts(document: state_document.Document) -> deque[bytes]:
    """The lines of a document in parts that are worth sending."""
    parts: deque[bytes] = deque()
    part = bytearray()
    for line in document.lines():
        part += line
        if len(part) >= _PART:
            parts.append(bytes(part))
            part.clear()
    parts.append(bytes(part))
    return parts


async def import_state(call: ControlCall[StateDocument, UndoQuery]) -> object:
    """Put an exported state in the place of this sandbox's. Raises ``MalformedJson``,
    ``ForeignDocument`` (90), ``Invalid`` (90); then nothing changed. Others are served while it is
    read."""
    world = call.world
    # Who may change nothing is refused before anything is read.
    call.sandbox()
    read = partial(_read_lines, call.parts)
    if LINES not in call.headers.get("content-type", "").lower():
        size = sum(map(len, call.parts))
        if size > state_document.LONGEST_OBJECT:
            words = (
                f"got {size} bytes, wanted at most {state_document.LONGEST_OBJECT} of one object, "
                f"or Content-Type: {LINES}, a document that is lines"
            )
            raise invalid({"Body": words})
        read = partial(_read_object, call.parts)
    document = await in_thread(read)
    # It may have been reset meanwhile.
    replaced, real = call.sandbox(), world.real_clock()
    key, config_in_force = replaced.key, replaced.config

    def build() -> Sandbox:
        config = document.config(config_in_force, world.directory.brought)
        return state_reading.sandbox_of(document, key, config, real)

    sandbox = await in_thread(build)
    sandbox.journal.gap_reason = "a state was imported"
    world.sandboxes.install(sandbox, aside=call.query.undo)
    public_key = masked_key(sandbox.public_key)
    # Who knows the secret key may know the public one.
    if "x-secretkey" in call.headers:
        public_key = sandbox.public_key
    rules_not_in_force = document.rules_not_in_force(sandbox)
    return {**install_reply(sandbox, public_key), "rulesNotInForce": rules_not_in_force}


def _read_object(parts: deque[bytes]) -> state_reading.ReadState:
    """What a document says that is one object; one without content is an empty sandbox. A name
    that comes twice is refused: one of the two would be lost in silence. Raises
    ``MalformedJson``, ``Invalid`` (90), ``ForeignDocument`` (90)."""
    raw = b"".join(parts)
    # The body is not kept twice while it is read.
    parts.clear()
    document: object = {}
    if raw.strip():
        document = loads(raw, unique=True)
    if not isinstance(document, dict):
        raise invalid({"Body": "wanted a JSON object"})
    return state_reading.read(document)


def _read_lines(parts: deque[bytes]) -> state_reading.ReadState:
    """What a document says that is lines. Raises ``MalformedJson`` and ``ForeignDocument`` (90),
    which name the line."""
    return state_reading.read_lines(parts, _line_read)


def _line_read(line: bytes, number: int) -> object:
    """The value of a line. Raises ``MalformedJson`` with its number in the document: read by itself
    every line is the first."""
    try:
        return loads(line, unique=True)
    except MalformedJson as fault:
        raise MalformedJson(fault.message, number, fault.column) from None


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/state",
        export_state,
        query=StateQuery,
        keyed=True,
        reply="DocumentAnswer",
        lines=True,
        summary="Everything in this sandbox as one document",
    ),
    ControlRoute(
        "PUT",
        "/__admin/state",
        import_state,
        query=UndoQuery,
        body=StateDocument,
        keyed=True,
        reply="ImportAnswer",
        largest=500_000_000,
        lines=True,
        example={"undo": "true", "body": "$exported"},
        summary="Replace this sandbox by an exported document",
    ),
)
