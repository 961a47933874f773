"""Every key of the scenario language, in words and with an example: the schema for editors and the
reference page.

Source: docs/scenario-language.md. The models, as pydantic describes them, give the keys, their
types and their words, ``reference.md`` what each key means. What belongs together, and what has a
place in which operation, only reading knows: ``mockserver check`` and the editor of the control
page tell it.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from mockserver.assumptions import ROWS, Assumption
from mockserver.domain.clock import duration_text
from mockserver.domain.record import record
from mockserver.scenario.file_model import adapter
from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.scenario.rule import RuleMap
from mockserver.scenario.scenario import ScenarioFile
from mockserver.scenario.when import Window
from mockserver.scenario.when_schema import ZERO, Schema, one_of, or_null, ref, tests_of_fields

SCHEMA_ID = "urn:payfurl-mockserver:scenario:1"
"""The name of the schema. Its number is that of ``version`` in a file."""

Json = Any
"""Plain data, as a scenario file has it."""


@record
class Key:
    """A key of a part: what it means, and a part that has it. ``default`` says what holds without
    it where the schema does not."""

    name: str
    means: str
    default: str
    example: Json


@record
class Section:
    """A part of a file: what it is, the models of the schema that have it, and its keys."""

    name: str
    means: str
    models: tuple[str, ...]
    keys: tuple[Key, ...]


def _section(text: str) -> Section:
    """A section of ``reference.md``: its heading, what it is, the models, and a table of the keys
    below its two lines of head."""
    name, means, models, _, _, *rows = filter(None, text.splitlines())
    keys = tuple(_key(row) for row in rows)
    return Section(name, means, tuple(re.findall("`(.*?)`", models)), keys)


def _key(row: str) -> Key:
    """A row of such a table; its example is JSON, so that it can be shown in YAML and in JSON."""
    name, means, default, example = (cell.strip() for cell in row.strip("|").split("|"))
    return Key(name.strip("`"), means, default, json.loads(example.strip("`")))


def _sections() -> tuple[Section, ...]:
    """The sections of ``reference.md``; before the first heading it says what it is."""
    page = Path(__file__).with_name("reference.md").read_text("utf-8")
    _, *texts = page.split("\n## ")
    return tuple(_section(text) for text in texts)


SECTIONS = _sections()

_NULL_IS_ABSENT = ("Latency", "Expectation", "Transport")
"""Models in which a key may also be null, which says nothing."""


@cache
def json_schema() -> Schema:
    """The JSON Schema of a scenario file, for editors: each key with its meaning, its default and
    an example. One for all callers: not to be changed."""
    file = adapter(ScenarioFile).json_schema(by_alias=True)
    rule = adapter(RuleMap).json_schema(by_alias=True)
    window = adapter(Window).json_schema(by_alias=True)
    models = {
        **file.pop("$defs"),
        **rule.pop("$defs"),
        "RuleMap": rule,
        "Clock": window,
        **tests_of_fields(),
    }
    # What the models leave open, as it is read part by part: editors know it too.
    file["properties"]["rules"]["items"] = ref("RuleMap")
    answers = {key: _answers(row) for key, row in ROWS.items()}
    file["properties"]["assumptions"] |= {"additionalProperties": False, "properties": answers}
    rule["properties"]["when"] = ref("When")
    models["RowRule"]["properties"]["where"] = or_null(ref("Where"))
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "$defs": dict(sorted(models.items())),
        **file,
        "title": "mockserver scenario",
        "description": f"{file['description']} `mockserver outcomes` prints the {len(CATALOGUE)} "
        "known outcomes.",
    }
    for name in _NULL_IS_ABSENT:
        part = schema["$defs"][name]
        may_be_absent = part["properties"].keys() - set(part.get("required", ()))
        for key in may_be_absent:
            part["properties"][key] = or_null(part["properties"][key])
    for section in SECTIONS:
        for part in parts_of(schema, section):
            _describe(part["properties"], section)
    return schema


def _describe(properties: Schema, section: Section) -> None:
    """Say of each key of a part what a section says of it."""
    for key in section.keys:
        if key.name not in properties:
            # A section may describe several models, of which this one lacks the key.
            continue
        means = key.means
        if key.default:
            means += f"; default: {key.default}"
        words = {"description": means, "examples": [key.example[key.name]]}
        properties[key.name] = {**_as_written(properties[key.name]), **words}


def _as_written(key: Schema) -> Schema:
    """The schema of a key with a default as a file says it: models keep durations in microseconds
    and numbers exactly."""
    # The title is the name of the field once more.
    written = {word: value for word, value in key.items() if word != "title"}
    default = written.get("default")
    may_be_duration = ZERO in key.get("anyOf", ())
    if default is None:
        # Null is how a model says that nothing holds without the key.
        written.pop("default", None)
    elif default == "0":
        written["default"] = 0
    elif may_be_duration and isinstance(default, int):
        written["default"] = duration_text(default)
    return written


def parts_of(schema: Schema, section: Section) -> list[Schema]:
    """The parts of the schema that a section describes."""
    models = {**schema["$defs"], "ScenarioFile": schema}
    return [models[model] for model in section.models]


def _answers(row: Assumption) -> Schema:
    """The answers to a question, as far as editors can know them."""
    said: Schema = {"description": row.question, "examples": [row.kind.show(row.documented)]}
    words = row.kind.allowed.split(" | ")
    if len(words) > 1:
        return {**one_of(words), **said}
    return {"type": ["string", "number"], **said}
