"""Takes webhooks from the outboxes of sandboxes to the sender, a fair share for each sandbox and each receiver."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Protocol

from mockserver.adapters.fair_share import FairShare
from mockserver.adapters.webhook_sender import CONNECTIONS, Sent
from mockserver.assumptions.table import WEBHOOK_TIMEOUT
from mockserver.domain.clock import SECOND, Micros
from mockserver.domain.delivery import Delivery, DeliveryState, Try
from mockserver.engine import deliveries
from mockserver.engine.sandbox import Sandbox, masked_key

PER_RECEIVER = 10
"""Tries that one sandbox makes at one receiver at once."""

GRACE = 3.0
"""Seconds that webhooks under way may take when the server is asked to stop."""

LAST = 0.2
"""Seconds that those have which were begun after that."""

_LOG = logging.getLogger("mockserver.webhooks")


class Sender(Protocol):
    """Makes one try, for an owner."""

    async def send(
        self, url: str, headers: Mapping[str, str], body: bytes, within: Micros, owner: Hashable = None
    ) -> Sent: ...

    async def close(self) -> None: ...


class WebhookDispatcher:
    """``is_live`` says whether a sandbox was not reset meanwhile; ``changed`` is called after each try."""

    def __init__(self, sender: Sender, is_live: Callable[[Sandbox], bool], changed: Callable[[Sandbox], None]) -> None:
        self._sender = sender
        self._is_live = is_live
        self._changed = changed
        self._share = FairShare(CONNECTIONS, PER_RECEIVER)
        self._tries: dict[Sandbox, dict[str, asyncio.Task[None]]] = {}
        self._ends: float | None = None

    def send_all(self, sandbox: Sandbox) -> None:
        """Begin a try of everything that stands in the outbox of a sandbox."""
        outbox = sandbox.deliveries.outbox
        while outbox:
            delivery = sandbox.deliveries.get(outbox.popleft())
            if delivery is not None and delivery.state is DeliveryState.SENDING:
                tries = self._tries.setdefault(sandbox, {})
                tries[delivery.delivery_id] = asyncio.create_task(self._try(sandbox, delivery))

    async def flush(self, sandbox: Sandbox, ids: Iterable[str], within: Micros) -> None:
        """Wait for tries that are being made, at most so long."""
        under_way = self._tries.get(sandbox, {})
        if tries := [under_way[one] for one in ids if one in under_way]:
            await asyncio.wait(tries, timeout=within / SECOND)

    def end_soon(self) -> None:
        """The server has been asked to stop: tries under way get ``GRACE`` from now on."""
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
        for sandbox in sandboxes:
            report_unsent(sandbox)

    async def _try(self, sandbox: Sandbox, delivery: Delivery) -> None:
        """Make one try, after those before it for the same object."""
        try:
            async with self._share.place(sandbox, receiver_of(delivery.url), lane=(delivery.url, delivery.lane)):
                if not self._is_live(sandbox):
                    return
                sent = await self._sender.send(
                    delivery.url, delivery.headers(), delivery.body, sandbox.assumed[WEBHOOK_TIMEOUT], sandbox
                )
        finally:
            under_way = self._tries[sandbox]
            del under_way[delivery.delivery_id]
            if not under_way:
                del self._tries[sandbox]
        made = Try(delivery.due, sent.status, sent.error, sent.latency)
        deliveries.report(sandbox, delivery, made, final=sent.final)
        self._changed(sandbox)


def receiver_of(url: str) -> str:
    """Whom a url reaches: what stands between the scheme and the path."""
    return url.partition("://")[2].partition("/")[0].lower()


def report_unsent(sandbox: Sandbox) -> None:
    """Log how many webhooks of a sandbox were still under way."""
    left = [one for one in sandbox.deliveries if one.state not in (DeliveryState.DELIVERED, DeliveryState.GIVEN_UP)]
    if left:
        untried = sum(not one.tries for one in left)
        words = "sandbox %s: %d webhooks were not delivered before the stop, %d of them never tried"
        _LOG.warning(words, masked_key(sandbox.key), len(left), untried)
