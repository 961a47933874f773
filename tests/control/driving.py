"""Drives the application in process, without a loop, a thread or a socket: an endpoint that waits for nothing runs
to its end in one go.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mockserver

START = 1_930_154_400_000_000
DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
CARD = {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123", "cardholder": "Ann Example"}


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Shop:
    """A caller of one application; ``key`` is its secret key when a call names none."""

    def __init__(self, key: str = "sk_shop", app: Any = None, **settings: Any) -> None:
        self.key = key
        self.app = app or mockserver.create_app(
            **{"clock": "2031-03-01T10:00:00Z", "real_clock": lambda: START, **settings}
        )

    def __call__(self, method: str, target: str, body: object = None, *, slowly: bool = False, **more: Any) -> Reply:
        """One call; ``slowly`` when its answer waits. ``more`` as for ``calling``."""
        running = self.calling(method, target, body, **more)
        if slowly:
            return asyncio.run(running)
        try:
            # A bare yield lets others have their turn, and here are no others.
            while running.send(None) is None:
                pass
        except StopIteration as stopped:
            reply: Reply = stopped.value
            return reply
        running.close()
        raise AssertionError(f"{method} {target} waits for something")

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
        """One call among others. ``key`` None sends none; ``raw`` is a body as it stands; the caller leaves when
        ``gone`` is set. The status is 0 when there is no answer."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        named = {"host": "127.0.0.1:4111", "content-type": "application/json"}
        if key is not None:
            named["x-secretkey"] = key or self.key
        named.update(headers or {})
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 4111),
            "client": ("127.0.0.1", 50_000),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in named.items()],
        }
        messages: list[Any] = []

        sent = False

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if sent and gone is not None:
                await gone.wait()
                return {"type": "http.disconnect"}
            sent = True
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, send)
        if not messages:
            return Reply(0, {}, b"")
        start, *parts = messages
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Reply(start["status"], found, b"".join(part.get("body", b"") for part in parts))

    def charge(self, amount: float = 12.5, number: str = "4111111111111111", **more: object) -> Reply:
        """Charge a card."""
        body = {"amount": amount, "providerId": DUMMY, "paymentInformation": {**CARD, "cardNumber": number}, **more}
        return self("POST", "/charge/card", body)

    def charge_as(self, key: str, **more: object) -> Reply:
        """Charge a card in the sandbox of another key."""
        body = {"amount": 5, "providerId": DUMMY, "paymentInformation": CARD, **more}
        return self("POST", "/charge/card", body, key=key)
