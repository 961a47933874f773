"""Finding the route of a request by table: exact paths first, then templates by their length and first segment."""

from __future__ import annotations

import re
from collections.abc import Collection, Coroutine, Iterable
from typing import Any
from urllib.parse import unquote

from starlette.routing import BaseRoute, Match, NoMatchFound, Router
from starlette.types import Lifespan

from mockserver.web.asgi import Receive, Scope, Send
from mockserver.web.operation import OperationEndpoint
from mockserver.web.request_counts import OPERATION
from mockserver.web.routes import Auth
from mockserver.web.shell import Endpoint
from mockserver.web.unrouted import Unrouted
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
        template, segments = self.path.split("/"), scope.get("path", "").split("/")
        fits = scope["type"] == "http" and len(template) == len(segments)
        parameters = _match(tuple(template), segments) if fits else None
        if parameters is None:
            return Match.NONE, {}
        found = Match.FULL if scope["method"] in self.methods else Match.PARTIAL
        return found, {"endpoint": self.endpoint, "path_params": parameters}

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        """Nothing is looked up by name: several paths mean one operation."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self.endpoint(scope, receive, send)


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
        self._templates: dict[tuple[int, str], list[tuple[tuple[str, ...], Methods]]] = {}
        for row in rows:
            self._named[row.endpoint] = row.path
            self._methods(row.path).update(dict.fromkeys(row.methods, row.endpoint))
        for shelf in self._templates.values():
            shelf.sort(key=lambda entry: sum(part.startswith("{") for part in entry[0]))
        self._paths = [path.split("/") for path in dict.fromkeys(self._named.values())]

    @property
    def endpoints(self) -> Iterable[object]:
        """Every endpoint."""
        return self._named

    def _methods(self, path: str) -> Methods:
        if "{" not in path:
            return self._exact.setdefault(path, {})
        segments = tuple(path.split("/")[1:])
        shelf = self._templates.setdefault((len(segments), segments[0]), [])
        for known, methods in shelf:
            if known == segments:
                return methods
        methods = {}
        shelf.append((segments, methods))
        return methods

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Serve one connection: HTTP by table, anything else as Starlette does."""
        if scope["type"] != "http":
            return super().__call__(scope, receive, send)
        path: str = scope["path"]
        methods, parameters = self._find(path)
        endpoint = methods.get(scope["method"]) if methods else None
        scope["path_params"] = parameters
        endpoint = endpoint or Unrouted(self._world, self._paths, methods)
        scope[OPERATION] = endpoint.op
        serving: Coroutine[Any, Any, None] = endpoint(scope, receive, send)
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
        methods = self._exact.get(path)
        if methods is not None:
            return methods, {}
        segments = path.split("/")[1:]
        if not segments:  # ``OPTIONS *`` asks about no path at all
            return None, {}
        for template, found in self._templates.get((len(segments), segments[0]), ()):
            parameters = _match(template, segments)
            if parameters is not None:
                return found, parameters
        tidy = _SLASHES.sub("/", path).rstrip("/") or "/"
        return self._find(tidy) if tidy != path else (None, {})


def _match(template: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    parameters: dict[str, str] = {}
    for wanted, got in zip(template, segments, strict=True):
        if wanted.startswith("{"):
            if not got:
                return None
            # Some clients encode it twice (published facts, 1.0).
            parameters[wanted[1:-1]] = unquote(got) if "%" in got else got
        elif wanted != got:
            return None
    return parameters
