"""How control operations are served: JSON in and out, the sandbox named by the same header as in the payments API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from mockserver.assumptions import Assumed
from mockserver.domain.codes import Code
from mockserver.domain.errors import Invalid, Refused, nearest
from mockserver.domain.masking import mask_start
from mockserver.domain.reading import flag_of, whole_of
from mockserver.engine.sandbox import Sandbox
from mockserver.web.asgi import HungUp, Receive, Scope, Send, TooLarge, headers_of, read_body, send_json
from mockserver.web.host import Host
from mockserver.web.lazy import loaded
from mockserver.wire import problems
from mockserver.wire.jsonio import MalformedJson, loads


@dataclass(frozen=True, slots=True)
class ControlCall:
    """One control call; ``sandbox`` opens the sandbox of its key, ``receive`` tells when the caller leaves."""

    route: ControlRoute
    host: Host
    headers: Mapping[str, str]
    path: Mapping[str, str]
    query: Mapping[str, str]
    raw: bytes
    receive: Receive

    def sandbox(self) -> Sandbox:
        """The sandbox that the call names. Raises ``Unauthorised`` (40)."""
        return self.host.known_to_control(self.headers, changes=self.route.method != "GET")

    def caller(self) -> Caller:
        """Who made the call."""
        return Caller(self.receive)

    def assumed(self) -> Assumed:
        """The assumptions of the sandbox that the call names, or of the server. Raises ``Unauthorised`` (40)."""
        named = {"x-secretkey", "x-sandbox", "x-publickey"} & self.headers.keys()
        return self.sandbox().assumed if named else self.host.assumed

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


class ControlEndpoint:
    """One row of the control table as an ASGI application."""

    def __init__(self, route: ControlRoute, host: Host) -> None:
        self.route = route
        self.host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            raw = await read_body(receive, scope, self.route.largest or self.host.settings.max_body)
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"), errors="replace"))
            call = ControlCall(self.route, self.host, headers_of(scope), scope["path_params"], query, raw, receive)
            if self.route.keyed:
                _check_names(query, [given.name for given in self.route.query])
                known = self.host.sandboxes.named(call.headers)
                if known is not None:
                    await self.host.catch_up(known)
            answer = loaded(self.route.handle)(call)
            status, body = answer if isinstance(answer, tuple) else await answer
            if self.route.method != "GET" and (sandbox := self.host.sandboxes.named(call.headers)) is not None:
                # Whatever a call changes may be what somebody waits for.
                self.host.activity.notify(sandbox.key)
        except HungUp:
            return
        except TooLarge:
            status, body = 413, problems.problem(413, Code.VALIDATION_ERROR, "Validation Error", scope["path"])
        except MalformedJson as fault:
            status, body = problems.malformed(str(fault), scope["path"])
        except Refused as refused:
            status, body = problems.refusal(refused, scope["path"], self.host.assumed)
        await send_json(send, status, body)


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
