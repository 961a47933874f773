"""Drives the application as a client does, but in this process: one call in, one answer out,
nothing shared.

An endpoint that waits for nothing runs to its end in one go, without a loop, a thread or a socket.
"""

import asyncio
import json
import os
import selectors
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from starlette import routing

from mockserver import Settings
from mockserver.adapters.scenario_files import load, read_text, schema_text, shipped
from mockserver.domain.clock import Micros, parse_instant
from mockserver.scenario.scenario import Scenario, ScenarioFile, ScenarioReader
from mockserver.web.app import Application
from mockserver.wire import fields
from mockserver.wire.fields import Body

FAST_LANE = "MOCKSERVER_NO_FAST_LANE" not in os.environ
"""Whether servers and callers of the tests take the fast lane; the environment turns it off for a
whole run."""

START = "2031-03-01T00:00:00Z"
NOW = parse_instant(START)
DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
VISA = "4111111111111111"
PUBLIC = {"x-publickey": "pk_tests"}
"""What a wallet is charged with: the public key of the secret key that callers have."""

CARD = {"cardNumber": VISA, "expiryDate": "12/40", "ccv": "123", "cardholder": "Ann Example"}

SHIPPED = sorted((Path(__file__).resolve().parents[1] / "scenarios").glob("*.yaml"))
"""The files of the scenarios that come with the product."""

_read, _read_text = cache(load), cache(read_text)
# Each application compiles some three hundred paths of routes, the same ones.
routing.compile_path = cache(routing.compile_path)


@dataclass(frozen=True, slots=True)
class _Given:
    """Scenario files and texts, read once for all tests, under assumptions of the test's own."""

    names: tuple[str, ...]
    text: str | None
    assumptions: Mapping[str, object]
    test_values: bool

    def load(self) -> list[Scenario]:
        assumed = ScenarioFile(version=1, assumptions=dict(self.assumptions))
        own = [Scenario("assumed", "assumed.yaml", assumed)] if self.assumptions else []
        given = [_read_text(self.text, "given.yaml")] if self.text else []
        behind = _read((), test_values=True) if self.test_values else []
        named = [
            one
            for one in _read(self.names, test_values=False)
            if not behind or one.name != behind[0].name
        ]
        return [*own, *given, *named, *behind]

    def read_text(self, text: str, name: str) -> Scenario:
        return read_text(text, name)

    def shipped(self) -> list[tuple[str, str, str]]:
        return shipped()

    def schema_text(self) -> str:
        return schema_text()


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


_MOST_IDLE, _MOST_KINDS = 4, 8
_idle: dict[Settings, list[Application]] = {}
_lent: list[Application] | None = None


@contextmanager
def lending() -> Iterator[None]:
    """Inside of it applications are begun anew that earlier tests with the same settings have done
    with, and all are done with at its end: to make one takes twenty times as long."""
    global _lent
    _lent = lent = []
    try:
        yield
    finally:
        _lent = None
        for app in lent:
            idle = _idle.setdefault(app.world.settings, [])
            if len(idle) < _MOST_IDLE:
                idle.append(app)
        # Settings that many tests use come again soon.
        while len(_idle) > _MOST_KINDS:
            del _idle[next(iter(_idle))]


def application(
    settings: Settings, real_clock: Callable[[], Micros], given: ScenarioReader
) -> Application:
    """An application that has just begun. One with a store is made anew, as its file is."""
    if _lent is None or settings.store is not None:
        return Application(settings, real_clock, given)
    # The kind that was used last goes last.
    idle = _idle[settings] = _idle.pop(settings, [])
    if not idle:
        app = Application(settings, real_clock, given)
    else:
        app = idle.pop()
        app.world.real_clock, app.world.log = real_clock, None
        app.world.begin(given)
    _lent.append(app)
    return app


