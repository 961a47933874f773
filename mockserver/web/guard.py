"""The guard of the server: which clients and pages it lets in, and what it notes about each
request.

A page in a browser can reach whatever its machine can reach. So a foreign Host is refused (DNS
rebinding), control calls that change something and posts to an inbox must not come from another
site, and answers may be read from other origins only where a browser has business: the operations
that take a public key. Source: docs/security.md.
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
_WEBHOOK = b"x-payfurl-signature"
"""A header of each webhook: by a name or a forwarded port that we do not know, one may reach our
own control API."""

_TYPES = (
    "application/json",
    "application/yaml",
    "application/x-yaml",
    "text/yaml",
    "text/x-yaml",
    "text/vnd.yaml",
    # State documents that are lines.
    "application/x-ndjson",
)
_OWN = (_CONTROL, "metrics", _INBOX, "mcp")
_LONGEST_NAME = 300

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
    it, and answers an unforeseen error. It lets the application look for routes by tidy paths, from
    their beginning wherever that is mounted: the guard judges the same. An endpoint puts back the
    path that was asked for.

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
        self._ours = BoundedCache(1_000, self._is_ours, lambda raw: len(raw) <= _LONGEST_NAME)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        world, fault = self.world, None
        is_quiet, began = scope["path"] in QUIET_PATHS, world.real_clock()
        if world.tracing is not None and not is_quiet:
            world.tracing.request_begins(scope)
        try:
            await self._admit(scope, receive, send)
        except BaseException as raised:
            fault = raised
            if isinstance(raised, Exception) and not isinstance(raised, Cut):
                scope.setdefault(STATUS, 500)
                await last_resort(scope, send)
            raise
        finally:
            if not is_quiet:
                # A client that left before its answer began has none.
                status = 0 if getattr(receive, "is_unanswered", False) else scope.get(STATUS, 0)
                name = type(fault).__name__ if fault is not None else None
                access = Access(scope, began, world.real_clock(), status, name)
                world.requests[scope.get(OPERATION, REFUSED)].note(access)
                if world.log is not None:
                    world.log(access)
                if world.tracing is not None:
                    world.tracing.request_ends(access)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Live as long as the server does; another one than ours has no connections to be cut."""
        if is_foreign(scope):
            try:
                self.world.directory.cut_no_connections()
            except Refused as refused:
                await receive()
                words = "; ".join((refused.details or {}).values())
                await send({"type": "lifespan.startup.failed", "message": words})
                return
        await self.app(scope, receive, send)

    def _admit(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Let the application serve a request, or refuse it."""
        headers = scope["headers"]
        if not isinstance(headers, tuple):
            # In a form by which what follows from them can be remembered.
            headers = scope["headers"] = tuple(map(tuple, headers))
        sender = _sender_of(headers)
        host, origin, hosts, coding = sender
        path: str = scope["path"]
        if hosts != 1 or coding or not self._ours[host]:
            refusal = self._sender_refusal(scope, sender)
            if refusal is not None:
                return _refuse(scope, send, refusal)
        scope[ASKED_PATH], scope["root_path"] = path, ""
        scope["path"] = tidied(path)
        # Doubled slashes are ignored when a route is looked for, so they are here.
        bare = path.lstrip("/")
        if bare.startswith(_OWN):
            if bare.startswith(_INBOX):
                # Receivers of webhooks carry no token.
                refusal = _site_refusal(scope, sender)
            else:
                refusal = self._control_refusal(scope, sender)
            if refusal is not None:
                return _refuse(scope, send, refusal)
        elif origin:
            return self._serve_page(scope, receive, send, self._public_methods(path))
        return self.app(scope, receive, send)

    def _serve_page(
        self, scope: Scope, receive: Receive, send: Send, methods: list[str]
    ) -> Awaitable[None]:
        """Serve a page in a browser, which another site may have sent: it may read what a public
        key opens."""
        if scope["method"] == "OPTIONS" and methods:
            return _allow(scope, send, methods)
        if scope["method"] in methods:
            send = _readable_anywhere(send)
        return self.app(scope, receive, send)

    def _sender_refusal(self, scope: Scope, sender: Sender) -> Refusal | None:
        """Why a request is refused by how its head names us, and how it says that its body is
        sent."""
        if sender.hosts > 1 or (not sender.hosts and scope["http_version"] == "1.1"):
            # A proxy may have used another of them.
            words = f"got {sender.hosts} Host headers, wanted one"
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
        # Without port and brackets.
        name = match[1].strip("[]").lower().rstrip(".") if match is not None else ""
        if name in self._names:
            return True
        return _is_nearby(name) if self._is_open else name.endswith(_RESERVED)

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
        if _WEBHOOK in headers:
            return Refusal(
                403, Code.INVALID_AUTHENTICATION, "Forbidden", "XPayfurlSignature", CONTROL_WORDS
            )
        unsupported = "Unsupported Media Type"
        fault = coding_fault(headers.get(b"content-encoding", b"").decode("latin-1"))
        if fault is not None:
            return Refusal(415, Code.VALIDATION_ERROR, unsupported, "ContentEncoding", fault)
        content_type = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        # A form of another site can be sent without asking, but not with these types.
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        if content_type.decode("latin-1") not in _TYPES and (content_type or has_body):
            words = f"wanted {_TYPES[0]}, {_TYPES[1]}, or {_TYPES[-1]} for a state document"
            return Refusal(415, Code.VALIDATION_ERROR, unsupported, "ContentType", words)
        return None

    def _carries_token(self, headers: dict[bytes, bytes]) -> bool:
        token = headers.get(b"x-admin-token")
        if not token:
            scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
            token = credentials.strip() if scheme.lower() == b"bearer" else b""
        # Takes as long whatever is wrong with it.
        return compare_digest(token, self._token)


class Sender(NamedTuple):
    """What a head says of who sends it to whom: the last host and the last origin, empty without
    one; the number of hosts; and how the body is coded on its way."""

    host: bytes
    origin: bytes
    hosts: int
    coding: bytes


def _read_sender(headers: tuple[RawHeader, ...]) -> Sender:
    hosts = [value for name, value in headers if name == b"host"]
    origins = [value for name, value in headers if name == b"origin"]
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    return Sender(
        hosts[-1] if hosts else b"",
        origins[-1] if origins else b"",
        len(hosts),
        b", ".join(codings),
    )


# A client sends the same head again and again.
_sender_of = BoundedCache(512, _read_sender, are_usual).__getitem__


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


_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")


def _site_refusal(scope: Scope, sender: Sender) -> Refusal | None:
    """Why a page of another site is turned away; None for a page of this server and for clients
    that are not browsers."""
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
    async def with_permission(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_CORS_ANSWER]}
        await send(message)

    return with_permission


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    status = refusal.status
    scope[STATUS] = status
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
