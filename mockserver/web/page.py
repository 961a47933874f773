"""How pages are served: HTML, files and event streams for browsers, beside the JSON of the APIs.

A page carries no key: its address names an object, and the object its sandbox. What a form asks for is carried out by
an ordinary route through ``carry_out``, so that scenarios, journal and webhooks see it as they see any call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mockserver.domain.addresses import is_web_address
from mockserver.domain.clock import SECOND, Micros
from mockserver.domain.record import record
from mockserver.engine import idempotency
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.outcome import FaultKind, Transport
from mockserver.web.access import STEP
from mockserver.web.asgi import (
    HungUp,
    RawHeaders,
    Receive,
    Scope,
    Send,
    TooLarge,
    headers_of,
    read_body,
    send_bytes,
)
from mockserver.web.endpoint import Arrival, Endpoint
from mockserver.web.exchange import Reply, Request
from mockserver.web.faults import Conversation
from mockserver.web.host import Host
from mockserver.web.lazy import loaded
from mockserver.web.route import Route
from mockserver.wire.jsonio import dumps

HTML = b"text/html; charset=utf-8"
LONGEST_FORM = 65_536
"""Bytes of a form; the longest honest one has a few hundred."""


@dataclass(frozen=True, slots=True)
class PageCall:
    """One request of a browser. Of a form field given twice the last value counts.

    ``steps`` are what was carried out for it; their webhooks go out when the page has been answered.
    """

    host: Host
    scope: Scope
    headers: Mapping[str, str]
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    steps: list[tuple[Sandbox, Step]] = field(default_factory=list)

    def sandbox_with(self, holds: Callable[[Sandbox], object | None]) -> Sandbox | None:
        """The sandbox that holds what the address names, brought to the present.

        A copy of a sandbox holds it too: ``?sandbox=<public key>`` picks one, else the original answers, and while
        there is none the oldest copy.
        """
        wanted = self.query.get("sandbox")
        holding = (
            sandbox
            for sandbox in self.host.sandboxes
            if wanted in (None, sandbox.public_key) and holds(sandbox) is not None
        )
        sandbox = min(holding, key=lambda sandbox: sandbox.is_copy, default=None)
        if sandbox is not None:
            sandbox.step = Step("page.view")
        return sandbox


@record
class Page:
    """One whole answer; ``latency`` and ``fault`` are what a scenario makes of it on the way."""

    status: int
    body: bytes
    headers: RawHeaders = field(default_factory=list)
    latency: Micros = 0
    fault: Transport | None = None


@record
class Stream:
    """An answer that goes on until the browser leaves."""

    headers: RawHeaders
    chunks: AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One row of the table of pages."""

    method: str
    path: str
    serve: Callable[[PageCall], Page | Stream]
    summary: str


class PageEndpoint:
    """One row of the table of pages as an ASGI application."""

    def __init__(self, route: PageRoute, host: Host) -> None:
        self.route = route
        self.host = host
        self.serve: Callable[[PageCall], Page | Stream] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.host.on_request()
        try:
            raw = await read_body(receive, scope, LONGEST_FORM)
        except HungUp:
            return
        except TooLarge:
            await send_bytes(send, 413, b"The form is too long.", [(b"content-type", b"text/plain; charset=utf-8")])
            return
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), errors="replace"))
        form = dict(parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True, errors="replace"))
        if self.serve is None:
            self.serve = loaded(self.route.serve)
        await self.host.catch_up_all()
        call = PageCall(self.host, scope, headers_of(scope), scope["path_params"], query, form)
        try:
            await self._answer(self.serve(call), call, receive, send)
        finally:
            for sandbox, step in call.steps:
                step.answered = True
                if step.webhooks:
                    self.host.answered(sandbox, step)

    async def _answer(self, answer: Page | Stream, call: PageCall, receive: Receive, send: Send) -> None:
        if isinstance(answer, Stream):
            await _flow(answer, receive, send)
            return
        for sandbox, step in call.steps:
            if step.urgent:
                await self.host.flush_webhooks(sandbox, step)
        if answer.latency:
            await asyncio.sleep(answer.latency / SECOND)
        if answer.fault is not None:
            talk = Conversation(call.scope, receive, send, answer.status, answer.body)
            talk.headers = answer.headers
            await talk.strike(answer.fault)
        else:
            await send_bytes(send, answer.status, answer.body, answer.headers)


