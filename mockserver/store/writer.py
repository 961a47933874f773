"""The store of a server (``--store``): which sandboxes are in it, when they are read and dropped,
and the commits that hold what was answered.

A step is answered when the commit that holds it is in the file. Steps that end while one commit is
written are held by the next: one writer, one commit for many answers, and a request alone waits for
its own. When a commit fails, every request that waits for it is refused, and its sandboxes leave
the memory: they are read again from the file, which has nothing of them by half.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from heapq import heappop, heappush
from itertools import chain
from time import perf_counter
from weakref import WeakSet

from mockserver.domain.clock import SECOND, Micros, real_due
from mockserver.domain.codes import Code
from mockserver.domain.errors import NotKept
from mockserver.domain.record import entity
from mockserver.engine.config import Beginning
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.sandboxes import Sandboxes
from mockserver.engine.storage import SandboxStorage
from mockserver.store.file import StoreFile
from mockserver.store.persister import (
    BEGINNING,
    PersistenceContext,
    SandboxPersister,
    next_due,
    stored_beginning,
    stored_sandbox,
)
from mockserver.store.schema import (
    WAIT,
    Commit,
    DamagedSandbox,
    NotWritten,
    StoredSandbox,
    Unreadable,
)

SLICE = 1_000
"""Rows of a large new sandbox that go into one commit, so that other requests wait for no more than
these."""

PAUSE = 200
"""Rows that are gathered for a commit before other requests are served."""

PENDING = 500
"""Rows of one sandbox after which long work in it waits for a commit."""

LONGEST_NAP = 60 * SECOND
"""Longest time between two checks for what comes due in sandboxes that are only in the file."""

COMPANY = 0.0005
"""Seconds that a commit waits for the next request that may share it."""

RECENT = 0.01
"""Seconds after a commit in which the clients that it answered are expected to ask again."""

MOST_COMPANY = 64
"""Answers for which a commit waits at most."""

QUICK = 0.03
"""Seconds that a commit may take on the event loop. After two that took longer, a thread writes for
a while: one may have waited for other programs instead of the disk."""

THREADED = 50
"""How many times as long as the second took."""

_LOG = logging.getLogger("mockserver.store")


@entity
class _Round:
    """What one commit is to hold: the sandboxes that have changed, a part of those that are
    ``growing``, and those that were deleted, as the index had them. ``waiting`` hear why it failed,
    or None."""

    sandboxes: dict[Sandbox, None] = field(default_factory=dict)
    gone: dict[str, StoredSandbox | None] = field(default_factory=dict)
    growing: set[Sandbox] = field(default_factory=set)
    waiting: list[asyncio.Future[str | None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.sandboxes or self.gone)


class Store(SandboxStorage):
    """The store of one server. ``woken`` is called with each sandbox that comes from the file;
    ``commits`` and ``failures`` count commits that were written and that were not."""

    def __init__(
        self,
        file: StoreFile,
        sandboxes: Sandboxes,
        context: PersistenceContext,
        now: Callable[[], Micros],
        woken: Callable[[Sandbox], None],
    ) -> None:
        self.commits = 0
        self.failures = 0
        self._fault: str | None = None
        self._file = file
        self._sandboxes = sandboxes
        self._context = context
        self._now = now
        self._woken = woken
        self._index = {kept.key: kept for kept in file.sandboxes}
        self._persisters: dict[str, SandboxPersister] = {}
        # What is being written, and what comes after it.
        self._present, self._next = _Round(), _Round()
        self._growing: set[Sandbox] = set()
        self._lost: WeakSet[Sandbox] = WeakSet()
        self._writer = ThreadPoolExecutor(1, "mockserver-store")
        self._reader = ThreadPoolExecutor(1, "mockserver-store-reader")
        self._fetching: dict[str, asyncio.Future[SandboxPersister]] = {}
        self._newest = 0, ""
        self._expected, self._ended = 0, 0.0
        self._is_writing = self._has_written = False
        self._is_slow = False
        self._threaded_until = 0.0
        self._task: asyncio.Task[None] | None = None
        self._due: list[tuple[Micros, str]] = []
        self._is_earlier = asyncio.Event()
        # Lists show sandboxes that were never used in the order of their opening.
        for kept in sorted(file.sandboxes, key=lambda one: one.world):
            sandboxes.know(kept.key, kept.name)
            self._note_use(kept)
            self._plan(kept)
        sandboxes.storage = self

    def take(self, key: str) -> Sandbox | None:
        """The sandbox of a key from its rows; None when it has none. Raises ``NotKept`` (43)."""
        kept = self._index.get(key)
        return self._placed(self._made(kept)) if kept is not None else None

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
        """How sandboxes began that are only in the file; their content is not read. Raises
        ``NotKept`` (43)."""
        away = [
            self._index[key]
            for key in keys
            if key in self._index and key not in self._sandboxes.in_memory
        ]
        return await asyncio.get_running_loop().run_in_executor(
            self._reader, self._beginnings, away
        )

    async def _fetched(self, kept: StoredSandbox) -> None:
        reading = self._fetching.get(kept.key)
        if reading is None:
            reading = asyncio.get_running_loop().run_in_executor(self._reader, self._made, kept)
            self._fetching[kept.key] = reading
        try:
            persister = await asyncio.shield(reading)
        finally:
            if reading.done():
                self._fetching.pop(kept.key, None)
        if kept.key not in self._sandboxes.in_memory and self._index[kept.key] == kept:
            self._placed(persister)

    def _made(self, kept: StoredSandbox) -> SandboxPersister:
        """The sandbox of its rows; a large one takes seconds. Raises ``NotKept`` (43) for rows that
        cannot be read."""
        with _readable():
            rows = self._file.rows(kept.world)
            persister = stored_sandbox(kept.key, kept.world, rows, self._context, self._now())
            persister.sandbox.used = kept.used
            return persister

    def _beginnings(self, some: Iterable[StoredSandbox]) -> dict[str, Beginning]:
        found = {}
        for kept in some:
            with _readable():
                rows = dict(
                    chain(*(self._file.rows(kept.world, part).items() for part in BEGINNING))
                )
                found[kept.key] = stored_beginning(rows, self._context)
        return found

    def _placed(self, persister: SandboxPersister) -> Sandbox:
        sandbox = persister.sandbox
        self._persisters[sandbox.key] = persister
        self._sandboxes.put_back(sandbox)
        self._woken(sandbox)
        return sandbox

    def used(self, key: str) -> int:
        """When the sandbox of a key was last used, as ``Sandbox.used`` counts."""
        kept = self._index.get(key)
        return kept.used if kept is not None else 0

    def last_used(self) -> int:
        """When any sandbox was last used."""
        return max((kept.used for kept in self._index.values()), default=0)

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox may have changed: the next commit holds what has."""
        self._next.sandboxes[sandbox] = None
        self._begin()

    def delete(self, sandbox: Sandbox) -> None:
        """A sandbox is deleted: the next commit takes it out of the file. When that fails, it is
        there as before."""
        key = sandbox.key
        self._next.gone[key] = self._index.pop(key, None)
        self._close(key)
        self._next.sandboxes.pop(sandbox, None)
        self._begin()

    def _begin(self) -> None:
        """Let a commit begin once all that is ready has had its turn."""
        if not self._is_writing and (self._task is None or self._task.done()):
            try:
                self._task = asyncio.get_running_loop().create_task(self._commit_all())
            except RuntimeError:
                # The server does not run yet: a sandbox is opened ahead.
                return

    async def kept(self, sandbox: Sandbox | None) -> None:
        """What has happened in a sandbox until now (None: in any) is in the file. Raises
        ``NotKept`` (43): then nothing of it is there."""
        if sandbox is None:
            growing = set(self._growing)
            # The changes may be in the commit that is being written, in the next, or in both.
            failed = await self._all_ended()
            # A large new sandbox takes several commits: only for those of this request it waits.
            mine = self._growing - growing
        else:
            mine = {sandbox}
            failed = await (
                self._commit_alone() if self._is_alone(sandbox) else self._next_ended(mine)
            )
        while failed is None and not mine.isdisjoint(self._growing):
            failed = await self._next_ended(mine)
        if failed is None and self.failures and not mine.isdisjoint(self._lost):
            failed = "what happened before it could not be written"
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

    def put_away(self, sandbox: Sandbox) -> bool:
        """Drop a sandbox from memory; False while a commit of it is still to come."""
        is_changed = any(sandbox in one.sandboxes for one in (self._present, self._next))
        if is_changed or sandbox.key not in self._index:
            return False
        self._forget(sandbox)
        self._plan(self._index[sandbox.key])
        return True

    async def run(self) -> None:
        """Wake sandboxes in which something comes due, and delete rows without a sandbox, until
        cancelled."""
        loop = asyncio.get_running_loop()
        if self._next.sandboxes:
            self._begin()
        while True:
            self._is_earlier.clear()
            while self._due and self._due[0][0] <= self._now():
                due, key = heappop(self._due)
                if (
                    key in self._index
                    and self._index[key].due == due
                    and key not in self._sandboxes.in_memory
                ):
                    await self._wake(key)
            with contextlib.suppress(NotWritten):
                while await loop.run_in_executor(self._writer, self._file.clear_away):
                    pass
            nap = min(self._due[0][0] - self._now(), LONGEST_NAP) if self._due else LONGEST_NAP
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(nap, 0) / SECOND):
                    await self._is_earlier.wait()

    async def close(self) -> None:
        """Write what is still to be written, and close the file."""
        with contextlib.suppress(NotKept):
            await self.kept(None)
        if self._task is not None:
            await self._task
        self._reader.shutdown()
        self._writer.shutdown()
        self._file.close()

    async def _next_ended(self, sandboxes: set[Sandbox]) -> str | None:
        """Wait for the last commit that is to hold one of some sandboxes: why it failed, None when
        it is in the file, or there is none."""
        for one in (self._next, self._present):
            if not sandboxes.isdisjoint(one.sandboxes):
                return await self._end_of(one)
        return None

    async def _all_ended(self) -> str | None:
        """Wait for the commit that is being written and for the next: why one failed."""
        ends = [self._end_of(one) for one in (self._present, self._next) if one]
        for end in ends:
            await end
        return next(filter(None, (end.result() for end in ends)), None)

    def _end_of(self, one: _Round) -> asyncio.Future[str | None]:
        """The end of a commit."""
        end: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        one.waiting.append(end)
        self._begin()
        return end

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

    async def _commit_all(self) -> None:
        """Write commits until nothing has changed since the last."""
        self._has_written = False
        if self._is_writing:
            # A request writes its own, and looks for more afterwards.
            return
        self._is_writing = True
        try:
            while self._next:
                await self._wait_for_company()
                await self._commit()
        finally:
            self._is_writing, self._task = False, None

    async def _wait_for_company(self) -> None:
        """Wait a moment for the clients that the last commit answered together.

        Most of them ask again at once, and a commit for half of them costs nearly as much as one
        for all: of 8 or 16 clients each request would take a fifth more of the processor. Two
        clients do not wait for each other (``_expected`` is 0), and none waits long for those that
        stay away.
        """
        if not self._is_recent():
            return
        waiting = self._next.waiting
        came, until = len(waiting), perf_counter() + COMPANY
        while came < self._expected and perf_counter() < until:
            await asyncio.sleep(0)
            if len(waiting) > came:
                # One more has come, and others may be close behind.
                came, until = len(waiting), perf_counter() + COMPANY

    def _is_recent(self) -> bool:
        """Whether the last commit ended so lately that its clients may ask again at any moment."""
        return perf_counter() < self._ended + RECENT

    def _is_alone(self, sandbox: Sandbox) -> bool:
        """Whether the change of a sandbox may be written in this very step: nothing else is to be
        written, nor has been in this turn of the event loop, and no company is expected. It spares
        a client that is alone the change of threads, a fifth of what its request takes."""
        if self._is_writing or self._has_written:
            return False
        coming = self._next
        if coming.sandboxes.keys() != {sandbox} or coming.waiting or coming.gone:
            return False
        return not self._expected or not self._is_recent()

    async def _commit_alone(self) -> str | None:
        """Write a commit without a task of its own: why it failed."""
        self._is_writing = self._has_written = True
        try:
            return await self._commit(is_alone=True)
        finally:
            self._is_writing = False
            if self._next:
                self._begin()

    async def _commit(self, *, is_alone: bool = False) -> str | None:
        """Write what has changed, and say so to those who wait: why that failed."""
        self._present, self._next = self._next, _Round()
        failed: str | None = "the server stops"
        try:
            await self._write_changes(is_alone=is_alone)
            failed = None
        except NotWritten as problem:
            failed = self._fault = str(problem)
            _LOG.error("the store could not be written: %s; what was to be kept is refused", failed)
        except Exception as fault:
            failed = type(fault).__name__
            _LOG.exception("the store could not be written: what was to be kept is refused")
        finally:
            self._end(failed)
        return failed

    async def _write_changes(self, *, is_alone: bool) -> None:
        """Write what has changed, and know it as it is in the file. Raises ``NotWritten``."""
        commit = await self._gathered()
        if commit.puts or commit.drops or commit.cuts or commit.gone or commit.kept:
            await self._write(commit, is_alone=is_alone)
            self._fault = None
            self.commits += 1
            self._context.note_written(commit)
            # A commit that was on its way has named them again.
            for key in commit.gone:
                self._index.pop(key, None)
            self._index.update((kept.key, kept) for kept in commit.kept)

    def _end(self, failed: str | None) -> None:
        """A commit has ended: those who wait hear of it, and what it held of growing sandboxes is
        written on."""
        ended, self._present = self._present, _Round()
        if failed is not None:
            self._take_back(ended)
        # A sandbox that this commit completes grew until it was written.
        self._growing = ended.growing if failed is None else set()
        self._next.sandboxes.update(dict.fromkeys(self._growing))
        for end in ended.waiting:
            if not end.done():
                end.set_result(failed)
        clients = len(ended.waiting) + len(self._next.waiting)
        self._expected = min(clients, MOST_COMPANY) if clients > 2 else 0
        self._ended = perf_counter()

    def _take_back(self, lost: _Round) -> None:
        """A commit has failed: what it was to delete is there as before, and its sandboxes are read
        again."""
        self.failures += 1
        for kept in filter(None, lost.gone.values()):
            self._index.setdefault(kept.key, kept)
            self._sandboxes.know(kept.key, kept.name)
        for sandbox in lost.sandboxes:
            self._lose(sandbox)

    async def _write(self, commit: Commit, *, is_alone: bool) -> None:
        """Write a commit in a thread; a small one that no other answer shares on the event loop, as
        long as the disk takes it at once: two changes of threads cost more than it does. Raises
        ``NotWritten``."""
        loop, began = asyncio.get_running_loop(), perf_counter()
        if is_alone and commit.is_small and began >= self._threaded_until and self._file.claim():
            try:
                self._file.write(commit)
            finally:
                self._file.release()
            was_slow, self._is_slow = self._is_slow, (taken := perf_counter() - began) > QUICK
            if was_slow and self._is_slow:
                self._threaded_until = began + THREADED * taken
        else:
            await loop.run_in_executor(self._writer, self._file.write, commit)
        if self._file.is_log_long:
            loop.run_in_executor(self._writer, self._file.shorten_log)

    async def _gathered(self) -> Commit:
        """What is to be written; sandboxes with more to write are ``growing`` afterwards. Other
        requests are served meanwhile: a reset of all changes many sandboxes."""
        commit, rested, growing = Commit(gone=list(self._present.gone)), 0, self._present.growing
        for sandbox in self._present.sandboxes:
            if len(commit.puts) - rested >= PAUSE:
                rested = len(commit.puts)
                await asyncio.sleep(0)
            if sandbox in self._lost or not self._sandboxes.is_live(sandbox):
                continue
            if not self._gather(self._persister(sandbox), commit):
                growing.add(sandbox)
        self._growing |= growing
        commit.puts += self._context.unwritten
        return commit

    def _persister(self, sandbox: Sandbox) -> SandboxPersister:
        key = sandbox.key
        persister = self._persisters.get(key)
        if persister is None or persister.sandbox is not sandbox:
            self._close(key)
            persister = self._persisters[key] = SandboxPersister(
                sandbox, self._file.next_world, self._context
            )
            self._file.next_world += 1
        return persister

    def _gather(self, persister: SandboxPersister, commit: Commit) -> bool:
        """Put the changes of a sandbox into a commit; False when that is only a part of a large new
        one."""
        sandbox, key = persister.sandbox, persister.sandbox.key
        known = self._index.get(key)
        if (known is None or known.world != persister.world) and persister.gather_some(
            commit, SLICE
        ):
            return False
        persister.gather(commit)
        at = next_due(sandbox)
        due = None if at is None else real_due(sandbox.clock, at)
        name, world = self._sandboxes.names.get(key), persister.world
        kept = StoredSandbox(key, world, name, sandbox.used, sandbox.touched, due)
        if known is None or self._is_news(kept, known):
            commit.kept.append(kept)
            self._note_use(kept)
        return True

    def _note_use(self, kept: StoredSandbox) -> None:
        """Note which sandbox was used after all others; none where two say the same, as a copy and
        its original do."""
        used, key = self._newest
        if kept.used >= used:
            self._newest = kept.used, kept.key if kept.used > used or kept.key == key else ""

    def _is_news(self, kept: StoredSandbox, known: StoredSandbox) -> bool:
        """Whether the index is to be written anew: not for the use alone of the sandbox that was
        the last used of all, but once a second."""
        if (kept.world, kept.name, kept.due) != (known.world, known.name, known.due):
            return True
        is_used_alone = (known.used, known.key) == self._newest and len(
            self._present.sandboxes
        ) == 1
        return kept.used != known.used and not (
            is_used_alone and 0 <= kept.touched - known.touched < SECOND
        )

    def _lose(self, sandbox: Sandbox) -> None:
        """Drop a sandbox that differs from the file: the next use reads it again."""
        self._lost.add(sandbox)
        if self._sandboxes.is_live(sandbox):
            self._forget(sandbox)

    def _forget(self, sandbox: Sandbox) -> None:
        self._close(sandbox.key)
        self._sandboxes.put_away(sandbox, kept=sandbox.key in self._index)

    def _close(self, key: str) -> None:
        """Let go of what stores the sandbox of a key."""
        if (persister := self._persisters.pop(key, None)) is not None:
            persister.close()

    async def _wake(self, key: str) -> None:
        try:
            await self._fetched(self._index[key])
        except NotKept as damage:
            _LOG.error(
                "sandbox %s: %s", masked_key(key), "; ".join((damage.details or {}).values())
            )

    def _plan(self, kept: StoredSandbox) -> None:
        if kept.due is not None:
            heappush(self._due, (kept.due, kept.key))
            self._is_earlier.set()


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except Unreadable as damage:
        raise DamagedSandbox(str(damage)) from None
