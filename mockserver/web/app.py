"""Assembly: routes, control, errors and lifespan put together. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from mockserver.adapters.machine_clock import machine_now
from mockserver.domain.clock import Micros
from mockserver.scenario.scenario import Scenario
from mockserver.settings import Settings
from mockserver.web.control.call import ControlEndpoint
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.dispatch import Dispatcher
from mockserver.web.endpoint import Endpoint
from mockserver.web.host import Host
from mockserver.web.last_resort import LastResort
from mockserver.web.routes import ROUTES


class Application(Starlette):
    """The sandbox as a Starlette application. ``world`` is what its endpoints share."""

    def __init__(self, host: Host) -> None:
        routes = [StarletteRoute(row.path, Endpoint(row, host), methods=[row.method]) for row in ROUTES]
        routes += [StarletteRoute(row.path, ControlEndpoint(row, host), methods=[row.method]) for row in CONTROL_ROUTES]
        super().__init__()
        self.world = host
        self.router = Dispatcher(routes)

    def build_middleware_stack(self) -> ASGIApp:
        """The router under one last resort: endpoints answer every error themselves, so nothing else need stand
        between."""
        return LastResort(self.router)

    @property
    def ready_problems(self) -> list[str]:
        """Why the server is not ready; empty when it is."""
        return self.world.ready_problems

    @property
    def on_request(self) -> Callable[[], None]:
        """What is called for each request."""
        return self.world.on_request

    @on_request.setter
    def on_request(self, tick: Callable[[], None]) -> None:
        self.world.on_request = tick


def create_app(
    settings: Settings,
    *,
    real_clock: Callable[[], Micros] = machine_now,
    scenarios: Sequence[Scenario] = (),
) -> Application:
    """The whole sandbox as a plain ASGI application: no thread, no port."""
    return Application(Host(settings, real_clock, scenarios))
