"""HTTP as the server speaks it: uvicorn's protocol, with less to do for each request.

Most requests arrive in one piece and are answered in one piece without waiting for anything. Such a request is served
at once, without a task of its own, and its answer is written in one go. All others go uvicorn's way.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Coroutine, Generator
from functools import lru_cache, partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from mockserver.adapters import not_http

TRANSPORT = "mockserver.transport"
"""The scope extension under which the application finds the connection's transport."""

MOST_HEAD = 65_536
"""Bytes that a request's line and headers may have: one that never ends must not fill the memory."""

Headers = tuple[tuple[bytes, bytes], ...]

_FRAMING = frozenset({b"connection", b"content-length", b"transfer-encoding"})


class Protocol(HttpToolsProtocol):
    """One connection.

    Its transport is in the scope: a scripted fault resets or cuts the real connection.
    """

    _idle_since: float | None = None
    _reading = False
    _head = 0
    _begun: tuple[RequestResponseCycle, Any] | None = None

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, and hang up: nobody can tell where the next request would begin."""
        self.transport.write(not_http.refusal(sys.exception(), self.server_state.default_headers))
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Read, and serve the requests that this completes."""
        self._reading = True
        try:
            super().data_received(data)
            scope: Any = self.scope
            if scope is not None and "path" not in scope:
                self._bound_head(len(data))
            while self._begun is not None:
                (cycle, app), self._begun = self._begun, None
                if cycle.more_body:
                    super()._start_asgi_task(cycle, app)
                else:
                    self._serve_at_once(cycle, app)
        finally:
            self._reading = False

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None

    def on_response_complete(self) -> None:
        """An answer is complete: go on with the request that waits, or wait for one.

        A timer that is set and cancelled with every request costs more than one that looks, when it rings, how long
        nothing has come.
        """
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again_in(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        """Hang up when nothing has come for long enough."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_again_in(left)
        else:
            super().timeout_keep_alive_handler()

    def _look_again_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is no more."""
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    def _bound_head(self, more: int) -> None:
        self._head += more
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(not_http.endless(MOST_HEAD, self.server_state.default_headers))
            self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        answering = partial(_answering, app, cycle)
        if self._reading:
            self._begun = cycle, answering
        else:
            super()._start_asgi_task(cycle, answering)

    def _serve_at_once(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Serve a request without a task, for as long as it waits for nothing."""
        serving = cycle.run_asgi(app)
        try:
            awaited = serving.send(None)
        except StopIteration:
            return
        task = self.loop.create_task(_Begun(serving, awaited))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)


def _answering(app: Any, cycle: RequestResponseCycle, scope: Any, _receive: Any, _send: Any) -> Any:
    return app(scope, Body(cycle), Answer(cycle))


class _Begun(Coroutine[Any, Any, None]):
    """A coroutine that was begun outside of any task and waits for ``awaited``: what a task is made of to go on."""

    __slots__ = ("_awaited", "_rest", "_told")

    def __init__(self, rest: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._rest = rest
        self._awaited = awaited
        self._told = False

    def send(self, value: Any) -> Any:
        """Go on; at first, tell what is waited for."""
        if self._told:
            return self._rest.send(value)
        self._told = True
        return self._awaited

    def throw(self, *problem: Any) -> Any:
        """Go on with an exception."""
        self._told = True
        return self._rest.throw(*problem)

    def close(self) -> None:
        """Give up."""
        self._rest.close()

    def __await__(self) -> Generator[Any, Any, None]:
        yield self.send(None)
        yield from self._rest.__await__()


class Body:
    """The ``receive`` of one request."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def __call__(self) -> Awaitable[Any]:
        """The next part of the body, or that the client has gone."""
        return self._cycle.receive()

    def whole(self) -> bytes | None:
        """What is left of the body, when all of it has come; else None."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected or cycle.response_complete:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        cycle.message_event.clear()
        return body


class Answer:
    """The ``send`` of one request; ``status`` is what was answered, 0 before."""

    __slots__ = ("_cycle", "status")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.status = 0

    def __call__(self, message: Any) -> Awaitable[None]:
        """Send one message of an answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        return self._cycle.send(message)

    def whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write an answer in one go, its length told; False, and nothing is written, when that cannot be done now."""
        cycle = self._cycle
        if cycle.response_started or cycle.disconnected or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
            return False
        head = _head(status, headers, tuple(cycle.default_headers), cycle.keep_alive)
        if head is None:
            return False
        self.status = status
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


@lru_cache(maxsize=256)
def _head(status: int, headers: Headers, server_headers: Headers, keep_alive: bool) -> bytes | None:
    """The lines above the length; None when a header says itself how the answer or the connection ends."""
    lines = [STATUS_LINE[status]]
    for name, value in (*server_headers, *headers):
        if name.lower() in _FRAMING:
            return None
        if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
            raise ValueError(f"no header of HTTP: {name!r}")
        lines += [name, b": ", value, b"\r\n"]
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return b"".join(lines)
