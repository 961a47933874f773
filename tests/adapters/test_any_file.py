"""Whatever stands in a file, it is read or refused with a place and words: never an exception of
another kind."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.adapters.scenario_files import read_text
from mockserver.adapters.strict_yaml import read
from mockserver.scenario.problems import ScenarioRefused
from tests.depth import tries
from tests.driving import SHIPPED

WORDS = st.sampled_from(
    ["", "x", "18:05", "-1s", "{a.b}", "request.", "card.", "*", "5m", "GET /{x.y}"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**14), 10**14) | WORDS | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)


@cache
def plain(path: Path) -> str:
    """The data of a file as JSON."""
    return json.dumps(read(path.read_text("utf-8"), path.name)[0], default=float)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container of the data with each of its keys or indexes."""
    found: list[tuple[Any, Any]] = []
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        found.append((data, key))
        found += places(value)
    return found


@pytest.mark.slow
@settings(max_examples=tries(60, 1000))
@given(
    path=st.sampled_from(SHIPPED),
    where=st.integers(0, 10_000),
    value=VALUES,
    rename=st.none() | WORDS,
)
def test_a_file_with_anything_anywhere(
    path: Path, where: int, value: object, rename: str | None
) -> None:
    data = json.loads(plain(path))
    container, key = places(data)[where % len(places(data))]
    container[key] = value
    if rename is not None and isinstance(container, dict):
        container[rename] = container.pop(key)
    try:
        scenario = read_text(json.dumps(data), "any.json")
    except ScenarioRefused as refused:
        problems = refused.problems
    else:
        problems = ()
        assert scenario.file == "any.json"
    assert all(
        problem.line >= 1 and problem.column >= 1 and problem.message for problem in problems
    )
