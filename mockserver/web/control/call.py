"""How control operations are served: JSON in and out, the sandbox named by the same header as in the payments API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockserver.assumptions import Assumed
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import flag_of, whole_of
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import JSON_TYPE, NO_STORE, NOSNIFF, HungUp, Receive
from mockserver.web.lazy import loaded
from mockserver.web.request import Reply, Request
from mockserver.web.shell import Endpoint
from mockserver.web.world import World
from mockserver.wire.jsonio import loads


class ControlCall:
    """One control call."""

    def __init__(self, route: ControlRoute, world: World, request: Request) -> None:
        self.route = route
        self.world = world
        self.headers = request.headers
        self.path = request.path
        self.query = request.parameters
        self.raw = request.raw
        self._receive = request.receive

    def sandbox(self) -> Sandbox:
        """The sandbox that the call names. Raises ``Unauthorised`` (40)."""
        return self.world.directory.of_control(self.headers, changes=self.route.method != "GET")

    def caller(self) -> Caller:
        """Who made the call."""
        return Caller(self._receive)

    def assumed(self) -> Assumed:
        """The assumptions of the sandbox that the call names, or of the server. Raises ``Unauthorised`` (40)."""
        named = {"x-secretkey", "x-sandbox", "x-publickey"} & self.headers.keys()
        return self.sandbox().assumed if named else self.world.directory.assumed

    def switch(self, name: str, *, default: bool = False) -> bool:
        """A query parameter that is true or false, ``default`` when it is not given. Raises ``Invalid`` (90)."""
        given = self.query.get(name, default)
        flag = flag_of(given)
        if flag is None:
            words = f"got '{mask_start(str(given), 20)}', wanted true or false"
            raise Invalid(Code.VALIDATION_ERROR, {name.capitalize(): words})
        return flag

    def whole(self, name: str, default: int, least: int = 0, most: int | None = None) -> int:
        """A query parameter that is a whole number. Raises ``Invalid`` (90)."""
        given = self.query.get(name)
        if given is None:
            return default
        number = whole_of(given, least, most if most is not None else 10**18)
        if number is None:
            allowed = f"{least} to {most}" if most is not None else f"{least} or more"
            words = f"got '{mask_start(given, 20)}', wanted a whole number, {allowed}"
            raise Invalid(Code.VALIDATION_ERROR, {name.capitalize(): words})
        return number

    def since(self, sandbox: Sandbox) -> int:
        """The journal entry of the query's ``since``, a mark or a number; 0 without one. Raises ``Invalid`` (90)."""
        given = self.query.get("since")
        if given is None:
            return 0
        number = whole_of(given)
        if number is not None:
            return number
        marks = sandbox.journal.marks
        if given not in marks:
            shown = mask_start(given, 40)
            known = ", ".join(marks) or "none"
            words = (
                f"got '{shown}', wanted a mark or the number of an entry{nearest(shown, marks)}; marks: {known[:200]}"
            )
            raise Invalid(Code.VALIDATION_ERROR, {"Since": words})
        return marks[given]

    def known(self, *names: str) -> dict[str, Any]:
        """The body, all of whose fields are known. Raises ``Invalid`` (90) naming those that are not."""
        body = self.body()
        unknown = {
            mask_start(name, 40).capitalize(): f"unknown field{nearest(name, names)}, allowed: {', '.join(names)}"
            for name in body
            if name not in names
        }
        if unknown:
            raise Invalid(Code.VALIDATION_ERROR, unknown)
        return body

    def body(self) -> dict[str, Any]:
        """The JSON object of the body. Raises ``MalformedJson``, ``Invalid`` (90) for anything but an object."""
        value = loads(self.raw) if self.raw.strip() else {}
        if not isinstance(value, dict):
            raise Invalid(Code.VALIDATION_ERROR, {"Body": "wanted a JSON object"})
        return value


class Caller:
    """Who made a call, and may hang up before it is answered: then nothing more is done on their behalf."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._leaving: asyncio.Task[None] | None = None

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        if self._leaving is not None:
            self._leaving.cancel()

    @property
    def leaving(self) -> asyncio.Task[None]:
        """A task that ends when the caller hangs up."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave())
        return self._leaving

    def stays(self) -> bool:
        """True, or raises ``HungUp`` when the caller has left since the first look."""
        if self.leaving.done():
            raise HungUp
        return True

    async def _leave(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            await asyncio.sleep(1)


@dataclass(frozen=True, slots=True)
class Given:
    """A query parameter, or a field of a body: its JSON type and what it means."""

    name: str
    type: str
    words: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class ControlRoute:
    """One row of the control table; what it takes is told by ``/__admin/openapi.json``.

    ``handle`` gives the status and the body, as bytes when it has written the JSON itself. ``keyed`` rows act on the
    sandbox of the secret key. ``answers`` names further statuses; ``anything`` says that the body has fields beyond
    ``body``. ``largest`` is the greatest body in bytes, None for that of the settings.
    """

    method: str
    path: str
    handle: Callable[[ControlCall], tuple[int, object] | Awaitable[tuple[int, object]]]
    summary: str
    query: tuple[Given, ...] = ()
    body: tuple[Given, ...] = ()
    anything: bool = False
    keyed: bool = True
    success: int = 200
    answers: Mapping[int, str] = field(default_factory=dict)
    largest: int | None = None


class ControlEndpoint(Endpoint):
    """One row of the control table."""

    headers = (JSON_TYPE, NOSNIFF, NO_STORE)

    def __init__(self, route: ControlRoute, world: World) -> None:
        super().__init__(world)
        self.route = route
        self.largest = route.largest

    def authenticate(self, request: Request) -> Sandbox | None:
        """The open sandbox that the call names, if any; its function opens another. Raises ``Invalid`` (90)."""
        if not self.route.keyed:
            return None
        _check_names(request.parameters, [given.name for given in self.route.query])
        return self.world.sandboxes.named(request.headers)

    async def act(self, request: Request) -> Reply:
        """Let the function of the row answer."""
        answer = loaded(self.route.handle)(ControlCall(self.route, self.world, request))
        status, body = answer if isinstance(answer, tuple) else await answer
        if request.method != "GET" and (sandbox := self.world.sandboxes.named(request.headers)) is not None:
            # Whatever a call changes may be what somebody waits for.
            self.world.runner.activity.notify(sandbox.key)
        return Reply(status, body)


def _check_names(query: Mapping[str, str], known: Sequence[str]) -> None:
    """A misspelt parameter must not widen what a call does. Raises ``Invalid`` (90) naming those that are not known."""
    allowed = ", ".join(known) or "none"
    unknown = {
        mask_start(name, 40).capitalize(): f"unknown parameter{nearest(name, known)}, allowed: {allowed}"
        for name in query
        if name not in known
    }
    if unknown:
        raise Invalid(Code.VALIDATION_ERROR, unknown)
