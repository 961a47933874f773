"""Sends the webhooks that stand in the outboxes of sandboxes, a fair share for each sandbox and
each receiver.

Webhooks leave the way of a request: a step puts a delivery into its outbox, and here a task tries
it, and reports to the engine how that went, which decides whether and when another try is due. Who
may be tried at once is a matter of four rules:

- One receiver that does not answer must not hold up the others: places are shared (``FairShare``).
- Webhooks about one object go to one receiver one after the other, in their order.
- The time of a sandbox whose clock does not run with the machine's stands still meanwhile: what
  follows from a try follows from the instant at which it came due, however long the receiver took.
  There all webhooks for one receiver begin in their order, ``PATIENCE`` apart.
- A receiver that has let many tries in a row time out is silent: everything for it goes out
  together, since to ask it in turn would take a time-out for every few webhooks.

Nothing is sent before the store has kept what it tells of, nor for a sandbox that was reset.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from weakref import WeakKeyDictionary

from mockserver.adapters.fair_share import FairShare
from mockserver.adapters.webhook_sender import CONNECTIONS, TIMED_OUT, WebhookSender, connections
from mockserver.domain.clock import ClockMode, Micros
from mockserver.domain.delivery import Delivery, Sent, Try
from mockserver.domain.states import DeliveryState
from mockserver.engine import deliveries
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.scenario.webhook_plan import MOST_AT_ONCE

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
        # Those in which time stands still until the last of their tries has ended.
        self._standing_still: set[Sandbox] = set()
        self._next_ends: dict[Sandbox, asyncio.Future[None]] = {}
        # When tries under way are cut off, by the event loop's time; None before a stop.
        self._cut_off_at: float | None = None

    def send_all(self, sandbox: Sandbox) -> None:
        """Begin a try of everything that stands in the outbox of a sandbox."""
        outbox = sandbox.deliveries.outbox
        while outbox:
            delivery = sandbox.deliveries.get(outbox.popleft())
            if delivery is not None and delivery.state is DeliveryState.SENDING:
                tries = self._tries.setdefault(sandbox, {})
                tries[delivery.delivery_id] = asyncio.create_task(self._try(sandbox, delivery))
                # Else such a clock could be past what the try leads to before that is known.
                if sandbox not in self._standing_still and sandbox.clock.mode is not ClockMode.REAL:
                    self._standing_still.add(sandbox)
                    sandbox.clock.hold(sandbox.now)

    def sending(self, sandbox: Sandbox) -> AbstractSet[str]:
        """The ids of the deliveries of a sandbox that are being tried."""
        return self._tries.get(sandbox, {}).keys()

    def next_end(self, sandbox: Sandbox) -> asyncio.Future[None]:
        """Done when one of the tries under way ends, or when the server is asked to stop: who moves
        the clock waits for what a try leads to, but not on behalf of a server that ends."""
        ends = self._next_ends.get(sandbox)
        if ends is None:
            ends = self._next_ends[sandbox] = asyncio.get_running_loop().create_future()
        return ends

    def end_soon(self) -> None:
        """The server has been asked to stop: tries under way get ``GRACE`` from now on, and are not
        waited for."""
        for sandbox in tuple(self._next_ends):
            self._report_end(sandbox)
        self._cut_off_at = asyncio.get_running_loop().time() + GRACE

    async def stop(self, sandboxes: Iterable[Sandbox]) -> None:
        """Let the tries under way end, within a short time, and log what was not sent."""
        now = asyncio.get_running_loop().time()
        left = GRACE if self._cut_off_at is None else max(self._cut_off_at - now, LAST)
        tries = [task for under_way in self._tries.values() for task in under_way.values()]
        if tries:
            _, late = await asyncio.wait(tries, timeout=left)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._sender.close()
        words = "sandbox %s: %d webhooks were not delivered before the stop, %d of them never tried"
        for sandbox in sandboxes:
            unsent = [item for item in sandbox.deliveries if item.state not in _ENDED]
            never_tried = [item for item in unsent if not item.tries]
            if unsent:
                _LOG.warning(words, masked_key(sandbox.key), len(unsent), len(never_tried))

    async def _try(self, sandbox: Sandbox, delivery: Delivery) -> None:
        """Make one try, after those before it for the same object. What came of it is noted even
        when this is cancelled meanwhile, as the receiver has got it by then."""
        # Where time stands still webhooks of different objects keep an order too; those that a
        # scenario sends together are to meet.
        apart = PATIENCE if sandbox in self._standing_still and not delivery.together else 0.0
        ordering_key = delivery.url, delivery.ordering_key
        receiver = _receiver_of(delivery.url)
        sent = None
        try:
            async with self._share.place(sandbox, receiver, ordering_key, apart):
                if self._is_silent(sandbox, receiver):
                    # It may have come back: if it answers this one in time, the others go in order
                    # again; else they all go out together.
                    asyncio.get_running_loop().call_later(PATIENCE, self._hurry, sandbox, receiver)
                if await self._may_be_sent(sandbox):
                    sent = await self._send(sandbox, delivery)
        finally:
            if sent is not None:
                result = Try(delivery.due, sent.status, sent.error, sent.latency)
                deliveries.report(sandbox, delivery, result, final=sent.final)
                self._note(sandbox, receiver, is_timed_out=sent.error == TIMED_OUT)
            self._end(sandbox, delivery)
        self._changed(sandbox)

    async def _may_be_sent(self, sandbox: Sandbox) -> bool:
        """Whether what a webhook tells of is kept, and its sandbox was not reset meanwhile."""
        is_kept = self._kept is None or await self._kept(sandbox)
        return is_kept and self._is_live(sandbox)

    def _note(self, sandbox: Sandbox, receiver: str, *, is_timed_out: bool) -> None:
        """A receiver has let a try time out, or has answered: one that was silent gets everything
        in order again then."""
        counts = self._timed_out.setdefault(sandbox, Counter())
        if is_timed_out:
            counts[receiver] += 1
            self._hurry(sandbox, receiver)
        elif counts.pop(receiver, 0) >= _SILENT:
            self._share.narrow(sandbox, receiver)

    def _is_silent(self, sandbox: Sandbox, receiver: str) -> bool:
        """Whether the last tries of a sandbox at a receiver have all timed out."""
        return self._timed_out.get(sandbox, _NONE)[receiver] >= _SILENT

    def _hurry(self, sandbox: Sandbox, receiver: str) -> None:
        """Let everything for a silent receiver go out together, as far as there are places."""
        if self._is_silent(sandbox, receiver):
            self._share.widen(sandbox, receiver, CONNECTIONS)

    async def _send(self, sandbox: Sandbox, delivery: Delivery) -> Sent:
        """Post a delivery; where tracing is on, in a span of which its headers tell the receiver,
        so that what the receiver does belongs to the same trace."""
        headers = delivery.headers()
        if self._tracing is None:
            return await self._post(sandbox, delivery, headers)
        # Adds its ``traceparent`` to the headers.
        span = self._tracing.try_begins(delivery, headers)
        sent = None
        try:
            sent = await self._post(sandbox, delivery, headers)
        finally:
            # None is of a try that a stop of the server has cut off.
            self._tracing.try_ends(span, sent)
        return sent

    async def _post(self, sandbox: Sandbox, delivery: Delivery, headers: Mapping[str, str]) -> Sent:
        """Post a delivery, within the time that the service is assumed to wait."""
        within = sandbox.assumed["webhook.timeout"]
        return await self._sender.send(
            delivery.url, headers, delivery.content.raw, within, owner=sandbox
        )

    def _end(self, sandbox: Sandbox, delivery: Delivery) -> None:
        """A try has ended: with the last of its sandbox, time goes on."""
        tries = self._tries[sandbox]
        del tries[delivery.delivery_id]
        if not tries:
            del self._tries[sandbox]
            if sandbox in self._standing_still:
                self._standing_still.remove(sandbox)
                sandbox.clock.release(self._now())
        self._report_end(sandbox)

    def _report_end(self, sandbox: Sandbox) -> None:
        """Wake those who wait for the next end of a try; who still waits then asks again."""
        if sandbox in self._next_ends:
            self._next_ends.pop(sandbox).set_result(None)


def _receiver_of(url: str) -> str:
    """Host and port of an address: what answers, or does not, as one."""
    return url.partition("://")[2].partition("/")[0].lower()
