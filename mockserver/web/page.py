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
from typing import TYPE_CHECKING
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
from mockserver.web.operations.route import AnyRoute
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
    the last value counts. ``fault`` is that of the operation that was carried out: the payer's
    browser is the client of that operation, so what would have become of its answer becomes of the
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
    """A page, and the function that serves it. A browser brings no key, so something else says
    whose sandbox the page shows: the object that the placeholder of its path names, looked for in
    the ``table`` of every sandbox, or the function ``find``. A page with neither is of the
    server."""

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
            [object_id] = request.path.values()
            # Of two sandboxes with this object, one forked off the other, the address may name one.
            public_key = request.parameters.get("sandbox")
            request.known = await self.world.directory.holding(
                self.route.table, object_id, public_key
            )
        elif self.route.find is not None:
            request.known = self.route.find(self.world, request)

    def authenticate(self, request: Request) -> Sandbox | None:
        """The sandbox that ``fetch`` has found: an address that names an object is key enough."""
        return request.known

    async def act(self, request: Request) -> Reply:
        """The page, or one that says that the address names nothing."""
        if request.method != "GET":
            # A form waits as a call does while a test holds everything; a look does not.
            await holds.let_go(self.world, request)
        call = PageCall(self.world, request)
        try:
            answer = self.route.serve(call)
        except NoSuchPage as missing:
            return html(404, "unknown.html", what=missing.args[0], text=missing.args[1])
        answer.fault = call.fault
        return answer

    def refused(self, fault: Exception, request: Request) -> Reply:
        """A form that is too long, told to a person; in an event stream, a key that opens nothing,
        told in JSON to a script."""
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
    """The whole page of a template, with the values that it names.

    Texts on it come from merchants and payers. Were one of them ever not escaped, the policy would
    still keep it from running and from sending a card number away: nothing is loaded from other
    servers, no script or style stands inside the page. Scripts, frames on the page (``frames``)
    and shops around it (``framed``) are allowed where a page needs them. ``reaches`` are addresses
    of others that a form may lead to, step after step; None where forms lead nowhere.
    """
    rules = [
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data:",
        f"form-action {_form_targets(reaches)}",
        "base-uri 'none'",
    ]
    if scripts:
        rules += ["script-src 'self'", "connect-src 'self'"]
    if frames:
        rules.append("frame-src 'self'")
    if framed:
        # A shop may stand anywhere.
        rules.append("frame-ancestors http: https:")
        embedded: tuple[RawHeader, ...] = _EMBEDDED
    else:
        rules.append("frame-ancestors 'none'")
        embedded = ()
    policy = (b"content-security-policy", "; ".join(rules).encode("latin-1"))
    # An address names a payment, which is nobody else's business.
    headers = (HTML, *embedded, policy, NOSNIFF, (b"referrer-policy", b"no-referrer"), NO_STORE)
    text = _environment().get_template(template).render(values)
    return Reply(status, text.encode("utf-8", "replace"), headers=headers)


