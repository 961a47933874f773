"""How pages are served: HTML, files and event streams for browsers, beside the JSON of the APIs. ``pages.csv`` is THE
table of pages: what a browser can open, once.

A page carries no key: its address names an object, and the object its sandbox. What a form asks for is carried out by
an ordinary operation through ``carry_out``, so that scenarios, journal and webhooks see it as they see any call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from pathlib import Path
from urllib.parse import urlencode, urlsplit, urlunsplit

from mockserver.domain.addresses import is_web_address
from mockserver.domain.reference_data import read_table
from mockserver.engine import idempotency
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.transport import Transport
from mockserver.web import templating
from mockserver.web.asgi import RawHeader, TooLarge
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply, Request, retry_after
from mockserver.web.routes import InModule, Route, RouteRow
from mockserver.web.shell import Endpoint
from mockserver.web.world import World
from mockserver.wire.jsonio import dumps

HTML = (b"content-type", b"text/html; charset=utf-8")
TEXT = (b"content-type", b"text/plain; charset=utf-8")
LONGEST_FORM = 65_536
"""Bytes of a form; the longest honest one has a few hundred."""

Headers = tuple[RawHeader, ...]

Finder = Callable[[World, Request], Sandbox | Awaitable[Sandbox | None] | None]
"""What finds the sandbox of a page."""


class PageCall:
    """One request of a browser, and the sandbox that its address names. Of a form field given twice the last value
    counts. ``fault`` is that of the operation that was carried out: it strikes the page."""

    def __init__(self, world: World, request: Request) -> None:
        self.world = world
        self.request = request
        self.sandbox = request.known
        self.headers = request.headers
        self.path = request.path
        self.query = request.parameters
        self.form = request.form
        self.fault: Transport | None = None


def no_sandbox(world: World, request: Request) -> Sandbox | None:
    """No sandbox: the page is the same for all."""
    return None


def holding(table: str, parameter: str) -> Finder:
    """What finds the sandbox with the object of a table whose id is a parameter of the path."""

    async def find(world: World, request: Request) -> Sandbox | None:
        object_id, named = request.path[parameter], request.parameters.get("sandbox")
        return await world.directory.holding(table, object_id, named)

    return find


class NoSuchPage(Exception):
    """An address that names nothing: what there is not, and a sentence about it."""


class PageRoute(RouteRow):
    """One row of the table of pages. ``sandbox`` finds the sandbox that the address names."""

    method: str
    path: str
    serve: Callable[[PageCall], Reply]
    summary: str
    sandbox: Finder
    readers = {  # noqa: RUF012
        "serve": InModule("mockserver.web", "page"),
        "sandbox": InModule("mockserver.web", "sandbox", no_sandbox),
    }


class PageEndpoint(Endpoint):
    """One row of the table of pages."""

    op = "page"
    headers = (HTML,)
    largest = LONGEST_FORM
    searches = True

    def __init__(self, route: PageRoute, world: World) -> None:
        super().__init__(world)
        self.route = route

    async def fetch(self, request: Request) -> None:
        """Find the sandbox that the address names, if there is one. Raises ``NotKept`` (43)."""
        await super().fetch(request)
        found = self.route.sandbox(self.world, request)
        request.known = await found if isawaitable(found) else found

    def authenticate(self, request: Request) -> Sandbox | None:
        """The same."""
        return request.known

    async def act(self, request: Request) -> Reply:
        """The page, or one that says that the address names nothing."""
        call = PageCall(self.world, request)
        try:
            answer: Reply = self.route.serve(call)
        except NoSuchPage as missing:
            return html(404, "unknown.html", policy(), what=missing.args[0], text=missing.args[1])
        answer.fault = call.fault
        return answer

    def refused(self, fault: Exception, request: Request) -> Reply:
        """A form that is too long; in an event stream, a key that opens nothing."""
        if isinstance(fault, TooLarge):
            return Reply(413, b"The form is too long.", headers=(TEXT,))
        reply = super().refused(fault, request)
        reply.headers = (*Endpoint.headers, *retry_after(fault))
        return reply


def html(status: int, template: str, headers: Headers, /, **values: object) -> Reply:
    """The whole page of a template, with the values that it names."""
    return Reply(status, templating.render(template, **values), headers=headers)


def redirect(location: str) -> Reply:
    """Send the browser elsewhere by GET."""
    headers = ((b"location", location.encode("latin-1", "replace")), (b"cache-control", b"no-store"))
    return Reply(303, b"", headers=headers)


def carry_out(call: PageCall, route: Route, body: Mapping[str, object], path: str | None = None) -> Reply:
    """Let an ordinary operation do what a form asks for, in the sandbox of the page, and keep it in the journal, under
    ``path`` when that is not the page's."""
    headers = {**call.headers, "content-type": "application/json"}
    for name in ("cookie", idempotency.HEADER):
        headers.pop(name, None)
    operation = OperationEndpoint(route, call.world)
    request = Request(
        method=route.method,
        resource=path or call.request.resource,
        path=call.path,
        query=b"",
        headers=headers,
        raw=dumps(body),
        known=call.sandbox,
    )
    sandbox = request.sandbox
    step, arrived = operation.arrive(request, sandbox)
    call.request.step = step
    step.result.answered = False
    if isinstance(arrived, Reply):
        reply = arrived
    else:
        reply = operation.carry_out(request, step)
        step.result.latency += arrived.delay if arrived is not None else 0
    operation.note(request, step, reply, reply.text())
    call.fault = reply.fault
    return reply


def policy(*, forms_to: str = "'self'", scripts: bool = False, frames: bool = False, framed: bool = True) -> Headers:
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
    # A shop may stand anywhere.
    rules += ["frame-ancestors http: https:" if framed else "frame-ancestors 'none'"]
    return (
        HTML,
        (b"content-security-policy", "; ".join(rules).encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    )


def web_address(text: str | None) -> str | None:
    """The address when a browser may be sent there: http or https with a host, printable ASCII only; else None."""
    sound = text and text.isascii() and is_web_address(text) and not any(mark in text for mark in "\"'<>\\`;,")
    return text if sound else None


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, as a policy names them."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def with_query(address: str, /, **more: str) -> str:
    """The address with ``more`` added to its query."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, urlencode(more))))))


PAGE_ROUTES = read_table("pages", PageRoute, Path(__file__).parent)
