"""Which endpoint serves a request: one lookup for every way into the application, in a time that
does not grow with the number of routes.

Starlette tries its routes one after the other until one matches, which took most of the time of a
short call. Here the same routes stand in dictionaries: exact paths by themselves, paths with
placeholders by the number of their segments and the first of them, which is never a placeholder.
Starlette keeps the routes too, and looks for whatever is not found here: what an embedding program
has added or mounted, WebSockets, and paths that no route has.
"""

import re
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from mockserver.domain.record import mutable
from mockserver.web.request import Receive, Scope, Send, decoded, tidied

Placeholders: TypeAlias = dict[str, str]
"""The values that stand in a path in the place of its placeholders, by their names."""

_NO_PLACEHOLDERS: Placeholders = {}


@mutable
class PathEndpoints:
    """The endpoints of one ``path`` of the tables by method; ``otherwise`` serves all other
    methods."""

    path: str
    pattern: re.Pattern[str]
    by_method: dict[str, Any] = field(default_factory=dict)
    otherwise: Any = None

    def take(self, route: Route) -> None:
        """Take in a route of this path; of two of one method the first counts, as it does in
        Starlette."""
        for method in sorted(route.methods or ()):
            self.by_method.setdefault(method, route.endpoint)
        if route.methods is None:
            self.otherwise = self.otherwise or route.endpoint


class RouteLookup:
    """An application that hands each request to the endpoint of its path. ``router`` serves what is
    not found here."""

    def __init__(self, routes: Iterable[BaseRoute], router: ASGIApp) -> None:
        self._router = router
        self._exact: dict[str, PathEndpoints] = {}
        self._templates: dict[tuple[int, str], dict[str, PathEndpoints]] = {}
        self.add(routes)

    def add(self, routes: Iterable[BaseRoute]) -> None:
        """Find these routes too, in their order and after those that are there. The last one of
        each path refuses all methods that it does not serve."""
        for route in routes:
            if isinstance(route, Route):
                alike = (
                    self._templates.setdefault(_shape(route.path), {})
                    if "{" in route.path
                    else self._exact
                )
                alike.setdefault(route.path, PathEndpoints(route.path, route.path_regex)).take(
                    route
                )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a request, whose path is tidy."""
        found = self._find(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            return self._router(scope, receive, send)
        endpoints, scope["path_params"] = found
        endpoint = endpoints.by_method.get(scope["method"], endpoints.otherwise)
        served: Awaitable[None] = endpoint(scope, receive, send)
        return served

    def at(self, path: str) -> tuple[PathEndpoints, Mapping[str, str]] | None:
        """The endpoints of a path as a client writes it, and its placeholders; None where there are
        none."""
        found = self._find(tidied(path))
        return None if found is None else (found[0], decoded(found[1]))

    def _find(self, path: str) -> tuple[PathEndpoints, Placeholders] | None:
        exact = self._exact.get(path)
        if exact is not None:
            return exact, _NO_PLACEHOLDERS.copy()
        # Those with the fewest placeholders come first, so the first that fits is meant.
        for template in self._templates.get(_shape(path), {}).values():
            match = template.pattern.fullmatch(path)
            if match is not None:
                return template, match.groupdict()
        return None


def _shape(path: str) -> tuple[int, str]:
    """The number of segments and the first one: what a path has in common with the template that it
    fits."""
    return path.count("/"), path[1:].partition("/")[0]