def _form_targets(reaches: Iterable[str | None] | None) -> str:
    """Where the forms of a page may lead, as its policy lists it. A browser checks each redirect
    that follows a form too, so the shop to which a payer goes on after the payment is one."""
    if reaches is None:
        return "'none'"
    origins = ["'self'"]
    for address in reaches:
        if address:
            parts = urlsplit(address)
            # Without a name and a password before the host: an origin has none.
            origins.append(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
    return " ".join(dict.fromkeys(origins))


def redirect(location: str) -> Reply:
    """Send a browser on with a GET, after a form too (303): to reload the page that it comes to
    pays nothing again."""
    return Reply(
        303,
        b"",
        headers=((b"location", location.encode("latin-1", "replace")), NO_STORE, *_EMBEDDED),
    )


def carry_out(
    call: PageCall, route: AnyRoute, body: Mapping[str, object], path: str | None = None
) -> Reply:
    """Let an ordinary operation do what a form asks for, in the sandbox of the page, and keep it in
    the journal, under ``path`` when that is not the page's."""
    headers = {**call.headers, "content-type": "application/json"}
    # Cookies of other servers on this machine come with the form, and are nobody's to read. The key
    # of an attempt is a field of the form: a header would answer for another one.
    headers.pop("cookie", None)
    headers.pop(idempotency.HEADER, None)
    operation = OperationEndpoint(call.world, route)
    request = Request(
        route.method,
        path or call.request.resource,
        call.path,
        b"",
        headers,
        raw=dumps(body),
        known=call.sandbox,
    )
    step, arrived = operation.arrive(request, request.sandbox)
    # The page's endpoint ends the answer of the step when the page has been sent: till then its
    # webhooks wait.
    call.request.step = step
    step.result.answered = False
    if isinstance(arrived, Reply):
        reply = arrived
    else:
        reply = operation.carry_out(request, step)
        if arrived is not None:
            # A rule delays the request. Nothing can wait inside this function, so the page does.
            step.result.latency += arrived.delay
    operation.note(request, step, reply, reply.text())
    call.fault = reply.fault
    return reply


def web_address(text: str | None) -> str | None:
    """The address of a merchant when a browser may be sent there: http or https with a host,
    printable ASCII only; else None, as for ``javascript:``. It stands in headers too, where some
    marks would begin another value."""
    if not text:
        return None
    if not text.isascii() or not is_web_address(text):
        return None
    if any(mark in text for mark in "\"'<>\\`;,"):
        return None
    return text


def with_query(address: str, /, **more: str) -> str:
    """An address with more parameters behind those that it has."""
    parts = urlsplit(address)
    query = "&".join(part for part in (parts.query, urlencode(more)) if part)
    return urlunsplit(parts._replace(query=query))


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
    """A hash of all static files. It is a part of their paths, so a browser may keep them for ever:
    another release has other paths."""
    files = sorted(static_files().items())
    tags = "".join(f"{name} {file.tag}\n" for name, file in files)
    return blake2b(tags.encode(), digest_size=8).hexdigest()


@cache
def static_files() -> Mapping[str, StaticFile]:
    """The style sheets, scripts and pictures of the package by name, read once."""
    files: dict[str, StaticFile] = {}
    static = importlib.resources.files("mockserver.web").joinpath("static")
    for entry in (*static.iterdir(), *static.joinpath("vendor").iterdir()):
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        # A licence lies beside what is served.
        if kind is not None:
            body = entry.read_bytes()
            files[entry.name] = StaticFile(kind, body, _tag_of(body))
    return files


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
    folder = Path(spec.submodule_search_locations[0], "swagger-ui")
    files: dict[str, StaticFile] = {}
    for name, place in _OF_THE_LIBRARY.items():
        kind = _TYPES[name.rpartition(".")[2]]
        body = folder.joinpath(place).read_bytes()
        files[name] = StaticFile(kind, body, _tag_of(body))
    return files


def _tag_of(body: bytes) -> str:
    """The ``ETag`` of some bytes."""
    return f'"{blake2b(body, digest_size=8).hexdigest()}"'


def money(amount: Decimal, currency: str) -> str:
    """``AUD 1,250.00``: an amount as a payer reads it."""
    known = CURRENCIES.get(currency)
    digits = known.digits if known else 2
    return f"{currency} {amount:,.{digits}f}"


def clip(text: str | None, most: int) -> str:
    """A merchant's text of any length, cut to ``most`` characters; masked before, so that no cut
    uncovers a number."""
    masked = mask_text(text or "")
    if len(masked) <= most:
        return masked
    return f"{masked[: most - 1].rstrip()}…"


@cache
def _environment() -> Environment:
    """The templates. Jinja is imported with the first page: most servers never show one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("mockserver.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_masked,
    )
    made.globals["money"] = money
    made.globals["static"] = f"/__static/{static_version()}"
    made.filters["clip"] = clip
    return made


def _masked(value: object) -> object:
    """A value as a template shows it: a card number is masked in whatever field a merchant put it.
    A picture is not touched, as its letters and digits mean nothing to a reader."""
    if type(value) is str and not value.startswith("data:"):
        return mask_text(value)
    return value


def static_file(call: PageCall) -> Reply:
    """A style sheet or a script by its name, under the path of any version: a page of another one
    may be open. Only under that of this version may a browser keep it."""
    name = call.path["name"]
    found = static_files().get(name) or library_files().get(name)
    if found is None:
        return Reply(404, b"No such file.", headers=(TEXT,))
    caching = b"no-cache"
    if call.path.get("version") == static_version():
        caching = b"max-age=31536000, immutable"
    return _file(call, found, (b"cache-control", caching))


def _file(call: PageCall, found: StaticFile, *more: RawHeader) -> Reply:
    """A file, or that the browser has it already (304)."""
    headers = ((b"content-type", found.kind), (b"etag", found.tag.encode()), NOSNIFF, *more)
    if call.headers.get("if-none-match") == found.tag:
        return Reply(304, b"", headers=headers)
    return Reply(200, found.body, headers=headers)


def script(call: PageCall) -> Reply:
    """The client script; any shop may load it, and its path, as that of the published script, has
    no version: so a browser asks each time whether it has changed."""
    readable = (b"access-control-allow-origin", b"*")
    return _file(
        call, static_files()["payfurl.js"], (b"cache-control", b"no-cache"), readable, _EMBEDDABLE
    )


def entry_frame(call: PageCall) -> Reply:
    """The frame for the fields of a card or a PayTo agreement; any shop may show it."""
    return html(200, "entry.html", scripts=True, reaches=None)
