"""The server: sockets, signals, the ready line and uvicorn.

The sockets are bound before the application starts, so that a taken port fails as such and port 0
is known when the first address is printed. One event loop serves the plain and the TLS listener;
the application's lifespan runs once for both. The event loop gives a client a minute to agree on
TLS.
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import ssl
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
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
from mockserver.adapters.webhook_sender import CONNECTIONS
from mockserver.domain.record import record, replace
from mockserver.scenario.scenario import TlsMap
from mockserver.server.garbage import Collector
from mockserver.server.guards import GuardedProtocol
from mockserver.server.lane import LaneProtocol
from mockserver.settings import Settings, bracketed
from mockserver.web.app import Application
from mockserver.web.request import TRANSPORT

if sys.platform != "win32":
    import resource

BACKLOG = 2048
# Longer than the pools of common clients keep a connection, so that it is the client who closes an
# idle one.
KEEP_ALIVE_SECONDS = 75

# With what webhooks and the process itself take after that, less than six: container engines kill
# after ten.
GRACE_SECONDS = 4


MOST_CONNECTIONS = 10_000
"""Connections that may be open at a time."""

RESERVE = CONNECTIONS + 48
"""Open files that are kept for webhooks, for the server's own and for asking whether it lives: half
of a few."""


class CannotListen(Exception):
    """An address that cannot be bound. ``exit_code`` says why."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.exit_code = code


@record
class Listeners:
    """Bound sockets, not yet accepting, and the settings with the ports that were really taken."""

    settings: Settings
    plain: socket.socket
    tls: tuple[socket.socket, ...] = ()

    @property
    def tls_address(self) -> str:
        """The address of the TLS port, for people and the log."""
        near = self.settings.near_host
        # The name that the published client libraries know.
        name = "localhost" if near == "127.0.0.1" else bracketed(near)
        return f"https://{name}:{self.settings.tls_port}"

    def close(self) -> None:
        for bound in (self.plain, *self.tls):
            bound.close()


def listen(settings: Settings) -> Listeners:
    """Bind the configured addresses. Raises :class:`CannotListen`.

    The plain port is bound once: a client whose connection to ``localhost`` a scenario resets would
    turn to the other address of the name, and never see the fault.
    """
    with contextlib.ExitStack() as closing:
        plain = closing.enter_context(_bind(settings.host, settings.port, "--port"))
        settings, tls = replace(settings, port=plain.getsockname()[1]), list[socket.socket]()
        if settings.tls_port is not None:
            tls.append(closing.enter_context(_bind(settings.host, settings.tls_port, "--tls-port")))
            settings = replace(settings, tls_port=tls[0].getsockname()[1])
            # "localhost" is ::1 to some clients and 127.0.0.1 to others, and the SDKs' address
            # cannot be changed. A machine without the other address serves those that it has.
            with contextlib.suppress(CannotListen):
                if settings.host in ("127.0.0.1", "localhost"):
                    other = "::1" if tls[0].family == socket.AF_INET else "127.0.0.1"
                    tls.append(_bind(other, settings.tls_port or 0, "--tls-port"))
        closing.pop_all()
        return Listeners(settings, plain, tuple(tls))


