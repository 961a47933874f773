"""The fast lane finds the endpoint that Starlette finds, whatever the path; ``--no-fast-lane`` turns it off."""

from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Route

import mockserver
from mockserver.server.lane import RouteLookup
from mockserver.web.request import decoded, tidied
from mockserver.web.shell import Endpoint

APP = mockserver.create_app()
LOOKUP: Any = RouteLookup(APP.routes, APP.router.default)
PATHS = sorted({route.path for route in APP.routes if isinstance(route, Route)})
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "LOCK"]
WORDS = ["", "/", "*", "%2F", "%252F", "\n", "%0A", "é", "charge", "card", "__admin", "abc", "{charge_id}", " ", "."]

segment = st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
template = st.sampled_from([part for path in PATHS for part in path.split("/")])
free = st.lists(st.one_of(segment, template), max_size=6).map("/".join)
near = st.tuples(st.sampled_from(PATHS), st.sampled_from(["", "/", "//", "\n", "/x", "%"]), segment).map(
    lambda parts: parts[0].replace("{", parts[2] or "{") + parts[1]
)
paths = st.one_of(near, near.map(lambda path: path.replace("/", "//", 1)), free, free.map(lambda path: "/" + path))


def by_starlette(method: str, path: str) -> tuple[Endpoint, dict[str, str]]:
    """The endpoint that Starlette's router comes to by a tidy path, and the values of its placeholders."""
    found: list[tuple[Endpoint, dict[str, str]]] = []

    async def served(self: Endpoint, scope: Any, receive: Any, send: Any) -> None:
        found.append((self, scope.get("path_params", {})))

    before, Endpoint.__call__ = Endpoint.__call__, served  # type: ignore[method-assign]
    try:
        scope = {"type": "http", "method": method, "path": path, "root_path": ""}
        # Nothing waits, so no loop is needed.
        with suppress(StopIteration):
            APP.router(scope, None, None).send(None)  # type: ignore[arg-type]
    finally:
        Endpoint.__call__ = before  # type: ignore[method-assign]
    return found[0]


@given(st.sampled_from(METHODS), paths)
def test_lane_and_starlette_choose_the_same(method: str, path: str) -> None:
    assert LOOKUP.find(method, tidied(path)) == by_starlette(method, tidied(path))


def test_each_path_is_found_both_ways() -> None:
    for path, method in product(PATHS, METHODS):
        assert LOOKUP.find(method, path) == by_starlette(method, path)


@pytest.mark.parametrize(
    ("method", "path", "op", "parameters"),
    [
        ("GET", "/charge/abc", "charge.get", {"charge_id": "abc"}),
        ("GET", "//charge//abc/", "charge.get", {"charge_id": "abc"}),
        ("GET", "/charge/a%2520b", "charge.get", {"charge_id": "a%20b"}),
        ("GET", "/charge/abc\n", "charge.get", {"charge_id": "abc\n"}),
        ("POST", "/charge/card", "charge.create", {}),
        ("GET", "/charge/card", "none", {}),
        ("POST", "/charge/card\n", "charge.capture", {"charge_id": "card\n"}),
        ("GET", "*", "none", {}),
        ("GET", "", "none", {}),
    ],
)
def test_what_is_found(method: str, path: str, op: str, parameters: dict[str, str]) -> None:
    endpoint, found = LOOKUP.find(method, tidied(path))
    assert (endpoint.op, decoded(found)) == (op, parameters)
