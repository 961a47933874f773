"""The guard of the server: which clients and pages it lets in, and what it notes about each
request. It stands before the routes, so that no endpoint can forget to ask.

A page in a browser can reach whatever its machine can reach: any web site that a developer visits
could empty the sandboxes on that developer's machine. Three rules keep it out.

- **The Host header must name this server.** A hostile site may let its own name lead to 127.0.0.1
  (DNS rebinding): the browser then takes us for that site, and lets its page read our answers. The
  name in the Host header is still the site's.
- **What changes a sandbox must not come from a page of another site**: control calls, and posts to
  an inbox. The browser says whose page it is (``Origin``, ``Sec-Fetch-Site``), and a form of
  another site cannot have one of our content types. A client that is no browser sends neither
  header, and is let in.
- **Another site's page may read an answer only where a browser has business**: the operations that
  a public key opens (CORS).

The token of ``--admin-token`` is a fourth, for a server that other machines reach. Calls of the
payments API need no such check: a browser sends their header x-secretkey to another site only with
the permission of that site, and we give none.

The guard also sees every request begin and end, whatever becomes of it: there it is counted,
logged and traced. Source: docs/security.md.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from hmac import compare_digest
from ipaddress import ip_address
from socket import gethostname
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mockserver.domain.addresses import CONTROL_WORDS
from mockserver.domain.bounded_cache import BoundedCache
from mockserver.domain.codes import Code
from mockserver.domain.errors import Refused, problem
from mockserver.settings import Settings
from mockserver.web.access import OPERATION, QUIET_PATHS, REFUSED, STATUS, Access
from mockserver.web.request import ASKED_PATH, RawHeader, are_usual, is_foreign, send_json, tidied
from mockserver.web.transport_faults import Cut
from mockserver.web.world import World
from mockserver.wire.content import coding_fault

_CONTROL, _INBOX = "__admin", "__inbox"
_WEBHOOK_SIGNATURE = b"x-payfurl-signature"
"""A header of each webhook. Its receiver's address, such as a forwarded port, may lead back to our
own control API: a sandbox must not give itself commands."""

_CONTROL_TYPES = (
    "application/json",
    "application/yaml",
    "application/x-yaml",
    "text/yaml",
    "text/x-yaml",
    "text/vnd.yaml",
    # State documents that are lines.
    "application/x-ndjson",
)
_OWN_PATHS = (_CONTROL, "metrics", _INBOX, "mcp")
"""How the paths begin behind which stands the developer, not the shop: control API and page,
metrics, inboxes of webhooks, tools for coding agents."""

_LONGEST_KEPT_HOST = 300

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "testserver", "test", "mockserver"})
"""Names of this machine, and names without a dot that in-process clients use: no public name server
answers for them."""

_RESERVED = (".localhost", ".test")
_NEARBY = (*_RESERVED, ".local", ".internal")
"""Ends of names that no name server may answer for (RFC 6761), or no public one: those of the own
network, a cluster, a container host."""

_CORS_ANSWER: list[RawHeader] = [(b"access-control-allow-origin", b"*")]
_CORS_PREFLIGHT: list[RawHeader] = [
    (b"access-control-allow-headers", b"content-type, providerid, x-publickey"),
    (b"access-control-max-age", b"600"),
    (b"vary", b"origin"),
]


class Refusal(NamedTuple):
    """Why a request is turned away: the status, code and message of the answer, and the ``words``
    about a ``field``."""

    status: int
    code: Code
    message: str
    field: str
    words: str


class Guard:
    """Asks a few questions of each request before the application sees it, counts, logs and traces
    it, and answers an unforeseen error.

    Routes are looked for by the tidied path that the guard has judged, so that no second way of
    writing a path gets round it. An endpoint puts back the path that was asked for.
    ``public_methods`` says which methods of a path a public key opens.
    """

    def __init__(
        self, app: ASGIApp, world: World, public_methods: Callable[[str], list[str]]
    ) -> None:
        self.app = app
        self.world = world
        self._public_methods = public_methods
        self._is_open = not world.settings.is_loopback
        self._names = _names(world.settings)
        self._token = (world.settings.admin_token or "").encode()
        # Whether a Host header is ours: clients send the same few again and again.
        self._ours = BoundedCache(1_000, self._is_ours, _is_short_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, and note it when it has ended, however it ends."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no WebSockets here: the application refuses them.
            await self.app(scope, receive, send)
            return
        world, error_name = self.world, None
        is_quiet, began = scope["path"] in QUIET_PATHS, world.real_clock()
        if world.tracing is not None and not is_quiet:
            world.tracing.request_begins(scope)
        try:
            await self._admit(scope, receive, send)
        except BaseException as error:
            error_name = type(error).__name__
            # A scripted cut wants no answer, nor does a request that the server cancels.
            if isinstance(error, Exception) and not isinstance(error, Cut):
                scope.setdefault(STATUS, 500)
                await last_resort(scope, send)
            raise
        finally:
            if not is_quiet:
                # A client that left before its answer began has none.
                status = 0 if getattr(receive, "is_unanswered", False) else scope.get(STATUS, 0)
                access = Access(scope, began, world.real_clock(), status, error_name)
                world.requests[scope.get(OPERATION, REFUSED)].note(access)
                if world.log is not None:
                    world.log(access)
                if world.tracing is not None:
                    world.tracing.request_ends(access)

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start and stop with the server that runs the application. A server other than our own
        hands over no connections that could be cut: it does not start with scenarios that cut
        one, rather than leave out a fault that a test waits for."""
        if is_foreign(scope):
            try:
                self.world.directory.cut_no_connections()
            except Refused as refused:
                # What comes is "lifespan.startup": by ASGI a server is answered, never told first.
                await receive()
                words = "; ".join((refused.details or {}).values())
                await send({"type": "lifespan.startup.failed", "message": words})
                return
        await self.app(scope, receive, send)

    def _admit(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Let the application serve a request, or refuse it."""
        headers = scope["headers"]
        if not isinstance(headers, tuple):
            # Tuples can be looked up in caches. Our own server brings them, others bring lists.
            headers = scope["headers"] = tuple(map(tuple, headers))
        sender = _sender_of(headers)
        path: str = scope["path"]
        if sender.host_count != 1 or sender.coding or not self._ours[sender.host]:
            refusal = self._sender_refusal(scope, sender)
            if refusal is not None:
                return _refuse(scope, send, refusal)
        # Wherever the application is mounted, its paths are looked for from their beginning.
        scope[ASKED_PATH], scope["root_path"] = path, ""
        scope["path"] = tidied(path)
        # Doubled slashes are ignored when a route is looked for, so they are here.
        bare = path.lstrip("/")
        if bare.startswith(_OWN_PATHS):
            if bare.startswith(_INBOX):
                # Whoever sends webhooks here, such as another sandbox, has no token.
                refusal = _site_refusal(scope, sender)
            else:
                refusal = self._control_refusal(scope, sender)
            if refusal is not None:
                return _refuse(scope, send, refusal)
        elif sender.origin:
            return self._serve_browser(scope, receive, send, self._public_methods(path))
        return self.app(scope, receive, send)

    def _serve_browser(
        self, scope: Scope, receive: Receive, send: Send, public_methods: list[str]
    ) -> Awaitable[None]:
        """Serve a request of a page, which may be of another site, such as a shop's checkout. The
        browser shows that page the answer only with our permission, which we give for what a
        public key opens. Anything else is served without it: who holds a secret key must not
        keep it in a page."""
        if scope["method"] == "OPTIONS" and public_methods:
            return _allow(scope, send, public_methods)
        if scope["method"] in public_methods:
            send = _readable_anywhere(send)
        return self.app(scope, receive, send)

    def _sender_refusal(self, scope: Scope, sender: Sender) -> Refusal | None:
        """Why a request is refused by how its head names us, and how it says that its body is
        sent."""
        if sender.host_count > 1 or (not sender.host_count and scope["http_version"] == "1.1"):
            # Of two names a proxy on the way may have gone by the other one, so neither tells where
            # the request was sent. HTTP/1.1 demands one; HTTP/1.0 knew none.
            words = f"got {sender.host_count} Host headers, wanted one"
            message = Code.VALIDATION_ERROR.message
            return Refusal(400, Code.VALIDATION_ERROR, message, "Host", words)
        if sender.coding not in (b"", b"chunked"):
            words = "wanted chunked alone: no other coding of a body is read"
            return Refusal(501, Code.VALIDATION_ERROR, "Not Implemented", "TransferEncoding", words)
        if sender.host and not self._ours[sender.host]:
            names = ", ".join(sorted(self._names))
            if self._is_open:
                names += f", an address, a name without a dot or with {', '.join(_NEARBY)}"
            words = f"wanted a name of this server: {names}, or one of --allow-host"
            return Refusal(403, Code.INVALID_AUTHENTICATION, "Forbidden", "Host", words)
        return None

    def _is_ours(self, host: bytes) -> bool:
        """Whether a Host header names this server, and a page of a stranger cannot have sent it: a
        stranger may lead its own names to this machine (DNS rebinding), but none that is reserved.
        A server that other machines reach is also called by the names of its own network."""
        match = _HOST.fullmatch(host.decode("latin-1"))
        if match is None:
            return False
        name = match["name"].strip("[]").lower().rstrip(".")
        if name in self._names:
            return True
        if self._is_open:
            return _is_nearby(name)
        return name.endswith(_RESERVED)

    def _control_refusal(self, scope: Scope, sender: Sender) -> Refusal | None:
        """Why a control call, metrics or the tools for agents are refused: without the token, and
        where something may change also from another site, or as a body that no page of this server
        would send."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        method: str = scope["method"]
        # The control page itself holds nothing: what it shows it asks for, with the token.
        is_page = method == "GET" and scope["path"].strip("/") == _CONTROL
        if self._token and not is_page and not self._carries_token(headers):
            words = (
                "wanted the token of --admin-token, in x-admin-token or as Authorization: Bearer"
            )
            message = Code.INVALID_AUTHENTICATION.message
            return Refusal(401, Code.INVALID_AUTHENTICATION, message, "XAdminToken", words)
        if method in ("GET", "HEAD", "OPTIONS"):
            return None
        refusal = _site_refusal(scope, sender)
        if refusal is not None:
            return refusal
        if _WEBHOOK_SIGNATURE in headers:
            return Refusal(
                403, Code.INVALID_AUTHENTICATION, "Forbidden", "XPayfurlSignature", CONTROL_WORDS
            )
        unsupported = "Unsupported Media Type"
        fault = coding_fault(headers.get(b"content-encoding", b"").decode("latin-1"))
        if fault is not None:
            return Refusal(415, Code.VALIDATION_ERROR, unsupported, "ContentEncoding", fault)
        content_type = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        # A browser sends a form of another site without asking us, but never with these types. A
        # call without body and type, such as a reset by curl, is let through.
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        if content_type.decode("latin-1") not in _CONTROL_TYPES and (content_type or has_body):
            json, yaml, *_, lines = _CONTROL_TYPES
            words = f"wanted {json}, {yaml}, or {lines} for a state document"
            return Refusal(415, Code.VALIDATION_ERROR, unsupported, "ContentType", words)
        return None

    def _carries_token(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the token of ``--admin-token`` came: in a header of our own, or as the bearer
        token that scrapers of metrics and clients of MCP can be given."""
        token = headers.get(b"x-admin-token")
        if not token:
            scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
            token = credentials.strip() if scheme.lower() == b"bearer" else b""
        # Takes as long whatever is wrong with it: nobody finds it out letter by letter.
        return compare_digest(token, self._token)


class Sender(NamedTuple):
    """What a head says of who sends it to whom: the last Host and the last Origin, empty without
    one; the number of Host headers; and how the body is coded on its way (Transfer-Encoding)."""

    host: bytes
    origin: bytes
    host_count: int
    coding: bytes


def _read_sender(headers: tuple[RawHeader, ...]) -> Sender:
    """What a head says of its sender. Of two Host headers neither is believed, so they are
    counted; of two Origins the last one, as a browser sends one alone."""
    hosts = [value for name, value in headers if name == b"host"]
    origins = [value for name, value in headers if name == b"origin"]
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    return Sender(
        host=hosts[-1] if hosts else b"",
        origin=origins[-1] if origins else b"",
        host_count=len(hosts),
        coding=b", ".join(codings),
    )


# A client sends the same head again and again.
_sender_of = BoundedCache(512, _read_sender, are_usual).__getitem__


def _is_short_host(host: bytes) -> bool:
    """Whether a Host header may be kept in memory: a client could send long ones without end."""
    return len(host) <= _LONGEST_KEPT_HOST


def _names(settings: Settings) -> frozenset[str]:
    """The names by which a Host header may call this server, in small letters."""
    names = [settings.host, *settings.allow_host]
    if settings.public_url:
        names.append(urlsplit(settings.public_url).hostname or "")
    if not settings.is_loopback:
        names.append(gethostname())
    return _LOCAL | {name.lower() for name in names if name}


def _is_nearby(name: str) -> bool:
    """Whether no stranger's name server can answer for a name: an address, or a name of the own
    network, such as that of a container."""
    if name.endswith(_NEARBY) or (name and "." not in name):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
"""A name, an address, or an IPv6 address in brackets; then a port."""


def _site_refusal(scope: Scope, sender: Sender) -> Refusal | None:
    """Why a page of another site is turned away; None for a page of this server and for clients
    that are not browsers. Both headers are asked: older browsers send ``Origin`` alone, a page
    that loads an image from us sends ``Sec-Fetch-Site`` alone. ``same-site`` is another port or
    subdomain, so another server too."""
    site = next((value for name, value in scope["headers"] if name == b"sec-fetch-site"), b"")
    origin_host = sender.origin.partition(b"://")[2].lower()
    is_foreign_origin = sender.origin != b"" and origin_host != sender.host.lower()
    if is_foreign_origin or site in (b"cross-site", b"same-site"):
        words = "a page of another site may not change anything here"
        return Refusal(403, Code.INVALID_AUTHENTICATION, "Forbidden", "Origin", words)
    return None


async def _allow(scope: Scope, send: Send, methods: Iterable[str]) -> None:
    """Answer a browser that asks before a call to another origin. The answer has no body, and so no
    length."""
    headers = [
        *_CORS_ANSWER,
        (b"access-control-allow-methods", ", ".join(methods).encode()),
        *_CORS_PREFLIGHT,
    ]
    scope[STATUS] = 204
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _readable_anywhere(send: Send) -> Send:
    """A ``send`` whose answer a page of any origin may read (CORS)."""

    async def with_permission(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_CORS_ANSWER]}
        await send(message)

    return with_permission


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    """Answer a refusal in the form of the service's errors, which clients can read."""
    status = refusal.status
    scope[STATUS] = status
    # HTTP demands that a 401 says what is wanted; some clients ask again with a token only then.
    extra = [(b"www-authenticate", b"Bearer")] if status == 401 else []
    details = {refusal.field: refusal.words}
    body = problem(status, refusal.code, refusal.message, scope["path"], details)
    await send_json(send, status, body, *extra)


async def last_resort(scope: Scope, send: Send) -> None:
    """Answer 500 for an error that escaped an endpoint, unless the answer has begun; the server
    logs the error."""
    # An answer that has begun cannot begin again: the server says so, and cuts it off.
    with suppress(RuntimeError):
        body = problem(500, Code.UNKNOWN_ERROR, Code.UNKNOWN_ERROR.message, scope["path"])
        # The server hangs up after an error: clients that keep connections learn it from a header.
        await send_json(send, 500, body, (b"connection", b"close"))
