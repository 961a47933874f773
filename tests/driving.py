"""Driving the application as a client does, but in this process: one call in, one answer out, nothing shared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote, urlencode

from mockserver import Settings
from mockserver.adapters.scenario_files import load, read_text
from mockserver.domain.clock import Micros
from mockserver.scenario.scenario import Scenario
from mockserver.web.app import Application
from mockserver.web.host import Host

START = "2031-03-01T00:00:00Z"
DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
VISA = "4111111111111111"
_LOOP = asyncio.new_event_loop()


@cache
def _test_values() -> tuple[Scenario, ...]:
    return tuple(load([], test_values=True))


@dataclass(frozen=True, slots=True)
class _Given:
    """The test values, read once for all tests, under a scenario and assumptions of the test's own."""

    scenario: str | None
    assumptions: Mapping[str, object]

    def load(self) -> list[Scenario]:
        own = [Scenario("assumed", "assumed.yaml", assumptions=self.assumptions)] if self.assumptions else []
        return [*own, *([self.read_text(self.scenario, "given.yaml")] if self.scenario else []), *_test_values()]

    def read_text(self, text: str, name: str) -> Scenario:
        return read_text(text, name)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. ``body`` is the JSON value, numbers with a fraction as floats."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    def __getitem__(self, name: str) -> Any:
        return self.body[name]


class Api:
    """One application with a clock that stands still at ``START`` until ``advance`` moves it."""

    def __init__(
        self,
        *,
        key: str | None = "sk_tests",
        assumptions: Mapping[str, object] | None = None,
        scenario: str | None = None,
        real_clock: Callable[[], Micros] = lambda: 0,
        **settings: Any,
    ) -> None:
        chosen = Settings(**{"clock": START, "seed": 42, **settings})
        self.key = key
        self.app = Application(Host(chosen, real_clock, _Given(scenario, assumptions or {})))

    def send(
        self,
        method: str,
        target: str,
        raw: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *lines: tuple[bytes, bytes],
    ) -> Reply:
        """One request as bytes; ``target`` is the path with its query, ``lines`` are headers after the others."""
        scope = self._scope(method, target, headers)
        scope["headers"] += lines
        return _LOOP.run_until_complete(_exchange(self.app, scope, raw))

    def race(self, *calls: tuple[str, str, object]) -> list[tuple[int, Reply]]:
        """Several calls at once, each a method, a path and a body: their places and replies as they were answered."""
        answered: list[tuple[int, Reply]] = []

        async def run(place: int, method: str, path: str, body: object) -> None:
            raw = b"" if body is None else json.dumps(body).encode()
            reply = await _exchange(self.app, self._scope(method, path, {"content-type": "application/json"}), raw)
            assert reply.status in (200, 201), reply.raw
            answered.append((place, reply))

        async def start() -> None:
            await asyncio.gather(*(run(place, *call) for place, call in enumerate(calls)))

        _LOOP.run_until_complete(start())
        return answered

    def _scope(self, method: str, target: str, headers: Mapping[str, str] | None) -> dict[str, Any]:
        path, _, query = target.partition("?")
        sent = {"host": "127.0.0.1", **({"x-secretkey": self.key} if self.key else {}), **(headers or {})}
        return {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 4111),
        }

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One JSON request."""
        target = path + ("?" + urlencode({name: str(value) for name, value in query.items()}) if query else "")
        raw = b"" if body is None else json.dumps(body).encode()
        return self.send(method, target, raw, {"content-type": "application/json", **(headers or {})})

    def get(self, path: str, **query: object) -> Reply:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: object = None) -> Reply:
        return self.call("POST", path, {} if body is None else body)

    def put(self, path: str, body: object) -> Reply:
        return self.call("PUT", path, body)

    def delete(self, path: str, **query: object) -> Reply:
        return self.call("DELETE", path, query=query)

    def advance(self, by: str) -> None:
        """Move the sandbox's clock forward."""
        moved = self.post("/__admin/clock/advance", {"by": by})
        assert moved.status == 200, moved.raw

    def charge(self, **fields: object) -> dict[str, Any]:
        """A charge that is taken; the fields of the body on top of an ordinary one."""
        reply = self.post("/charge/card", card_charge(**fields))
        assert reply.status in (200, 201), reply.raw
        body: dict[str, Any] = reply.body
        return body


async def _exchange(app: Application, scope: dict[str, Any], raw: bytes) -> Reply:
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": raw, "more_body": False}]
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.Event().wait()  # the caller stays until the answer is there
        return messages.pop()

    async def send(message: Any) -> None:
        answers.append(message)

    await app(scope, receive, send)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answers[0]["headers"]}
    return Reply(answers[0]["status"], headers, b"".join(part.get("body", b"") for part in answers[1:]))


def card(number: str = VISA, **fields: object) -> dict[str, object]:
    """Card details of a request, the given fields on top."""
    return {"cardNumber": number, "expiryDate": "12/40", "ccv": "123", "cardholder": "Ann Example", **fields}


def card_charge(**fields: object) -> dict[str, object]:
    """The body of an ordinary card charge, the given fields on top; ``amount`` 20 unless told."""
    return {"amount": 20, "currency": "AUD", "providerId": DUMMY, "paymentInformation": card(), **fields}


def without(body: Mapping[str, object], *names: str) -> dict[str, object]:
    """A body without some of its fields."""
    return {name: value for name, value in body.items() if name not in names}


def problem_of(reply: Reply) -> tuple[int, int]:
    """Status and code of a refusal, after a look at its shape (published facts, 4.1)."""
    assert reply.status >= 400, reply.raw
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    body = reply.body
    assert list(body) == PROBLEM_FIELDS
    assert (type(body["code"]), type(body["isRetryable"]), body["httpStatus"]) == (int, bool, reply.status)
    details = body["details"]
    assert details is None or (details and all(isinstance(text, str) for text in details.values()))
    return reply.status, body["code"]


PROBLEM_FIELDS: Sequence[str] = [
    "message",
    "code",
    "isRetryable",
    "type",
    "resource",
    "details",
    "gatewayCode",
    "gatewayMessage",
    "httpStatus",
]
