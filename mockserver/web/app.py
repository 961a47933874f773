"""Assembly: routes, control, errors and lifespan put together. Nothing is decided here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.types import ASGIApp

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import Micros
from mockserver.findings.watch import new_watch
from mockserver.scenario.scenario import ScenarioReader, TlsMap
from mockserver.settings import Settings
from mockserver.web.access import measure
from mockserver.web.control.call import ControlEndpoint
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.control.webhooks import InboxEndpoint
from mockserver.web.guard import Guard
from mockserver.web.operation import OperationEndpoint, prepare, set_up
from mockserver.web.page import PageEndpoint
from mockserver.web.pages import PAGE_ROUTES
from mockserver.web.route_lookup import RouteLookup
from mockserver.web.routes import ROUTES
from mockserver.web.runner import Ticker
from mockserver.web.unrouted import Guest, PathRow, starlette_routes
from mockserver.web.upkeep import Freeing, drop_idle
from mockserver.web.world import World

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from mockserver.adapters.webhook_dispatcher import WebhookDispatcher
    from mockserver.engine.sandbox import Sandbox
    from mockserver.store.writer import Store


class Application(Starlette):
    """The sandbox as a Starlette application, whose endpoints share ``world``. Raises
    ``ScenarioRefused`` when the scenarios of the settings cannot be used, ``StoreRefused`` or
    ``Unreadable`` for their store."""

    def __init__(
        self,
        settings: Settings,
        real_clock: Callable[[], Micros],
        reader: ScenarioReader,
        traces: TracerProvider | None = None,
    ) -> None:
        observers = (new_watch,) if settings.findings == "on" else ()
        self.world = world = World(settings, real_clock, reader, observers)
        if traces is not None:
            from mockserver.web.tracing import Tracing

            world.tracing = Tracing(traces, self.path_of)
        routes, unrouted = starlette_routes(_rows(world), world)
        super().__init__(routes=routes, lifespan=lambda _: self.lifespan())
        self.router.redirect_slashes = False
        self.router.default = unrouted
        self.lookup = lookup = RouteLookup(routes, self.router)
        world.prepare = partial(prepare, world, lookup)
        world.set_up = partial(set_up, world, lookup)
        if settings.store is not None:
            world.store = store = self._opened(settings.store, settings.store_sync)
            world.runner.note, world.runner.turn, world.runner.uses = (
                store.note,
                store.turn,
                store.last_used(),
            )

    def _opened(self, path: str, sync: str) -> Store:
        from mockserver.store.file import StoreFile
        from mockserver.store.scenarios import StoredScenarios
        from mockserver.store.schema import SERVER
        from mockserver.store.writer import Store

        file, world = StoreFile(path, full=sync == "full"), self.world
        scenarios = StoredScenarios(file.rows(SERVER), world.directory)
        return Store(file, world.sandboxes, scenarios, world.real_clock, world.runner.changed)

    def serve_also(self, method: str, path: str, op: str, application: ASGIApp) -> None:
        """Let another application serve a path, behind the guard; it is counted as ``op``. Other
        methods of the path are refused."""
        routes, _ = starlette_routes([(path, [method], Guest(op, application))], self.world)
        self.routes.extend(routes)
        self.lookup.add(routes)

    def build_middleware_stack(self) -> ASGIApp:
        """The routes behind the guard alone, which answers errors too: where a scenario cuts an
        answer, nobody may."""
        return Guard(self.lookup, self.world, self.public_methods)

    def public_methods(self, path: str) -> list[str]:
        """The methods of a path that a public key opens."""
        match = self.lookup.at(path)
        if match is None:
            return []
        endpoints = match[0].by_method
        return [method for method, endpoint in endpoints.items() if _is_public(endpoint)]

    def path_of(self, method: str, path: str) -> str | None:
        """The path of an operation as its table has it, with placeholders; None where there is no
        operation."""
        match = self.lookup.at(path)
        if match is None or method not in match[0].by_method:
            return None
        return match[0].path

    def open(self, key: str) -> Mapping[str, Mapping[str, object]]:
        """Open the sandbox of a secret key: the answers of its set-up calls by scenario and id.
        Raises ``Refused``."""
        return self.world.sandboxes.open(key, self.world.real_clock()).setup

    @property
    def tls(self) -> TlsMap | None:
        """What the scenario files want to be wrong with the TLS port; the last one counts."""
        said = (scenario.said.tls for scenario in reversed(self.world.directory.config.scenarios))
        return next(filter(None, said), None)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Inside of it time passes and webhooks go out without a request."""
        world, runner, store, freeing = self.world, self.world.runner, self.world.store, Freeing()
        runner.ticker = ticker = Ticker(runner, world.sandboxes.is_live)
        runner.dispatcher = dispatcher = webhook_dispatcher(world)
        for sandbox in world.sandboxes:
            runner.changed(sandbox)

        def leave(sandbox: Sandbox) -> None:
            ticker.forget(sandbox)
            freeing.expect(sandbox)

        world.sandboxes.on_leave = leave
        work = [ticker.run(), measure(world.lags), freeing.run(), drop_idle(world)]
        work += [store.run()] if store is not None else []
        running = list(map(asyncio.create_task, work))
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


def _is_public(endpoint: object) -> bool:
    return isinstance(endpoint, OperationEndpoint) and endpoint.route.is_public


def webhook_dispatcher(world: World) -> WebhookDispatcher:
    """What sends the webhooks of a server, those that are in its store where it has one."""
    from mockserver.adapters.webhook_dispatcher import WebhookDispatcher

    kept = world.store.is_kept if world.store is not None else None
    is_live, changed = world.sandboxes.is_live, world.runner.changed
    return WebhookDispatcher(world.real_clock, is_live, changed, world.tracing, kept)


def _rows(world: World) -> list[PathRow]:
    return [
        *((row.path, [row.method], OperationEndpoint(world, row)) for row in ROUTES),
        *((row.path, [row.method], ControlEndpoint(world, row)) for row in CONTROL_ROUTES),
        *((row.path, [row.method], PageEndpoint(world, row)) for row in PAGE_ROUTES),
        (
            "/__inbox/{name}",
            ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            InboxEndpoint(world),
        ),
    ]


def create_app(
    settings: Settings,
    *,
    real_clock: Callable[[], Micros] = machine_now,
    traces: TracerProvider | None = None,
) -> Application:
    """The whole sandbox as a plain ASGI application: no thread, no port. ``traces`` gets a span of
    each request and of each try of a webhook. Raises ``ScenarioRefused`` for bad files."""
    from mockserver.adapters.scenario_files import Files, load

    files = Files(lambda: load(settings.scenario, test_values=settings.test_values))
    return Application(settings, real_clock, files, traces)
