"""How calls of the control API are served.

Each call is one row, a ``ControlRoute``: its path, the function that handles it, the classes of its
body and query, the reply that it answers. The same row serves the call, describes it in
``/__admin/openapi.json`` and prints it into docs/control-calls.md, so that the three cannot differ.
``ControlEndpoint`` takes a request the way of all requests (``mockserver/web/shell.py``) and gives
the function of the row a ``ControlCall``. A new call is a function and a row; neither touches this
module.

The payments API takes what the service would take. Here speaks the author of a test, whom a guess
helps nobody: a key that comes twice, an unknown field or a misspelt parameter is refused before
anything happens, also where the function of the call never reads it. ``?al=true`` must not empty
one sandbox where every one was meant.

What always holds:

- A call names its sandbox by its secret key, its id, or its public key, which only reads
  (``of_control`` in ``mockserver/web/directory.py``). A call that only reads opens no sandbox.
- A call is no request of a client: no rule hears it and the journal does not have it. What some of
  them cause is in the journal, a move of the clock for one, since what follows cannot be understood
  without it.
- What a call changes is in the store before it is answered, and what it has seen too: nobody is
  told of something that a crash then takes back.
- While a scenario holds everything in a sandbox (``hold: all``), a call that changes it waits,
  before it acts and before it answers. Those in ``_GO_ON_WHILE_HELD`` do not, or nobody could let
  go of it.
- A call that changes something wakes those who wait in that sandbox, whatever they wait for: to
  find out whether it matters to them is their business.
"""

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
from mockserver.web.watching import is_own_page
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

NAMES_OF_SANDBOX = frozenset({"x-secretkey", "x-sandbox", "x-publickey"})
"""The headers that name a sandbox."""

