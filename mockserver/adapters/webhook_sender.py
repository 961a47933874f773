"""Sends webhooks over HTTP: pooled, no redirects, a bounded time and a bounded answer, never to a metadata service.

Source: docs/security.md (outbound calls).
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from mockserver.adapters.fair_share import FairShare
from mockserver.domain.addresses import FORBIDDEN_WORDS, may_be_called, never_called
from mockserver.domain.clock import SECOND, Micros, duration_text
from mockserver.domain.delivery import Sent

if TYPE_CHECKING:
    import httpx

DEADLINE = 5 * SECOND
"""How long a name may take to be resolved."""

THREADS = 64
"""Names that are being resolved at once."""

LOOPBACK = ["127.0.0.1", "::1"]

LookUp = Callable[[str], list[str]]


def look_up(host: str, flags: int = 0) -> list[str]:
    """The addresses of a host, by the system; this blocks. Raises ``OSError`` when it has none."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return [str(address[4][0]) for address in found]


class Resolver:
    """Resolves names for owners that share its threads; ``look_up`` may block."""

    def __init__(self, look_up: LookUp = look_up, deadline: int = DEADLINE) -> None:
        self._look_up = look_up
        self._deadline = deadline
        self._threads = FairShare(THREADS, each=1)
        self._asked: dict[tuple[Hashable, str], asyncio.Task[list[str]]] = {}

    async def __call__(self, host: str, owner: Hashable) -> list[str]:
        """The addresses of a host. Raises ``OSError`` when it has none, or when finding out takes too long."""
        if host.rstrip(".").lower().rpartition(".")[2] == "localhost":
            return LOOPBACK  # RFC 6761, 6.3
        with suppress(socket.gaierror):
            return look_up(host, socket.AI_NUMERICHOST)
        key = owner, host
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.create_task(self._ask(host, owner))
            asked.add_done_callback(lambda task: self._forget(key, task))
        done, _ = await asyncio.wait({asked}, timeout=self._deadline / SECOND)
        if not done:
            raise OSError(f"the name {host[:100]} was not resolved within {duration_text(self._deadline)}")
        return asked.result()

    def _forget(self, key: tuple[Hashable, str], asked: asyncio.Task[list[str]]) -> None:
        del self._asked[key]
        if not asked.cancelled():
            asked.exception()  # fetched, as every caller may have left

    async def _ask(self, host: str, owner: Hashable) -> list[str]:
        """Ask in a thread, whose place is taken until it ends."""
        answer: Future[list[str]] = Future()

        def ask() -> None:
            answer.set_running_or_notify_cancel()
            try:
                answer.set_result(self._look_up(host))
            except (OSError, ValueError) as failure:
                answer.set_exception(failure)

        async with self._threads.place(owner, host):
            Thread(target=ask, name="resolver", daemon=True).start()
            return await asyncio.wrap_future(answer)


LONGEST_ANSWER = 65_536
"""Bytes that are read of a receiver's answer; what comes after them is not waited for."""

CONNECTIONS = 100

CLOSING = 0.2
"""Seconds that receivers have to take leave; a server that stops waits for none of them."""

_LONGEST_PART = 3_600.0
"""Seconds that one part of a try may take: the whole of it is bounded by the caller, and always shorter."""

_PORTS = {"http": 80, "https": 443}
Resolve = Callable[[str, Hashable], Awaitable[list[str]]]


class _Refused(Exception):
    """An address that webhooks are never sent to."""


class WebhookSender:
    """One client for all webhooks. ``resolve`` gives the addresses of a name, and raises ``OSError`` when it cannot."""

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or Resolver()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def send(
        self, url: str, headers: Mapping[str, str], body: bytes, within: Micros, owner: Hashable = None
    ) -> Sent:
        """Post a body for an owner; never raises for anything that the receiver or the network does."""
        client = self._client or await self._opened()
        import httpx

        begun = time.monotonic_ns()
        status, error, final = None, None, False
        try:
            async with asyncio.timeout(within / SECOND):
                status = await self._post(client, url, headers, body, owner)
        except TimeoutError:
            error = "timeout"
        except _Refused as refused:
            error, final = str(refused), True
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
            error = _words(problem)
        return Sent(status, error, (time.monotonic_ns() - begun) // 1_000, final)

    async def close(self) -> None:
        """Give the connections back."""
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING):
                    await client.aclose()

    async def _post(
        self, client: httpx.AsyncClient, url: str, headers: Mapping[str, str], body: bytes, owner: Hashable
    ) -> int:
        import httpx

        address, host, name = await self._addressed(url, owner)
        extensions = {"sni_hostname": name} if address.startswith("https:") else {}
        fields = [(name.encode(), value.encode()) for name, value in (("Host", host), *headers.items())]
        sent = client.stream("POST", address, headers=fields, content=body, extensions=extensions)
        async with sent as answer:
            read = 0
            # The status says it all: whether the rest of the answer comes whole makes no difference.
            with suppress(httpx.HTTPError):
                async for chunk in answer.aiter_raw():
                    read += len(chunk)
                    if read >= LONGEST_ANSWER:
                        break
            return answer.status_code

    async def _addressed(self, url: str, owner: Hashable) -> tuple[str, str, str]:
        """The url with the address that was checked in the place of the name, the Host header, and the name.

        The connection goes to the very address that was looked at: a name that is answered differently the second time
        leads nowhere else.
        """
        try:
            parts = urlsplit(url)
            usual, name = _PORTS[parts.scheme], parts.hostname or ""
            port = parts.port or usual
            host = parts.netloc.encode("idna").decode()
        except (KeyError, ValueError):
            name = ""
        if not name:
            raise _Refused("not an http or https address")
        if (reason := never_called(url)) is not None:
            raise _Refused(reason)
        found = [address for address in await self._resolve(name, owner) if may_be_called(address)]
        if not found:
            raise _Refused(FORBIDDEN_WORDS)
        # Receivers on this machine mostly listen on IPv4.
        address = min(found, key=lambda one: ":" in one)
        literal = f"[{address}]" if ":" in address else address
        path = parts.path or "/"
        return (
            urlunsplit((parts.scheme, f"{literal}:{port}", path, parts.query, "")),
            host,
            name,
        )

    async def _opened(self) -> httpx.AsyncClient:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_client)
            return self._client


def _client() -> httpx.AsyncClient:
    """In a thread: to load it and the certificates of authorities would keep everybody waiting for 200 ms."""
    import httpx

    return httpx.AsyncClient(
        follow_redirects=False,
        trust_env=False,
        timeout=_LONGEST_PART,
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS // 5),
        headers={"User-Agent": "mockserver"},
    )


def _words(problem: Exception) -> str:
    text = str(problem)[:200]
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
