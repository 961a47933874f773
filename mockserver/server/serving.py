"""The server: sockets, signals, the ready line and uvicorn, for any ASGI application.

The sockets are bound before the application starts, so that a taken port fails as such and port 0 is known when the
first address is printed. One event loop serves the plain and the TLS listener; the application's lifespan runs once
for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from uvicorn.config import Config
from uvicorn.lifespan.off import LifespanOff
from uvicorn.lifespan.on import LifespanOn
from uvicorn.server import Server

from mockserver.adapters.exit_codes import Exit
from mockserver.adapters.machine_clock import write_whole
from mockserver.adapters.scenario_files import stamps
from mockserver.adapters.server_log import Echo, LibraryMessages, RequestLog, ServerLog
from mockserver.server.garbage import Collector
from mockserver.server.guards import GuardedProtocol
from mockserver.server.lane import LaneProtocol, fast_app
from mockserver.server.listeners import Listeners, accept, allow_connections, keep_silent, shake_hands
from mockserver.web.request import TRANSPORT

BACKLOG = 2048
# Longer than the pools of common clients keep a connection, so that it is the client who closes an idle one.
KEEP_ALIVE_SECONDS = 75
# With what webhooks and the process itself take after that, less than six: container engines kill after ten.
GRACE_SECONDS = 4


def serve(app: Any, bound: Listeners, *, echo: Echo, collector: Collector | None = None) -> int:
    """Serve ``app`` at the addresses that are bound until a signal stops it; the exit code.

    The application may have ``ready_problems`` (texts; any of them stops the start), ``reload()`` (awaited at SIGHUP),
    ``stopping()`` (called when a signal asks for the end) and ``refuses_connection()`` (asked once for each connection:
    is it to be reset). ``collector`` was made before the application, that its making may not be stalled.
    """
    log = ServerLog(echo, bound.settings)
    LibraryMessages(log).take_over()
    try:
        uvicorn_loop = Config(app, log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=uvicorn_loop) as runner:
            return runner.run(_serve(app, bound, log, echo, collector or Collector()))
    finally:
        bound.close()


async def _serve(app: Any, bound: Listeners, log: ServerLog, echo: Echo, collector: Collector) -> int:
    settings = bound.settings
    server = Server(_config(app, fast_lane=settings.fast_lane))
    context, flaw = None, getattr(app, "tls", None)
    if flaw is not None and (not bound.tls or (flaw.certificate is not None and settings.tls_cert is not None)):
        needed = "--tls-cert is given, and it can be but that one" if bound.tls else "--tls-port is not given"
        log.error(f"--scenario: tls: {flaw.words} cannot be had: {needed}")
        return Exit.USAGE
    if bound.tls:
        try:
            from mockserver.adapters.tls import listener_context

            context = listener_context(settings, flaw)
        except (OSError, ValueError) as problem:
            log.error(f"--tls-port: the certificate cannot be used: {problem}")
            return Exit.USAGE
    lifespan = LifespanOn(server.config)
    # By this the application knows that its scenarios may cut connections.
    lifespan.state[TRANSPORT] = True
    with _signals(app, server, log):
        await lifespan.startup()
        if lifespan.should_exit:
            return Exit.INTERNAL
        try:
            if problems := list(getattr(app, "ready_problems", [])):
                for line in problems:
                    log.error(line)
                return Exit.USAGE
            # The application runs already.
            server.lifespan = LifespanOff(server.config)
            server.lifespan.state = lifespan.state
            await server.startup(sockets=[bound.plain])
            collector.start()
            return await _run(app, bound, server, context, log=log, echo=echo)
        finally:
            await lifespan.shutdown()


async def _run(
    app: Any, bound: Listeners, server: Server, context: ssl.SSLContext | None, *, log: ServerLog, echo: Echo
) -> int:
    settings = bound.settings
    requests = RequestLog(
        lambda text: echo(text.removesuffix("\n"), err=True),
        as_json=settings.log_format == "json",
        least=settings.log_level,
    )
    if hasattr(app, "world"):
        app.world.log = requests
    if not settings.is_loopback and settings.admin_token is None:
        log.warning(
            f"{settings.host} can be reached from other machines and --admin-token is not set: "
            "anyone there can use the control API"
        )
    try:
        plan = getattr(app, "tls", None)
        async with _accepting_tls(server, bound.tls, context, plan):
            with _port_file(settings.port_file, settings.port):
                if bound.tls:
                    log.address(f"tls on {bound.tls_address}")
                log.address(f"ready on {settings.address}")
                async with (
                    watching(settings.scenario, reloading(app, log)) if settings.watch else contextlib.nullcontext()
                ):
                    await server.main_loop()
    except OSError as problem:
        log.error(f"--port-file: cannot write {settings.port_file}: {problem.strerror}")
        return Exit.USAGE
    finally:
        await server.shutdown(sockets=[bound.plain])
        requests.close()
    return Exit.STOPPED


def _config(app: Any, *, fast_lane: bool) -> Config:
    kind = partial(LaneProtocol, fast_app=fast_app(app)) if fast_lane else GuardedProtocol
    refuses = getattr(app, "refuses_connection", lambda: False)
    protocol: Any = partial(kind, most=allow_connections(), refuses=refuses)
    config = Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    return config


@contextlib.asynccontextmanager
async def _accepting_tls(
    server: Server, listeners: Sequence[socket.socket], context: ssl.SSLContext | None, plan: Any
) -> AsyncIterator[None]:
    """Accept on TLS listeners too; their connections are of the same server."""
    if context is None:
        yield
        return
    protocol: Any = server.config.http_protocol_class
    connection = partial(protocol, server.config, server.server_state, server.lifespan.state)
    for listener in listeners:
        listener.listen(BACKLOG)
    is_silent = plan is not None and plan.hang is not None
    welcome = keep_silent if is_silent else partial(shake_hands, connection, context, alerts=plan is not None)
    tasks = [asyncio.create_task(accept(listener, welcome)) for listener in listeners]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for listener in listeners:
            listener.close()


@contextlib.contextmanager
def _port_file(path: str | None, port: int) -> Iterator[None]:
    """A file with the port for as long as the server is ready; written in one step, so no reader sees half of it."""
    if path is None:
        yield
        return
    target, text = Path(path), f"{port}\n"
    write_whole(target, text.encode(), 0o644)
    try:
        yield
    finally:
        # Another server may have been given the same file since.
        with contextlib.suppress(OSError):
            if target.read_text() == text:
                target.unlink()


@contextlib.contextmanager
def _signals(app: Any, server: Server, log: ServerLog) -> Iterator[None]:
    """Stop at SIGTERM and SIGINT (a second one does not wait for answers), reload at SIGHUP."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        # Answers that go on until the reader leaves must hear that it is us who leave.
        if hasattr(app, "stopping"):
            app.stopping()
        server.force_exit = server.should_exit
        server.should_exit = True

    actions: dict[int, Callable[[], None]] = {signal.SIGTERM: stop, signal.SIGINT: stop}
    if sys.platform != "win32" and hasattr(app, "reload"):
        actions[signal.SIGHUP] = reloading(app, log)
    before = {number: signal.getsignal(number) for number in actions}
    for number, action in actions.items():
        # Loops without add_signal_handler (Windows) are woken by the standard one.
        try:
            loop.add_signal_handler(number, action)
        except NotImplementedError:
            signal.signal(number, lambda *_, act=action: loop.call_soon_threadsafe(act))
    try:
        yield
    finally:
        for number, previous in before.items():
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, previous)