_GO_ON_WHILE_HELD = (
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

    def __init__(self, route: AnyControlRoute, world: World, request: Request) -> None:
        self.route = route
        self.world = world
        self.headers = request.headers
        self.path = request.path
        self.parameters = request.parameters
        self.raw = request.raw
        self.parts = request.parts or deque()
        self.request = request
        self._leaving: asyncio.Task[None] | None = None

    def sandbox(self) -> Sandbox:
        """The sandbox that the call names. Raises ``Unauthorised`` (40)."""
        return self.world.directory.of_control(self.headers, changes=self.route.method != "GET")

    def assumed(self) -> Assumed:
        """The assumptions of the sandbox that the call names, or of the server: documents are given
        to everybody, and in the words of a sandbox to who has its key. Raises ``Unauthorised``
        (40)."""
        if NAMES_OF_SANDBOX & self.headers.keys():
            return self.sandbox().assumed
        return self.world.directory.config.assumed

    @cached_property
    def query(self) -> Q:
        """The query of the call. Raises ``Invalid`` (90)."""
        return cast(Q, read_exactly(self.route.query or ControlBody, self.parameters, "parameter"))

    @cached_property
    def body(self) -> B:
        """The body of the call. Raises ``MalformedJson``, ``Invalid`` (90)."""
        return self.body_beside({})

    def body_beside(self, faults: Mapping[str, str]) -> B:
        """The body, some of whose faults are known already: who sends it gets all faults at once,
        and not the second when the first is mended. Raises ``MalformedJson``, ``Invalid`` (90)."""
        try:
            body = read_exactly(self.route.body or ControlBody, self.document)
        except Invalid as refused:
            raise Invalid(refused.code, {**faults, **(refused.details or {})}) from None
        if faults:
            raise invalid(faults)
        return cast(B, body)

    @cached_property
    def document(self) -> dict[str, object]:
        """The JSON object of the body; without a body an empty one, as most calls need none. Raises
        ``MalformedJson``, ``Invalid`` (90) for anything but an object."""
        if not self.raw.strip():
            return {}
        value = loads(self.raw, unique=True)
        if not isinstance(value, dict):
            raise invalid({"Body": "wanted a JSON object"})
        return value

    @property
    def leaving(self) -> asyncio.Task[None]:
        """A task that ends when the caller hangs up. Most calls are over before anybody asks, so it
        begins with the first look."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(hung_up(self.request.receive))
        return self._leaving

    def end(self) -> None:
        """Stop looking whether the caller hangs up."""
        if self._leaving is not None:
            self._leaving.cancel()
            # A cancelled task holds the place where it was, and by that the call.
            self._leaving = None

    def check_caller(self) -> None:
        """Raise ``HungUp`` when the caller has left since the first look: the work for the call
        stops."""
        if self.leaving.done():
            raise HungUp

    def sender(self, otherwise: str = "control API") -> str:
        """Who does what this call does, as the journal says it: it was no client of the service."""
        if is_own_page(self.headers):
            return "control page"
        return otherwise

    def since(self, sandbox: Sandbox, place: str | None) -> int:
        """The number of the journal entry that a query's ``since`` names, by a mark or a number; 0
        without one, which is before the first. Raises ``Invalid`` (90)."""
        if place is None:
            return 0
        return self.entry_number(sandbox, place)

    def entry_number(self, sandbox: Sandbox, place: str, field: str = "Since") -> int:
        """The number of the journal entry that a field names, by a mark or a number; no mark is a
        number, so it is one or the other. Raises ``Invalid`` (90) for an unknown mark."""
        number = whole_of(place)
        if number is not None:
            return number
        marks = sandbox.journal.marks
        if place in marks:
            return marks[place]
        masked = mask_start(place, 40)
        got = f"got '{masked}', wanted a mark or the number of an entry{nearest(masked, marks)}"
        known = (", ".join(marks) or "none")[:200]
        raise invalid({field: f"{got}; marks: {known}"})


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
    example: Mapping[str, object] = field(default_factory=dict, hash=False)


AnyControlRoute: TypeAlias = ControlRoute[Any, Any]
"""A row of the control table, whatever its call takes."""


class ControlEndpoint(Endpoint):
    """One row of the control table."""

    route: AnyControlRoute
    op = "control"
    headers = (JSON_TYPE, NOSNIFF, NO_STORE)

    def __init__(self, world: World, route: AnyControlRoute) -> None:
        super().__init__(world, route)
        self.largest = max(route.largest or 0, world.settings.max_body)
        self.in_parts = self.largest > IN_ONE_PIECE
        # Made once, as all answers of the row have the same.
        content_type: RawHeader = (b"content-type", route.media.encode())
        if route.media == JSON:
            content_type = JSON_TYPE
        self._answer_headers: tuple[RawHeader, ...] = (content_type, NOSNIFF, NO_STORE)

    def authenticate(self, request: Request) -> Sandbox | None:
        """The open sandbox that the call names; None where it names none or one that is not open
        yet: the function of the call opens it, or refuses the call."""
        if not self.route.keyed:
            return None
        return self.world.sandboxes.named(request.headers)

    async def kept(self, store: SandboxStorage, request: Request) -> None:
        """Wait for what the call has done, in whatever sandboxes; what only looks waits for what it
        has seen."""
        if request.method == "GET":
            if request.known is not None:
                await store.kept(request.known)
            else:
                # It may have looked at any sandbox. What failed before it came is not its doing.
                await store.all_kept(store.failures)
            return
        if self.route.keyed:
            # The call may have put another sandbox in the place of the one that it came to.
            await self.fetch(request)
            present = self.world.sandboxes.named(request.headers)
            if present is not None:
                store.note(present)
        await store.all_kept(request.failures)
        if request.known is not None:
            # A commit that failed while a long call went on has taken it out of memory.
            await store.kept(request.known)

    async def act(self, request: Request) -> Reply:
        """The reply that the function of the row makes of a call, by the rules that always hold
        (above): read first, held up before and after, and told to those who wait."""
        # Each commit that fails from now on may have lost what this call does (``kept``).
        request.failures = self.world.sandboxes.storage.failures
        call = AnyCall(self.route, self.world, request)
        if self.route.keyed:
            # It acts on one sandbox. Read here, whether or not the function does, so that what is
            # misspelt is refused: it must not widen what a call does.
            _ = call.query
            if self.route.body is None:
                # To read the body of a call that takes none refuses whatever is in it.
                _ = call.body
        await self._released(request)
        try:
            answer = self.route.handle(call)
            if isawaitable(answer):
                answer = await answer
        finally:
            call.end()
        reply = answer if isinstance(answer, Reply) else Reply(self.route.success, answer)
        await self._released(request)
        if request.method != "GET":
            # Whatever a call changes may be what somebody waits for.
            for key in self.world.sandboxes.keys_of(request.headers):
                self.world.runner.activity.notify(key)
        headers = reply.headers or self._answer_headers
        return Reply(reply.status, reply.body, headers=headers, parts=reply.parts)

    async def _released(self, request: Request) -> None:
        """Let what changes a sandbox, and its answer, wait while everything there is held, so
        that nothing moves on while an exploration kills the client at that call. Raises
        ``HungUp``."""
        if request.method == "GET":
            return
        if self.route.path.removeprefix("/__admin/") not in _GO_ON_WHILE_HELD:
            await holds.let_go(self.world, request)
