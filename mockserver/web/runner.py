"""Who runs when: the work of sandboxes that is due, the webhooks that follow, those who wait, and
whatever takes long.

One event loop serves everybody. A step of it is one request, or a slice of due work, of one
sandbox, and nothing else happens meanwhile: so a step needs no lock, and nobody else is served as
long as it lasts. Three things keep steps short.

**Due work comes in slices** (``run``, ``catch_up``, ``run_to``): a clock that is moved by a year
may have 100,000 pieces of work to do. A request first brings its sandbox to the present;
``Ticker`` does the same at the moment at which something is due, when nobody asks. Nothing depends
on that moment: what is due is run in its order before whatever comes next.

**A search looks at very many rows in a thread** (``search``, ``look_aside``). The rows are copied
as a list in one step, and are values: the answer is of that instant. A thread shares Python's lock
with the loop, which waits for it some 5 ms each time; so there is one such look at a time. What
an index lacks it learns before, a few thousand rows a step.

**Other long work is done in a thread as well**, on copies (``in_thread``); what must see the
present, item by item, gives the loop its turn every ``TURN`` (``for_each``).

``Activity`` holds those who wait for something to happen in a sandbox (``POST
/__admin/wait``). Each is woken by one task for all of a sandbox, which rests twelve times as long
as it works: a thousand of them must not cost more than the calls they wait for.

What always holds: code that changes a sandbox says so (``changed``), else no webhook is sent,
nobody is woken, and a store keeps nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import field
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar

from mockserver.domain.clock import LATEST, MILLISECOND, SECOND, ClockMode, Micros, real_due
from mockserver.domain.errors import NotKept
from mockserver.domain.record import mutable
from mockserver.engine import deliveries, due
from mockserver.engine.indexed_table import ListPage, Query, Scan, Table, TableRow
from mockserver.engine.observer import Remark
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step

SERVER = ""
"""Stands for the list of sandboxes; no sandbox has this key."""

SPELL, REST, LONGEST_REST = 0.00025, 12, 1.0
"""How many seconds waiting calls are examined before a rest, how many times as long that is, as the
rest of the machine is for others, and how many seconds at most."""

Look = Callable[[], bool]
"""Looks whether what a caller waits for has happened."""


@mutable
class Activity:
    """Those who wait for something to happen: ``watched`` by the secret key of the sandbox in which
    it is to happen."""

    watched: dict[str, _Watched] = field(default_factory=dict)

    def notify(self, key: str) -> None:
        """Something has happened in the sandbox of a key."""
        if key in self.watched:
            self.watched[key].notify()

    def wake_all(self) -> None:
        """Let nobody wait any more."""
        for watched in self.watched.values():
            for waiting in tuple(watched.waiting):
                if not waiting.done():
                    waiting.set_result(None)

    async def wait(
        self,
        key: str,
        within: Micros,
        look: Look | None = None,
        leaving: asyncio.Future[Any] | None = None,
    ) -> None:
        """Wait until something happens in a sandbox, and ``look`` is true; at most so long in real
        time, and not once ``leaving`` is done."""
        watched = self.watched.setdefault(key, _Watched())
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watched.waiting[waiting] = look
        try:
            # What has happened during a look of the caller's own was not waited for yet.
            if look is not None and look():
                return
            ends = {waiting} if leaving is None else {waiting, leaving}
            await asyncio.wait(ends, timeout=within / SECOND, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del watched.waiting[waiting]
            if not watched.waiting and self.watched.get(key) is watched:
                del self.watched[key]


@mutable
class _Watched:
    """Those who wait in one sandbox. One task looks after all of them: to wake each for a look of
    its own would cost the others more than the looks do."""

    waiting: dict[asyncio.Future[None], Look | None] = field(default_factory=dict)
    _stirred: bool = False
    _looking: asyncio.Task[None] | None = None

    def notify(self) -> None:
        """Something has happened here: let the task look, which may be looking already."""
        self._stirred = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look_after())

    async def _look_after(self) -> None:
        """Wake those who have got what they wait for, until nothing more has happened. It rests for
        a multiple of the time that it works."""
        time = asyncio.get_running_loop().time
        while self._stirred and self.waiting:
            self._stirred = False
            began = time()
            for waiting, look in tuple(self.waiting.items()):
                if waiting.done():
                    continue
                if (look is None or look()) and not waiting.done():
                    waiting.set_result(None)
                if time() - began > SPELL:
                    await asyncio.sleep(min(REST * (time() - began), LONGEST_REST))
                    began = time()
            await asyncio.sleep(min(REST * (time() - began), LONGEST_REST))


T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R", bound=TableRow)

TURN = 0.005
"""Seconds of work after which others are served."""


async def for_each(items: Iterable[T], make: Callable[[T], U]) -> list[U]:
    """What is made of each of many items; others are served after every ``TURN`` of it."""
    began, made = perf_counter(), list[U]()
    for item in items:
        made.append(make(item))
        if perf_counter() - began >= TURN:
            await asyncio.sleep(0)
            began = perf_counter()
    return made


async def in_thread(make: Callable[[], T]) -> T:
    """What is made of copies that nobody else changes, in a thread: others are served meanwhile. At
    once where no loop runs, as there are no others."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return make()
    return await asyncio.to_thread(make)


