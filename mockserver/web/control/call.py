"""How control operations are served: JSON in and out, the sandbox named by the same header as in
the payments API."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from inspect import isawaitable
from typing import Any, Generic, TypeAlias, TypeVar, cast

from mockserver.assumptions import Assumed
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, NotFound, invalid, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import whole_of
from mockserver.domain.record import record
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.storage import SandboxStorage
from mockserver.web import holds
from mockserver.web.request import (
    IN_ONE_PIECE,
    JSON_TYPE,
    NO_STORE,
    NOSNIFF,
    HungUp,
    RawHeader,
    Reply,
    Request,
    hung_up,
)
from mockserver.web.shell import Endpoint
from mockserver.web.world import World
from mockserver.wire.control_body import ControlBody, read_exactly
from mockserver.wire.jsonio import loads

B = TypeVar("B", covariant=True, bound=ControlBody)
Q = TypeVar("Q", covariant=True, bound=ControlBody)
TakenBody = TypeVar("TakenBody", bound=ControlBody)
TakenQuery = TypeVar("TakenQuery", bound=ControlBody)

JSON = "application/json"
LINES = "application/x-ndjson"
"""The media type of a state document that is lines."""

_WHILE_HELD = (
    "books/compare",
    "findings/finish",
    "hold",
    "marks",
    "run",
    "sandbox",
    "scenarios/dry-run",
    "verify",
    "wait",
)
"""The calls, besides those that only read, that go on while everything in a sandbox is held: what
lets it go, what judges it, and a wait, which moves no clock meanwhile."""


def missing(field: str, words: str) -> NotFound:
    """The refusal (1) of a call that names what is not there."""
    return NotFound(Code.UNKNOWN_ERROR, {field: words}, message="Not Found")


class ControlCall(Generic[B, Q]):
    """One control call; ``body`` and ``query`` are of the types of its route."""

    def __init__(self, route: ControlRoute[Any, Any], world: World, request: Request) -> None:
        self.route = route
        self.world = world
        self.headers = request.headers
        self.path = request.path
        self.parameters = request.parameters
        self.raw = request.raw
        self.parts = request.parts or deque()
        self.request = request

    def sandbox(self) -> Sandbox:
        """The sandbox that the call names. Raises ``Unauthorised`` (40)."""
        return self.world.directory.of_control(self.headers, changes=self.route.method != "GET")

    def assumed(self) -> Assumed:
        """The assumptions of the sandbox that the call names, or of the server. Raises
        ``Unauthorised`` (40)."""
        named = {"x-secretkey", "x-sandbox", "x-publickey"} & self.headers.keys()
        return self.sandbox().assumed if named else self.world.directory.config.assumed

    @cached_property
    def query(self) -> Q:
        """The query of the call. Raises ``Invalid`` (90)."""
        return cast(Q, read_exactly(self.route.query or ControlBody, self.parameters, "parameter"))

    @cached_property
    def body(self) -> B:
        """The body of the call. Raises ``MalformedJson``, ``Invalid`` (90)."""
        return self.body_beside({})

    def body_beside(self, faults: Mapping[str, str]) -> B:
        """The body, some of whose faults are known already. Raises ``MalformedJson``, ``Invalid``
        (90) with all faults."""
        try:
            body = read_exactly(self.route.body or ControlBody, self.document)
        except Invalid as refused:
            raise Invalid(refused.code, {**faults, **(refused.details or {})}) from None
        if faults:
            raise invalid(faults)
        return cast(B, body)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON object of the body. Raises ``MalformedJson``, ``Invalid`` (90) for anything but
        an object."""
        value = loads(self.raw, unique=True) if self.raw.strip() else {}
        if not isinstance(value, dict):
            raise invalid({"Body": "wanted a JSON object"})
        return value

    @cached_property
    def leaving(self) -> asyncio.Task[None]:
        """A task that ends when the caller hangs up."""
        return asyncio.create_task(hung_up(self.request.receive))

    def stays(self) -> bool:
        """True, or raises ``HungUp`` when the caller has left since the first look: the work for
        the call stops."""
        if self.leaving.done():
            raise HungUp
        return True

    def since(self, sandbox: Sandbox, given: str | None) -> int:
        """The journal entry of a query's ``since``, a mark or a number; 0 without one. Raises
        ``Invalid`` (90)."""
        return 0 if given is None else self.entry_of(sandbox, given)

    def entry_of(self, sandbox: Sandbox, given: str, field: str = "Since") -> int:
        """The journal entry of a mark or a number, given in a field. Raises ``Invalid`` (90)."""
        number = whole_of(given)
        if number is not None:
            return number
        marks = sandbox.journal.marks
        if given not in marks:
            shown, known = mask_start(given, 40), ", ".join(marks) or "none"
            wanted = (
                f"wanted a mark or the number of an entry{nearest(shown, marks)}; marks: "
                f"{known[:200]}"
            )
            raise invalid({field: f"got '{shown}', {wanted}"})
        return marks[given]


