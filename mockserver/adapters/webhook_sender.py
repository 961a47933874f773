"""Sends one webhook: pooled connections, no redirects, a bounded time and a bounded answer, never
to a metadata service. Source: docs/security.md (outbound calls).

Where a webhook may go is judged by the address, not by the name: a name is resolved here, each of
its addresses is looked at, and the connection goes to the very address that passed. A name that is
answered differently the second time leads nowhere else.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from mockserver.adapters.resolver import Resolver
from mockserver.domain.addresses import FORBIDDEN_WORDS, may_be_called, never_called
from mockserver.domain.clock import SECOND, Micros
from mockserver.domain.delivery import Sent

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    import httpx

LONGEST_ANSWER = 65_536
"""Bytes that are read of a receiver's answer; what comes after them is not waited for."""

CONNECTIONS = 400
"""Webhooks that are sent at once. One sandbox gets as many as it leaves free: when it is alone,
half of them."""


def connections() -> int:
    """``CONNECTIONS``, or a quarter of the files that this process may open: a try without one
    would fail for it."""
    if sys.platform == "win32":
        return CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return CONNECTIONS
    return min(CONNECTIONS, max(files // 4, 1))


CLOSING = 0.2
"""Seconds that receivers have to take leave; a server that stops waits for none of them."""

_LONGEST_PART = 3_600.0
"""Seconds that one part of a try may take: the whole of it is bounded by the caller, and always
shorter."""

_PORTS = {"http": 80, "https": 443}


TIMED_OUT = "timeout"
"""The error of a try that was not answered in time."""


class _Refused(Exception):
    """An address that webhooks are never sent to."""


class _Address(NamedTuple):
    """Where one webhook goes: the ``url`` with a checked address in the place of the name, the
    ``host`` header, and the ``name``."""

    url: str
    host: str
    name: str


class WebhookSender:
    """One client for all webhooks. ``resolve`` gives the addresses of a name, and raises
    ``OSError`` when it cannot."""

    def __init__(
        self, resolve: Callable[[str, Hashable], Awaitable[list[str]]] | None = None
    ) -> None:
        self._resolve = resolve or Resolver()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        within: Micros,
        owner: Hashable = None,
    ) -> Sent:
        """Post a body for an owner; never raises for anything that the receiver or the network
        does. An address that is refused would be refused again: that is ``final``."""
        client = self._client or await self._opened()
        import httpx

        begun = time.monotonic_ns()
        status = error = None
        final = False
        try:
            async with asyncio.timeout(within / SECOND):
                status = await self._post(client, url, headers, body, owner)
        except TimeoutError:
            error = TIMED_OUT
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
        self,
        client: httpx.AsyncClient,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        owner: Hashable,
    ) -> int:
        """The status that a receiver answers with. Raises ``_Refused``, ``OSError`` and what httpx
        raises."""
        import httpx

        address = await self._addressed(url, owner)
        extensions = {}
        if address.url.startswith("https:"):
            # The certificate is that of the name, though the address is connected to.
            extensions["sni_hostname"] = address.name
        fields = {"Host": address.host, **headers}
        exchange = client.stream(
            "POST",
            address.url,
            headers=[(name.encode(), value.encode()) for name, value in fields.items()],
            content=body,
            extensions=extensions,
        )
        async with exchange as answer:
            read = 0
            # The status says it all: whether the rest of the answer comes whole makes no
            # difference.
            with suppress(httpx.HTTPError):
                async for chunk in answer.aiter_raw():
                    read += len(chunk)
                    if read >= LONGEST_ANSWER:
                        break
            return answer.status_code

    async def _addressed(self, url: str, owner: Hashable) -> _Address:
        """Where a webhook for this url goes. Raises ``_Refused`` when it never goes there, and
        ``OSError`` when its name leads nowhere."""
        try:
            parts = urlsplit(url)
            usual, name = _PORTS[parts.scheme], parts.hostname or ""
            port = parts.port or usual
            host = parts.netloc.encode("idna").decode()
        except (KeyError, ValueError):
            name = ""
        if not name:
            raise _Refused("not an http or https address")
        reason = never_called(url)
        if reason is not None:
            raise _Refused(reason)
        addresses = [item for item in await self._resolve(name, owner) if may_be_called(item)]
        if not addresses:
            raise _Refused(FORBIDDEN_WORDS)
        # Receivers on this machine mostly listen on IPv4.
        address = min(addresses, key=_is_ipv6)
        literal = f"[{address}]" if _is_ipv6(address) else address
        checked = urlunsplit(
            (parts.scheme, f"{literal}:{port}", parts.path or "/", parts.query, "")
        )
        return _Address(checked, host, name)

    async def _opened(self) -> httpx.AsyncClient:
        """The client, made for the first webhook: most servers send none."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_client)
            return self._client


def _is_ipv6(address: str) -> bool:
    return ":" in address


def _client() -> httpx.AsyncClient:
    """In a thread: to load it and the certificates of authorities would keep everybody waiting for
    200 ms. A redirect, or a proxy of the environment, would lead past the check of addresses."""
    import httpx

    return httpx.AsyncClient(
        follow_redirects=False,
        trust_env=False,
        timeout=_LONGEST_PART,
        limits=httpx.Limits(
            max_connections=connections(), max_keepalive_connections=CONNECTIONS // 20
        ),
        headers={"User-Agent": "mockserver"},
    )


def _words(problem: Exception) -> str:
    """Why a try failed: some errors of the network have a type and no text."""
    text = str(problem)[:200]
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
