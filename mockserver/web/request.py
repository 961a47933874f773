"""A request on its way through the server, and the reply to it; and the few ASGI moves that
endpoints need. Starlette's own request and response objects are not used: every call would pay for
them, and they could not be kept in a journal.

Our own server does more than ASGI knows, where it can: its ``receive`` has ``at_hand`` (the body
has come whole), ``left`` and ``is_gone`` (the client has hung up), its ``send`` has ``whole`` (head
and body go out in one piece), and the scope has the connection's transport. Under another server
all of that is missing, and everything works by plain ASGI.
"""

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import field
from itertools import chain
from typing import Any
from urllib.parse import unquote

from mockserver.assumptions import Assumed
from mockserver.domain.bounded_cache import BoundedCache
from mockserver.domain.codes import Code
from mockserver.domain.errors import Problem, Refused, TryLater, problem
from mockserver.domain.record import mutable, record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.director import Decision
from mockserver.scenario.transport import Transport
from mockserver.wire import refusals
from mockserver.wire.fields import NO_FIELDS, Fields, parameters_of
from mockserver.wire.jsonio import MalformedJson, dumps, kept_text
from mockserver.wire.query_checks import MisreadParameter

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
RawHeader = tuple[bytes, bytes]
Headers = Mapping[str, str]

TRANSPORT = "mockserver.transport"
"""The scope extension under which our own server hands over the connection's transport: a scripted
fault resets or cuts the real connection."""

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")
NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")

IN_ONE_PIECE = 10_000_000
"""Bytes of a body that is read in one piece; one that may be greater, a state document, is read in
parts."""

ASKED_PATH = "mockserver.asked_path"
"""The scope key of the path as it was asked for, while routes are looked for by a tidy one."""


def is_foreign(lifespan: Scope) -> bool:
    """Whether another server than ours runs the application. A server says by which ASGI it speaks,
    and ours announces itself in the state; what drives an application in its own process, such as a
    test client, does neither."""
    return "asgi" in lifespan and TRANSPORT not in lifespan.get("state", {})


@record
class Answered:
    """What an application in this process has answered."""

    status: int
    headers: Headers
    raw: bytes


async def call_app(
    app: Callable[[Scope, Receive, Send], Awaitable[None]],
    method: str,
    path: str,
    query: bytes,
    headers: Mapping[str, str],
    raw: bytes,
    **more: object,
) -> Answered:
    """The answer of an application in this process; ``more`` is for the scope. Raises
    ``ConnectionError`` when a fault of a scenario breaks the connection, or leaves it without an
    answer."""
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": tuple(
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ),
        **more,
    }
    answered: list[Message] = []
    unread: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive() -> Message:
        # Behind the body the client has gone: nobody waits for it to leave.
        return unread.pop() if unread else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        answered.append(message)

    await app(scope, receive, send)
    if not answered:
        raise ConnectionError("no answer came")
    head, *parts = answered
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in head["headers"]}
    return Answered(head["status"], named, b"".join(part.get("body", b"") for part in parts))


class TooLarge(Exception):
    """A body is over the limit, in bytes. Its length is told where the head of the request has it;
    how much of another has come by now depends on packets, and answers must not."""

    def __init__(self, limit: int, length: int | None) -> None:
        got = "more" if length is None else str(length)
        super().__init__(f"got {got}, wanted at most {limit} bytes")


class HungUp(Exception):
    """The client went away before it had sent its body."""


def tidied(path: str) -> str:
    """A path as routes are looked for by it, without doubled and trailing slashes, which are
    ignored; ``*`` and other targets without a slash as they are. A line end is encoded: patterns
    would ignore the last one, and values are decoded once more anyway."""
    if not path.startswith("/"):
        return path
    while "//" in path:
        path = path.replace("//", "/")
    return (path.rstrip("/") or "/").replace("\n", "%0A")