async def learn(table: Table[Any], *indexes: str) -> None:
    """Let indexes of a table learn the rows that they lack; others are served meanwhile."""
    for index in indexes:
        while table.learn_more(index):
            await asyncio.sleep(0)


def _now(read: Callable[[], T]) -> T:
    return read()


class Dispatcher(Protocol):
    """Sends webhooks."""

    def send_all(self, sandbox: Sandbox) -> None:
        """Begin a try of everything that is to be sent."""

    def sending(self, sandbox: Sandbox) -> AbstractSet[str]:
        """The ids of the deliveries that are being tried."""

    def next_end(self, sandbox: Sandbox) -> asyncio.Future[None]:
        """Done when one of the tries under way ends."""

    def end_soon(self) -> None:
        """The server has been asked to stop: what is being sent has a few seconds left."""


class Runner:
    """``real_clock`` is the machine's time; ``report`` gets what those who watch a sandbox say
    after a use of it.

    ``dispatcher`` and ``ticker`` are there while the application is served. ``moving`` holds the
    sandboxes whose clock is being moved, each with what is set when that has ended. ``uses`` counts
    what was asked of all sandboxes, so that each knows when it was last used. ``note`` gets each
    sandbox that may have changed, where one is kept; ``turn`` serves others in the long work of a
    sandbox.
    """

    def __init__(
        self, real_clock: Callable[[], Micros], report: Callable[[Sandbox, Remark], None]
    ) -> None:
        self.real_clock = real_clock
        self.dispatcher: Dispatcher | None = None
        self.ticker: Ticker | None = None
        self.activity = Activity()
        self.moving: dict[Sandbox, asyncio.Event] = {}
        self.uses = 0
        self.stopping = False
        self.note: Callable[[Sandbox], None] | None = None
        self.turn: Callable[[Sandbox], Awaitable[None]] = lambda _: asyncio.sleep(0)
        self._report = report
        self._looking = asyncio.Lock()

    async def aside(self, make: Callable[[], T]) -> T:
        """What takes half a second to make when it is first asked for: in a thread while the
        application is served, as others must not wait so long."""
        if self.dispatcher is None:
            return make()
        return await asyncio.to_thread(make)

    async def search(
        self,
        table: Table[R],
        query: Query[R],
        seen: Callable[[Callable[[], Any]], Any] = _now,
    ) -> ListPage[R]:
        """The page of a query as of one instant, at which ``seen`` looks at the table: a step that
        lags sees it as it was. Others are served meanwhile."""
        while table.prepare(query):
            await asyncio.sleep(0)
        looked: ListPage[R] | Scan[R] = seen(lambda: table.look(query))
        if not isinstance(looked, Scan):
            return looked
        return await self.look_aside(looked.page)

    async def look_aside(self, look: Callable[[], T]) -> T:
        """What a look at very many rows finds, in a thread, one look after the other."""
        async with self._looking:
            return await self.aside(look)

    def run(self, sandbox: Sandbox, real: Micros | None = None) -> None:
        """Run a slice of the work that is due, by now or when the machine's time is ``real``; send
        what is to be sent."""
        if sandbox.holding.is_all:
            return
        ran = sandbox.schedule.ran
        due.run_slice(sandbox, sandbox.clock.read(self.real_clock() if real is None else real))
        if sandbox.schedule.ran > ran:
            self.changed(sandbox)

    def visit(self, sandbox: Sandbox) -> bool:
        """A request has come to a sandbox: it is in use. Whether it is in the present, as it is
        when nothing is due."""
        sandbox.touched = real = self.real_clock()
        until, scheduled = sandbox.clock.read(real), sandbox.schedule.entries
        if scheduled and scheduled[0].at <= until:
            # ``catch_up`` runs it first.
            return False
        sandbox.now, sandbox.horizon = max(sandbox.now, until), until
        return True

    async def catch_up(self, sandbox: Sandbox) -> None:
        """Bring a sandbox to the present; others are served meanwhile."""
        real = self.real_clock()
        self.run(sandbox, real)
        while due.is_behind(sandbox) and not sandbox.holding.is_all:
            await self.turn(sandbox)
            self.run(sandbox, real)

    def pass_time(self, sandbox: Sandbox, length: Micros) -> bool:
        """Let time pass for a sandbox whose clock is set by hand; False for any other. Time stands
        while the clock is being moved: receivers of webhooks are called then."""
        if sandbox.clock.mode is not ClockMode.MANUAL:
            return False
        if sandbox not in self.moving:
            to = sandbox.now + length
            due.run_due(sandbox, to)
            sandbox.clock.move_to(to, self.real_clock())
            self.changed(sandbox)
        return True

    async def advance(self, sandbox: Sandbox, length: Micros) -> None:
        """Let time pass for a sandbox before a request is acted on, whatever its clock; others are
        served meanwhile."""
        to = min(sandbox.now + length, LATEST)
        sandbox.clock.hold(sandbox.now)
        try:
            await self.run_to(sandbox, to)
            sandbox.clock.virtual = max(sandbox.clock.virtual, sandbox.now)
        finally:
            sandbox.clock.release(self.real_clock())
        self.changed(sandbox)

    async def run_to(self, sandbox: Sandbox, to: Micros) -> None:
        """Run all that is due up to an instant; others are served meanwhile."""
        due.run_slice(sandbox, to)
        while due.is_behind(sandbox):
            await self.turn(sandbox)
            due.run_slice(sandbox, to)

    def changed(self, sandbox: Sandbox) -> None:
        """Something may have changed in a sandbox: send what is to be sent, wake those who wait for
        it."""
        if self.note is not None:
            self.note(sandbox)
        if sandbox.deliveries.outbox and self.dispatcher is not None:
            self.dispatcher.send_all(sandbox)
        if sandbox.schedule.entries and self.ticker is not None:
            self.ticker.note(sandbox)
        if sandbox.key in self.activity.watched:
            self.activity.notify(sandbox.key)

    def used(self, sandbox: Sandbox) -> None:
        """Something has been asked of a sandbox."""
        self.uses += 1
        sandbox.used = self.uses
        for observer in sandbox.observers:
            for remark in observer.remarks():
                self._report(sandbox, remark)
        self.changed(sandbox)

    def answered(self, step: Step) -> None:
        """A step has been answered: its webhooks may go out. What else is due by now may be long,
        and can wait."""
        sandbox = step.sandbox
        deliveries.release(sandbox, step.result.webhooks)
        self.acted(sandbox)

    def acted(self, sandbox: Sandbox) -> None:
        """Something was done in a sandbox: a slice of what is due by now follows."""
        self.run(sandbox)
        self.used(sandbox)

    async def flush_webhooks(self, step: Step) -> None:
        """Send the webhooks of a step that a scenario wants before its answer, and wait until they
        are tried."""
        sandbox = step.sandbox
        await self.catch_up(sandbox)
        # A receiver that never answers must not keep the client's answer for ever. Twice the time
        # of a try, as one may have to wait for its place.
        end = self.real_clock() + 2 * sandbox.assumed["webhook.timeout"]
        while not self.sending(sandbox).isdisjoint(step.result.webhooks):
            if not await self.try_ends(sandbox, end):
                return

    def sending(self, sandbox: Sandbox) -> AbstractSet[str]:
        """The ids of the deliveries of a sandbox that are being tried."""
        return self.dispatcher.sending(sandbox) if self.dispatcher is not None else frozenset()

    async def try_ends(
        self, sandbox: Sandbox, end: Micros, leaving: asyncio.Task[None] | None = None
    ) -> bool:
        """Wait until one of the tries under way in a sandbox ends, or ``leaving``; False when the
        machine's time has reached ``end``, or the server stops."""
        left = end - self.real_clock()
        if left <= 0 or self.stopping or self.dispatcher is None:
            return False
        ends: set[asyncio.Future[None]] = {self.dispatcher.next_end(sandbox)}
        if leaving is not None:
            ends.add(leaving)
        await asyncio.wait(ends, timeout=left / SECOND, return_when=asyncio.FIRST_COMPLETED)
        return True

    def stop(self) -> None:
        """End answers that would go on for ever, and webhooks within a few seconds."""
        self.stopping = True
        if self.dispatcher is not None:
            self.dispatcher.end_soon()
        self.activity.wake_all()


