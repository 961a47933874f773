"""Finding the route of a request by table: exact paths first, then templates by their length and first segment.

A request that no route takes gets an answer that names the nearest path, and an entry in the journal of the sandbox
whose key came with it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Coroutine, Iterable, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

from starlette.routing import BaseRoute, Match, NoMatchFound, Router
from starlette.types import Lifespan

from mockserver.domain.codes import Code
from mockserver.domain.masking import mask_start, star_key
from mockserver.domain.problem import problem
from mockserver.domain.record import record
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.web.asgi import JSON_TYPE, NO_STORE, NOSNIFF, RawHeader, Receive, Scope, Send
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request import Reply, Request
from mockserver.web.request_counts import OPERATION
from mockserver.web.routes import Auth
from mockserver.web.shell import Endpoint
from mockserver.web.world import World

_SLASHES = re.compile(r"/{2,}")

Methods = dict[str, Any]


class TableRoute(BaseRoute):
    """A row of a table as a Starlette route: without a pattern of its own, which takes long to compile. An endpoint
    that serves GET serves HEAD."""

    def __init__(self, path: str, methods: Collection[str], endpoint: Endpoint) -> None:
        self.path = path
        self.methods = {*methods, "HEAD"} if "GET" in methods else set(methods)
        self.endpoint = endpoint
        self.name = endpoint.op

    def matches(self, scope: Any) -> tuple[Match, dict[str, Any]]:
        """Whether it serves a request: its path and method (full), or its path alone (partial)."""
        template, segments = _template(self.path), scope.get("path", "").split("/")
        fits = scope["type"] == "http" and template.length == len(segments) and template.start == segments[:2]
        parameters = _match(template, segments) if fits else None
        if parameters is None:
            return Match.NONE, {}
        found = Match.FULL if scope["method"] in self.methods else Match.PARTIAL
        return found, {"endpoint": self.endpoint, "path_params": parameters}

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        """Nothing is looked up by name: several paths mean one operation."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self.endpoint.serve(scope, receive, send)


