"""The first call of its kind loads what it needs piece by piece, so that nobody else waits for all of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mockserver.domain.slices import at_once
from mockserver.scenario.reference import json_schema
from mockserver.web import openapi, templating
from mockserver.web.control.call import CONTROL_ROUTES, ControlRoute
from mockserver.web.control.description import _loading
from mockserver.web.page import PAGE_ROUTES
from mockserver.web.routes import ROUTES
from tests.driving import Api


def turns(api: Api, method: str, path: str) -> tuple[int, bytes]:
    """The turns of others while a call is served, and its answer."""

    async def run() -> tuple[int, bytes]:
        serving, count = asyncio.ensure_future(api.calling(method, path)), 0
        while not serving.done():
            await asyncio.sleep(0)
            count += 1
        return count, (await serving).raw

    return asyncio.run(run())


@pytest.fixture(params=range(len(CONTROL_ROUTES)))
def unloaded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ControlRoute:
    """A row that nobody has looked at."""
    row = CONTROL_ROUTES[request.param]
    for name in row.deferred():
        monkeypatch.delitem(vars(row), name, raising=False)
    return row


def test_no_two_parts_of_a_row_are_loaded_without_a_pause(unloaded: ControlRoute) -> None:
    for name in unloaded.deferred():
        vars(unloaded).pop(name, None)
    before = len(unloaded.unloaded())
    assert before > 0
    for _ in unloaded.loading():
        left = len(unloaded.unloaded())
        assert before - left <= 1
        before = left
    assert before == 0


def test_the_first_call_pauses_for_each_part_and_answers_as_the_next_does(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    (row,) = (row for row in CONTROL_ROUTES if (row.method, row.path) == ("GET", "/__admin/journal"))
    for name in row.deferred():
        monkeypatch.delitem(vars(row), name)
    first, answer = turns(api, "GET", "/__admin/journal")
    then, same = turns(api, "GET", "/__admin/journal")
    assert answer == same
    assert first == then + len(row.deferred())


@pytest.mark.parametrize(
    ("rows", "names"), [(ROUTES, ("reply", "handle")), (CONTROL_ROUTES, ("handle",))], ids=["payments", "control"]
)
def test_a_description_loads_and_makes_one_model_between_pauses(
    rows: Any, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[object]()
    monkeypatch.setattr("mockserver.web.control.description.fields_of", made.append)
    before = 0
    for _ in _loading(rows, *names):
        assert len(made) - before <= 1
        before = len(made)
    models = [model for row in rows for model in (row.body, row.query) if model is not None]
    assert made == models


@pytest.mark.parametrize("path", ["/__admin", "/demo"])
def test_the_first_page_pauses_between_what_it_needs_and_is_as_the_next_one(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = (row for row in PAGE_ROUTES if (row.method, row.path) == ("GET", path))
    for name in row.deferred():
        monkeypatch.delitem(vars(row), name, raising=False)
    templating._environment.cache_clear()
    api = Api()
    first, answer = turns(api, "GET", path)
    then, same = turns(api, "GET", path)
    assert answer == same
    assert first == then + len(row.deferred()) + len(list(templating.loading()))


def test_a_description_is_made_operation_by_operation_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openapi, "_DESCRIBED", {})
    assumed, pauses = Api().app.world.directory.assumed, []
    for url in ("http://a.test", "http://b.test"):
        describing = openapi.describing(assumed, url)
        pauses.append(sum(1 for _ in describing))
        assert openapi.document(assumed, url) is at_once(openapi.describing(assumed, url))
        assert list(openapi.describing(assumed, url)) == []
    assert pauses == [len(ROUTES) + 1] * 2
    monkeypatch.setattr(openapi, "_MOST_KEPT", 2)
    openapi.document(assumed, "http://c.test")
    assert [url for _, url in openapi._DESCRIBED] == ["http://c.test"]


def test_the_schema_of_scenarios_is_the_one_that_is_made_of_them() -> None:
    assert Api().call("GET", "/__admin/scenarios/schema").raw == json.dumps(json_schema()).encode()