def raise_open_file_limit() -> int:
    """Raise the limit of open files as far as is useful and allowed; how many connections may be
    open under it."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    wanted = MOST_CONNECTIONS + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            wanted = soft
    # Of a small limit connections get half: the rest of the server needs files too.
    return max(wanted - RESERVE, wanted // 2)


def _bind(host: str, port: int, option: str) -> socket.socket:
    """A socket bound to an address, which ``option`` names. Raises ``CannotListen`` in words that
    say what to do about it."""
    address = f"{bracketed(host)}:{port}"
    try:
        # As bytes: with a text Python loads what encodes names in other alphabets, and refuses one
        # that is too long.
        name = host.encode() if host.isascii() else host
        family, kind, proto, _, where = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, proto)
    except OSError as problem:
        raise CannotListen(
            f"cannot listen on {address}: {problem.strerror or problem}", Exit.USAGE
        ) from None
    try:
        if os.name == "posix":
            # Without this a restart has to wait for the last run's closed connections.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if where[0] == "::":
            # Every address of the machine, on systems too that would take those of IPv6 alone.
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(where)
        bound.setblocking(False)
    except OSError as problem:
        bound.close()
        if problem.errno == errno.EADDRINUSE:
            message = (
                f"port {port} of {host} is in use: stop what uses it, or choose another "
                f"with {option} (0 = any)"
            )
            raise CannotListen(message, Exit.PORT_IN_USE) from None
        raise CannotListen(
            f"cannot listen on {address}: {problem.strerror or problem}", Exit.USAGE
        ) from None
    return bound


OUT_OF_FILES_SECONDS = 0.1
"""How long nothing is accepted once the system has refused to."""


async def accept(
    listener: socket.socket, welcome: Callable[[socket.socket], Coroutine[None, None, None]]
) -> None:
    """Accept until cancelled, and welcome each connection, in a task of its own: a handshake takes
    as long as its client likes."""
    loop = asyncio.get_running_loop()
    shaking: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                raw, _ = await loop.sock_accept(listener)
            except OSError:
                # No file is left for it: at once it would fail again, and keep the loop busy.
                await asyncio.sleep(OUT_OF_FILES_SECONDS)
                continue
            task = loop.create_task(welcome(raw))
            shaking.add(task)
            task.add_done_callback(shaking.discard)
    finally:
        for task in shaking:
            task.cancel()


async def keep_silent(raw: socket.socket) -> None:
    """A handshake that hangs: nothing is said until the client leaves."""
    with raw, contextlib.suppress(OSError):
        while await asyncio.get_running_loop().sock_recv(raw, 4096):
            pass


_ALERT, _TLS_1_2, _FATAL = 21, (3, 3), 2
_ALERTS = {"CALLBACK_FAILED": ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE, "UNSUPPORTED_PROTOCOL": 70}
"""What a client is told of a handshake that a scenario refuses, by the reason of the failure; 70 is
protocol_version, which Python does not name."""


async def shake_hands(
    connection: Callable[[], GuardedProtocol],
    context: ssl.SSLContext,
    raw: socket.socket,
    *,
    alerts: bool,
) -> None:
    """Begin a TLS connection, whose protocol ``connection`` makes; with ``alerts`` the client of a
    handshake that fails is told why."""
    protocol = connection()
    if protocol.turns_away(raw):
        raw.close()
        return
    # Event loops close a connection whose handshake fails before its alert is sent.
    kept = raw.dup() if alerts else None
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, raw, ssl=context)
    except OSError as fault:
        told = _ALERTS.get(fault.reason) if isinstance(fault, ssl.SSLError) else None
        if kept is not None and told is not None:
            with contextlib.suppress(OSError):
                kept.send(bytes((_ALERT, *_TLS_1_2, 0, 2, _FATAL, told)))
    finally:
        if kept is not None:
            kept.close()


def serve(
    app: Application, bound: Listeners, *, echo: Echo, collector: Collector | None = None
) -> int:
    """Serve ``app`` at the addresses that are bound until a signal stops it; the exit code.
    ``collector`` was made before the application, that its making may not be stalled."""
    log = ServerLog(echo, bound.settings)
    LibraryMessages(log).take_over("uvicorn", "mockserver")
    try:
        uvicorn_loop = Config(app, log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=uvicorn_loop) as runner:
            return runner.run(_serve(app, bound, log, collector or Collector()))
    finally:
        bound.close()


async def _serve(app: Application, bound: Listeners, log: ServerLog, collector: Collector) -> int:
    """Start, serve and stop; the exit code. The lifespan is ours, not uvicorn's: it must begin
    before the first connection is accepted, and end when the last one has."""
    server = Server(_config(app, fast_lane=bound.settings.fast_lane))
    try:
        context = _tls_context(bound, app.tls)
    except ValueError as problem:
        log.error(str(problem))
        return Exit.USAGE
    lifespan = LifespanOn(server.config)
    # By this the application knows that its scenarios may cut connections.
    lifespan.state[TRANSPORT] = True
    reload = reloading(app, log)
    _heed_signals(app, server, reload)
    await lifespan.startup()
    if lifespan.should_exit:
        return Exit.INTERNAL
    try:
        # The application runs already.
        server.lifespan = LifespanOff(server.config)
        server.lifespan.state = lifespan.state
        await server.startup(sockets=[bound.plain])
        collector.start()
        return await _run(app, bound, server, context, reload, log)
    finally:
        await lifespan.shutdown()


def _tls_context(bound: Listeners, flaw: TlsMap | None) -> ssl.SSLContext | None:
    """What the TLS port agrees with its clients; None without one. Raises ``ValueError`` for a
    certificate that cannot be used, and for a flaw of a scenario that cannot be had."""
    settings = bound.settings
    if flaw is not None:
        # A test that relies on the flaw must not pass because it is missing.
        cannot = f"--scenario: tls: {flaw.words} cannot be had"
        if not bound.tls:
            raise ValueError(f"{cannot}: --tls-port is not given")
        if flaw.certificate is not None and settings.tls_cert is not None:
            raise ValueError(f"{cannot}: --tls-cert is given, and it can be but that one")
    if not bound.tls:
        return None
    try:
        from mockserver.adapters.tls import listener_context

        return listener_context(settings, flaw)
    except (OSError, ValueError) as problem:
        raise ValueError(f"--tls-port: the certificate cannot be used: {problem}") from None


async def _run(
    app: Application,
    bound: Listeners,
    server: Server,
    context: ssl.SSLContext | None,
    reload: Callable[[], None],
    log: ServerLog,
) -> int:
    """Say where the server is ready, and serve until it is asked to stop; the exit code. The port
    file and the ready line come when everything accepts: whoever waits for them calls at once."""
    settings = bound.settings
    if not settings.is_loopback and settings.admin_token is None:
        log.warning(
            f"{settings.host} can be reached from other machines and --admin-token is not set: "
            "anyone there can use the control API"
        )
    app.world.log = requests = RequestLog(log.echo, settings)
    log.echo = requests.echo
    try:
        async with contextlib.AsyncExitStack() as ready:
            await ready.enter_async_context(_accepting_tls(server, bound.tls, context, app.tls))
            ready.enter_context(_port_file(settings.port_file, settings.port))
            if bound.tls:
                log.address(f"tls on {bound.tls_address}")
            log.address(f"ready on {settings.address}")
            if settings.watch:
                seen = stamps(settings.scenario)
                watching = asyncio.create_task(watch(settings.scenario, seen, reload))
                ready.callback(watching.cancel)
            await server.main_loop()
    except OSError as problem:
        log.error(f"--port-file: cannot write {settings.port_file}: {problem.strerror}")
        return Exit.USAGE
    finally:
        await server.shutdown(sockets=[bound.plain])
        requests.close()
    return Exit.OK


def _config(app: Application, *, fast_lane: bool) -> Config:
    """uvicorn's part of the server: HTTP alone, and nothing of its own in answers and logs."""
    kind = LaneProtocol if fast_lane else GuardedProtocol
    protocol: Any = partial(
        kind,
        most=raise_open_file_limit(),
        # One for all connections: those that are too many, the oldest first.
        beyond=deque(),
        refuses=app.world.directory.refuses_connection,
    )
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
    # By ourselves, as uvicorn's server is started without its ``serve``, which would do it.
    config.load()
    return config


