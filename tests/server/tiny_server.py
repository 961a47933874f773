"""A program for the server's tests: a tiny application behind the real server, options from the
environment.

Paths: ``/`` answers, ``/cut`` aborts the connection, ``/held`` sends half an answer and the rest
once a line arrives on standard input. Every lifespan event and reload is told on standard error,
unless ``TINY_QUIET`` is set.
"""

import asyncio
import os
import sys
from types import SimpleNamespace
from typing import Any

from mockserver.server.serving import CannotListen, listen, serve
from mockserver.settings import Settings
from mockserver.web.request import TRANSPORT


def say(line: str, *, err: bool = False) -> None:
    if line in ("startup", "reloaded", "shutdown") and "TINY_QUIET" in os.environ:
        return
    print(line, file=sys.stderr if err else sys.stdout, flush=True)


class Tiny:
    tls = None
    ready_problems = ()
    routes = ()
    router = SimpleNamespace(default=None)

    def __init__(self) -> None:
        self.world = SimpleNamespace(directory=self, runner=self)

    def guarded(self, app: Any) -> Any:
        return self

    def refuses_connection(self) -> bool:
        return False

    def stop(self) -> None:
        pass

    async def reload(self) -> None:
        if "TINY_BAD_RELOAD" in os.environ:
            raise ValueError("line 3 is bad")
        say("reloaded", err=True)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
            return
        if scope["path"] == "/cut":
            scope["extensions"][TRANSPORT].abort()
            return
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"10")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"hello", "more_body": True})
        if scope["path"] == "/held":
            released = asyncio.Event()
            asyncio.get_running_loop().add_reader(0, released.set)
            await released.wait()
        await send({"type": "http.response.body", "body": b"world"})

    async def live(self, receive: Any, send: Any) -> None:
        await receive()
        if "TINY_BAD_START" in os.environ:
            raise RuntimeError("cannot start")
        say("startup", err=True)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        say("shutdown", err=True)
        await send({"type": "lifespan.shutdown.complete"})


if __name__ == "__main__":
    try:
        tiny: Any = Tiny()
        sys.exit(serve(tiny, listen(Settings.load({}, os.environ)), echo=say))
    except CannotListen as refusal:
        say(str(refusal), err=True)
        sys.exit(refusal.exit_code)
