"""What the endpoints of one server share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from mockserver.domain.clock import Micros
from mockserver.domain.rate import RateLimit
from mockserver.engine.config import Beginning
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.sandboxes import Sandboxes
from mockserver.settings import LogRecord, Settings
from mockserver.web.activity import SERVER
from mockserver.web.directory import Directory, ScenarioReader
from mockserver.web.request_counts import Lag, Requests
from mockserver.web.runner import Runner
from mockserver.web.watching import finding_line

if TYPE_CHECKING:
    from mockserver.web.tracing import Tracing


class StorePort(Protocol):
    """Where the sandboxes of a server are kept. ``commits`` and ``failures`` count what was written and what
    was not."""

    commits: int
    failures: int

    def last_used(self) -> int:
        """When any sandbox was last used, as ``Sandbox.used`` counts."""

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox may have changed: the next commit holds what has."""

    async def kept(self, sandbox: Sandbox | None) -> None:
        """What has happened in a sandbox until now (None: in any) is in the file. Raises ``NotKept`` (43)."""

    async def is_kept(self, sandbox: Sandbox) -> bool:
        """Whether what has happened in a sandbox until now is in the file: only then may a webhook go out."""

    async def fetch(self, keys: Iterable[str]) -> None:
        """Take sandboxes out of the file that stand in it alone. Raises ``NotKept`` (43)."""

    async def begun(self, keys: Sequence[str]) -> dict[str, Beginning]:
        """How sandboxes began that stand in the file alone, without their content. Raises ``NotKept`` (43)."""

    async def turn(self, sandbox: Sandbox) -> None:
        """Let others have their turn in the long work of a sandbox."""

    def put_away(self, sandbox: Sandbox) -> bool:
        """Let a sandbox stand in the file alone; False while a commit of it is still to come."""

    async def run(self) -> None:
        """Wake sandboxes in which something comes due, until cancelled."""

    async def close(self) -> None:
        """Write what is still to be written, and close the file."""


class World:
    """The settings, the directory of sandboxes and the runner of their work.

    ``log`` gets each request that was answered, ``prepare`` runs the set-up calls of a sandbox that opens; ``streams``
    counts open event streams, ``requests`` those that were answered; ``lag`` is that of the event loop; ``tracing``
    makes spans, None where they are off. ``rate_limit`` goes by the machine's time: it spares the machine, and a
    sandbox whose clock stands would never be let in again. ``store`` is that of ``--store``.
    Raises ``ScenarioRefused`` when the scenarios of the settings cannot be used.
    """

    def __init__(self, settings: Settings, real_clock: Callable[[], Micros], reader: ScenarioReader) -> None:
        self.settings = settings
        self.real_clock = real_clock
        self.log: Callable[[LogRecord], None] | None = None
        self.prepare: Callable[[Sandbox], None] = lambda sandbox: None
        self.requests = Requests()
        self.lag = Lag()
        self.tracing: Tracing | None = None
        self.streams = 0
        self.rate_limit = RateLimit(settings.rate_limit) if settings.rate_limit else None
        self.runner = Runner(real_clock, self._report)
        self.directory = Directory(settings, real_clock, reader, self._opened)
        self.store: StorePort | None = None

    @property
    def sandboxes(self) -> Sandboxes:
        """All sandboxes of the server."""
        return self.directory.sandboxes

    def _opened(self, sandbox: Sandbox) -> None:
        self.prepare(sandbox)
        self.runner.activity.notify(SERVER)

    def keep(self, store: StorePort) -> None:
        """Keep all sandboxes in a store from now on."""
        self.store = store
        self.runner.note = store.note
        self.runner.turn = store.turn
        self.runner.uses = store.last_used()

    def is_idle(self, sandbox: Sandbox, since: Micros) -> bool:
        """Whether nobody has used a sandbox since the machine's time ``since``, and nothing is under way in it: no
        answer, no webhook, no move of its clock, nobody who waits."""
        runner = self.runner
        return (
            sandbox.touched <= since
            and not sandbox.under_way
            and sandbox not in runner.moving
            and not runner.sending(sandbox)
            and not runner.activity.is_followed(sandbox.key)
        )

    def _report(self, sandbox: Sandbox) -> None:
        """Log the findings that are new."""
        for finding in sandbox.watch.ledger.news() if sandbox.watch is not None else ():
            if self.log is not None:
                self.log(finding_line(finding, masked_key(sandbox.key), self.real_clock()))
