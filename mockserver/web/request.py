"""A request on its way through the server, and the reply to it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import field
from urllib.parse import parse_qsl

from mockserver.assumptions import Assumed
from mockserver.domain.codes import Code
from mockserver.domain.errors import Refused, TryLater
from mockserver.domain.problem import Problem, problem
from mockserver.domain.record import mutable
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.director import Decision
from mockserver.scenario.transport import Transport
from mockserver.web.asgi import Message, RawHeader, Receive, TooLarge
from mockserver.wire import refusals
from mockserver.wire.fields import NO_FIELDS, Fields
from mockserver.wire.jsonio import MalformedJson, dumps, kept_text

Headers = Mapping[str, str]

Unanswerable = (Refused, MalformedJson, TooLarge)
"""Refusals of a request, which are answered with an error."""


async def _disconnected() -> Message:
    """The ``receive`` of a request that no client sent."""
    return {"type": "http.disconnect"}


@mutable
class Request:
    """A request as it came, and what is known of it by now: the sandbox that it names (``known``) and the ``step`` that
    it took there. ``path`` are the placeholders of ``resource``; ``receive`` says when the client leaves,
    ``decided`` what the rules said while its body was sent. ``parts`` are the body of one that is read in parts.
    ``fields`` are those of its body, ``asked`` those of its query, once an operation has read them."""

    method: str
    resource: str
    path: Mapping[str, str]
    query: bytes
    headers: Headers
    receive: Receive = field(default=_disconnected, repr=False)
    raw: bytes = field(default=b"", repr=False)
    known: Sandbox | None = None
    step: Step | None = None
    decided: Decision | None = None
    parts: deque[bytes] | None = field(default=None, repr=False)
    fields: Fields = NO_FIELDS
    asked: Fields = NO_FIELDS

    @property
    def is_in_process(self) -> bool:
        """Whether it came without a connection of this server."""
        return not hasattr(self.receive, "left")

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox of a request that has one. Raises ``LookupError``."""
        if self.known is None:
            raise LookupError(f"{self.resource} names no sandbox")
        return self.known

    @property
    def parameters(self) -> dict[str, str]:
        """The query by name; of a parameter given twice the last counts."""
        return dict(parse_qsl(self.query.decode("latin-1"), errors="replace"))

    @property
    def form(self) -> dict[str, str]:
        """The fields of an HTML form, in the body."""
        return dict(parse_qsl(self.raw.decode("utf-8", "replace"), keep_blank_values=True, errors="replace"))


@mutable
class Reply:
    """What is to be answered (``status`` None: nothing is), ``body`` as bytes when it was written before.

    ``step`` is the step to be noted in the journal; ``fault`` spoils the answer on the way. ``repeatable`` is False
    when the request must not be taken again to repeat its story, ``is_repeat`` True when the client learns nothing
    from it of what it asked for. ``headers`` is None for those of the endpoint. ``chunks`` are an answer that goes on
    until the client leaves, ``parts`` one that is too long for one piece.
    """

    status: int | None
    body: object
    step: Step | None = None
    fault: Transport | None = None
    repeatable: bool = True
    is_repeat: bool = False
    headers: tuple[RawHeader, ...] | None = None
    chunks: AsyncGenerator[bytes, None] | None = None
    parts: deque[bytes] | None = None

    def text(self) -> bytes:
        """The body as it is sent, and kept where there is a step."""
        if isinstance(self.body, bytes):
            return self.body
        return dumps(self.body) if self.step is None else kept_text(self.body)


def retry_after(fault: Exception) -> tuple[RawHeader, ...]:
    """The header that says when a refused request may be tried again; none where another try changes nothing."""
    return ((b"retry-after", b"%d" % fault.wait),) if isinstance(fault, TryLater) else ()


def refusal(fault: Exception, resource: str, assumed: Assumed) -> tuple[int, Problem]:
    """Status and body of the error for one of ``Unanswerable``."""
    match fault:
        case Refused():
            return refusals.refusal(fault, resource, assumed)
        case MalformedJson():
            return refusals.malformed(str(fault), resource)
        case _:
            code = Code.VALIDATION_ERROR
            return 413, problem(413, code, code.message, resource, {"Body": str(fault)})