SHORTEST_WAIT = 5 * MILLISECOND
"""Work that comes due in quick succession is run together."""


class _Timer(NamedTuple):
    """A timer of the event loop, and the machine's time at which it rings."""

    rings_at: Micros
    handle: asyncio.TimerHandle


class Ticker:
    """Lets time pass without requests: a timer for each sandbox in which something comes due.
    Nothing depends on it but the moment: every request runs what is due before it anyway.
    ``is_live`` says whether a sandbox was not reset meanwhile."""

    def __init__(self, runner: Runner, is_live: Callable[[Sandbox], bool]) -> None:
        self._runner = runner
        self._is_live = is_live
        self._timers: dict[Sandbox, _Timer] = {}
        self._due: asyncio.Queue[Sandbox] = asyncio.Queue()

    def note(self, sandbox: Sandbox) -> None:
        """Something may have changed in a sandbox: wake when it has work due."""
        entries = sandbox.schedule.entries
        due_at = real_due(sandbox.clock, entries[0].at) if entries else None
        if due_at is None:
            # Nothing is to be done, or time stands.
            return
        known = self._timers.get(sandbox)
        if known is not None and known.rings_at <= due_at:
            # It rings early enough, and sets itself anew then.
            return
        self.forget(sandbox)
        nap = max(due_at - self._runner.real_clock(), SHORTEST_WAIT) / SECOND
        handle = asyncio.get_running_loop().call_later(nap, self._due.put_nowait, sandbox)
        self._timers[sandbox] = _Timer(due_at, handle)

    def forget(self, sandbox: Sandbox) -> None:
        """Wake for a sandbox no more: what it waits for may be days away, and it may be large."""
        timer = self._timers.pop(sandbox, None)
        if timer is not None:
            timer.handle.cancel()

    async def run(self) -> None:
        """Run what comes due, sandbox after sandbox, a slice at a time, until cancelled."""
        try:
            while True:
                sandbox = await self._due.get()
                self.forget(sandbox)
                # What a slice takes follows from how far it goes: who moves a clock is alone in
                # running what is due.
                if self._is_live(sandbox) and sandbox not in self._runner.moving:
                    # Who asks next is told of rows that cannot be read.
                    with suppress(NotKept):
                        self._runner.run(sandbox)
                        self.note(sandbox)
                    await self._runner.turn(sandbox)
        finally:
            for sandbox in tuple(self._timers):
                self.forget(sandbox)
