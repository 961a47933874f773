"""The answer to an unforeseen failure: the one JSON shape, without any part of the request."""

from __future__ import annotations

from contextlib import suppress

from mockserver.domain.codes import Code
from mockserver.domain.problem import problem
from mockserver.web.asgi import Scope, Send, send_json


async def last_resort(scope: Scope, send: Send) -> None:
    """Answer 500 for an error that escaped an endpoint, unless the answer has begun; the server logs the error."""
    # An answer that has begun cannot begin again: the server says so, and cuts it off.
    with suppress(RuntimeError):
        body = problem(500, Code.UNKNOWN_ERROR, Code.UNKNOWN_ERROR.message, scope["path"])
        # The server hangs up after an error: clients that keep connections are told.
        await send_json(send, 500, body, [(b"connection", b"close")])