def decoded(parameters: Mapping[str, str]) -> dict[str, str]:
    """The values of placeholders, which some clients encode twice (docs/spec/published-facts.md,
    1.0)."""
    return {name: unquote(value) for name, value in parameters.items()}


def body_at_hand(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes | None:
    """The whole body, where it has come already and the server can hand it over: its ``receive``
    has an ``at_hand``. None where it is still to come. Raises ``TooLarge``."""
    at_hand = getattr(receive, "at_hand", None)
    body: bytes | None = at_hand() if at_hand is not None else None
    if body is not None and len(body) > limit:
        raise TooLarge(limit, _length_said(headers))
    return body


def _length_said(headers: Mapping[str, str]) -> int | None:
    """The length of the body as the head has it; None of one that is sent in chunks."""
    said = headers.get("content-length", "")
    return int(said) if said.isdecimal() else None


async def read_parts(receive: Receive, headers: Mapping[str, str], limit: int) -> deque[bytes]:
    """The whole body in the parts that come: to put 100 MB together takes as long as others may
    wait. Raises ``TooLarge`` as soon as it is known to be, ``HungUp`` when it never ends."""
    body = body_at_hand(receive, headers, limit)
    if body is not None:
        return deque((body,))
    length = _length_said(headers)
    if length is not None and length > limit:
        raise TooLarge(limit, length)
    chunks: deque[bytes] = deque()
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise TooLarge(limit, length)
        if not message.get("more_body"):
            return chunks


def are_usual(fields: tuple[RawHeader, ...]) -> bool:
    """Whether what was made of header fields may be kept in memory: they are few and short. A
    client could send long ones without end."""
    return len(fields) <= 64 and sum(map(len, chain.from_iterable(fields))) <= 8_192


def _headers_by_name(raw: tuple[RawHeader, ...]) -> Mapping[str, str]:
    """The headers by name. Of one given twice the first counts; beside a public key the last secret
    key, as the assumption ``keys.both`` has it."""
    headers: dict[str, str] = {}
    for name, value in raw:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    if "x-publickey" in headers:
        secret_keys = [value for name, value in raw if name == b"x-secretkey"]
        if secret_keys:
            headers["x-secretkey"] = secret_keys[-1].decode("latin-1")
    return headers


headers_by = BoundedCache(512, _headers_by_name, are_usual).__getitem__
"""The headers of a scope, as the guard has made them a tuple, by name. Most clients send the same
ones with every request, and the journal keeps them all: one map does for all."""


def sent_whole(send: Send, status: int, body: bytes, headers: tuple[RawHeader, ...]) -> bool:
    """Send a whole answer in a single go, where the server can: its ``send`` has a ``whole``.
    Whether it has been sent."""
    whole = getattr(send, "whole", None)
    return whole is not None and whole(status, headers, body)


async def send_bytes(
    send: Send, status: int, body: bytes, headers: Iterable[RawHeader] = (JSON_TYPE, NOSNIFF)
) -> None:
    """One whole answer."""
    if sent_whole(send, status, body, tuple(headers)):
        return
    headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_parts(
    send: Send, status: int, parts: deque[bytes], headers: Iterable[RawHeader]
) -> None:
    """One whole answer in parts, which are used up by that; others are served in between."""
    headers = [*headers, (b"content-length", b"%d" % sum(map(len, parts)))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b""})
    # Else this name would hold the last part.
    part = b""
    while parts:
        # Memory goes back to the machine from its end: with the last part all at once, which takes
        # 100 ms for 1 GB, unless that is the first to go.
        parts.pop()
        await asyncio.sleep(0)


async def send_json(send: Send, status: int, value: object, *extra: RawHeader) -> None:
    """One whole JSON answer."""
    await send_bytes(send, status, dumps(value), (JSON_TYPE, NOSNIFF, NO_STORE, *extra))


