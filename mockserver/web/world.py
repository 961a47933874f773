"""What the endpoints of one server share. Whoever serves a request gets it as an argument: there is
no state of modules, so one process may have several servers beside each other, as tests do."""

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mockserver.domain.clock import Micros
from mockserver.domain.rate import RateLimit
from mockserver.engine.config import MakeObserver
from mockserver.engine.observer import Remark
from mockserver.engine.sandbox import Sandbox, masked_key
from mockserver.engine.sandboxes import Sandboxes
from mockserver.engine.storage import SandboxStorage
from mockserver.scenario.scenario import Scenario, ScenarioReader
from mockserver.settings import LogRecord, Settings
from mockserver.web.access import BEAT, WINDOW, OperationCounts
from mockserver.web.directory import Directory
from mockserver.web.runner import SERVER, Runner
from mockserver.web.watching import remark_line

if TYPE_CHECKING:
    from mockserver.web.tracing import Tracing


class World:
    """The settings, the directory of sandboxes and the runner of their work.

    ``log`` gets each request that was answered, ``prepare`` runs the set-up calls of a sandbox that
    opens, ``set_up`` those of a scenario later; ``streams`` counts open event streams, ``requests``
    by operation those that were answered; ``lags`` are those of the event loop within ``WINDOW``;
    ``tracing`` makes spans, None where they are off. ``rate_limit`` goes by the machine's time: it
    spares the machine, and a sandbox whose clock stands would never be let in again. ``store`` is
    that of ``--store``; ``observers`` make those who watch a sandbox that opens. Raises
    ``ScenarioRefused`` when the scenarios of the settings cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        real_clock: Callable[[], Micros],
        reader: ScenarioReader,
        observers: tuple[MakeObserver, ...] = (),
    ) -> None:
        self.settings = settings
        self.real_clock = real_clock
        self._observers = observers
        self.log: Callable[[LogRecord], None] | None = None
        # The application, which knows the routes, puts what makes set-up calls in these places.
        self.prepare: Callable[[Sandbox], None] = _prepare_nothing
        self.set_up: Callable[[Sandbox, Scenario, str], Awaitable[list[dict[str, object]]]]
        self.tracing: Tracing | None = None
        self.store: SandboxStorage | None = None
        self.begin(reader)

    def begin(self, reader: ScenarioReader) -> None:
        """Know nothing of what was, under the scenarios of a reader, as a server that has just
        started: a test process keeps one application, which is quicker than a new one for each
        test. Raises ``ScenarioRefused``."""
        self.requests: defaultdict[str, OperationCounts] = defaultdict(OperationCounts)
        self.lags: deque[float] = deque(maxlen=round(WINDOW / BEAT))
        self.streams = 0
        limit = self.settings.rate_limit
        self.rate_limit = RateLimit(limit) if limit else None
        self.runner = Runner(self.real_clock, self._report)
        self.directory = Directory(
            self.settings, self.real_clock, reader, self._opened, self._observers
        )

    @property
    def sandboxes(self) -> Sandboxes:
        """All sandboxes of the server."""
        return self.directory.sandboxes

    def _opened(self, sandbox: Sandbox) -> None:
        """A sandbox has opened: its set-up runs before anybody sees it, then who watches the list
        of sandboxes hears of it."""
        self.prepare(sandbox)
        self.runner.activity.notify(SERVER)

    def is_idle(self, sandbox: Sandbox, since: Micros) -> bool:
        """Whether a sandbox has not been used since the machine's time ``since``, and nothing is
        under way in it: no answer, no webhook, no move of its clock, no waiting call."""
        runner = self.runner
        return (
            sandbox.touched <= since
            and not sandbox.under_way
            and sandbox not in runner.moving
            and not runner.sending(sandbox)
            and sandbox.key not in runner.activity.watched
        )

    def _report(self, sandbox: Sandbox, remark: Remark) -> None:
        """Log what those who watch a sandbox have found."""
        if self.log is not None:
            self.log(remark_line(remark, masked_key(sandbox.key), self.real_clock()))


def _prepare_nothing(sandbox: Sandbox) -> None:
    """The set-up of a sandbox before there are routes."""