@contextlib.asynccontextmanager
async def _accepting_tls(
    server: Server,
    listeners: Sequence[socket.socket],
    context: ssl.SSLContext | None,
    plan: TlsMap | None,
) -> AsyncIterator[None]:
    """Accept on TLS listeners too; their connections are of the same server."""
    if context is None:
        yield
        return
    protocol: Any = server.config.http_protocol_class
    connection = partial(protocol, server.config, server.server_state, server.lifespan.state)
    for listener in listeners:
        listener.listen(BACKLOG)
    welcome: Callable[[socket.socket], Coroutine[None, None, None]]
    if plan is not None and plan.hang is not None:
        welcome = keep_silent
    else:
        welcome = partial(shake_hands, connection, context, alerts=plan is not None)
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
    """A file with the port for as long as the server is ready; written in one step, so no reader
    sees half of it."""
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


def _heed_signals(app: Application, server: Server, reload: Callable[[], None]) -> None:
    """Stop at SIGTERM and SIGINT (a second one does not wait for answers), reload at SIGHUP."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        # Answers that go on until the reader leaves must hear that it is us who leave.
        app.world.runner.stop()
        server.force_exit = server.should_exit
        server.should_exit = True

    actions: dict[int, Callable[[], None]] = {signal.SIGTERM: stop, signal.SIGINT: stop}
    if sys.platform != "win32":
        actions[signal.SIGHUP] = reload
    for number, action in actions.items():
        # Loops without add_signal_handler (Windows) are woken by the standard one.
        try:
            loop.add_signal_handler(number, action)
        except NotImplementedError:
            signal.signal(number, lambda *_, act=action: loop.call_soon_threadsafe(act))


EVERY_SECONDS = 0.5
"""How often the files are looked at. A look asks the system for the times of the files and reads
none."""


def reloading(app: Application, log: ServerLog) -> Callable[[], None]:
    """A call that lets ``app`` read its files again, once at a time, and logs how it went."""
    alone = asyncio.Lock()
    running: set[asyncio.Task[None]] = set()

    async def read() -> None:
        async with alone:
            try:
                await app.world.directory.reload()
                problems = list(app.world.directory.ready_problems)
            except Exception as problem:
                # Whatever it is: the server goes on with what it has.
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


async def watch(
    names: Sequence[str], seen: Mapping[str, object], reload: Callable[[], None]
) -> None:
    """Call ``reload`` whenever one of the scenario files differs from what was ``seen`` of it last,
    until cancelled (``--watch``). What was seen comes from whoever has read them, so that a change
    in between is not missed. They are looked at every so often: the systems' own ways of telling
    differ, and miss what editors do."""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        before, seen = seen, stamps(names)
        if seen != before:
            reload()
