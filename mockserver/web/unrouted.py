"""The routes of Starlette, and what answers where none of them does.

A wrong path is among the first mistakes of a new client. So a request that no route takes gets an
answer that names the nearest path, and an entry in the journal of the sandbox whose key came with
it: its developer sees the mistake beside the calls that went well. Those who watch the sandbox are
told, and may raise a finding.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from starlette.websockets import WebSocketClose

from mockserver.domain.codes import Code
from mockserver.domain.errors import problem
from mockserver.domain.masking import mask_start, star_key
from mockserver.engine.result import Asked
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.web.access import STATUS
from mockserver.web.request import (
    JSON_TYPE,
    NO_STORE,
    NOSNIFF,
    Message,
    Receive,
    Reply,
    Request,
    Scope,
    Send,
)
from mockserver.web.shell import Endpoint
from mockserver.web.world import World


class Guest:
    """Another application, such as the tools for coding agents, in the place of an endpoint.
    ``op`` is what its requests are counted as."""

    def __init__(self, op: str, application: ASGIApp) -> None:
        self.op = op
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and note its status for the log, as an endpoint does by itself."""

        async def send_noting_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope[STATUS] = message["status"]
            await send(message)

        await self._application(scope, receive, send_noting_status)


PathRow = tuple[str, Iterable[str], Endpoint | Guest]
"""A path with its placeholders in braces, the methods that it is asked by, and what serves them."""


def starlette_routes(rows: Iterable[PathRow], world: World) -> list[BaseRoute]:
    """The routes of all rows.

    Starlette takes the first route that fits. So exact paths come first, then those with the
    fewest placeholders: ``/charge/card`` is no charge with the id ``card``. Behind the routes of a
    path comes one that refuses all other methods, else a ``PUT /charge/card`` would go on to
    ``/charge/{charge_id}``."""
    paths: dict[str, list[Route]] = {}
    for path, methods, endpoint in rows:
        paths.setdefault(path, []).append(
            Route(path, endpoint, methods=list(methods), name=endpoint.op)
        )
    for path, routes in paths.items():
        methods = {method for route in routes for method in route.methods or ()}
        routes.append(Route(path, Unrouted(world, methods=methods), name=NO_OPERATION))
    in_order: list[BaseRoute] = []
    for path in sorted(paths, key=lambda path: path.count("{")):
        in_order += paths[path]
    return in_order


NO_OPERATION = "none"
"""What an entry of the journal has as its operation that is none."""

_OWN_PREFIX = "/__"
"""Paths of the control API and page: no path of the imitated service begins so."""

_ASKED_BY_BROWSERS = ("/favicon", "/apple-touch-icon", "/robots.txt", "/.well-known/")
_LONGEST_PATH = 200


class Unrouted(Endpoint):
    """Answers in the place of a route: 404 with the nearest of ``templates``, the split paths of
    all routes when it is asked, or 405 where ``methods`` are those of the path."""

    op = NO_OPERATION
    headers = (JSON_TYPE, NOSNIFF, NO_STORE)

    def __init__(
        self,
        world: World,
        templates: Iterable[Sequence[str]] = (),
        methods: Iterable[str] | None = None,
    ) -> None:
        super().__init__(world)
        self._templates = templates
        self._allowed = None if methods is None else ", ".join(sorted(methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; there is no route for a WebSocket."""
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def authenticate(self, request: Request) -> Sandbox | None:
        """The sandbox of the key that came with it: its journal shows the mistake. None for our own
        paths: the journal is of calls of the imitated service."""
        if request.resource.startswith(_OWN_PREFIX):
            return None
        return self.world.directory.of_any_key(request.headers)

    def refused(self, fault: Exception, request: Request) -> Reply:
        """The same answer to a body that is too large: the path is what is wrong. The sandbox is
        not known yet, so there is no entry of the journal."""
        return self.act(request)

    def act(self, request: Request) -> Reply:
        """404 or 405; with a key also an entry of the journal and a finding."""
        if request.known is not None:
            # Somebody may have put the key into the path, which the answer repeats: it must not
            # stand in logs of answers.
            request.resource = star_key(request.resource, request.known.key)
        if self._allowed is None:
            return unknown_path(request, nearest(request.resource, self._templates))
        details = {"Method": f"got {request.method}, allowed: {self._allowed}"}
        body = problem(405, Code.UNKNOWN_ERROR, "Method Not Allowed", request.resource, details)
        headers = (*self.headers, (b"allow", self._allowed.encode()))
        step = _missed_step(request, f"{self._allowed} {request.resource}")
        return Reply(405, body, step, headers=headers)


def unknown_path(request: Request, near: str | None = None) -> Reply:
    """The answer to a path that no route has; ``near`` is what may have been meant."""
    words = "no such route"
    if request.resource == "/":
        words += "; /__admin is the control page, `mockserver routes` prints all paths"
    elif near:
        words += f" - did you mean '{near}'?"
    body = problem(404, Code.UNKNOWN_ERROR, "Not Found", request.resource, {"Path": words})
    return Reply(404, body, _missed_step(request, near), headers=Unrouted.headers)


def nearest(path: str, templates: Iterable[Sequence[str]]) -> str | None:
    """The path of a route that looks most alike, whatever stands in the place of its ids; None when
    none does. ``templates`` are the split paths of all routes.

    Only the fixed segments are compared: an id is long, and alike to nothing."""
    parts = path.lower().split("/")
    # To compare takes time with the square of the length, and no route is half so long.
    if len(path) > _LONGEST_PATH or len(parts) > 10:
        return None
    # What is less alike was not meant.
    best_ratio, best_path = 0.6, None
    # Of equally alike paths the first one wins: one with as many segments is most likely meant.
    for template in sorted(templates, key=lambda template: abs(len(template) - len(parts))):
        # Nobody means the control API by a misspelt path of the service, nor the other way round.
        if template[1].startswith("__") is not path.startswith(_OWN_PREFIX):
            continue
        fixed = [place for place, part in enumerate(template) if not part.startswith("{")]
        surplus = len(parts) - len(template)
        if surplus in (0, 1):
            # Where the template has ids the path has them too, and both leave them out. One
            # segment more is a prefix such as /v1, behind which all others are shifted.
            compared = parts[:surplus] + [parts[surplus + place] for place in fixed]
        else:
            compared = parts
        words = "/".join(template[place] for place in fixed)
        matcher = difflib.SequenceMatcher(None, "/".join(compared), words, autojunk=False)
        ratio = matcher.ratio()
        if ratio > best_ratio:
            best_ratio, best_path = ratio, "/".join(template)
    return best_path


def _missed_step(request: Request, near: str | None) -> Step | None:
    """The step of a request that named no route, for the journal of the sandbox whose key came
    with it; those who watch the sandbox are told of it. ``near`` is the path, or method and path,
    that may have been meant."""
    sandbox = request.known
    if sandbox is None:
        return None
    # A browser asks for these by itself: nobody has mistaken a path.
    if not request.resource.startswith(_ASKED_BY_BROWSERS):
        asked_for = mask_start(f"{request.method} {request.resource}", _LONGEST_PATH)
        meant = mask_start(near, _LONGEST_PATH) if near else None
        # The endpoint notes the entry after this, so it has the next number.
        entry_number = sandbox.journal.last + 1
        for observer in sandbox.observers:
            observer.missed(entry_number, sandbox.now, asked_for, meant)
    return Step(sandbox, Asked(NO_OPERATION, answers=True, headers=request.headers))
