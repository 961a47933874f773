"""Takes webhooks from the outboxes of sandboxes to the sender, a fair share for each sandbox and each receiver.

The time of a sandbox whose clock does not run with the machine's stands still meanwhile: what follows from a try
follows from the instant at which it came due, however long the receiver took.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from mockserver.adapters.fair_share import FairShare
from mockserver.adapters.webhook_sender import CONNECTIONS, WebhookSender
from mockserver.domain.clock import ClockMode, Micros
from mockserver.domain.delivery import Delivery, Sent, Try
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.scenario.webhook_plan import MOST_AT_ONCE

PER_RECEIVER = MOST_AT_ONCE
"""Tries that one sandbox makes at one receiver at once."""

PATIENCE = 0.25
"""Seconds that a webhook waits for the one before it to the same receiver, where time stands still: a receiver that
answers sooner gets everything in order."""

GRACE = 3.0
"""Seconds that webhooks under way may take when the server is asked to stop."""

LAST = 0.2
"""Seconds that those have which were begun after that."""

_LOG = logging.getLogger("mockserver.webhooks")


class WebhookDispatcher:
    """``now`` is the machine's time; ``is_live`` says whether a sandbox was not reset meanwhile; ``changed`` is called
    after each try; ``tracing`` is that of the web, which makes a span of each try, None where it is off; ``kept`` waits
    until what has happened in a sandbox is in its store, and says whether it is."""

    def __init__(
        self,
        now: Callable[[], Micros],
        is_live: Callable[[Sandbox], bool],
        sender: WebhookSender,
        changed: Callable[[Sandbox], None],
        tracing: Any = None,
        kept: Callable[[Sandbox], Awaitable[bool]] | None = None,
    ) -> None:
        self._now = now
        self._kept = kept
        self._sender = sender
        self._is_live = is_live
        self._changed = changed
        self._tracing = tracing
        self._share = FairShare(CONNECTIONS, PER_RECEIVER)
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
        """The server has been asked to stop: tries under way get ``GRACE`` from now on, and are not waited for."""
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
        for sandbox in sandboxes:
            report_unsent(sandbox)

    async def _try(self, sandbox: Sandbox, delivery: Delivery) -> None:
        """Make one try, after those before it for the same object."""
        apart = PATIENCE if sandbox in self._held and not delivery.together else 0.0
        ordering_key = delivery.url, delivery.ordering_key
        receiver = delivery.url.partition("://")[2].partition("/")[0].lower()
        sent = None
        try:
            async with self._share.place(sandbox, receiver, ordering_key, apart):
                if (self._kept is None or await self._kept(sandbox)) and self._is_live(sandbox):
                    sent = await self._send(sandbox, delivery)
        finally:
            if sent is not None:
                made = Try(delivery.due, sent.status, sent.error, sent.latency)
                deliveries.report(sandbox, delivery, made, final=sent.final)
            self._end(sandbox, delivery)
        self._changed(sandbox)

    async def _send(self, sandbox: Sandbox, delivery: Delivery) -> Sent:
        within, headers = sandbox.assumed["webhook.timeout"], delivery.headers()
        sending = partial(self._sender.send, delivery.url, headers, delivery.content.raw, within, sandbox)
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


def report_unsent(sandbox: Sandbox) -> None:
    """Log how many webhooks of a sandbox were still under way."""
    left = [one for one in sandbox.deliveries if one.state not in (DeliveryState.DELIVERED, DeliveryState.GIVEN_UP)]
    if left:
        untried = sum(not one.tries for one in left)
        words = "sandbox %s: %d webhooks were not delivered before the stop, %d of them never tried"
        _LOG.warning(words, masked_key(sandbox.key), len(left), untried)
