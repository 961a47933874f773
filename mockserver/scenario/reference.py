"""Every key of the scenario language, in words and with an example: the schema for editors and the reference page.

Source: docs/scenario-language.md. ``mockserver.scenario.model`` says what is allowed, ``reference.md`` what it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mockserver.domain.clock import duration_text
from mockserver.domain.record import record
from mockserver.scenario.file_model import adapter
from mockserver.scenario.model import ScenarioFile
from mockserver.scenario.outcome_catalogue import CATALOGUE
from mockserver.scenario.rule_schema import repeated, where_schema

SCHEMA_ID = "urn:payfurl-mockserver:scenario:1"
"""The name of the schema. Its number is that of ``version`` in a file."""

Json = Any
"""Plain data, as a scenario file has it."""


@record
class Key:
    """A key of a part: what it means, and a part that has it. ``default`` says what holds without it where the schema
    does not."""

    name: str
    means: str
    default: str
    example: Json


@record
class Section:
    """A part of a file: what it is, its places in the schema (a model, or a path below one), and its keys."""

    name: str
    means: str
    places: tuple[str, ...]
    keys: tuple[Key, ...]


def _section(text: str) -> Section:
    name, means, places, _, _, *rows = filter(None, text.splitlines())
    return Section(name, means, tuple(re.findall("`(.*?)`", places)), tuple(map(_key, rows)))


def _key(row: str) -> Key:
    name, means, default, example = (cell.strip() for cell in row.strip("|").split("|"))
    return Key(name.strip("`"), means, default, json.loads(example.strip("`")))


SECTIONS = tuple(map(_section, Path(__file__).with_name("reference.md").read_text("utf-8").split("\n## ")[1:]))


_NULL_IS_ABSENT = ("Latency", "Expectation", "Transport")
"""Models in which a key may also be null, which says nothing."""


@cache
def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file, for editors: each key with its meaning, its default and an example. One for
    all callers: not to be changed."""
    named = repeated()
    model = adapter(ScenarioFile).json_schema(by_alias=True, mode="validation")
    model["$defs"]["RowRule"]["properties"]["where"] = where_schema()
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **_below(model, named),
        "title": "mockserver scenario",
        "description": f"{model['description']} `mockserver outcomes` prints the {len(CATALOGUE)} known outcomes.",
    }
    schema["$defs"] |= {name: _below(one, named) for name, one in named.items()}
    for name in _NULL_IS_ABSENT:
        part = schema["$defs"][name]
        for key in part["properties"].keys() - set(part.get("required", ())):
            part["properties"][key] = {"anyOf": [part["properties"][key], {"type": "null"}]}
    for section in SECTIONS:
        for part in parts_of(schema, section):
            properties = part["properties"]
            for key in section.keys:
                if key.name in properties:
                    properties[key.name] = {
                        **_durations_as_text(properties[key.name]),
                        "description": f"{key.means}; default: {key.default}" if key.default else key.means,
                        "examples": [key.example[key.name]],
                    }
    return schema


def _durations_as_text(key: dict[str, Any]) -> dict[str, Any]:
    """A key whose default is said as a file says it: models keep durations in microseconds."""
    default = key.get("default")
    return {**key, "default": duration_text(default)} if "pattern" in key and isinstance(default, int) else key


def _once(schema: Json, named: dict[str, Json]) -> Json:
    """The schema with what it has in many places in one."""
    name = next((name for name, one in named.items() if one == schema), None)
    return {"$ref": f"#/$defs/{name}"} if name is not None else _below(schema, named)


def _below(schema: Json, named: dict[str, Json]) -> Json:
    if isinstance(schema, list):
        return [_once(one, named) for one in schema]
    return {key: _once(one, named) for key, one in schema.items()} if isinstance(schema, dict) else schema


def parts_of(schema: dict[str, Any], section: Section) -> Iterator[dict[str, Any]]:
    """The parts of the schema that a section describes."""
    for place in section.places:
        name, *path = place.split("/")
        found = schema if name == ScenarioFile.__name__ else schema["$defs"][name]
        for step in path:
            found = found["properties"][step]
        yield found
