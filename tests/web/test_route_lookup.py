"""The lookup finds the endpoint that Starlette finds, whatever the path, without asking Starlette.
What it does not know is Starlette's to find."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, NoMatchFound, Route

import mockserver
from mockserver.web.app import Application, route_tables
from mockserver.web.request import decoded, tidied
from mockserver.web.route_lookup import RouteLookup
from mockserver.web.shell import Endpoint
from mockserver.web.unrouted import starlette_routes
from tests.driving import Api

APP = mockserver.create_app()
PATHS = sorted({route.path for route in APP.routes if isinstance(route, Route)})
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "LOCK"]
WORDS = [
    "",
    "/",
    "*",
    "%2F",
    "%252F",
    "\n",
    "%0A",
    "é",
    "charge",
    "card",
    "__admin",
    "abc",
    "{charge_id}",
    " ",
    ".",
]

segment = st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
template = st.sampled_from([part for path in PATHS for part in path.split("/")])
free = st.lists(st.one_of(segment, template), max_size=6).map("/".join)
near = st.tuples(
    st.sampled_from(PATHS), st.sampled_from(["", "/", "//", "\n", "/x", "%"]), segment
).map(lambda parts: parts[0].replace("{", parts[2] or "{") + parts[1])
paths = st.one_of(
    near, near.map(lambda path: path.replace("/", "//", 1)), free, free.map(lambda path: "/" + path)
)


def refuse(scope: Any, receive: Any, send: Any) -> Any:
    """Stands for Starlette's router where it must not be asked."""
    raise AssertionError(f"{scope['path']} was not found")


def served(app: Any, method: str, path: str) -> tuple[Endpoint, dict[str, str]]:
    """The endpoint that an application comes to by a tidy path, and the values of its
    placeholders."""
    found: list[tuple[Endpoint, dict[str, str]]] = []

    async def called(self: Endpoint, scope: Any, receive: Any, send: Any) -> None:
        found.append((self, scope.get("path_params", {})))

    before, Endpoint.__call__ = Endpoint.__call__, called  # type: ignore[method-assign]
    try:
        scope = {"type": "http", "method": method, "path": path, "root_path": ""}
        # Nothing waits, so no loop is needed.
        with suppress(StopIteration):
            app(scope, None, None).send(None)
    finally:
        Endpoint.__call__ = before  # type: ignore[method-assign]
    return found[0]


@given(st.sampled_from(METHODS), paths)
def test_lookup_and_starlette_choose_the_same(method: str, path: str) -> None:
    assert served(APP.lookup, method, tidied(path)) == served(APP.router, method, tidied(path))


def test_each_path_is_found_without_starlette() -> None:
    lookup = RouteLookup([APP.routes], refuse)
    for template, method in product(PATHS, METHODS):
        path = template.replace("{", "").replace("}", "")
        assert served(lookup, method, path) == served(APP.router, method, path)


@pytest.mark.parametrize(
    ("method", "path", "op", "parameters"),
    [
        ("GET", "/charge/abc", "charge.get", {"charge_id": "abc"}),
        ("HEAD", "/charge/abc", "charge.get", {"charge_id": "abc"}),
        ("GET", "//charge//abc/", "charge.get", {"charge_id": "abc"}),
        ("GET", "/charge/a%2520b", "charge.get", {"charge_id": "a%20b"}),
        ("GET", "/charge/abc\n", "charge.get", {"charge_id": "abc\n"}),
        ("POST", "/charge/card", "charge.create", {}),
        ("GET", "/charge/card", "none", {}),
        ("GET", "/Charge/abc", "none", {}),
        ("get", "/charge/abc", "none", {"charge_id": "abc"}),
        ("POST", "/charge/card\n", "charge.capture", {"charge_id": "card\n"}),
        ("GET", "*", "none", {}),
        ("GET", "", "none", {}),
    ],
)
def test_a_path_leads_to_its_operation(
    method: str, path: str, op: str, parameters: dict[str, str]
) -> None:
    endpoint, found = served(APP.lookup, method, tidied(path))
    assert (endpoint.op, decoded(found)) == (op, parameters)


@pytest.mark.parametrize(
    ("method", "path", "template"),
    [
        ("GET", "//charge/abc/", "/charge/{charge_id}"),
        ("POST", "/charge/card", "/charge/card"),
        ("PATCH", "/charge/card", None),
        ("GET", "/nowhere", None),
    ],
)
def test_the_path_of_an_operation(method: str, path: str, template: str | None) -> None:
    assert APP.path_of(method, path) == template


def test_a_table_is_loaded_when_a_path_is_in_none_before_it() -> None:
    api = Api()
    api.app = app = Application(
        api.app.world.settings, api.app.world.real_clock, api.app.world.directory.reader
    )
    assert api.get("/charge").status == 200
    loaded = {route.path for route in app.router.routes if isinstance(route, Route)}
    assert {path.split("/")[1] for path in loaded} == {"charge", "refund"}
    # The nearest path is looked for among all.
    missed = api.get("/customers")
    assert (missed.status, "did you mean '/customer'?" in str(missed.body)) == (404, True)
    assert app.lookup.has_all
    assert {route.path for route in app.routes if isinstance(route, Route)} == set(PATHS)


def another_app() -> Application:
    """An application that has served nothing, so it has the first table alone."""
    world = APP.world
    return Application(world.settings, world.real_clock, world.directory.reader)


def test_a_path_is_made_of_a_name_of_any_table() -> None:
    assert another_app().url_path_for("customer.get", customer_id="a") == "/customer/a"
    with pytest.raises(NoMatchFound):
        another_app().url_path_for("customer.got", customer_id="a")


def test_threads_may_load_tables_at_once() -> None:
    """As those of a test client do, which serves each request in one of its own."""

    def tables() -> Iterator[list[BaseRoute]]:
        yield []
        for first in ("one", "two", "three"):
            # Others come while it is loaded.
            time.sleep(0.01)
            yield [Route(f"/{first}/{{name}}", hello)]

    lookup = RouteLookup(tables(), refuse)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lookup.at, ["/three/x", "/two/x", "/none/x", "/one/x"]))
    paths = [each and each.endpoints.path for each in found]
    assert paths == ["/three/{name}", "/two/{name}", None, "/one/{name}"]


def test_no_path_of_a_table_fits_one_of_another() -> None:
    """Or the first request for it would be served by the wrong one, and the second by the right
    one."""
    earlier = RouteLookup([], refuse)
    for table in route_tables(APP.world):
        for path, *_ in table:
            assert earlier.at(path.replace("{", "").replace("}", "")) is None
        earlier.add(starlette_routes(table, APP.world))


async def hello(request: Any) -> PlainTextResponse:
    return PlainTextResponse(f"hello {request.path_params.get('name', '')}")


async def whole(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse(scope["path"])(scope, receive, send)


def test_what_an_embedding_program_adds_is_served_beside_the_tables() -> None:
    api = Api()
    # One of its own: other tests get the application without these.
    api.app = app = Application(
        api.app.world.settings, api.app.world.real_clock, api.app.world.directory.reader
    )
    assert api.get("/hello/Ann").status == 404
    app.router.routes.append(Route("/hello/{name:path}", hello))
    app.mount("/files", whole)
    assert api.get("/hello/Ann/and/Bob").raw == b"hello Ann/and/Bob"
    assert api.get("/files/a/b.txt").raw == b"/files/a/b.txt"
    assert api.get("/file/a").status == 404
    assert api.get("/charge").status == 200
