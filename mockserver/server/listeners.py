"""Bound sockets: the addresses of the server, taken before anything else is started; and how TLS connections are
accepted: one that has still to agree on TLS is open too, and must not be waited for without end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine

from mockserver.adapters.exit_codes import Exit
from mockserver.domain.record import record, replace
from mockserver.server.guards import GuardedProtocol
from mockserver.settings import Settings, bracketed

if sys.platform != "win32":
    import resource

MOST_CONNECTIONS = 10_000
"""Connections that may be open at a time."""

RESERVE = 128
"""Open files that are kept for webhooks, for the server's own and for asking whether it lives: half of a few."""


class CannotListen(Exception):
    """An address that cannot be bound. ``code`` is the exit code that says why."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


@record
class Listeners:
    """Bound sockets, not yet accepting, and the settings with the ports that were really taken."""

    settings: Settings
    plain: socket.socket
    tls: tuple[socket.socket, ...] = ()

    @property
    def tls_address(self) -> str:
        name = "localhost" if self.settings.host == "127.0.0.1" else bracketed(self.settings.host)
        return f"https://{name}:{self.settings.tls_port}"

    def close(self) -> None:
        for bound in (self.plain, *self.tls):
            bound.close()


def listen(settings: Settings) -> Listeners:
    """Bind the configured addresses. Raises :class:`CannotListen`."""
    plain = _bind(settings.host, settings.port, "--port")
    bound = [plain]
    try:
        port = plain.getsockname()[1]
        if settings.tls_port is None:
            return Listeners(replace(settings, port=port), plain)
        tls = _bind(settings.host, settings.tls_port, "--tls-port")
        bound.append(tls)
        tls_port = tls.getsockname()[1]
        # "localhost" is ::1 to some clients and 127.0.0.1 to others, and the SDKs' address cannot be changed.
        with contextlib.suppress(CannotListen):
            if settings.host in ("127.0.0.1", "localhost"):
                other = "::1" if tls.family == socket.AF_INET else "127.0.0.1"
                bound.append(_bind(other, tls_port, "--tls-port"))
        return Listeners(replace(settings, port=port, tls_port=tls_port), plain, tuple(bound[1:]))
    except BaseException:
        for each in bound:
            each.close()
        raise


def allow_connections() -> int:
    """Raise the limit of open files as far as is useful and allowed; how many connections may be open under it."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    wanted = MOST_CONNECTIONS + RESERVE
    files, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if files != resource.RLIM_INFINITY and files < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            wanted = files
    return max(wanted - RESERVE, wanted // 2)


def _bind(host: str, port: int, option: str) -> socket.socket:
    address = f"{bracketed(host)}:{port}"
    try:
        # As bytes: with a text Python loads what encodes names in other alphabets, and refuses one that is too long.
        name = host.encode() if host.isascii() else host
        family, kind, proto, _, where = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, proto)
    except OSError as problem:
        raise CannotListen(f"cannot listen on {address}: {problem.strerror or problem}", Exit.USAGE) from None
    try:
        if os.name == "posix":
            # Without this a restart has to wait for the last run's closed connections.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.setblocking(False)
    except OSError as problem:
        bound.close()
        if problem.errno == errno.EADDRINUSE:
            message = f"port {port} of {host} is in use: stop what uses it, or choose another with {option} (0 = any)"
            raise CannotListen(message, Exit.PORT_IN_USE) from None
        raise CannotListen(f"cannot listen on {address}: {problem.strerror or problem}", Exit.USAGE) from None
    return bound


OUT_OF_FILES_SECONDS = 0.1
"""How long nothing is accepted once the system has refused to."""


async def accept(listener: socket.socket, welcome: Callable[[socket.socket], Coroutine[None, None, None]]) -> None:
    """Accept until cancelled, and welcome each connection."""
    loop = asyncio.get_running_loop()
    shaking: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                raw, _ = await loop.sock_accept(listener)
            except OSError:
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
"""What a client is told of a handshake that a scenario refuses, by the reason of the failure; 70 is protocol_version,
which Python does not name."""


async def shake_hands(
    connection: Callable[[], GuardedProtocol], context: ssl.SSLContext, raw: socket.socket, *, alerts: bool
) -> None:
    """Begin a TLS connection, whose protocol ``connection`` makes; with ``alerts`` the client of a handshake that fails
    is told why."""
    protocol = connection()
    if protocol.turns_away(raw):
        raw.close()
        return
    protocol.handshake_begun(raw)
    # Event loops close a connection whose handshake fails before its alert is sent.
    kept = raw.dup() if alerts else None
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, raw, ssl=context)
    except OSError as fault:
        told = _ALERTS.get(fault.reason) if isinstance(fault, ssl.SSLError) else None
        if kept is not None and told is not None:
            with contextlib.suppress(OSError):
                kept.send(bytes((_ALERT, *_TLS_1_2, 0, 2, _FATAL, told)))
        protocol.connection_lost(fault)
    finally:
        if kept is not None:
            kept.close()
