"""What the server does not load before its first answer, and the application as any ASGI server
runs it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Match, Route

import mockserver

HEAVY = {
    # Of other libraries.
    *(
        "cryptography",
        "faker",
        "httpx",
        "jinja2",
        "opentelemetry",
        "prometheus_client",
        "re2",
        "rich",
    ),
    *("sqlite3", "trustme", "xml", "yaml"),
    # Of this one.
    *(f"mockserver.adapters.{name}" for name in ("strict_yaml", "tls", "trace_export")),
    *(f"mockserver.commands.{name}" for name in ("explore", "findings", "scenarios", "store")),
    *(f"mockserver.web.{name}" for name in ("control", "pages", "routes", "tracing")),
    *(f"mockserver.{name}" for name in ("books", "explore", "store")),
    "mockserver.scenario.reference",
    "mockserver.scenario.when_schema",
}

FIRST_CHARGE = """
import sys
import asyncio, json
import mockserver.server.serving, mockserver.cli
from mockserver.scenario.file_model import adapter

app = mockserver.create_app()
card = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123", "cardholder": "A"}
body = {"amount": 1, "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed", "paymentInformation": card}
got = []
scope = {"type": "http", "method": "POST", "path": "/charge/card", "raw_path": b"/charge/card", "query_string": b"",
    "headers": [(b"x-secretkey", b"k"), (b"host", b"localhost"), (b"content-type", b"application/json")],
    "client": ("127.0.0.1", 1), "scheme": "http", "server": ("127.0.0.1", 4111), "http_version": "1.1"}

async def receive():
    return {"type": "http.request", "body": json.dumps(body).encode()}

async def send(message):
    got.append(message)

asyncio.run(app(scope, receive, send))
print(got[0]["status"], adapter.cache_info().currsize, sorted(HEAVY & set(sys.modules)))
"""


@pytest.mark.slow
def test_a_first_charge_loads_nothing_that_it_does_not_need() -> None:
    program = f"HEAVY = {HEAVY!r}\n{FIRST_CHARGE}"
    root = Path(mockserver.__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert done.stdout == "201 0 []\n", done.stderr


def run(app: Any, scope: dict[str, Any], *asked: str) -> list[dict[str, Any]]:
    """What the application sends; last, under ``raised``, what it raises."""
    got: list[dict[str, Any]] = []
    messages = [{"type": kind} for kind in asked]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        got.append(message)

    try:
        asyncio.run(app(scope, receive, send))
    except Exception as raised:
        got.append({"raised": raised})
    return got


def test_a_lifespan_begins_and_ends() -> None:
    got = run(
        mockserver.create_app(), {"type": "lifespan"}, "lifespan.startup", "lifespan.shutdown"
    )
    assert got == [{"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}]


def test_a_lifespan_that_cannot_begin_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise AttributeError("no clock")
        yield

    app = mockserver.create_app()
    monkeypatch.setattr(app, "lifespan", broken)
    failed, last = run(app, {"type": "lifespan"}, "lifespan.startup")
    assert failed["type"] == "lifespan.startup.failed"
    assert "AttributeError" in failed["message"]
    assert isinstance(last["raised"], AttributeError)


def test_a_websocket_is_turned_away() -> None:
    (closed,) = run(
        mockserver.create_app(), {"type": "websocket", "path": "/charge"}, "websocket.connect"
    )
    assert closed["type"] == "websocket.close"


def test_its_routes_are_those_of_starlette() -> None:
    app = mockserver.create_app()
    assert all(isinstance(route, Route) for route in app.routes)
    scope = {"type": "http", "path": "/charge/abc", "method": "GET"}
    full = [route for route in app.routes if route.matches(scope)[0] is Match.FULL]
    assert [route.name for route in full] == ["charge.get", "none"]
    assert full[0].matches(scope)[1]["path_params"] == {"charge_id": "abc"}
    assert app.url_path_for("charge.get", charge_id="abc") == "/charge/abc"
