"""What the endpoints of one server share. Its unused sandboxes are dropped, so that it does not grow for ever; and the
memory of those that are gone is given back by a thread, as 100,000 charges take a while to be freed. Source: the
command line's ``--sandbox-idle``.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from weakref import finalize

from mockserver.domain.clock import MINUTE, SECOND, Micros, duration_text
from mockserver.domain.rate import RateLimit
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.sandboxes import Sandboxes
from mockserver.scenario.scenario import Scenario, ScenarioReader
from mockserver.settings import LogRecord, Settings
from mockserver.web.access import BEAT, WINDOW, LogLine, OperationCounts, log_time
from mockserver.web.directory import Directory
from mockserver.web.runner import SERVER, Runner, for_each
from mockserver.web.watching import finding_line

if TYPE_CHECKING:
    from mockserver.store.writer import Store
    from mockserver.web.tracing import Tracing


class World:
    """The settings, the directory of sandboxes and the runner of their work.

    ``log`` gets each request that was answered, ``prepare`` runs the set-up calls of a sandbox that opens, ``set_up``
    those of a scenario later; ``streams`` counts open event streams, ``requests`` by operation those that were
    answered; ``lags`` are those of the event loop within ``WINDOW``; ``tracing`` makes spans, None where they are off.
    ``rate_limit`` goes by the machine's time: it spares the machine, and a sandbox whose clock stands would never be
    let in again. ``store`` is that of ``--store``. Raises ``ScenarioRefused`` when the scenarios of the settings cannot
    be used.
    """

    def __init__(self, settings: Settings, real_clock: Callable[[], Micros], reader: ScenarioReader) -> None:
        self.settings = settings
        self.real_clock = real_clock
        self.log: Callable[[LogRecord], None] | None = None
        self.prepare: Callable[[Sandbox], None] = lambda sandbox: None
        self.set_up: Callable[[Sandbox, Scenario, str], Awaitable[list[dict[str, object]]]]
        self.tracing: Tracing | None = None
        self.store: Store | None = None
        self.begin(reader)

    def begin(self, reader: ScenarioReader) -> None:
        """Know nothing of what was, under the scenarios of a reader, as a server that has just started. Raises
        ``ScenarioRefused``."""
        self.requests: defaultdict[str, OperationCounts] = defaultdict(OperationCounts)
        self.lags: deque[float] = deque(maxlen=round(WINDOW / BEAT))
        self.streams = 0
        limit = self.settings.rate_limit
        self.rate_limit = RateLimit(limit) if limit else None
        self.runner = Runner(self.real_clock, self._report)
        self.directory = Directory(self.settings, self.real_clock, reader, self._opened)

    @property
    def sandboxes(self) -> Sandboxes:
        """All sandboxes of the server."""
        return self.directory.sandboxes

    def _opened(self, sandbox: Sandbox) -> None:
        self.prepare(sandbox)
        self.runner.activity.notify(SERVER)

    def is_idle(self, sandbox: Sandbox, since: Micros) -> bool:
        """Whether a sandbox has not been used since the machine's time ``since``, and nothing is under way in it: no
        answer, no webhook, no move of its clock, no waiting call."""
        runner = self.runner
        return (
            sandbox.touched <= since
            and not sandbox.under_way
            and sandbox not in runner.moving
            and not runner.sending(sandbox)
            and sandbox.key not in runner.activity.watched
        )

    def _report(self, sandbox: Sandbox) -> None:
        for finding in sandbox.watch.ledger.news() if sandbox.watch is not None else ():
            if self.log is not None:
                self.log(finding_line(finding, masked_key(sandbox.key), self.real_clock()))


IDLE_IN_STORE = "24h"
"""How long unused sandboxes stay in memory where a store has them, unless ``--sandbox-idle`` says."""


async def drop_idle(world: World, length: Micros) -> None:
    """Drop now and then what is idle, until cancelled: every minute, or in a quarter of the time waited for."""
    while True:
        await asyncio.sleep(min(length // 4, MINUTE) / SECOND)
        await sweep(world, length)


async def sweep(world: World, length: Micros) -> int:
    """Drop the sandboxes unused for ``length`` of the machine's time, or where a store has them put them away, while
    others are served; how many that were. A request that names a sandbox uses it, and so does a client that follows it;
    work that comes due in it does not."""
    sandboxes, store, since = world.sandboxes, world.store, world.real_clock() - length

    def drop(key: str) -> bool:
        sandbox = sandboxes.in_memory.get(key)
        if sandbox is None or not world.is_idle(sandbox, since):
            return False
        if store is None:
            sandboxes.drop(sandbox)
        elif not store.put_away(sandbox):
            return False
        if world.rate_limit is not None:
            world.rate_limit.forget(key)
        return True

    count = sum(await for_each(tuple(sandboxes.in_memory), drop))
    if count:
        world.runner.activity.notify(SERVER)
    if count and world.log is not None:
        did, counted = ("dropped", "droppedSandboxes") if store is None else ("put away", "putAwaySandboxes")
        time, idle, what = log_time(world.real_clock()), duration_text(length), "sandbox" if count == 1 else "sandboxes"
        text = f"{time} {did} {count} {what} unused for {idle} (--sandbox-idle)"
        world.log(LogLine("info", text, {"time": time, counted: count, "idle": idle}))
    return count


MANY = 2_000
"""Objects from which on a sandbox is not freed in one go."""


class Freeing:
    """Frees the sandboxes that it expects to go, when the last who uses one has let it go."""

    def __init__(self) -> None:
        self._gone: asyncio.Queue[list[Any]] = asyncio.Queue()

    def expect(self, sandbox: Sandbox) -> None:
        """A sandbox has lost its key: it is freed once it is out of use."""
        contents = sandbox.contents()
        if sum(map(len, contents)) >= MANY:
            finalize(sandbox, self._gone.put_nowait, contents).atexit = False

    async def run(self) -> None:
        """Free what is gone, in a thread, until cancelled."""
        while True:
            await asyncio.to_thread(_free, await self._gone.get())


def _free(contents: list[Any]) -> None:
    """Empty lists and dictionaries item by item, so that the thread can be interrupted."""
    for held in contents:
        take = held.pop if isinstance(held, list | deque) else held.popitem
        while held:
            take()
