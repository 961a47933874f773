"""Sends the webhooks that stand in the outboxes of sandboxes, a fair share for each sandbox and
each receiver: pooled, no redirects, a bounded time and a bounded answer, never to a metadata
service. Source: docs/security.md (outbound calls).

The time of a sandbox whose clock does not run with the machine's stands still meanwhile: what
follows from a try follows from the instant at which it came due, however long the receiver took.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from mockserver.adapters.fair_share import FairShare
from mockserver.domain.addresses import FORBIDDEN_WORDS, may_be_called, never_called
from mockserver.domain.clock import SECOND, ClockMode, Micros, duration_text
from mockserver.domain.delivery import Delivery, Sent, Try
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.scenario.webhook_plan import MOST_AT_ONCE

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    import httpx

DEADLINE = 5 * SECOND
"""How long a name may take to be resolved."""

THREADS = 64
"""Names that are being resolved at once."""


def look_up(host: str, flags: int = 0) -> list[str]:
    """The addresses of a host, by the system; this blocks. Raises ``OSError`` when it has none."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return [str(address[4][0]) for address in found]


class Resolver:
    """Resolves names for owners that share its threads; ``look_up`` may block."""

    def __init__(
        self, look_up: Callable[[str], list[str]] = look_up, deadline: int = DEADLINE
    ) -> None:
        self._look_up = look_up
        self._deadline = deadline
        self._threads = FairShare(THREADS, each=1)
        self._asked: dict[tuple[Hashable, str], asyncio.Task[list[str]]] = {}

    async def __call__(self, host: str, owner: Hashable) -> list[str]:
        """The addresses of a host. Raises ``OSError`` when it has none, or when finding out takes
        too long."""
        if host.rstrip(".").lower().rpartition(".")[2] == "localhost":
            return ["127.0.0.1", "::1"]  # RFC 6761, 6.3
        with suppress(socket.gaierror):
            return look_up(host, socket.AI_NUMERICHOST)
        key = owner, host
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.create_task(self._ask(host, owner))
            asked.add_done_callback(lambda task: self._forget(key, task))
        done, _ = await asyncio.wait({asked}, timeout=self._deadline / SECOND)
        if not done:
            raise OSError(
                f"the name {host[:100]} was not resolved within {duration_text(self._deadline)}"
            )
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

CONNECTIONS = 400
"""Webhooks that are sent at once. One sandbox gets as many as it leaves free: when it is alone,
half of them."""