async def _flow(stream: Stream, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": stream.headers})
    leaving = asyncio.ensure_future(receive())
    try:
        while True:
            coming = asyncio.ensure_future(anext(stream.chunks, None))
            await asyncio.wait({leaving, coming}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                coming.cancel()
                await asyncio.wait({coming})
                return
            chunk = coming.result()
            await send({"type": "http.response.body", "body": chunk or b"", "more_body": chunk is not None})
            if chunk is None:
                return
    finally:
        leaving.cancel()
        await stream.chunks.aclose()


def carry_out(
    call: PageCall, route: Route, sandbox: Sandbox, body: Mapping[str, object], path: str | None = None
) -> Reply:
    """Let an ordinary route do what a form asks for, in the sandbox of the page, and keep it in the journal, under
    ``path`` when that is not the page's."""
    headers = {**call.headers, "content-type": "application/json"}
    for name in ("cookie", idempotency.HEADER):
        headers.pop(name, None)
    request = Request(path or call.scope["path"], call.path, b"", headers, dumps(body))
    endpoint = Endpoint(route, call.host)
    arrived = endpoint.arrive(sandbox, request)
    arrived.step.answered = False
    call.scope[STEP] = sandbox, arrived.step
    call.steps.append((sandbox, arrived.step))
    reply = _acted(endpoint, arrived, request) if isinstance(arrived, Arrival) else arrived
    endpoint.note(sandbox, request, reply, dumps(reply.body) if reply.status is not None else b"")
    return reply


def _acted(endpoint: Endpoint, arrived: Arrival, request: Request) -> Reply:
    fault = arrived.fault
    if fault is not None and fault.kind is not FaultKind.DELAY:
        return Reply(None, None, arrived.step, fault)
    reply = endpoint.act(arrived, request)
    if fault is not None:
        reply.step.latency += fault.delay
    return reply


def policy(*, forms_to: str = "'self'", scripts: bool = False, frames: bool = False, framed: bool = True) -> RawHeaders:
    """The headers of an HTML page: nothing from outside, nothing inline. ``forms_to`` are the origins that a form may
    reach, those that it is redirected to included."""
    rules = [
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data:",
        f"form-action {forms_to}",
        "base-uri 'none'",
    ]
    rules += ["script-src 'self'", "connect-src 'self'"] if scripts else []
    rules += ["frame-src 'self'"] if frames else []
    rules += [] if framed else ["frame-ancestors 'none'"]
    return [
        (b"content-type", HTML),
        (b"content-security-policy", "; ".join(rules).encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    ]


def redirect(location: str, reply: Reply | None = None) -> Page:
    """Send the browser elsewhere by GET; what a scenario does to ``reply`` happens on the way."""
    headers: RawHeaders = [(b"location", location.encode("latin-1", "replace")), (b"cache-control", b"no-store")]
    return spoilt(Page(303, b"", headers), reply)


def spoilt(page: Page, reply: Reply | None) -> Page:
    """The page with the time and the fault that a scenario gave to the reply behind it."""
    if reply is None:
        return page
    return Page(page.status, page.body, page.headers, reply.step.latency, reply.fault)


def web_address(text: str | None) -> str | None:
    """The address when a browser may be sent there: http or https with a host, printable ASCII only; else None."""
    sound = text and text.isascii() and is_web_address(text) and not any(mark in text for mark in "\"'<>\\`;,")
    return text if sound else None


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, as a policy names them."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def with_query(address: str, **more: str) -> str:
    """The address with ``more`` added to its query."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, urlencode(more))))))
