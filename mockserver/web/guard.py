"""The guard of the server: which clients and pages it lets in, and what it notes about each
request.

A page in a browser can reach whatever its machine can reach. So a foreign Host is refused (DNS
rebinding), control calls that change something and posts to an inbox must not come from another
site, and answers may be read from other origins only where a browser has business: the operations
that take a public key. Source: docs/security.md.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from hmac import compare_digest
from ipaddress import ip_address
from socket import gethostname
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

Refusal = tuple[int, Code, str, str, str]


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
        if scope["type"] != "http":
            await (self._live if scope["type"] == "lifespan" else self.app)(scope, receive, send)
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
                await send(
                    {
                        "type": "lifespan.startup.failed",
                        "message": "; ".join((refused.details or {}).values()),
                    }
                )
                return
        await self.app(scope, receive, send)

    def _admit(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        headers = scope["headers"]
        if not isinstance(headers, tuple):
            # In a form by which what follows from them can be remembered.
            headers = scope["headers"] = tuple(map(tuple, headers))
        host, origin, hosts, coding = _senders_of(headers)
        path: str = scope["path"]
        is_usual = hosts == 1 and not coding and self._ours[host]
        if (
            not is_usual
            and (refusal := self._sender_refusal(scope, host, hosts, coding)) is not None
        ):
            return _refuse(scope, send, refusal)
        scope[ASKED_PATH], scope["root_path"] = path, ""
        scope["path"] = tidied(path)
        # Doubled slashes are ignored when a route is looked for, so they are here.
        bare = path.lstrip("/")
        if bare.startswith(_OWN):
            is_inbox = bare.startswith(_INBOX)
            refusal = (
                _site_refusal(scope, host, origin)
                if is_inbox
                else self._control_refusal(scope, host, origin)
            )
            if refusal is not None:
                return _refuse(scope, send, refusal)
        elif origin:
            return self._of_page(scope, receive, send, self._public_methods(path))
        return self.app(scope, receive, send)

    def _of_page(
        self, scope: Scope, receive: Receive, send: Send, methods: list[str]
    ) -> Awaitable[None]:
        """Serve a page in a browser, which another site may have sent: it may read what a public
        key opens."""
        if scope["method"] == "OPTIONS" and methods:
            return _allow(scope, send, methods)
        return self.app(
            scope, receive, _readable_anywhere(send) if scope["method"] in methods else send
        )

    def _sender_refusal(
        self, scope: Scope, host: bytes, hosts: int, coding: bytes
    ) -> Refusal | None:
        """Why a request is refused by how its head names us, and how it says that its body is
        sent."""
        if hosts > 1 or (not hosts and scope["http_version"] == "1.1"):
            # A proxy may have used another of them.
            words = f"got {hosts} Host headers, wanted one"
            return 400, Code.VALIDATION_ERROR, Code.VALIDATION_ERROR.message, "Host", words
        if coding not in (b"", b"chunked"):
            words = "wanted chunked alone: no other coding of a body is read"
            return 501, Code.VALIDATION_ERROR, "Not Implemented", "TransferEncoding", words
        if host and not self._ours[host]:
            further = (
                f", an address, a name without a dot or with {', '.join(_NEARBY)}"
                if self._is_open
                else ""
            )
            words = (
                f"wanted a name of this server: {', '.join(sorted(self._names))}{further}, or "
                "one of --allow-host"
            )
            return 403, Code.INVALID_AUTHENTICATION, "Forbidden", "Host", words
        return None

    def _is_ours(self, raw: bytes) -> bool:
        found = _HOST.fullmatch(raw.decode("latin-1"))
        # Without port and brackets.
        name = found[1].strip("[]").lower().rstrip(".") if found is not None else ""
        return name in self._names or (
            _is_nearby(name) if self._is_open else name.endswith(_RESERVED)
        )

    def _control_refusal(self, scope: Scope, host: bytes, origin: bytes) -> Refusal | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        method: str = scope["method"]
        # The control page itself holds nothing: what it shows it asks for, with the token.
        is_page = method == "GET" and scope["path"].strip("/") == _CONTROL
        if self._token and not is_page and not self._carries_token(headers):
            words = (
                "wanted the token of --admin-token, in x-admin-token or as Authorization: Bearer"
            )
            return (
                401,
                Code.INVALID_AUTHENTICATION,
                Code.INVALID_AUTHENTICATION.message,
                "XAdminToken",
                words,
            )
        if method in ("GET", "HEAD", "OPTIONS"):
            return None
        refusal = _site_refusal(scope, host, origin)
        if refusal is not None:
            return refusal
        if _WEBHOOK in headers:
            return 403, Code.INVALID_AUTHENTICATION, "Forbidden", "XPayfurlSignature", CONTROL_WORDS
        fault = coding_fault(headers.get(b"content-encoding", b"").decode("latin-1"))
        if fault is not None:
            return 415, Code.VALIDATION_ERROR, "Unsupported Media Type", "ContentEncoding", fault
        length = headers.get(b"content-length", b"0")
        given = headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")
        if given not in _TYPES and (given or length != b"0" or b"transfer-encoding" in headers):
            words = f"wanted {_TYPES[0]}, {_TYPES[1]}, or {_TYPES[-1]} for a state document"
            return 415, Code.VALIDATION_ERROR, "Unsupported Media Type", "ContentType", words
        return None

    def _carries_token(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, bearer = headers.get(b"authorization", b"").partition(b" ")
        given = headers.get(b"x-admin-token") or (
            bearer.strip() if scheme.lower() == b"bearer" else b""
        )
        return compare_digest(given, self._token)


def _senders(headers: tuple[RawHeader, ...]) -> tuple[bytes, bytes, int, bytes]:
    """The last host, the last origin, the number of hosts, and how the body is coded on its way."""
    hosts = [value for name, value in headers if name == b"host"]
    origins = [value for name, value in headers if name == b"origin"] or [b""]
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    return [b"", *hosts][-1], origins[-1], len(hosts), b", ".join(codings)


_senders_of = BoundedCache(512, _senders, are_usual).__getitem__


def _names(settings: Settings) -> frozenset[str]:
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    machine = None if settings.is_loopback else gethostname()
    return _LOCAL | {
        name.lower() for name in (settings.host, public, machine, *settings.allow_host) if name
    }


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


def _site_refusal(scope: Scope, host: bytes, origin: bytes) -> Refusal | None:
    """Why a page of another site is turned away; None for a page of this server and for clients
    that are not browsers."""
    site = next((value for name, value in scope["headers"] if name == b"sec-fetch-site"), b"")
    foreign = origin and origin.partition(b"://")[2].lower() != host.lower()
    if foreign or site in (b"cross-site", b"same-site"):
        words = "a page of another site may not change anything here"
        return 403, Code.INVALID_AUTHENTICATION, "Forbidden", "Origin", words
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
    status, code, message, field, words = refusal
    scope[STATUS] = status
    extra = [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send_json(
        send, status, problem(status, code, message, scope["path"], {field: words}), *extra
    )


async def last_resort(scope: Scope, send: Send) -> None:
    """Answer 500 for an error that escaped an endpoint, unless the answer has begun; the server
    logs the error."""
    # An answer that has begun cannot begin again: the server says so, and cuts it off.
    with suppress(RuntimeError):
        body = problem(500, Code.UNKNOWN_ERROR, Code.UNKNOWN_ERROR.message, scope["path"])
        # The server hangs up after an error: clients that keep connections learn it from a header.
        await send_json(send, 500, body, (b"connection", b"close"))
