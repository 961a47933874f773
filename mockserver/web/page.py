"""How pages are served: HTML, files and event streams for browsers, beside the JSON of the APIs.
``pages.py`` has THE list of pages: what a browser can open, once. Templates are loaded when the
first page is asked for; every value is escaped. A browser keeps style sheets and scripts by a path
that holds the hash of them all.

A page carries no key: its address names an object, and the object its sandbox. What a form asks for
is carried out by an ordinary operation through ``carry_out``, so that scenarios, journal and
webhooks see it as they see any call.

What a payer types into the client script ``/js/payfurl.js`` stands in a frame of this server
(``/js/fields``), as with the published script. A closed shadow root would not do: key and input
events come out of it, and the listeners of the shop hear them first. Source:
docs/spec/published-facts.md, 7.1.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from mockserver.domain.addresses import is_web_address
from mockserver.domain.masking import mask_text
from mockserver.domain.money import CURRENCIES
from mockserver.domain.reading import query_pairs
from mockserver.domain.record import record
from mockserver.engine import idempotency
from mockserver.engine.sandbox import Sandbox
from mockserver.scenario.transport import Transport
from mockserver.web import holds
from mockserver.web.operation import OperationEndpoint
from mockserver.web.operations.route import Route
from mockserver.web.request import (
    NO_STORE,
    NOSNIFF,
    RawHeader,
    Reply,
    Request,
    TooLarge,
    retry_after,
)
from mockserver.web.shell import Endpoint
from mockserver.web.world import World
from mockserver.wire.jsonio import dumps

if TYPE_CHECKING:
    from jinja2 import Environment


HTML = (b"content-type", b"text/html; charset=utf-8")
TEXT = (b"content-type", b"text/plain; charset=utf-8")
_EMBEDDABLE = (b"cross-origin-resource-policy", b"cross-origin")
_EMBEDDED = (_EMBEDDABLE, (b"cross-origin-embedder-policy", b"require-corp"))
"""What a page in a frame, and a redirect on the way to it, must have in a shop that embeds only
what allows it."""


class PageCall:
    """One request of a browser, and the sandbox that its address names. Of a form field given twice
    the last value counts. ``fault`` is that of the operation that was carried out: it strikes the
    page."""

    def __init__(self, world: World, request: Request) -> None:
        self.world = world
        self.request = request
        self.sandbox = request.known
        self.headers = request.headers
        self.path = request.path
        self.query = request.parameters
        self.form = dict(query_pairs(request.raw))
        self.fault: Transport | None = None


class NoSuchPage(Exception):
    """An address that names nothing: what there is not, and a sentence about it."""


@record
class PageRoute:
    """A page, and the function that serves it. Whose it is says the ``table`` with the object that
    its placeholder names, or the function ``find``; a page with neither is of the server."""

    method: str
    path: str
    serve: Callable[[PageCall], Reply]
    summary: str
    table: str = ""
    find: Callable[[World, Request], Sandbox | None] | None = None


class PageEndpoint(Endpoint):
    route: PageRoute
    op = "page"
    headers = (HTML,)
    # The longest honest form has a few hundred bytes.
    largest = 65_536
    searches = True

    async def fetch(self, request: Request) -> None:
        """Find the sandbox that the address names, if there is one. Raises ``NotKept`` (43)."""
        await super().fetch(request)
        if self.route.table:
            [object_id], named = request.path.values(), request.parameters.get("sandbox")
            request.known = await self.world.directory.holding(self.route.table, object_id, named)
        elif self.route.find is not None:
            request.known = self.route.find(self.world, request)

    def authenticate(self, request: Request) -> Sandbox | None:
        return request.known

    async def act(self, request: Request) -> Reply:
        """The page, or one that says that the address names nothing."""
        if request.method != "GET":
            await holds.let_go(self.world, request)
        call = PageCall(self.world, request)
        try:
            answer = self.route.serve(call)
        except NoSuchPage as missing:
            return html(404, "unknown.html", what=missing.args[0], text=missing.args[1])
        answer.fault = call.fault
        return answer

    def refused(self, fault: Exception, request: Request) -> Reply:
        """A form that is too long; in an event stream, a key that opens nothing."""
        if isinstance(fault, TooLarge):
            return Reply(413, b"The form is too long.", headers=(TEXT,))
        reply = super().refused(fault, request)
        reply.headers = (*Endpoint.headers, *retry_after(fault))
        return reply


def html(
    status: int,
    template: str,
    /,
    *,
    reaches: Iterable[str | None] | None = (),
    scripts: bool = False,
    frames: bool = False,
    framed: bool = True,
    **values: object,
) -> Reply:
    """The whole page of a template, with the values that it names. Nothing comes from outside,
    nothing is inline. ``reaches`` are addresses of others that a form may lead to, step after step;
    None where forms lead nowhere."""
    named = [urlsplit(one) for one in reaches or () if one]
    others = [f"{one.scheme}://{one.netloc.rpartition('@')[2]}" for one in named]
    origins = ["'none'"] if reaches is None else ["'self'", *others]
    rules = "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    rules += f"form-action {' '.join(dict.fromkeys(origins))}; base-uri 'none'; "
    rules += "script-src 'self'; connect-src 'self'; " if scripts else ""
    rules += "frame-src 'self'; " if frames else ""
    # A shop may stand anywhere.
    rules += "frame-ancestors http: https:" if framed else "frame-ancestors 'none'"
    policy, embedded = (
        (b"content-security-policy", rules.encode("latin-1")),
        _EMBEDDED if framed else (),
    )
    headers = (HTML, *embedded, policy, NOSNIFF, (b"referrer-policy", b"no-referrer"), NO_STORE)
    text = _environment().get_template(template).render(values)
    return Reply(status, text.encode("utf-8", "replace"), headers=headers)


def redirect(location: str) -> Reply:
    return Reply(
        303,
        b"",
        headers=((b"location", location.encode("latin-1", "replace")), NO_STORE, *_EMBEDDED),
    )


def carry_out(
    call: PageCall, route: Route[Any, Any], body: Mapping[str, object], path: str | None = None
) -> Reply:
    """Let an ordinary operation do what a form asks for, in the sandbox of the page, and keep it in
    the journal, under ``path`` when that is not the page's."""
    own = {
        name: value
        for name, value in call.headers.items()
        if name not in ("cookie", idempotency.HEADER)
    }
    headers, resource = {**own, "content-type": "application/json"}, path or call.request.resource
    operation = OperationEndpoint(call.world, route)
    request = Request(
        route.method, resource, call.path, b"", headers, raw=dumps(body), known=call.sandbox
    )
    step, arrived = operation.arrive(request, request.sandbox)
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


