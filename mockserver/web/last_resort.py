"""The answer to an unforeseen failure: the one JSON shape, without any part of the request."""

from __future__ import annotations

from contextlib import suppress

from starlette.types import ASGIApp

from mockserver.domain.codes import Code
from mockserver.web.asgi import Receive, Scope, Send, send_json
from mockserver.wire.problems import problem


class LastResort:
    """Answers 500 for an error that escaped an endpoint, unless the answer has begun; the server logs the error."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        except Exception:
            if scope["type"] == "http":
                # An answer that has begun cannot begin again: the server says so, and cuts it off.
                with suppress(RuntimeError):
                    body = problem(500, Code.UNKNOWN_ERROR, Code.UNKNOWN_ERROR.message, scope["path"])
                    # The server hangs up after an error: clients that keep connections are told.
                    await send_json(send, 500, body, [(b"connection", b"close")])
            raise
