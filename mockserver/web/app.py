"""Assembly: routes, control, errors and lifespan put together. Nothing is decided here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.types import ASGIApp

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import Micros, parse_duration
from mockserver.scenario.scenario import Certificate
from mockserver.settings import LogRecord, Settings
from mockserver.web.control.call import CONTROL_ROUTES, ControlEndpoint
from mockserver.web.control.inbox import INBOX_METHODS, INBOX_PATH, InboxEndpoint
from mockserver.web.directory import ScenarioReader
from mockserver.web.guard import Guard
from mockserver.web.idle import IDLE_IN_STORE, Freeing, Idle
from mockserver.web.operation import OperationEndpoint
from mockserver.web.page import PAGE_ROUTES, PageEndpoint
from mockserver.web.route_table import RouteTable, TableRoute
from mockserver.web.routes import ROUTES
from mockserver.web.setup import prepare
from mockserver.web.world import World

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from mockserver.engine.kept.commits import Row
    from mockserver.engine.sandbox import Sandbox
    from mockserver.web.store_room import StoreRoom


class Application(Starlette):
    """The sandbox as a Starlette application. ``world`` is what its endpoints share.

    Raises ``ScenarioRefused`` when the scenarios of the settings cannot be used, ``StoreRefused`` or ``Unreadable``
    for their store.
    """

    def __init__(self, settings: Settings, real_clock: Callable[[], Micros], reader: ScenarioReader) -> None:
        self.world = world = World(settings, real_clock, reader)
        routes = [TableRoute(row.path, [row.method], OperationEndpoint(row, world)) for row in ROUTES]
        routes += [TableRoute(row.path, [row.method], ControlEndpoint(row, world)) for row in CONTROL_ROUTES]
        routes += [TableRoute(row.path, [row.method], PageEndpoint(row, world)) for row in PAGE_ROUTES]
        routes.append(TableRoute(INBOX_PATH, INBOX_METHODS, InboxEndpoint(world)))
        super().__init__()
        self.router: RouteTable = RouteTable(routes, world, lambda _: self.living())
        table = self.router
        world.prepare = lambda sandbox: prepare(sandbox, table)
        if settings.store is not None:
            _keep(self, settings.store)

    def build_middleware_stack(self) -> ASGIApp:
        """The router behind the guard, which answers what nobody foresaw: endpoints answer every error themselves, so
        nothing else need stand between."""
        guard = Guard(self.router.__call__, self.world, self.router.public_methods).__call__
        if self.world.tracing is not None:
            from mockserver.web.tracing import Traced

            return Traced(guard, self.world.tracing, self.router.path_of).__call__
        return guard

    @property
    def door(self) -> ASGIApp:
        """The way in for our own server: without a coroutine that only calls the next."""
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        return self.middleware_stack

    @property
    def ready_problems(self) -> list[str]:
        """Why the server is not ready; empty when it is."""
        return self.world.directory.ready_problems

    def open(self, key: str) -> Mapping[str, Mapping[str, object]]:
        """Open the sandbox of a secret key: the answers of its set-up calls by scenario and id. Raises ``Refused``."""
        return self.world.sandboxes.open(key, self.world.real_clock()).setup

    def store_room(self, rows: Iterable[Row]) -> StoreRoom:
        """What the sandboxes of a store refer to; ``rows`` are those of its world ``SERVER``. Raises ``Unreadable``."""
        from mockserver.web.store_room import StoreRoom

        room = StoreRoom(rows, self.world.directory)
        room.know(one for one in self.router.endpoints if isinstance(one, OperationEndpoint))
        return room

    async def reload(self) -> None:
        """Read the scenario files again; bad ones leave the old rules in force."""
        await self.world.directory.reload()

    def refuses_connection(self) -> bool:
        """Whether the connection that is being made is to be reset: a scenario says so."""
        return self.world.directory.connections.refuses()

    @property
    def certificate(self) -> Certificate | None:
        """What the scenario files want to be wrong with the certificate of the TLS port; the last one counts."""
        found = [one.certificate for one in self.world.directory.config.scenarios if one.certificate is not None]
        return found[-1] if found else None

    def stopping(self) -> None:
        """End answers that would go on for ever."""
        self.world.runner.stop()

    @property
    def log(self) -> Callable[[LogRecord], None] | None:
        """What is called with each request that has been answered; None while nothing is logged."""
        return self.world.log

    @log.setter
    def log(self, log: Callable[[LogRecord], None] | None) -> None:
        self.world.log = log

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Inside of it time passes and webhooks go out without a request."""
        from mockserver.adapters.ticker import Ticker
        from mockserver.adapters.webhook_dispatcher import WebhookDispatcher
        from mockserver.adapters.webhook_sender import WebhookSender

        world = self.world
        runner, is_live = world.runner, world.sandboxes.is_live

        def is_left_to_time(sandbox: Sandbox) -> bool:
            # What a slice takes follows from how far it goes: who moves a clock is alone in running what is due.
            return is_live(sandbox) and sandbox not in runner.moving

        runner.ticker = ticker = Ticker(world.real_clock, is_left_to_time, runner.run, runner.turn)
        store = world.store
        kept = store.is_kept if store is not None else None
        runner.dispatcher = dispatcher = WebhookDispatcher(
            world.real_clock, is_live, WebhookSender(), runner.changed, world.tracing, kept
        )
        for sandbox in world.sandboxes:
            runner.changed(sandbox)
        freeing = Freeing()
        world.sandboxes.on_leave = freeing.expect
        work = [ticker.run(), world.lag.run(), freeing.run()]
        idle = world.settings.sandbox_idle or (IDLE_IN_STORE if store is not None else None)
        if idle is not None:
            work.append(Idle(world, parse_duration(idle)).run())
        if store is not None:
            work.append(store.run())
        running = [asyncio.create_task(one) for one in work]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await dispatcher.stop(world.sandboxes)
            runner.ticker = runner.dispatcher = None
            world.sandboxes.on_leave = lambda sandbox: None
            if store is not None:
                await store.close()


def _keep(app: Application, path: str) -> None:
    """Keep the sandboxes in a file. Raises ``StoreRefused``."""
    from mockserver.adapters.store_file import StoreFile
    from mockserver.engine.kept.commits import SERVER
    from mockserver.web.storing import Store

    world = app.world
    file = StoreFile(path, full=world.settings.store_sync == "full")
    world.keep(Store(file, world.sandboxes, app.store_room(file.rows(SERVER)), world.real_clock, world.runner.changed))


def create_app(
    settings: Settings, *, real_clock: Callable[[], Micros] = machine_now, traces: TracerProvider | None = None
) -> Application:
    """The whole sandbox as a plain ASGI application: no thread, no port. ``traces`` gets a span of each request and of
    each try of a webhook. Raises ``ScenarioRefused`` for bad files."""
    from mockserver.adapters.scenario_files import Files, load

    files = Files(lambda: load(settings.scenario, test_values=settings.test_values))
    app = Application(settings, real_clock, files)
    if traces is not None:
        from mockserver.web.tracing import Tracing

        app.world.tracing = Tracing(traces)
    return app
