"""Which endpoint serves a request: one lookup for every way into the application, in a time that
does not grow with the number of routes.

Starlette tries its routes one after the other until one matches: with 200 of them that took most of
the time of a short call. Here the same routes stand in dictionaries: exact paths by themselves,
paths with placeholders by their *shape*, the number of their segments and the first of them. No
path of ours begins with a placeholder, so a request has the shape of the path that it fits, and at
most a few paths share one.

The routes come in tables, and a table is loaded when a path is in none of those before it: a server
answers its first charge by the first table, and need not load the others before. Between two tables
others are served.

What must always hold: this finds what Starlette would find, for any path and method. Starlette
keeps the routes too, and looks for whatever is not found here: what an embedding program has added
or mounted, WebSockets, and paths that no route has.
"""

import asyncio
import re
import threading
from collections.abc import Awaitable, Iterable
from dataclasses import field
from typing import NamedTuple, TypeAlias

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from mockserver.domain.record import mutable
from mockserver.web.request import Receive, Scope, Send, decoded, tidied

Placeholders: TypeAlias = dict[str, str]
"""The values that stand in a path in the place of its placeholders, by their names."""


@mutable
class PathEndpoints:
    """The endpoints of one ``path`` of the tables by method; ``otherwise`` refuses all other
    methods."""

    path: str
    pattern: re.Pattern[str]
    by_method: dict[str, ASGIApp] = field(default_factory=dict)
    otherwise: ASGIApp | None = None

    def add(self, route: Route) -> None:
        """Serve what a route of this path serves; of two routes of one method the first counts, as
        it does in Starlette."""
        if route.methods is None:
            # The last route of each path has no methods: it takes those that are left.
            self.otherwise = self.otherwise or route.endpoint
            return
        for method in sorted(route.methods):
            self.by_method.setdefault(method, route.endpoint)


class FoundPath(NamedTuple):
    """What serves a path, and what stands in the place of its placeholders."""

    endpoints: PathEndpoints
    placeholders: Placeholders


class RouteLookup:
    """An application that hands each request to the endpoint of its path. ``tables`` are the
    routes, the first of them loaded at once; ``router`` serves what is not found here."""

    def __init__(self, tables: Iterable[Iterable[BaseRoute]], router: ASGIApp) -> None:
        self._router = router
        self._exact: dict[str, PathEndpoints] = {}
        self._by_shape: dict[tuple[int, str], dict[str, PathEndpoints]] = {}
        self._further_tables = iter(tables)
        # A test client of Starlette serves each request in a thread of its own.
        self._loading = threading.Lock()
        self.has_all = False
        self.load_next()

    def load_next(self) -> None:
        """Find the routes of one more table, which is loaded for that."""
        with self._loading:
            table = next(self._further_tables, None)
            if table is None:
                self.has_all = True
            else:
                self.add(table)

    def load_all(self) -> None:
        """Find the routes of every table."""
        while not self.has_all:
            self.load_next()

    def add(self, routes: Iterable[BaseRoute]) -> None:
        """Find these routes too, in their order and after those that are there: an earlier one
        wins, as in Starlette. Mounts and WebSockets are left to Starlette."""
        # Copies: another thread may be looking.
        exact = self._exact.copy()
        by_shape = {shape: paths.copy() for shape, paths in self._by_shape.items()}
        for route in routes:
            if isinstance(route, Route):
                path, paths = route.path, exact
                if "{" in path:
                    paths = by_shape.setdefault(_shape(path), {})
                if path not in paths:
                    paths[path] = PathEndpoints(path, route.path_regex)
                paths[path].add(route)
        # In this order: what an exact path serves must not be found by one with placeholders.
        self._exact = exact
        self._by_shape = by_shape

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a request, whose path is tidy."""
        if scope["type"] != "http":
            return self._router(scope, receive, send)
        found = self._find(scope["path"])
        if found is None:
            serve = self._router if self.has_all else self._load_and_serve
            return serve(scope, receive, send)
        endpoints, scope["path_params"] = found
        endpoint = endpoints.by_method.get(scope["method"], endpoints.otherwise)
        if endpoint is None:
            # A path without a refusal of our own: Starlette has one.
            return self._router(scope, receive, send)
        return endpoint(scope, receive, send)

    async def _load_and_serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose path is in no table so far. A table is loaded in 40 ms at most, and
        others are served before the next one is."""
        self.load_next()
        await asyncio.sleep(0)
        await self(scope, receive, send)

    def at(self, path: str) -> FoundPath | None:
        """The endpoints of a path as a client writes it, and its placeholders; None where there are
        none."""
        tidy = tidied(path)
        found = self._find(tidy)
        while found is None and not self.has_all:
            self.load_next()
            found = self._find(tidy)
        if found is None:
            return None
        endpoints, placeholders = found
        return FoundPath(endpoints, decoded(placeholders))

    def _find(self, path: str) -> tuple[PathEndpoints, Placeholders] | None:
        """What ``at`` finds, by a tidy path. A plain tuple: every request asks."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        # Those with the fewest placeholders come first, so the first that fits is meant.
        for template in self._by_shape.get(_shape(path), {}).values():
            match = template.pattern.fullmatch(path)
            if match is not None:
                return template, match.groupdict()
        return None


def _shape(path: str) -> tuple[int, str]:
    """The number of segments and the first one: what a path has in common with the template that it
    fits."""
    return path.count("/"), path[1:].partition("/")[0]
