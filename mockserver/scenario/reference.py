"""Every key of the scenario language, in words and with an example: the schema for editors and the
reference page.

Source: docs/scenario-language.md. The models, as pydantic describes them, give the keys, their
types and their words, ``reference.md`` what each key means. What belongs together, and what has a
place in which operation, only reading knows: ``mockserver check`` and the editor of the control
page tell it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mockserver.assumptions import ROWS, Assumption
from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import duration_text
from mockserver.domain.reading import camel
from mockserver.domain.record import record
from mockserver.scenario import operations as ops
from mockserver.scenario import paths
from mockserver.scenario.batch_script import ROW_FIELDS
from mockserver.scenario.file_model import adapter
from mockserver.scenario.kinds import FLAG, NUMBER, TEXT, Kind
from mockserver.scenario.matching import OPERATORS
from mockserver.scenario.provider_outcome import CATALOGUE
from mockserver.scenario.rule import RuleMap
from mockserver.scenario.scalars import DurationText
from mockserver.scenario.scenario import ScenarioFile
from mockserver.scenario.when import BOUNDS, Window

SCHEMA_ID = "urn:payfurl-mockserver:scenario:1"
"""The name of the schema. Its number is that of ``version`` in a file."""

Json = Any
"""Plain data, as a scenario file has it."""

Schema = dict[str, Any]


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
    return Section(name, means, tuple(re.findall("`(.*?)`", models)), tuple(map(_key, rows)))


def _key(row: str) -> Key:
    """A row of such a table; its example is JSON, so that it can be shown in YAML and in JSON."""
    name, means, default, example = (cell.strip() for cell in row.strip("|").split("|"))
    return Key(name.strip("`"), means, default, json.loads(example.strip("`")))


SECTIONS = tuple(
    map(_section, Path(__file__).with_name("reference.md").read_text("utf-8").split("\n## ")[1:])
)

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
        **_tests(),
    }
    # What the models leave open, as it is read part by part: editors know it too.
    file["properties"]["rules"]["items"] = _ref("RuleMap")
    answers = {key: _answers(row) for key, row in ROWS.items()}
    file["properties"]["assumptions"] |= {"additionalProperties": False, "properties": answers}
    rule["properties"]["when"] = _ref("When")
    models["RowRule"]["properties"]["where"] = _or_null(_ref("Where"))
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
        for key in part["properties"].keys() - set(part.get("required", ())):
            part["properties"][key] = _or_null(part["properties"][key])
    for section in SECTIONS:
        for part in parts_of(schema, section):
            _describe(part["properties"], section)
    return schema


def _describe(properties: Schema, section: Section) -> None:
    """Say of each key of a part what a section says of it."""
    for said in section.keys:
        if said.name in properties:
            means = f"{said.means}; default: {said.default}" if said.default else said.means
            told = {"description": means, "examples": [said.example[said.name]]}
            properties[said.name] = {**_as_said(properties[said.name]), **told}


def _as_said(key: Schema) -> Schema:
    """A key without the title that pydantic gives it and without a default of null, any other
    default as a file says it: models keep durations in microseconds and numbers exactly."""
    default = key.get("default")
    unsaid = ("title", "default") if default is None else ("title",)
    key = {name: said for name, said in key.items() if name not in unsaid}
    if default == "0":
        return {**key, "default": 0}
    if _ZERO in key.get("anyOf", ()) and isinstance(default, int):
        return {**key, "default": duration_text(default)}
    return key


def parts_of(schema: Schema, section: Section) -> list[Schema]:
    """The parts of the schema that a section describes."""
    models = {**schema["$defs"], "ScenarioFile": schema}
    return [models[model] for model in section.models]


def _answers(row: Assumption) -> Schema:
    """The answers to a question, as far as editors can know them."""
    said: Schema = {"description": row.question, "examples": [row.kind.show(row.documented)]}
    words = row.kind.allowed.split(" | ")
    if len(words) > 1:
        return {**_words(words), **said}
    return {"type": ["string", "number"], **said}


# Tests of fields: what a file may write is a value, or a map of operators.

_DURATION: Schema = adapter(DurationText).json_schema()
_ZERO: Schema = adapter(Literal[0]).json_schema()
"""What a duration, and nothing else, may be besides a text: 0 needs no unit."""

_PLAIN: Schema = {"type": ["string", "number", "boolean", "null"]}
_NUMERIC: Schema = {"type": ["string", "number", "null"]}
_FLAG: Schema = {"type": ["boolean", "string", "null"]}
_COUNT: Schema = {"type": ["integer", "string"], "minimum": 1}


def _ref(name: str) -> Schema:
    """A model of the schema, by its name."""
    return {"$ref": f"#/$defs/{name}"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _map(keys: Schema) -> Schema:
    """A map of some keys and no others."""
    return {"type": "object", "additionalProperties": False, "properties": keys}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _words(words: Iterable[str]) -> Schema:
    """One of some words in any letter case, for which JSON Schema has no flag. Editors offer them
    as they are."""
    spelt = "|".join("".join(map(_in_either_case, word)) for word in words)
    return {"anyOf": [{"enum": list(words)}, {"type": "string", "pattern": f"^({spelt})$"}]}


def _in_either_case(letter: str) -> str:
    return f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else re.escape(letter)


def _test(value: Schema) -> Schema:
    """A test of a field that holds such values: one of them, or operators."""
    return {"anyOf": [value, _ref("Test")]}


def _tests() -> Schema:
    """The parts that are no models: ``when`` is read key by key, as what it may name is the fields
    of requests and of stored objects."""
    lengths = {**dict.fromkeys(BOUNDS, _DURATION), "between": _list(_DURATION)}
    parts = {
        "Test": _map({word: _operand(word) for word in OPERATORS}),
        "AnyTest": {**_test(_PLAIN), "examples": [{"exists": True}]},
        "NumberTest": {**_test(_NUMERIC), "examples": [{"gt": 100}]},
        "FlagTest": {**_test(_FLAG), "examples": [True]},
        "CountTest": _test(_COUNT),
        "Age": _map(lengths),
        "Card": _map(
            {
                "brand": _test(_words(Brand)),
                "bin": _ref("AnyTest"),
                "last4": _ref("AnyTest"),
                "test": _test({"enum": list(TEST_CARDS)}),
            }
        ),
        "Where": _map({name: _row_field(name) for name in ROW_FIELDS}),
        "When": {
            **_map({**_facts(), **_members()}),
            "patternProperties": dict.fromkeys(_patterns(), _ref("AnyTest")),
        },
    }
    for words, name in _choices().items():
        # A word of the service may also be given by its number.
        number = {"type": ["integer", "null"], "minimum": 0}
        word = {"anyOf": [*_words(words)["anyOf"], number, {"pattern": "^[0-9]+$"}]}
        parts[name] = {**_test(word), "examples": [words[0]]}
    return parts


def _operand(word: str) -> Schema:
    """What stands behind an operator."""
    match word:
        case "eq" | "ne":
            return _PLAIN
        case "in":
            return _list(_PLAIN)
        case "between":
            return _list(_NUMERIC)
        case "exists":
            return {"type": "boolean"}
        case word if word in (*BOUNDS, "every"):
            return _NUMERIC
        case _:
            return {"type": ["string", "number"]}


def _row_field(name: str) -> Schema:
    """The test of a column in ``where`` of a batch: amounts are numbers, all else texts."""
    test = _ref("NumberTest" if name == "amount" else "AnyTest")
    return {**test, "description": "of the row", "examples": [{"in": [10]}]}


class _Member(NamedTuple):
    """A member of requests or of stored objects: the kind of its values, and what it is."""

    kind: Kind
    words: str


@cache
def _known_members() -> Mapping[str, _Member]:
    """The members of requests and of stored objects, by their paths."""
    by_path: dict[str, _Member] = {}
    for op in ops.OPERATIONS:
        for path in paths.testable(op):
            name = f"request.{path}"
            by_path[name] = _Member(paths.known_path(name).kind, "a field of the request")
    for kind, row_class in paths.STORED.items():
        prefix, noun = f"state.{camel(kind)}", kind.replace("_", " ")
        by_path[prefix] = _Member(TEXT, f"the stored {noun} itself")
        for name, annotation in paths.names_of(row_class).items():
            kind_below = paths.kind_of(annotation)
            by_path[f"{prefix}.{name}"] = _Member(kind_below, f"of the stored {noun}")
    return by_path


@cache
def _choices() -> Mapping[tuple[str, ...], str]:
    """Each set of words that a field may hold, with the name that the schema has for its tests:
    the first such field's."""
    named: dict[tuple[str, ...], str] = {}
    for path, member in _known_members().items():
        if member.kind.allowed:
            named.setdefault(member.kind.allowed, path.partition(".")[2])
    return named