class Api:
    """A caller of an application of its own; ``key`` is its secret key when a call names none.

    The clock stands still at ``START`` until ``advance`` moves it. ``scenario`` is the text of a
    file, or the names of files. ``waits`` lets every answer take its time; with ``skips`` nobody
    waits for that time to pass.
    """

    def __init__(
        self,
        key: str | None = "sk_tests",
        *,
        assumptions: Mapping[str, object] | None = None,
        scenario: str | Sequence[str] | None = None,
        real_clock: Callable[[], Micros] = lambda: NOW,
        waits: bool = False,
        skips: bool = False,
        **settings: Any,
    ) -> None:
        text, names = (scenario, ()) if isinstance(scenario, str) else (None, tuple(scenario or ()))
        chosen = Settings(**{"clock": START, "seed": 42, **settings})
        given = _Given(names, text, assumptions or {}, chosen.test_values)
        self.key = key
        self.waits = waits
        self._loop = _skipping_loop if skips else _loop
        self.app = application(chosen, real_clock, given)

    def call(
        self,
        method: str,
        target: str,
        body: object = None,
        query: Mapping[str, object] | None = None,
        *,
        waits: bool = False,
        **more: Any,
    ) -> Reply:
        """One JSON request; ``waits`` when its answer does. ``more`` as for ``calling``."""
        if query:
            target += "?" + urlencode({name: str(value) for name, value in query.items()})
        return _run(
            self.calling(method, target, body, **more), self._loop if waits or self.waits else None
        )

    async def calling(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        key: str | None = "",
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
        gone: asyncio.Event | None = None,
    ) -> Reply:
        """One JSON request among others. ``key`` None sends none; ``raw`` is a body as it stands;
        the caller leaves when ``gone`` is set. The status is 0 when there is no answer."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        scope = self._scope(
            method, target, {"content-type": "application/json", **(headers or {})}, key
        )
        return await _exchange(self.app, scope, content, gone)

    def send(
        self,
        method: str,
        target: str,
        raw: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *lines: tuple[bytes, bytes],
        waits: bool = False,
    ) -> Reply:
        """One request as bytes; ``target`` is the path with its query, ``lines`` are headers after
        the others."""
        scope = self._scope(method, target, headers)
        scope["headers"] += lines
        return _run(_exchange(self.app, scope, raw), self._loop if waits or self.waits else None)

    def race(self, *calls: tuple[str, str, object]) -> list[tuple[int, Reply]]:
        """Several calls at once, each a method, a path and a body: their places and replies as they
        were answered."""
        answered: list[tuple[int, Reply]] = []

        async def run(place: int, method: str, path: str, body: object) -> None:
            reply = await self.calling(method, path, body)
            assert reply.status in (200, 201), reply.raw
            answered.append((place, reply))

        async def start() -> None:
            await asyncio.gather(*(run(place, *call) for place, call in enumerate(calls)))

        asyncio.run(start())
        return answered

    def _scope(
        self, method: str, target: str, headers: Mapping[str, str] | None, key: str | None = ""
    ) -> dict[str, Any]:
        path, _, query = target.partition("?")
        secret = self.key if key == "" else key
        sent = {
            "host": "127.0.0.1",
            **({"x-secretkey": secret} if secret else {}),
            **(headers or {}),
        }
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in sent.items()
            ],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 4111),
        }

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
        reply = self.try_charge(**fields)
        assert reply.status in (200, 201), reply.raw
        return reply.body

    def method(self, number: str = VISA, **fields: object) -> str:
        """The id of a card that is stored; the fields of the body on top of an ordinary one."""
        reply = self.post(
            "/payment_method/card",
            {"providerId": DUMMY, "paymentInformation": card(number), **fields},
        )
        assert reply.status == 201, reply.raw
        return str(reply["paymentMethodId"])

    def batch(self, *rows: str, **fields: object) -> str:
        """The id of a batch of rows that is taken; the fields of the body on top of an ordinary
        one."""
        reply = self.post("/batch/transaction/payment_method", batch_of(*rows, **fields))
        assert reply.status == 201, reply.raw
        return str(reply["batchId"])

    def try_charge(
        self, amount: float = 20, number: str = VISA, *, key: str | None = "", **fields: object
    ) -> Reply:
        """The answer to a card charge, whatever it is; the fields of the body on top of an ordinary
        one."""
        body = card_charge(amount=amount, paymentInformation=card(number))
        return self.call("POST", "/charge/card", {**body, **fields}, key=key)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One for all calls: opening one takes longer than most calls do."""
    return asyncio.new_event_loop()


class _SkippingSelector(selectors.DefaultSelector):
    """Where nothing has come, ``skipped`` seconds count as waited for."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; without anything planned, what comes first."""
        ready = super().select(timeout and 0)
        self.skipped += (timeout or 0) if not ready else 0
        return ready


class _SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on at once to what is planned next, as nobody asks anything
    meanwhile."""

    def __init__(self) -> None:
        self._selected = _SkippingSelector()
        super().__init__(self._selected)

    def time(self) -> float:
        """The time of the machine and what was skipped."""
        return super().time() + self._selected.skipped


@cache
def _skipping_loop() -> asyncio.AbstractEventLoop:
    return _SkippingLoop()


def _run(
    exchange: Coroutine[object, None, Reply], loop: Callable[[], asyncio.AbstractEventLoop] | None
) -> Reply:
    if loop is not None:
        return loop().run_until_complete(exchange)
    try:
        # A bare yield lets others have their turn, and here are no others.
        while exchange.send(None) is None:
            pass
    except StopIteration as stopped:
        return stopped.value
    exchange.close()
    raise AssertionError("the answer waits for something")


async def _exchange(
    app: Any, scope: dict[str, Any], raw: bytes, gone: asyncio.Event | None = None
) -> Reply:
    """The answer; the caller leaves when ``gone`` is set, or stays until the answer is there."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": raw, "more_body": False}]
    answers: list[Any] = []

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        answers.append(message)

    await app(scope, receive, send)
    if not answers:
        return Reply(0, {}, b"")
    head, *parts = answers
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head["headers"]
    }
    return Reply(head["status"], headers, b"".join(part.get("body", b"") for part in parts))


def card(number: str = VISA, **fields: object) -> dict[str, object]:
    """Card details of a request, the given fields on top."""
    return {**CARD, "cardNumber": number, **fields}


def card_charge(**fields: object) -> dict[str, object]:
    """The body of an ordinary card charge, the given fields on top; ``amount`` 20 unless told."""
    return {
        "amount": 20,
        "currency": "AUD",
        "providerId": DUMMY,
        "paymentInformation": card(),
        **fields,
    }


HEADER = "PaymentMethodId,Amount,Currency,Reference"


def batch_of(*rows: str, **fields: object) -> dict[str, object]:
    """The body of a batch of rows, the given fields on top."""
    text = "\n".join((HEADER, *rows)) + "\n"
    return {"count": len(rows), "description": "rents", "batch": text, **fields}


def without(body: Mapping[str, object], *names: str) -> dict[str, object]:
    """A body without some of its fields."""
    return {name: value for name, value in body.items() if name not in names}


def names_of(model: type[Body] | None) -> list[str]:
    """The fields of a body or a query, as they are spelt on the wire."""
    return fields.names_of(model) if model is not None else []


def problem_of(reply: Reply) -> tuple[int, int]:
    """Status and code of a refusal, after a look at its shape (published facts, 4.1)."""
    assert reply.status >= 400, reply.raw
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    body = reply.body
    assert list(body) == PROBLEM_FIELDS
    assert (type(body["code"]), type(body["isRetryable"]), body["httpStatus"]) == (
        int,
        bool,
        reply.status,
    )
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
