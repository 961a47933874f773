"""What is left when something fails that nobody foresaw: still the one JSON shape, and nothing of the request in it."""

from __future__ import annotations

from starlette.types import ASGIApp

from mockserver.domain.codes import Code
from mockserver.web.asgi import Message, Receive, Scope, Send, send_json
from mockserver.wire.problems import problem


class LastResort:
    """Answers 500 for an error that escaped an endpoint, unless the answer has begun; the server logs the error."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception:
            if scope["type"] == "http" and not begun:
                body = problem(500, Code.UNKNOWN_ERROR, Code.UNKNOWN_ERROR.message, scope["path"])
                await send_json(send, 500, body)
            raise
