"""Every key of the scenario language is described, with an example that a file may hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.scenario.reference import SECTIONS, json_schema
from mockserver.scenario.reference_table import Key, Section

EXAMPLES = [(section, key) for section in SECTIONS for key in section.keys]
SCHEMA = json_schema()


def parts(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of the schema that have keys, by their place."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("additionalProperties") is False:
            yield where, schema["properties"]
        for name, below in schema.items():
            yield from parts(below, f"{where}/{name}")
    elif isinstance(schema, list):
        for index, below in enumerate(schema):
            yield from parts(below, f"{where}/{index}")


@pytest.mark.parametrize("place", [place for place, _ in parts(SCHEMA)])
def test_every_key_of_the_schema_is_described(place: str) -> None:
    properties = dict(parts(SCHEMA))[place]
    assert [name for name, key in properties.items() if not (key.get("description") and "examples" in key)] == []


@pytest.mark.parametrize(("section", "key"), EXAMPLES, ids=lambda one: one.name)
def test_every_example_is_read_as_it_stands(section: Section, key: Key) -> None:
    assert key.name in key.example
    file = section.file(key.example)
    scenario = read_text(json.dumps(file), "example")
    assert [rule.id for rule in scenario.rules] == [rule["id"] for rule in file.get("rules", [])]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_key_is_described_once_and_stands_in_the_schema(section: Section) -> None:
    names = [key.name for key in section.keys]
    assert len(names) == len(set(names))
    assert section.places


def test_the_schema_has_a_name_with_the_version_of_the_language() -> None:
    assert SCHEMA["$id"].endswith(f":{SCHEMA['properties']['version']['const']}")
