"""A small application behind the server's protocol: on a real socket, or on fakes with a time that
stands still."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from mockserver.server.guards import GuardedProtocol
from mockserver.server.lane import LaneProtocol
from mockserver.web.request import body_at_hand, read_parts, send_bytes
from tests.driving import FAST_LANE

App = Callable[[Any, Any, Any], Awaitable[None]]
PROTOCOL = LaneProtocol if FAST_LANE else GuardedProtocol
TEXT = ((b"content-type", b"text/plain"),)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the path and the body; ``/later`` waits first, ``/parts`` answers in two,
    ``/fails`` not at all."""
    path = scope["path"]
    if path == "/later":
        await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.sleep(0), 60)
    if path == "/fails":
        raise RuntimeError("no answer")
    if path == "/cancelled":
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            await send_bytes(send, 503, b"stopped", TEXT)
            return
    # As an endpoint reads it.
    body = body_at_hand(receive, {}, 1_000_000)
    if body is None:
        body = b"".join(await read_parts(receive, {}, 1_000_000))
    if path == "/parts":
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]}
        )
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})
        return
    if path == "/last":
        await send_bytes(send, 200, b"bye", (*TEXT, (b"connection", b"close")))
        return
    if path == "/bad-header":
        await send_bytes(send, 200, b"", ((b"x-bad", b"a\r\nb: c"),))
        return
    await send_bytes(send, 200, path.encode() + b" " + body, TEXT)


def converse(
    *chunks: bytes, until: bytes, go_on: bytes = b"", app: App = echo
) -> tuple[bytes, ServerState]:
    """What the server says to chunks that are sent one after the other, up to a last word; with
    ``go_on`` the second is sent when that was said."""
    state = ServerState()

    async def run() -> bytes:
        config = uvicorn.Config(app, http=PROTOCOL, lifespan="off", log_config=None)
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: PROTOCOL(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        first = b""
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
            if go_on and not first:
                first = await asyncio.wait_for(reader.readuntil(go_on), 60)
        if not until:
            while not state.tasks:
                await asyncio.sleep(0)
            for task in tuple(state.tasks):
                task.cancel()
        said = first + await asyncio.wait_for(
            reader.readuntil(until) if until else reader.readuntil(b"stopped"), 60
        )
        writer.close()
        server.close()
        return said

    return asyncio.run(run()), state


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time stands still until it is made to pass."""

    def __init__(self) -> None:
        self.now = 0.0
        self._alarms: list[asyncio.TimerHandle] = []
        super().__init__()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, *args: Any, **more: Any) -> asyncio.TimerHandle:
        self._alarms.append(super().call_at(when, *args, **more))
        return self._alarms[-1]

    @property
    def alarms(self) -> list[float]:
        return sorted(
            one.when() for one in self._alarms if not one.cancelled() and one.when() > self.now
        )

    def step(self, act: Callable[..., Any] | None = None, *args: Any) -> None:
        """Let something happen, and what follows from it."""
        if act is not None:
            self.call_soon(act, *args)
        for _ in range(20):
            self.call_soon(self.stop)
            self.run_forever()

    def pass_time(self, until: float) -> None:
        while (alarms := self.alarms) and alarms[0] <= until:
            self.now = alarms[0]
            self.step()
        self.now = until
        self.step()


class Wire(asyncio.Transport):
    """A transport that only notes what is written, and whether it was ended, closed or paused."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b""
        self.kept = 0
        self.ended = self.closed = self.paused = False

    def write(self, data: Any) -> None:
        assert not self.closed
        self.said += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def get_write_buffer_size(self) -> int:
        return self.kept

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


def connected(
    clock: Clock,
    keep_alive: int = 75,
    app: App = echo,
    state: ServerState | None = None,
    most: int = 100,
) -> tuple[GuardedProtocol, Wire]:
    """A connection of fakes."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_keep_alive=keep_alive)
    config.load()
    protocol, wire = PROTOCOL(config, state or ServerState(), {}, clock, most=most), Wire()
    protocol.connection_made(wire)
    return protocol, wire


def request(
    path: str, body: bytes = b"", *lines: str, method: str = "POST", version: str = "1.1"
) -> bytes:
    head = [f"{method} {path} HTTP/{version}", "host: x", f"content-length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body