def _members() -> Schema:
    """The members of requests and of stored objects, each with a test of its kind."""
    return {
        path: {**_test_of(member.kind), "description": member.words}
        for path, member in _known_members().items()
    }


def _test_of(kind: Kind) -> Schema:
    """The test of a field of a kind. The schema has each once, for hundreds of fields."""
    if kind.allowed:
        return _ref(_choices()[kind.allowed])
    if kind is NUMBER:
        return _ref("NumberTest")
    if kind is FLAG:
        return _ref("FlagTest")
    return _ref("AnyTest")


def _patterns() -> list[str]:
    """Paths below the members of requests, of stored objects in either spelling, and headers."""
    known = paths.fields_of(ops.ALL_OPERATIONS)
    deep = [
        name
        for name, field in sorted(known.items())
        if field.is_list or field.is_map or paths.parts_of(name)
    ]
    kinds = sorted({*paths.STORED, *map(camel, paths.STORED)})
    return [
        rf"^request\.({'|'.join(deep)})(\.[^.]+)+$",
        rf"^state\.({'|'.join(kinds)})(\.[^.]+)*$",
        r"^header\..+$",
    ]


def _facts() -> Schema:
    """The keys of ``when`` that are no members of requests and stored objects."""
    operation: Schema = {
        "anyOf": [{"enum": list(ops.OPERATIONS)}, {"type": "string", "pattern": r"\*"}],
        "description": "an operation, or a glob such as charge.*",
    }
    counted = ("attempt", "batch.row", "call", "in_flight", "nth")
    return {
        "op": {"anyOf": [operation, _list(operation)]},
        "source": _test({"enum": list(ops.SOURCES)}),
        "provider": _ref("AnyTest"),
        "card": _ref("Card"),
        "bank_account.accountNumber": _ref("AnyTest"),
        **dict.fromkeys(counted, _ref("CountTest")),
        "overlaps": {"enum": list(paths.STORED)},
        **dict.fromkeys(("age", "idle"), _ref("Age")),
        "clock": _ref("Clock"),
    }