async def stream(
    receive: Receive, send: Send, headers: Iterable[RawHeader], chunks: AsyncGenerator[bytes, None]
) -> None:
    """An answer that goes on until it ends or the client leaves. Whichever comes first is waited
    for, so that a stream in which nothing happens ends with its reader.

    Starlette's own wants a task of its own for each request, which the fast lane does without.
    """
    await send({"type": "http.response.start", "status": 200, "headers": [*headers]})
    leaving = asyncio.ensure_future(receive())
    try:
        while True:
            coming = asyncio.ensure_future(anext(chunks, None))
            await asyncio.wait({leaving, coming}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                coming.cancel()
                await asyncio.wait({coming})
                return
            chunk = coming.result()
            await send(
                {"type": "http.response.body", "body": chunk or b"", "more_body": chunk is not None}
            )
            if chunk is None:
                return
    finally:
        leaving.cancel()
        await chunks.aclose()


async def hung_up(receive: Receive) -> None:
    """Wait until the client or we have hung up: the server then asks for no answer any more."""
    while (await receive())["type"] != "http.disconnect":
        pass


Unanswerable = (Refused, MalformedJson, TooLarge)
"""Refusals of a request, which are answered with an error."""


async def _disconnected() -> Message:
    """The ``receive`` of a request that no client sent."""
    return {"type": "http.disconnect"}


@mutable
class Request:
    """A request as it came, and what is known of it by now: the sandbox that it names (``known``),
    that which counts it as under way (``in_use``), how many commits of the store had failed before
    it did anything (``failures``), and the ``step`` that it took there.

    ``resource`` is its path, ``path`` are the placeholders of that; ``receive`` says when the
    client leaves, ``decided`` what the rules said while its body was sent. The body is ``raw``, or
    ``parts`` where it is read in parts. Once an operation has read them, ``body_fields`` and
    ``query_fields`` are the fields of body and query, ``unknown`` those that it does not read, each
    with a hint, and ``misread`` the parameters that it reads other than they are written."""

    method: str
    resource: str
    path: Mapping[str, str]
    query: bytes
    headers: Headers
    receive: Receive = field(default=_disconnected, repr=False)
    raw: bytes = field(default=b"", repr=False)
    known: Sandbox | None = None
    in_use: Sandbox | None = None
    failures: int = 0
    step: Step | None = None
    decided: Decision | None = None
    client: tuple[str, int] | None = None
    parts: deque[bytes] | None = field(default=None, repr=False)
    body_fields: Fields = NO_FIELDS
    query_fields: Fields = NO_FIELDS
    unknown: Mapping[str, str] | None = None
    misread: Sequence[MisreadParameter] = ()

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
        return parameters_of(self.query)


@mutable
class Reply:
    """What is to be answered (``status`` None: nothing is), ``body`` as bytes when it was written
    before.

    ``step`` is the step to be noted in the journal; ``fault`` spoils the answer on the way.
    ``repeatable`` is False when the request must not be taken again to repeat its story,
    ``is_repeat`` True when the client learns nothing from it of what it asked for. ``headers`` is
    None for those of the endpoint. ``chunks`` are an answer that goes on until the client leaves,
    ``parts`` one that is too long for one piece.
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
        """The body as it is sent. That of a step is kept in the journal, so it must be no larger
        than its text."""
        if isinstance(self.body, bytes):
            return self.body
        return dumps(self.body) if self.step is None else kept_text(self.body)


def retry_after(fault: Exception) -> tuple[RawHeader, ...]:
    """The header that says when a refused request may be tried again; none where another try
    changes nothing."""
    return ((b"retry-after", b"%d" % fault.wait),) if isinstance(fault, TryLater) else ()


def refusal(fault: Exception, resource: str, assumed: Assumed) -> tuple[int, Problem]:
    """Status and body of the error for one of ``Unanswerable``."""
    if isinstance(fault, Refused):
        return refusals.refusal(fault, resource, assumed)
    status, code = 400 if isinstance(fault, MalformedJson) else 413, Code.VALIDATION_ERROR
    return status, problem(status, code, code.message, resource, {"Body": str(fault)})