EVERY_SECONDS = 0.5
"""How often the files are looked at. A look asks the system for the times of the files and reads none."""


def reloading(app: Any, log: ServerLog) -> Callable[[], None]:
    """A call that lets ``app`` read its files again, once at a time, and logs how it went."""
    alone = asyncio.Lock()
    running: set[asyncio.Task[None]] = set()

    async def read() -> None:
        async with alone:
            try:
                await app.reload()
                problems = list(getattr(app, "ready_problems", []))
            except Exception as problem:
                problems = [str(problem)]
        for problem_line in problems:
            log.error(f"reload failed, the old rules stay in force: {problem_line}")
        if not problems:
            log.info("scenarios reloaded")

    def reload() -> None:
        task = asyncio.get_running_loop().create_task(read())
        running.add(task)
        task.add_done_callback(running.discard)

    return reload


@contextlib.asynccontextmanager
async def watching(names: tuple[str, ...], reload: Callable[[], None]) -> AsyncIterator[None]:
    """Call ``reload`` whenever one of the files changes, as long as the block lasts."""

    async def watch(seen: Mapping[str, object]) -> None:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            before, seen = seen, stamps(names)
            if seen != before:
                reload()

    task = asyncio.create_task(watch(stamps(names)))
    try:
        yield
    finally:
        task.cancel()
