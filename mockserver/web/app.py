"""Assembly: routes, guard, store, tracing and what runs in the background, put together to one ASGI
application. Nothing is decided here.

A request goes through ``Guard``, ``RouteLookup`` and the endpoint of its path, and nothing else: no
middleware of Starlette, as each would cost time and could answer where a scenario wants silence.
The sandbox has no state outside of ``World``, so a process may have several applications, as tests
do. Store, tracing and the client of webhooks are imported where they are first needed: an
application without them starts faster, and needs none of their packages. So are the routes of all
but charges (``route_tables``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.datastructures import URLPath
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import Micros
from mockserver.findings.watch import new_watch
from mockserver.scenario.scenario import ScenarioReader, TlsMap
from mockserver.settings import Settings
from mockserver.web.access import measure
from mockserver.web.guard import Guard
from mockserver.web.operation import OperationEndpoint, prepare, set_up
from mockserver.web.operations import charges
from mockserver.web.route_lookup import RouteLookup
from mockserver.web.runner import Ticker
from mockserver.web.unrouted import Guest, PathRow, Unrouted, starlette_routes
from mockserver.web.upkeep import Freeing, drop_idle
from mockserver.web.world import World

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from mockserver.adapters.webhook_dispatcher import WebhookDispatcher
    from mockserver.engine.sandbox import Sandbox
    from mockserver.store.writer import Store
    from mockserver.web.operations.route import Route


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
        super().__init__(lifespan=_lifespan_of)
        # The guard has tidied the path already. A redirect would lose the body of a payment.
        self.router.redirect_slashes = False
        self._templates: list[Sequence[str]] = []
        self.router.default = Unrouted(world, self._templates)
        self.lookup = lookup = RouteLookup(map(self._routes_of, route_tables(world)), self.router)
        # Set-up calls are requests: the world, which knows no routes, gets what can carry them out.
        world.prepare = partial(prepare, world, lookup)
        world.set_up = partial(set_up, world, lookup)
        if settings.store is not None:
            world.store = store = self._open_store(settings.store, settings.store_sync)
            world.runner.note = store.note
            world.runner.turn = store.turn
            # Counting goes on where it ended: the list of sandboxes stays in the order of use.
            world.runner.uses = store.last_used()

    def _open_store(self, path: str, sync: str) -> Store:
        """The store in a file, with the sandboxes and the scenarios that were kept there. Raises
        ``StoreRefused``, ``Unreadable``."""
        from mockserver.store.file import StoreFile
        from mockserver.store.scenarios import StoredScenarios
        from mockserver.store.schema import SERVER
        from mockserver.store.writer import Store

        file, world = StoreFile(path, full=sync == "full"), self.world
        scenarios = StoredScenarios(file.rows(SERVER), world.directory)
        return Store(file, world.sandboxes, scenarios, world.real_clock, world.runner.changed)

    def _routes_of(self, table: Sequence[PathRow]) -> list[BaseRoute]:
        """The routes of a table, which Starlette has from now on too; who misses a path may have
        meant one of its."""
        routes = starlette_routes(table, self.world)
        self.router.routes += routes
        self._templates += {row[0]: row[0].split("/") for row in table}.values()
        return routes

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes of all tables, and what an embedding program has added."""
        self.lookup.load_all()
        return self.router.routes

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        """The path of a route of any table by its name, as Starlette has it."""
        self.lookup.load_all()
        return super().url_path_for(name, **path_params)

    def serve_also(self, method: str, path: str, op: str, application: ASGIApp) -> None:
        """Let another application serve a path, such as the tools for coding agents: behind the
        guard, as they can change whatever the control API can. It is counted as ``op``. Other
        methods of the path are refused."""
        routes = starlette_routes([(path, [method], Guest(op, application))], self.world)
        self.router.routes += routes
        self.lookup.add(routes)

    def build_middleware_stack(self) -> ASGIApp:
        """What Starlette asks for once: the routes behind the guard alone. Starlette's own stack
        would answer every exception with 500, but where a scenario cuts a connection nobody may
        answer; the guard tells the one from the other."""
        return Guard(self.lookup, self.world, self.public_methods)

    def public_methods(self, path: str) -> list[str]:
        """The methods of a path that a public key opens: pages of shops may call them."""
        found = self.lookup.at(path)
        if found is None:
            return []
        by_method = found.endpoints.by_method
        return [method for method, endpoint in by_method.items() if _is_public(endpoint)]

    def path_of(self, method: str, path: str) -> str | None:
        """The path that serves a request as its table has it, with placeholders; None where there
        is none. A trace goes by it: a path with ids would make a new name with each request."""
        found = self.lookup.at(path)
        if found is None or method not in found.endpoints.by_method:
            return None
        return found.endpoints.path

    def open(self, key: str) -> Mapping[str, Mapping[str, object]]:
        """Open the sandbox of a secret key: the answers of its set-up calls by scenario and id.
        Raises ``Refused``."""
        return self.world.sandboxes.open(key, self.world.real_clock()).setup

    @property
    def tls(self) -> TlsMap | None:
        """What the scenario files want to be wrong with the TLS port; the last file that says
        anything counts, as later files override earlier ones everywhere."""
        for scenario in reversed(self.world.directory.config.scenarios):
            if scenario.said.tls is not None:
                return scenario.said.tls
        return None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Inside of it time passes and webhooks go out without a request. An application whose
        lifespan nobody runs, such as one in a unit test, answers all the same: whatever is due is
        done before the next request."""
        world, runner, store, freeing = self.world, self.world.runner, self.world.store, Freeing()
        runner.ticker = ticker = Ticker(runner, world.sandboxes.is_live)
        runner.dispatcher = dispatcher = webhook_dispatcher(world)
        # Those out of a store have work that came due, and webhooks to send, while it was closed.
        for sandbox in world.sandboxes:
            runner.changed(sandbox)

        def on_leave(sandbox: Sandbox) -> None:
            # A timer that may ring in days would hold the sandbox in memory until then.
            ticker.forget(sandbox)
            freeing.expect(sandbox)

        world.sandboxes.on_leave = on_leave
        work = [ticker.run(), measure(world.lags), freeing.run(), drop_idle(world)]
        if store is not None:
            work.append(store.run())
        running = list(map(asyncio.create_task, work))
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await dispatcher.stop(world.sandboxes)
            # The same application may be started again, on another event loop.
            runner.ticker = runner.dispatcher = None
            world.sandboxes.on_leave = _do_nothing
            # Last, as webhooks that were being sent are noted there.
            if store is not None:
                await store.close()


def _lifespan_of(application: Application) -> AbstractAsyncContextManager[None]:
    """What Starlette, which is made before there is an application, calls when one is served."""
    return application.lifespan()


def _do_nothing(sandbox: Sandbox) -> None:
    """What happens when a sandbox loses its key while no background work runs."""


def _is_public(endpoint: object) -> bool:
    """Whether a public key opens an endpoint: such a key stands in a page for everybody to read, so
    only operations that a browser needs take it."""
    return isinstance(endpoint, OperationEndpoint) and endpoint.route.is_public


def webhook_dispatcher(world: World) -> WebhookDispatcher:
    """What sends the webhooks of a server. Where it has a store, a webhook waits until its event is
    kept there: after a crash a receiver must not know of a payment that the sandbox has lost."""
    from mockserver.adapters.webhook_dispatcher import WebhookDispatcher

    is_kept = world.store.is_kept if world.store is not None else None
    is_live, changed = world.sandboxes.is_live, world.runner.changed
    return WebhookDispatcher(world.real_clock, is_live, changed, world.tracing, is_kept)


def route_tables(world: World) -> Iterator[Sequence[PathRow]]:
    """Every path of the server, out of the tables of its kinds. Each is imported when it is asked
    for: most servers live for one run of tests, and few runs call all of them."""
    yield _operations(world, charges.ROUTES)
    from mockserver.web.routes import ROUTES

    yield _operations(world, [row for row in ROUTES if row not in charges.ROUTES])
    from mockserver.web.control.call import ControlEndpoint
    from mockserver.web.control.routes import CONTROL_ROUTES
    from mockserver.web.control.webhooks import InboxEndpoint

    yield [
        *((row.path, [row.method], ControlEndpoint(world, row)) for row in CONTROL_ROUTES),
        (
            "/__inbox/{name}",
            ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            InboxEndpoint(world),
        ),
    ]
    from mockserver.web.page import PageEndpoint
    from mockserver.web.pages import PAGE_ROUTES

    yield [(row.path, [row.method], PageEndpoint(world, row)) for row in PAGE_ROUTES]


def _operations(world: World, rows: Iterable[Route[Any, Any]]) -> list[PathRow]:
    """Those of operations of the payments API."""
    return [(row.path, [row.method], OperationEndpoint(world, row)) for row in rows]


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