AnyCall: TypeAlias = ControlCall[ControlBody, ControlBody]
"""A control call, whatever it carries; of a call that carries nothing, its type."""


@record
class ControlRoute(Generic[TakenBody, TakenQuery]):
    """A call of the control API; what it takes is described by ``/__admin/openapi.json``.

    ``handle`` gives the body, as bytes when it has written the JSON; with another status than
    ``success``, with headers of its own or in parts as a ``Reply``. A ``keyed`` call acts on the
    sandbox of the secret key.
    ``reply`` is one of ``control_answers.csv``; ``answers`` has the words of further statuses.
    ``example`` is a request: by name what fills path and query, and its ``body``; ``$charge`` and
    the like stand for what ``tools/derived.py`` has made. A state document has a ``largest``: it is
    read in parts, and may be ``lines``. ``media`` is the type of what it answers.
    """

    method: str
    path: str
    handle: Callable[[ControlCall[TakenBody, TakenQuery]], object]
    reply: str
    summary: str
    body: type[TakenBody] | None = None
    query: type[TakenQuery] | None = None
    keyed: bool = False
    success: int = 200
    answers: Mapping[int, str] = field(default_factory=dict, hash=False)
    largest: int | None = None
    lines: bool = False
    media: str = JSON
    example: Mapping[str, Any] = field(default_factory=dict, hash=False)


class ControlEndpoint(Endpoint):
    """One row of the control table."""

    route: ControlRoute[Any, Any]
    op = "control"
    headers = (JSON_TYPE, NOSNIFF, NO_STORE)

    def __init__(self, world: World, route: ControlRoute[Any, Any]) -> None:
        super().__init__(world, route)
        self.largest = max(route.largest or 0, world.settings.max_body)
        self.in_parts = self.largest > IN_ONE_PIECE
        media = JSON_TYPE if route.media == JSON else (b"content-type", route.media.encode())
        self._answered: tuple[RawHeader, ...] = (media, NOSNIFF, NO_STORE)

    def authenticate(self, request: Request) -> Sandbox | None:
        """The open sandbox that the call names, if any; its function opens another."""
        return self.world.sandboxes.named(request.headers) if self.route.keyed else None

    async def kept(self, store: SandboxStorage, request: Request) -> None:
        """Wait for what the call has done, in whatever sandboxes; what only looks waits for what it
        has seen."""
        if request.method == "GET":
            if request.known is not None:
                await store.kept(request.known)
            else:
                await store.all_kept(store.failures)
            return
        sandbox = None
        if self.route.keyed:
            await self.fetch(request)
            sandbox = self.world.sandboxes.named(request.headers)
        if sandbox is not None:
            store.note(sandbox)
        await store.all_kept(request.failures)
        if request.known is not None:
            # A long call may have lost it on the way.
            await store.kept(request.known)

    async def act(self, request: Request) -> Reply:
        request.failures = self.world.sandboxes.storage.failures
        call = AnyCall(self.route, self.world, request)
        if self.route.keyed:
            # A misspelt parameter, or one in a body that is not read, must not widen what a call
            # does.
            _ = call.query
            if self.route.body is None:
                _ = call.body
        await self._released(request)
        try:
            made = self.route.handle(call)
            body = await made if isawaitable(made) else made
        finally:
            # The task holds where it was cancelled, and by that the call.
            if (leaving := vars(call).pop("leaving", None)) is not None:
                leaving.cancel()
        status: int | None = self.route.success
        parts, headers = None, self._answered
        if isinstance(body, Reply):
            parts, headers = body.parts, body.headers or headers
            status, body = body.status, body.body
        await self._released(request)
        if request.method != "GET":
            # Whatever a call changes may be what somebody waits for.
            for key in self.world.sandboxes.keys_of(request.headers):
                self.world.runner.activity.notify(key)
        return Reply(status, body, headers=headers, parts=parts)

    async def _released(self, request: Request) -> None:
        """Let what changes a sandbox, and its answer, wait while everything there is held. Raises
        ``HungUp``."""
        goes_on = (
            request.method == "GET" or self.route.path.removeprefix("/__admin/") in _WHILE_HELD
        )
        if not goes_on:
            await holds.let_go(self.world, request)
