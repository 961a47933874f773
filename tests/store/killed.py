"""A server with a store as a process of its own that can be killed at any instant, and clients that
bear it."""

import asyncio
from pathlib import Path
from typing import Any

from tests.driving import START, Api
from tests.served import Process, serve
from tests.store.stories import PUBLIC_URL, Call, Story
from tests.store.twins import VIEWS

FRESH = {"public_url": PUBLIC_URL}
OPTIONS = ("--seed", "42", "--clock", START, "--public-url", PUBLIC_URL)
"""What gives a server in this process the same answers as one that is served."""


class Served(Process):
    """A server on a store. Its standard error goes to ``errors``."""

    def __init__(self, store: Path, *options: str) -> None:
        self.errors = store.with_suffix(".log")
        begun = serve("--store", str(store), *OPTIONS, *options, errors=self.errors)
        super().__init__(begun.port, begun.process)

    def kill(self) -> None:
        """End it as it is; it is over when its standard output is."""
        self.process.kill()
        self.end()


class Line:
    """A connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, call: Call) -> tuple[int, bytes]:
        """Status and body of the answer. Raises ``OSError`` or ``EOFError`` when there is none."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=2**26)
        reader, writer = self._streams
        headers = {"host": "127.0.0.1", "x-secretkey": call.key, **call.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"{call.method} {call.target} HTTP/1.1\r\n{head}\r\n".encode() + call.raw)
        told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        assert "content-length:" in told, told
        return int(told.split()[1]), await reader.readexactly(
            int(told.partition("content-length:")[2].split()[0])
        )

    def close(self) -> None:
        """Leave."""
        if self._streams is not None:
            self._streams[1].transport.abort()


async def tell(port: int, story: Story, most: int | None = None) -> None:
    """Tell a story, or so many requests of it, until the server is gone."""
    line = Line(port)
    try:
        for _ in range(1_000_000 if most is None else most):
            story.learn(*await line.send(story.next()))
    except (OSError, EOFError):
        return
    finally:
        line.close()


def tell_again(api: Api, call: Call) -> tuple[int, bytes]:
    """The answer of a server in this process."""
    reply = api.call(
        call.method, call.target, raw=call.raw, headers=call.headers, key=call.key, waits=True
    )
    return reply.status, reply.raw


async def looks(port: int, key: str, views: tuple[str, ...]) -> dict[str, bytes]:
    """What is to be seen of a sandbox."""
    line = Line(port)
    try:
        return {view: (await line.send(Call("GET", view, None, key, "look")))[1] for view in views}
    finally:
        line.close()


def looks_again(api: Api, key: str, views: tuple[str, ...]) -> dict[str, bytes]:
    return {view: tell_again(api, Call("GET", view, None, key, "look"))[1] for view in views}


OWN_VIEWS = tuple(view for view in VIEWS if view != "/__admin/sandboxes")
"""What is to be seen of one sandbox alone."""


def difference(one: dict[str, bytes], other: dict[str, bytes]) -> list[Any]:
    """Where two looks part."""
    told: list[Any] = []
    for view, text in one.items():
        if text != other[view]:
            place = next(
                (n for n, (a, b) in enumerate(zip(text, other[view], strict=False)) if a != b), -1
            )
            start = max(0, place - 200)
            told.append((view, place, text[start : place + 300], other[view][start : place + 300]))
    return told