def connections() -> int:
    """``CONNECTIONS``, or a quarter of the files that this process may open: a try without one
    would fail for it."""
    if sys.platform == "win32":
        return CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if files == resource.RLIM_INFINITY else min(CONNECTIONS, max(files // 4, 1))


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
        does."""
        client = self._client or await self._opened()
        import httpx

        begun = time.monotonic_ns()
        status, error, final = None, None, False
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
        import httpx

        address, host, name = await self._addressed(url, owner)
        extensions = {"sni_hostname": name} if address.startswith("https:") else {}
        fields = [
            (name.encode(), value.encode()) for name, value in (("Host", host), *headers.items())
        ]
        sent = client.stream("POST", address, headers=fields, content=body, extensions=extensions)
        async with sent as answer:
            read = 0
            # The status says it all: whether the rest of the answer comes whole makes no
            # difference.
            with suppress(httpx.HTTPError):
                async for chunk in answer.aiter_raw():
                    read += len(chunk)
                    if read >= LONGEST_ANSWER:
                        break
            return answer.status_code

    async def _addressed(self, url: str, owner: Hashable) -> tuple[str, str, str]:
        """The url with the address that was checked in the place of the name, the Host header, and
        the name.

        The connection goes to the very address that was looked at: a name that is answered
        differently the second time leads nowhere else.
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
        checked = urlunsplit(
            (parts.scheme, f"{literal}:{port}", parts.path or "/", parts.query, "")
        )
        return checked, host, name

    async def _opened(self) -> httpx.AsyncClient:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_client)
            return self._client


def _client() -> httpx.AsyncClient:
    """In a thread: to load it and the certificates of authorities would keep everybody waiting for
    200 ms."""
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
    text = str(problem)[:200]
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


PATIENCE = 0.25
"""Seconds that a webhook waits for the one before it to the same receiver, where time stands still:
a receiver that answers sooner gets everything in order."""

_SILENT = MOST_AT_ONCE
"""A receiver is silent when it has let so many tries in a row time out: as many as it was sent at
once. To go on asking it in turn would take a long time-out for every few webhooks."""

GRACE = 3.0
"""Seconds that webhooks under way may take when the server is asked to stop."""

LAST = 0.2
"""Seconds that those have which were begun after that."""

_LOG = logging.getLogger("mockserver.webhooks")
_NONE = Counter[str]()
_ENDED = (DeliveryState.DELIVERED, DeliveryState.GIVEN_UP)


class WebhookDispatcher:
    """``now`` is the machine's time; ``is_live`` says whether a sandbox was not reset meanwhile;
    ``changed`` is called after each try; ``tracing`` is that of the web, which makes a span of each
    try, None where it is off; ``kept`` waits until what has happened in a sandbox is in its store,
    and says whether it is."""

    def __init__(
        self,
        now: Callable[[], Micros],
        is_live: Callable[[Sandbox], bool],
        changed: Callable[[Sandbox], None],
        tracing: Any = None,
        kept: Callable[[Sandbox], Awaitable[bool]] | None = None,
    ) -> None:
        self._now = now
        self._kept = kept
        self._sender = WebhookSender()
        self._is_live = is_live
        self._changed = changed
        self._tracing = tracing
        self._share = FairShare(connections(), each=MOST_AT_ONCE, share=1)
        # How many tries in a row have timed out, of each receiver whose last one has.
        self._timed_out: WeakKeyDictionary[Sandbox, Counter[str]] = WeakKeyDictionary()
        self._tries: dict[Sandbox, dict[str, asyncio.Task[None]]] = {}
        self._held: set[Sandbox] = set()
        self._next_ends: dict[Sandbox, asyncio.Future[None]] = {}
        self._ends: float | None = None

    def send_all(self, sandbox: Sandbox) -> None:
        """Begin a try of everything that stands in the outbox of a sandbox."""
        outbox = sandbox.deliveries.outbox
        while outbox:
            delivery = sandbox.deliveries.get(outbox.popleft())
            if delivery is not None and delivery.state is DeliveryState.SENDING:
                tries = self._tries.setdefault(sandbox, {})
                tries[delivery.delivery_id] = asyncio.create_task(self._try(sandbox, delivery))
                if sandbox not in self._held and sandbox.clock.mode is not ClockMode.REAL:
                    self._held.add(sandbox)
                    sandbox.clock.hold(sandbox.now)

    def sending(self, sandbox: Sandbox) -> AbstractSet[str]:
        """The ids of the deliveries of a sandbox that are being tried."""
        return self._tries.get(sandbox, {}).keys()

    def next_end(self, sandbox: Sandbox) -> asyncio.Future[None]:
        """Done when one of the tries under way ends, or when the server is asked to stop."""
        ends = self._next_ends.get(sandbox)
        if ends is None:
            ends = self._next_ends[sandbox] = asyncio.get_running_loop().create_future()
        return ends

    def end_soon(self) -> None:
        """The server has been asked to stop: tries under way get ``GRACE`` from now on, and are not
        waited for."""
        for sandbox in tuple(self._next_ends):
            self._report_end(sandbox)
        self._ends = asyncio.get_running_loop().time() + GRACE

    async def stop(self, sandboxes: Iterable[Sandbox]) -> None:
        """Let the tries under way end, within a short time, and log what was not sent."""
        now = asyncio.get_running_loop().time()
        left = GRACE if self._ends is None else max(self._ends - now, LAST)
        if tries := [task for under_way in self._tries.values() for task in under_way.values()]:
            _, late = await asyncio.wait(tries, timeout=left)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._sender.close()
        undelivered = (
            "sandbox %s: %d webhooks were not delivered before the stop, %d of them never tried"
        )
        for sandbox in sandboxes:
            unsent = [one for one in sandbox.deliveries if one.state not in _ENDED]
            if unsent:
                _LOG.warning(
                    undelivered,
                    masked_key(sandbox.key),
                    len(unsent),
                    sum(not one.tries for one in unsent),
                )

    async def _try(self, sandbox: Sandbox, delivery: Delivery) -> None:
        """Make one try, after those before it for the same object."""
        apart = PATIENCE if sandbox in self._held and not delivery.together else 0.0
        ordering_key = delivery.url, delivery.ordering_key
        receiver = delivery.url.partition("://")[2].partition("/")[0].lower()
        sent = None
        try:
            async with self._share.place(sandbox, receiver, ordering_key, apart):
                if self._is_silent(sandbox, receiver):
                    # It may have come back: then it gets everything in order again.
                    asyncio.get_running_loop().call_later(PATIENCE, self._hurry, sandbox, receiver)
                if (self._kept is None or await self._kept(sandbox)) and self._is_live(sandbox):
                    sent = await self._send(sandbox, delivery)
        finally:
            if sent is not None:
                made = Try(delivery.due, sent.status, sent.error, sent.latency)
                deliveries.report(sandbox, delivery, made, final=sent.final)
                self._note(sandbox, receiver, is_timed_out=sent.error == TIMED_OUT)
            self._end(sandbox, delivery)
        self._changed(sandbox)

    def _note(self, sandbox: Sandbox, receiver: str, *, is_timed_out: bool) -> None:
        """A receiver has let a try time out, or has answered."""
        counts = self._timed_out.setdefault(sandbox, Counter())
        if is_timed_out:
            counts[receiver] += 1
            self._hurry(sandbox, receiver)
        elif counts.pop(receiver, 0) >= _SILENT:
            self._share.narrow(sandbox, receiver)

    def _is_silent(self, sandbox: Sandbox, receiver: str) -> bool:
        return self._timed_out.get(sandbox, _NONE)[receiver] >= _SILENT

    def _hurry(self, sandbox: Sandbox, receiver: str) -> None:
        """Let everything for a silent receiver go out together, as far as there are places."""
        if self._is_silent(sandbox, receiver):
            self._share.widen(sandbox, receiver, CONNECTIONS)

    async def _send(self, sandbox: Sandbox, delivery: Delivery) -> Sent:
        within, headers = sandbox.assumed["webhook.timeout"], delivery.headers()
        sending = partial(
            self._sender.send, delivery.url, headers, delivery.content.raw, within, sandbox
        )
        if self._tracing is None:
            return await sending()
        span, sent = self._tracing.try_begins(delivery, headers), None
        try:
            sent = await sending()
        finally:
            self._tracing.try_ends(span, sent)
        return sent

    def _end(self, sandbox: Sandbox, delivery: Delivery) -> None:
        tries = self._tries[sandbox]
        del tries[delivery.delivery_id]
        if not tries:
            del self._tries[sandbox]
            if sandbox in self._held:
                self._held.remove(sandbox)
                sandbox.clock.release(self._now())
        self._report_end(sandbox)

    def _report_end(self, sandbox: Sandbox) -> None:
        if sandbox in self._next_ends:
            self._next_ends.pop(sandbox).set_result(None)
