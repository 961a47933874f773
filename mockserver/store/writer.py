"""The store of a server (``--store``): which sandboxes are in it, when they are read and dropped,
and the commits that hold what was answered.

A step is answered when the commit that holds it is in the file. There is one way to get there, for
one client and for sixteen: a step says that its sandbox has changed (``note``), and its answer
waits (``kept``). Once all steps that are ready have had their turn, one commit is gathered of all
sandboxes that have changed, written, and everybody who waited for it goes on. Steps that come
meanwhile are for the next commit.

The event loop itself writes: a commit costs less than two changes of threads. A thread writes where
that would keep others waiting: a long commit, ``--store-sync full``, or while the file is in use.

At any time there are two rounds (``_Round``): the one that is being written, and the next, which
gathers who has changed. What must always hold:

- Nobody is answered before the round that holds the answer is in the file. A sandbox that changes
  again while it is written is in both rounds; its answers wait for the later one.
- What is in memory and what is in the file never differ for long. When a commit fails, every
  request that waits for it is refused, and its sandboxes leave the memory: they are read again from
  the file, which has nothing of them by half. Whoever still holds such a sandbox (``_dropped``) is
  refused as well.
- A large new sandbox, as by an import, is written by several rounds (it is ``growing``), and the
  index names it with the last: until then the file has the one before, if any.
- Sandboxes in the file that nobody uses may have left the memory. They come back when somebody asks
  for them, or when something comes due in them (``run``).
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from heapq import heappop, heappush
from itertools import chain
from weakref import WeakSet

from mockserver.domain.clock import EARLIEST, SECOND, Micros, real_due
from mockserver.domain.codes import Code
from mockserver.domain.errors import NotKept
from mockserver.domain.record import entity
from mockserver.engine.config import Beginning
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.sandboxes import Sandboxes
from mockserver.engine.storage import SandboxStorage
from mockserver.store.file import StoreFile
from mockserver.store.persister import SandboxPersister
from mockserver.store.restoring import BEGINNING, stored_beginning, stored_sandbox
from mockserver.store.scenarios import StoredScenarios
from mockserver.store.schema import (
    WAIT,
    Commit,
    DamagedSandbox,
    NotWritten,
    StoredSandbox,
    Unreadable,
)

SLICE = 1_000
"""Lines of a large new sandbox that go into one commit, so that other requests wait for no more
than these."""

PAUSE = 200
"""Lines that are gathered for a commit before other requests are served."""

PENDING = 500
"""Lines of one sandbox after which long work in it waits for a commit."""

MOST_WAITING = 64
"""Answers that wait for a commit before it begins, even if more are ready."""

LONG = 1 << 20
"""Bytes of a commit that a thread writes."""

LONGEST_NAP = 60 * SECOND
"""Longest time between two checks for what comes due in sandboxes that are only in the file."""

_LOST_BEFORE = "what happened before it could not be written"

_LOG = logging.getLogger("mockserver.store")


@entity
class _Round:
    """What one commit is to hold: the sandboxes that have changed, a part of those that are
    ``growing``, and those that were ``deleted``, as the index had them. ``waiting`` hear why it
    failed, or None."""

    sandboxes: dict[Sandbox, None] = field(default_factory=dict)
    deleted: dict[str, StoredSandbox | None] = field(default_factory=dict)
    growing: set[Sandbox] = field(default_factory=set)
    waiting: list[asyncio.Future[str | None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.sandboxes or self.deleted)


class Store(SandboxStorage):
    """The store of one server. ``woken`` is called with each sandbox that comes from the file;
    ``commits`` and ``failures`` count commits that were written and that were not."""

    def __init__(
        self,
        file: StoreFile,
        sandboxes: Sandboxes,
        scenarios: StoredScenarios,
        now: Callable[[], Micros],
        woken: Callable[[Sandbox], None],
    ) -> None:
        self.commits = 0
        self.failures = 0
        self._fault: str | None = None
        self._file = file
        self._sandboxes = sandboxes
        self._scenarios = scenarios
        self._now = now
        self._woken = woken
        self._index = {stored.key: stored for stored in file.sandboxes}
        self._persisters: dict[str, SandboxPersister] = {}
        # What is being written, and what comes after it.
        self._writing = _Round()
        self._next = _Round()
        self._growing: set[Sandbox] = set()
        self._dropped: WeakSet[Sandbox] = WeakSet()
        self._writer = ThreadPoolExecutor(1, "mockserver-store")
        self._reader = ThreadPoolExecutor(1, "mockserver-store-reader")
        self._fetching: dict[str, asyncio.Future[SandboxPersister]] = {}
        self._task: asyncio.Task[None] | None = None
        # A heap of the instants at which sandboxes that are not in memory must be woken.
        self._due: list[tuple[Micros, str]] = []
        # Ends the nap of ``run``: one of them may come before those that it knows.
        self._may_be_earlier = asyncio.Event()
        # Lists show sandboxes that were never used in the order of their opening.
        for stored in sorted(file.sandboxes):
            sandboxes.know(stored.key, stored.name)
            self._plan(stored)
        sandboxes.storage = self

    # Sandboxes that are not in memory.

    def take(self, key: str) -> Sandbox | None:
        """The sandbox of a key from its lines; None when it has none. Raises ``NotKept`` (43)."""
        stored = self._index.get(key)
        if stored is None:
            return None
        return self._placed(self._restored(stored))

    async def fetch(self, keys: Iterable[str]) -> None:
        """Read sandboxes that are only in the file, in a thread: a large one takes seconds. Raises
        ``NotKept`` (43)."""
        for key in keys:
            if key in self._index and key not in self._sandboxes.in_memory:
                await self._fetched(self._index[key])

    async def fetch_with_page(self, page_id: str) -> Sequence[str]:
        """Read those in which an object of this id has a page: their keys. Raises ``NotKept``
        (43)."""
        with _readable():
            keys = await asyncio.get_running_loop().run_in_executor(
                self._reader, self._file.keys_with_page, page_id
            )
        await self.fetch(keys)
        return keys

    async def begun(self, keys: Sequence[str]) -> dict[str, Beginning]:
        """How sandboxes began that are only in the file; their content is not read: a reset of all
        needs no more of them. Raises ``NotKept`` (43)."""
        away = [
            self._index[key]
            for key in keys
            if key in self._index and key not in self._sandboxes.in_memory
        ]
        return await asyncio.get_running_loop().run_in_executor(
            self._reader, self._beginnings, away
        )

    async def _fetched(self, stored: StoredSandbox) -> None:
        """Read a sandbox in a thread, once for all who ask meanwhile."""
        reading = self._fetching.get(stored.key)
        if reading is None:
            reading = asyncio.get_running_loop().run_in_executor(
                self._reader, self._restored, stored
            )
            self._fetching[stored.key] = reading
        try:
            persister = await asyncio.shield(reading)
        finally:
            if reading.done():
                self._fetching.pop(stored.key, None)
        # Meanwhile somebody may have read it without a thread, deleted or replaced it.
        if stored.key not in self._sandboxes.in_memory and self._index.get(stored.key) == stored:
            self._placed(persister)

    def _restored(self, stored: StoredSandbox) -> SandboxPersister:
        """The sandbox of its lines; a large one takes seconds. Raises ``NotKept`` (43) for lines
        that cannot be read."""
        with _readable():
            lines = self._file.rows(stored.number)
            return stored_sandbox(stored, lines, self._scenarios, self._now())

    def _beginnings(self, sandboxes: Iterable[StoredSandbox]) -> dict[str, Beginning]:
        """How some sandboxes began, by their keys; in the thread that reads."""
        beginnings = {}
        for stored in sandboxes:
            with _readable():
                parts = [self._file.rows(stored.number, part) for part in BEGINNING]
                lines = dict(chain.from_iterable(part.items() for part in parts))
                beginnings[stored.key] = stored_beginning(lines, self._scenarios)
        return beginnings

    def _placed(self, persister: SandboxPersister) -> Sandbox:
        """Put a sandbox from the file into the memory."""
        sandbox = persister.sandbox
        self._persisters[sandbox.key] = persister
        self._sandboxes.put_back(sandbox)
        self._woken(sandbox)
        return sandbox

    def used(self, key: str) -> int:
        """When the sandbox of a key was last used, as ``Sandbox.used`` counts: lists show the last
        used first, whether or not they are in memory."""
        stored = self._index.get(key)
        return stored.used if stored is not None else 0

    def last_used(self) -> int:
        """When any sandbox was last used: this server counts on from there."""
        return max((stored.used for stored in self._index.values()), default=0)

    def put_away(self, sandbox: Sandbox) -> bool:
        """Drop a sandbox from memory; False while a commit of it is still to come: the file would
        give back what it was before."""
        is_changed = sandbox in self._writing.sandboxes or sandbox in self._next.sandboxes
        is_in_file = sandbox.key in self._index
        if is_changed or not is_in_file:
            return False
        self._forget(sandbox)
        self._plan(self._index[sandbox.key])
        return True

    # What is still to be kept.

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox may have changed: the next commit holds what has."""
        self._next.sandboxes[sandbox] = None
        self._begin()

    def delete(self, sandbox: Sandbox) -> None:
        """A sandbox is deleted: the next commit takes it out of the file. When that fails, it is
        there as before. The index lacks it from now on, so that nobody reads it back meanwhile."""
        key = sandbox.key
        self._next.deleted[key] = self._index.pop(key, None)
        self._close(key)
        self._next.sandboxes.pop(sandbox, None)
        self._begin()

    async def kept(self, sandbox: Sandbox) -> None:
        """What has happened in a sandbox until now is in the file. Raises ``NotKept`` (43): then
        nothing of it is there."""
        await self._all_kept({sandbox}, await self._next_ended({sandbox}))

    async def all_kept(self, since: int) -> None:
        """What has happened in any sandbox is in the file, since so many commits had failed. Raises
        ``NotKept`` (43)."""
        # The changes may be in the commit that is being written, in the next, or in both.
        failed = await self._all_ended()
        if failed is None and self.failures != since:
            # A commit had failed before these: whoever asks has acted on what is lost.
            failed = _LOST_BEFORE
        await self._all_kept(set(self._growing), failed)

    async def _all_kept(self, sandboxes: set[Sandbox], failed: str | None) -> None:
        """The commit of some sandboxes has ``failed`` for this reason, or not (None): then their
        next ones are waited for too, as a large new sandbox takes several. Raises ``NotKept``
        (43)."""
        while failed is None and not sandboxes.isdisjoint(self._growing):
            failed = await self._next_ended(sandboxes)
        if failed is None and self.failures and not sandboxes.isdisjoint(self._dropped):
            # The commit was right, but had nothing of these: they have left the memory.
            failed = _LOST_BEFORE
        if failed is not None:
            words = (
                "nothing of the request was carried out, as the store could not be written: "
                f"{failed}"
            )
            raise NotKept(Code.TRANSACTION_ERROR, {"Store": words}, WAIT)

    async def is_kept(self, sandbox: Sandbox) -> bool:
        """Whether what has happened in a sandbox until now is in the file: only then may a webhook
        go out."""
        try:
            await self.kept(sandbox)
        except NotKept:
            return False
        return True

    async def turn(self, sandbox: Sandbox) -> None:
        """Serve other requests during the work of a sandbox, and wait for the store when much of it
        is still to be written: other requests wait for what one commit holds."""
        await asyncio.sleep(0)
        persister = self._persisters.get(sandbox.key)
        if persister is not None and persister.waiting() >= PENDING:
            await self._next_ended({sandbox})

    async def fault(self) -> str | None:
        """Why nothing can be kept by now. After a commit that could not be written it tries anew:
        nobody may ask for anything that would be kept, as long as this says why."""
        if self._fault is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(self._writer, self._file.probe)
                self._fault = None
            except NotWritten as problem:
                self._fault = str(problem)
        return self._fault

    async def _next_ended(self, sandboxes: set[Sandbox]) -> str | None:
        """Wait for the last commit that is to hold one of some sandboxes: why it failed, None when
        it is in the file, or there is none."""
        # The next first: of a sandbox that is in both, it has what has changed last.
        for commit_round in (self._next, self._writing):
            if not sandboxes.isdisjoint(commit_round.sandboxes):
                return await self._end_of(commit_round)
        return None

    async def _all_ended(self) -> str | None:
        """Wait for the commit that is being written and for the next: why the first of them
        failed, if one did."""
        rounds = [self._writing, self._next]
        # Wait for both from now on: as the first one ends, the next is written at once.
        ends = [self._end_of(commit_round) for commit_round in rounds if commit_round]
        failures = [await end for end in ends]
        for failed in failures:
            if failed is not None:
                return failed
        return None

    def _end_of(self, commit_round: _Round) -> asyncio.Future[str | None]:
        """The end of a commit: why it failed, or None."""
        end: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        commit_round.waiting.append(end)
        self._begin()
        return end

    # The life of the server.

    async def run(self) -> None:
        """Wake sandboxes in which something comes due, and delete lines without a sandbox, until
        cancelled."""
        loop = asyncio.get_running_loop()
        if self._next.sandboxes:
            self._begin()
        while True:
            self._may_be_earlier.clear()
            await self._wake_all_due()
            with contextlib.suppress(NotWritten):
                while await loop.run_in_executor(self._writer, self._file.clear_away):
                    pass
            nap = LONGEST_NAP
            if self._due:
                next_instant, _ = self._due[0]
                nap = min(max(next_instant - self._now(), 0), LONGEST_NAP)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(nap / SECOND):
                    await self._may_be_earlier.wait()

    async def _wake_all_due(self) -> None:
        """Read the sandboxes in which something has come due."""
        while self._due and self._due[0][0] <= self._now():
            due, key = heappop(self._due)
            stored = self._index.get(key)
            # An entry of an earlier plan stays in the heap, and means nothing any more.
            if stored is None or stored.due != due:
                continue
            if key not in self._sandboxes.in_memory:
                await self._wake(stored)

    async def close(self) -> None:
        """Write what is still to be written, and close the file."""
        # Who waits for an answer hears of a failure there.
        with contextlib.suppress(NotKept):
            await self.all_kept(self.failures)
        if self._task is not None:
            await self._task
        self._reader.shutdown()
        self._writer.shutdown()
        self._file.close()

    # Commits.

    def _begin(self) -> None:
        """Let a commit begin once all that is ready has had its turn."""
        if self._task is None or self._task.done():
            try:
                self._task = asyncio.get_running_loop().create_task(self._commit_all())
            except RuntimeError:
                # The server does not run yet: a sandbox is opened ahead.
                return

    async def _commit_all(self) -> None:
        """Write commits until nothing has changed since the last."""
        while self._next:
            await self._all_ready()
            self._writing, self._next = self._next, _Round()
            # Stays so where this task is cancelled: nobody who waits for the commit is forgotten.
            failed: str | None = "the server stops"
            try:
                await self._commit()
                failed = None
            except NotWritten as problem:
                # Until the file can be written again, nothing more is let in (``_fault``).
                failed = self._fault = str(problem)
                _LOG.error(
                    "the store could not be written: %s; what was to be kept is refused", failed
                )
            except Exception as fault:
                failed = type(fault).__name__
                _LOG.exception("the store could not be written: what was to be kept is refused")
            finally:
                self._end(failed)
        self._task = None

    async def _all_ready(self) -> None:
        """Let every step have its turn that is ready: a turn of the event loop in which nobody else
        came to wait was the last. Clients that one commit has answered ask again within the time of
        a step or two, and a commit for half of them costs nearly as much as one for all."""
        before = -1
        while before < len(self._next.waiting) < MOST_WAITING:
            before = len(self._next.waiting)
            await asyncio.sleep(0)

    async def _commit(self) -> None:
        """Write what has changed, and know it as it is in the file. Raises ``NotWritten``."""
        commit, sandboxes = await self._gathered()
        if not commit.puts and not commit.drops:
            return
        is_short = commit.size < LONG
        # Here, without a thread: two changes of threads cost more than a short commit.
        if is_short and self._file.claim():
            try:
                self._file.write(commit)
            finally:
                self._file.release()
        else:
            await asyncio.get_running_loop().run_in_executor(self._writer, self._file.write, commit)
        if self._file.is_log_long:
            self._writer.submit(self._file.shorten_log)
        # All of it is in the file. A disk that was full has room again.
        self._fault = None
        self.commits += 1
        self._scenarios.written(commit)
        self._index.update((stored.key, stored) for stored in sandboxes)

    def _end(self, failed: str | None) -> None:
        """A commit has ended: those who wait hear of it, and what it held of growing sandboxes is
        written on."""
        ended = self._writing
        self._writing = _Round()
        # A sandbox that this commit completes grew until it was written.
        self._growing = ended.growing
        if failed is not None:
            self._take_back(ended)
            # They have left the memory: nothing of them is written on.
            self._growing = set()
        self._next.sandboxes.update(dict.fromkeys(self._growing))
        for end in ended.waiting:
            if not end.done():
                end.set_result(failed)

    def _take_back(self, failed_round: _Round) -> None:
        """A commit has failed: what it was to delete is there as before, and its sandboxes are read
        again."""
        self.failures += 1
        for stored in filter(None, failed_round.deleted.values()):
            self._index.setdefault(stored.key, stored)
            self._sandboxes.know(stored.key, stored.name)
        for sandbox in failed_round.sandboxes:
            self._dropped.add(sandbox)
            if self._sandboxes.is_live(sandbox):
                self._forget(sandbox)

    async def _gathered(self) -> tuple[Commit, list[StoredSandbox]]:
        """What is to be written, and what the index says of it afterwards; sandboxes with more to
        write are ``growing`` then. Other requests are served meanwhile: a reset of all changes many
        sandboxes."""
        commit = Commit()
        sandboxes: list[StoredSandbox] = []
        growing = self._writing.growing
        deleted = self._writing.deleted
        for key in deleted:
            # A commit that was on its way when it was deleted has named it in the index again.
            deleted[key] = self._index.pop(key, deleted[key])
        for stored in filter(None, deleted.values()):
            commit.drop_sandbox(stored.number)
        lines_at_pause = 0
        for sandbox in self._writing.sandboxes:
            if len(commit.puts) - lines_at_pause >= PAUSE:
                lines_at_pause = len(commit.puts)
                await asyncio.sleep(0)
            # One that a failed commit had, or that was deleted or replaced meanwhile: what is in it
            # must not get into the file.
            if sandbox in self._dropped or not self._sandboxes.is_live(sandbox):
                continue
            entry = self._gather(self._persister(sandbox), commit)
            if entry is None:
                growing.add(sandbox)
            else:
                sandboxes.append(entry)
        self._growing |= growing
        return commit, sandboxes

    def _persister(self, sandbox: Sandbox) -> SandboxPersister:
        """What stores a sandbox: a new one, under a new number, for one that has taken the place of
        another, whose lines are still in the file."""
        key = sandbox.key
        persister = self._persisters.get(key)
        if persister is None or persister.sandbox is not sandbox:
            self._close(key)
            persister = self._persisters[key] = SandboxPersister(
                sandbox, self._file.next_number, self._scenarios
            )
            self._file.next_number += 1
        return persister

    def _gather(self, persister: SandboxPersister, commit: Commit) -> StoredSandbox | None:
        """Put the changes of a sandbox into a commit: what the index says of it afterwards, None
        when that is only a part of a large new one."""
        sandbox = persister.sandbox
        key = sandbox.key
        known = self._index.get(key)
        is_new = known is None or known.number != persister.number
        # Bit by bit only what the index does not name yet: nobody reads it back half.
        if is_new and persister.gather_some(commit, SLICE):
            return None
        persister.gather(commit)
        instant = _next_due(sandbox)
        # The index has the machine's time, so that ``run`` need not read a sandbox to wake it.
        due = None if instant is None else real_due(sandbox.clock, instant)
        name = self._sandboxes.names.get(key)
        stored = StoredSandbox(persister.number, key, name, sandbox.used, sandbox.touched, due)
        if known is not None and is_new:
            # It takes the place of another under the same key, as after a reset.
            commit.drop_sandbox(known.number)
        if stored != known:
            commit.put_sandbox(stored)
        return stored

    def _forget(self, sandbox: Sandbox) -> None:
        """Let a sandbox leave the memory."""
        self._close(sandbox.key)
        self._sandboxes.put_away(sandbox, kept=sandbox.key in self._index)

    def _close(self, key: str) -> None:
        """Let go of what stores the sandbox of a key."""
        persister = self._persisters.pop(key, None)
        if persister is not None:
            persister.close()

    async def _wake(self, stored: StoredSandbox) -> None:
        """Read a sandbox that nobody has asked for; what is wrong with it goes to the log."""
        try:
            await self._fetched(stored)
        except NotKept as damage:
            words = "; ".join((damage.details or {}).values())
            _LOG.error("sandbox %s: %s", masked_key(stored.key), words)

    def _plan(self, stored: StoredSandbox) -> None:
        """Wake a sandbox that is not in memory when something comes due in it."""
        if stored.due is not None:
            heappush(self._due, (stored.due, stored.key))
            self._may_be_earlier.set()


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Refuse requests for what the file cannot give."""
    try:
        yield
    except Unreadable as damage:
        raise DamagedSandbox(str(damage)) from None


def _next_due(sandbox: Sandbox) -> Micros | None:
    """The instant of sandbox time at which something is to be done in a sandbox that nobody asks;
    ``EARLIEST`` when webhooks of it are being sent, or will be as soon as their step has been
    answered."""
    if sandbox.deliveries.sending or sandbox.deliveries.unanswered:
        return EARLIEST
    # A heap: its first entry is the earliest.
    entries = sandbox.schedule.entries
    return entries[0].at if entries else None