def web_address(text: str | None) -> str | None:
    """The address when a browser may be sent there: http or https with a host, printable ASCII
    only; else None."""
    sound = (
        text
        and text.isascii()
        and is_web_address(text)
        and not any(mark in text for mark in "\"'<>\\`;,")
    )
    return text if sound else None


def with_query(address: str, /, **more: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, urlencode(more))))))


_TYPES = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}


@record
class StaticFile:
    """A file with its tag: the same bytes always have the same one."""

    kind: bytes
    body: bytes
    tag: str


@cache
def static_version() -> str:
    """The same for the same files."""
    tags = "".join(f"{name} {found.tag}\n" for name, found in sorted(static_files().items()))
    return blake2b(tags.encode(), digest_size=8).hexdigest()


@cache
def static_files() -> Mapping[str, StaticFile]:
    found: dict[str, StaticFile] = {}
    static = importlib.resources.files("mockserver.web").joinpath("static")
    for entry in (*static.iterdir(), *static.joinpath("vendor").iterdir()):
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            body = entry.read_bytes()
            found[entry.name] = StaticFile(kind, body, _tag_of(body))
    return found


_LIBRARY = "mkdocs_swagger_ui_tag"
_OF_THE_LIBRARY = {
    "swagger-ui-bundle.js": "javascripts/swagger-ui-bundle.js",
    "swagger-ui.css": "stylesheets/swagger-ui.css",
}


@cache
def library_files() -> Mapping[str, StaticFile]:
    """The files of Swagger UI (``api_reference.py``) by name; none where the package that carries
    them is not installed. It is looked for, and not imported: that would need all of mkdocs."""
    spec = importlib.util.find_spec(_LIBRARY)
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder, found = Path(spec.submodule_search_locations[0], "swagger-ui"), {}
    for name, place in _OF_THE_LIBRARY.items():
        body = folder.joinpath(place).read_bytes()
        found[name] = StaticFile(_TYPES[name.rpartition(".")[2]], body, _tag_of(body))
    return found


def _tag_of(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=8).hexdigest()}"'


def money(amount: Decimal, currency: str) -> str:
    """``AUD 1,250.00``: an amount as a payer reads it."""
    known = CURRENCIES.get(currency)
    return f"{currency} {amount:,.{known.digits if known else 2}f}"


def clip(text: str | None, most: int) -> str:
    """A merchant's text of any length, cut to ``most`` characters; masked before, so that no cut
    uncovers a number."""
    masked = mask_text(text or "")
    return masked if len(masked) <= most else f"{masked[: most - 1].rstrip()}…"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("mockserver.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # A card number is masked in whatever field a merchant put it; a picture is not touched.
        finalize=lambda value: (
            mask_text(value) if type(value) is str and not value.startswith("data:") else value
        ),
    )
    made.globals["money"] = money
    made.globals["static"] = f"/__static/{static_version()}"
    made.filters["clip"] = clip
    return made


def static_file(call: PageCall) -> Reply:
    """A style sheet or a script by its name, under the path of any version: a page of another one
    may be open."""
    name = call.path["name"]
    found = static_files().get(name) or library_files().get(name)
    if found is None:
        return Reply(404, b"No such file.", headers=(TEXT,))
    is_kept = call.path.get("version") == static_version()
    return _file(
        call, found, (b"cache-control", b"max-age=31536000, immutable" if is_kept else b"no-cache")
    )


def _file(call: PageCall, found: StaticFile, *more: RawHeader) -> Reply:
    headers = ((b"content-type", found.kind), (b"etag", found.tag.encode()), NOSNIFF, *more)
    is_known = call.headers.get("if-none-match") == found.tag
    return Reply(304 if is_known else 200, b"" if is_known else found.body, headers=headers)


def script(call: PageCall) -> Reply:
    """The client script; any shop may load it."""
    readable = (b"access-control-allow-origin", b"*")
    return _file(
        call, static_files()["payfurl.js"], (b"cache-control", b"no-cache"), readable, _EMBEDDABLE
    )


def entry_frame(call: PageCall) -> Reply:
    """The frame for the fields of a card or a PayTo agreement; any shop may show it."""
    return html(200, "entry.html", scripts=True, reaches=None)