class RouteTable(Router):
    """Starlette's router with a lookup that does not grow with the number of routes.

    Trailing and doubled slashes are ignored. An unknown path answers 404, a known one with another verb 405 with
    ``Allow``.
    """

    def __init__(self, routes: Iterable[TableRoute], world: World, lifespan: Lifespan[Any] | None = None) -> None:
        rows = list(routes)
        super().__init__(routes=rows, lifespan=lifespan)
        self._world = world
        self._named: dict[Endpoint, str] = {}
        self._exact: dict[str, Methods] = {}
        self._templates: dict[tuple[int, str], list[tuple[_Template, Methods]]] = {}
        for row in rows:
            self._named[row.endpoint] = row.path
            self._methods(row.path).update(dict.fromkeys(row.methods, row.endpoint))
        for shelf in self._templates.values():
            shelf.sort(key=lambda entry: len(entry[0].names))
        self._paths = [path.split("/") for path in dict.fromkeys(self._named.values())]

    @property
    def endpoints(self) -> Iterable[object]:
        """Every endpoint."""
        return self._named

    def _methods(self, path: str) -> Methods:
        if "{" not in path:
            return self._exact.setdefault(path, {})
        template = _template(path)
        shelf = self._templates.setdefault((template.length, path.split("/")[1]), [])
        for known, methods in shelf:
            if known == template:
                return methods
        methods = {}
        shelf.append((template, methods))
        return methods

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Serve one connection: HTTP by table, anything else as Starlette does."""
        if scope["type"] != "http":
            return super().__call__(scope, receive, send)
        path: str = scope["path"]
        methods = self._exact.get(path)
        parameters: dict[str, str] = {}
        if methods is None:
            methods, parameters = self._find(path)
        endpoint = methods.get(scope["method"]) if methods is not None else None
        if endpoint is None:
            endpoint = Unrouted(self._world, self._paths, methods)
        scope["path_params"] = parameters
        scope[OPERATION] = endpoint.op
        serving: Coroutine[Any, Any, None] = endpoint.serve(scope, receive, send)
        return serving

    def endpoint(self, method: str, path: str) -> tuple[Any, dict[str, str]]:
        """The endpoint of an operation and the values of its placeholders; None where there is none."""
        methods, parameters = self._find(path)
        return (methods or {}).get(method), parameters

    def path_of(self, method: str, path: str) -> str | None:
        """The path of an operation as the table has it, with placeholders; None where there is no operation."""
        endpoint, _ = self.endpoint(method, path)
        return self._named.get(endpoint)

    def public_methods(self, path: str) -> list[str]:
        """The methods of a path that a public key opens."""
        methods, _ = self._find(path)
        return [
            method
            for method, endpoint in (methods or {}).items()
            if isinstance(endpoint, OperationEndpoint) and endpoint.route.auth is Auth.PUBLIC
        ]

    def _find(self, path: str) -> tuple[Methods | None, dict[str, str]]:
        if (methods := self._exact.get(path)) is not None:
            return methods, {}
        # ``OPTIONS *`` asks about no path at all, and for the guard ``*x/__admin`` is no path of the control API.
        if not path.startswith("/"):
            return None, {}
        segments = path.split("/")
        for template, found in self._templates.get((len(segments), segments[1]), ()):
            parameters = _match(template, segments)
            if parameters is not None:
                return found, parameters
        tidy = _SLASHES.sub("/", path).rstrip("/") or "/"
        return self._find(tidy) if tidy != path else (None, {})


@record
class _Template:
    """A path with placeholders, in parts: its ``start``, by which it is found, its words behind that, and the names of
    what stands for something else, each with its place."""

    length: int
    start: list[str]
    words: tuple[tuple[int, str], ...]
    names: tuple[tuple[int, str], ...]


@cache
def _template(path: str) -> _Template:
    segments = path.split("/")
    parts = list(enumerate(segments))
    words = tuple((place, part) for place, part in parts[2:] if not part.startswith("{"))
    names = tuple((place, part[1:-1]) for place, part in parts if part.startswith("{"))
    return _Template(len(parts), segments[:2], words, names)


def _match(template: _Template, segments: list[str]) -> dict[str, str] | None:
    for place, word in template.words:
        if segments[place] != word:
            return None
    parameters: dict[str, str] = {}
    for place, name in template.names:
        got = segments[place]
        if not got:
            return None
        # Some clients encode it twice (published facts, 1.0).
        parameters[name] = unquote(got) if "%" in got else got
    return parameters


NO_OPERATION = "none"
"""Operation of such an entry."""

_OURS = "/__"
_ASKED_BY_BROWSERS = ("/favicon", "/apple-touch-icon", "/robots.txt", "/.well-known/")
_LIKE = 0.6
_LONGEST_PATH = 200
_MOST_SEGMENTS = 10


class Unrouted(Endpoint):
    """Answers in the place of a route: 404 with the nearest path, or 405 where ``methods`` are those of the path.

    ``templates`` are the paths of all routes, split, with placeholders in braces.
    """

    op = NO_OPERATION
    headers: tuple[RawHeader, ...] = (JSON_TYPE, NOSNIFF, NO_STORE)

    def __init__(self, world: World, templates: Iterable[Sequence[str]], methods: Iterable[str] | None = None) -> None:
        super().__init__(world)
        self._templates = templates
        self._allowed = None if methods is None else ", ".join(sorted(methods))

    def authenticate(self, request: Request) -> Sandbox | None:
        """The sandbox of the key, if one came."""
        ours = request.resource.startswith(_OURS)
        return None if ours else self.world.directory.of_any_key(request.headers)

    def refused(self, fault: Exception, request: Request) -> Reply:
        """The same answer to a body that is too large, but no entry of the journal."""
        return self._answer(request)

    async def act(self, request: Request) -> Reply:
        """The answer; with a key also an entry of the journal and a finding."""
        if request.known is not None:
            request.resource = star_key(request.resource, request.known.key)
        return self._answer(request)

    def _answer(self, request: Request) -> Reply:
        if self._allowed is None:
            return unknown_path(request, nearest(request.resource, self._templates))
        details = {"Method": f"got {request.method}, allowed: {self._allowed}"}
        body = problem(405, Code.UNKNOWN_ERROR, "Method Not Allowed", request.resource, details)
        headers = (*self.headers, (b"allow", self._allowed.encode()))
        return Reply(405, body, _step(request, f"{self._allowed} {request.resource}"), headers=headers)


def unknown_path(request: Request, near: str | None = None) -> Reply:
    """The answer to a path that no route has; ``near`` is what may have been meant."""
    words = "no such route" + (f" - did you mean '{near}'?" if near else "")
    body = problem(404, Code.UNKNOWN_ERROR, "Not Found", request.resource, {"Path": words})
    return Reply(404, body, _step(request, near), headers=Unrouted.headers)


def nearest(path: str, templates: Iterable[Sequence[str]]) -> str | None:
    """The path of a route that looks most alike, whatever stands in the place of its ids; None when none does."""
    given = path.lower().split("/")
    if len(path) > _LONGEST_PATH or len(given) > _MOST_SEGMENTS:
        return None
    ours, likest, found = path.startswith(_OURS), _LIKE, None
    matcher = difflib.SequenceMatcher(autojunk=False)
    for template in sorted(templates, key=lambda parts: abs(len(parts) - len(given))):
        if template[1].startswith("__") is not ours:
            continue
        fixed = [place for place, part in enumerate(template) if not part.startswith("{")]
        # One segment more is a prefix such as /v1: what stands in the place of ids is left out all the same.
        more = len(given) - len(template)
        theirs = given[:more] + [given[more + place] for place in fixed] if more in (0, 1) else given
        matcher.set_seqs("/".join(theirs), "/".join(template[place] for place in fixed))
        if matcher.real_quick_ratio() > likest and matcher.quick_ratio() > likest and matcher.ratio() > likest:
            likest, found = matcher.ratio(), "/".join(template)
    return found


def _step(request: Request, near: str | None) -> Step | None:
    """The step of a request that came with a key, and the finding about it."""
    sandbox = request.known
    if sandbox is None:
        return None
    if sandbox.watch is not None and not request.resource.startswith(_ASKED_BY_BROWSERS):
        what = mask_start(f"{request.method} {request.resource}", _LONGEST_PATH)
        entry = sandbox.journal.last + 1
        sandbox.watch.lost(entry, sandbox.now, what, mask_start(near, _LONGEST_PATH) if near else None)
    step = Step(sandbox, Asked(NO_OPERATION, answers=True, headers=request.headers))
    return step
