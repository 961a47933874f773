"""The parts of the schema for editors that no model describes: the tests of ``when``, and those of
``where`` for the rows of a batch.

They are read key by key (``when``), as what they may name is the fields of requests and of stored
objects. Each field has a test of its kind: a value, or a map of operators. There are hundreds of
fields and few kinds, so a kind's test is in the schema once, and fields refer to it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.reading import camel
from mockserver.scenario.batch_script import ROW_FIELDS
from mockserver.scenario.file_model import adapter
from mockserver.scenario.kinds import FLAG, NUMBER, TEXT, Kind
from mockserver.scenario.matching import OPERATORS
from mockserver.scenario.operations import ALL_OPERATIONS, OPERATIONS, SOURCES
from mockserver.scenario.paths import known_path
from mockserver.scenario.request_fields import fields_of, parts_of, testable
from mockserver.scenario.scalars import DurationText
from mockserver.scenario.stored_fields import STORED, kind_of, names_of
from mockserver.scenario.when import BOUNDS

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema, or a part of one."""

_DURATION: Schema = adapter(DurationText).json_schema()
ZERO: Schema = adapter(Literal[0]).json_schema()
"""What a duration, and nothing else, may be besides a text: 0 needs no unit."""

_ANY: Schema = {"type": ["string", "number", "boolean", "null"]}
_NUMERIC: Schema = {"type": ["string", "number", "null"]}
_FLAG: Schema = {"type": ["boolean", "string", "null"]}
_COUNT: Schema = {"type": ["integer", "string"], "minimum": 1}


def ref(name: str) -> Schema:
    """A model of the schema, by its name."""
    return {"$ref": f"#/$defs/{name}"}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _map(keys: Schema) -> Schema:
    """A map of some keys and no others."""
    return {"type": "object", "additionalProperties": False, "properties": keys}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def one_of(words: Iterable[str]) -> Schema:
    """One of some words in any letter case, for which JSON Schema has no flag. Editors offer them
    as they are."""
    any_case = "|".join(_in_any_case(word) for word in words)
    return {"anyOf": [{"enum": list(words)}, {"type": "string", "pattern": f"^({any_case})$"}]}


def _in_any_case(word: str) -> str:
    """The pattern of a word, letter by letter."""
    pattern = ""
    for letter in word:
        if letter.isalpha():
            pattern += f"[{letter.upper()}{letter.lower()}]"
        else:
            pattern += re.escape(letter)
    return pattern


def _test(value: Schema) -> Schema:
    """A test of a field that holds such values: one of them, or operators."""
    return {"anyOf": [value, ref("Test")]}


def tests_of_fields() -> Schema:
    """The tests of each kind, and ``when`` and ``where``, which refer to them."""
    lengths = {**dict.fromkeys(BOUNDS, _DURATION), "between": _list(_DURATION)}
    parts: dict[str, Schema] = {
        "Test": _map({word: _operand(word) for word in OPERATORS}),
        "AnyTest": {**_test(_ANY), "examples": [{"exists": True}]},
        "NumberTest": {**_test(_NUMERIC), "examples": [{"gt": 100}]},
        "FlagTest": {**_test(_FLAG), "examples": [True]},
        "CountTest": _test(_COUNT),
        "Age": _map(lengths),
        "Card": _map(
            {
                "brand": _test(one_of(Brand)),
                "bin": ref("AnyTest"),
                "last4": ref("AnyTest"),
                "test": _test({"enum": list(TEST_CARDS)}),
            }
        ),
        "Where": _map({name: _row_field(name) for name in ROW_FIELDS}),
        "When": {
            **_map({**_facts(), **_members()}),
            "patternProperties": dict.fromkeys(_patterns(), ref("AnyTest")),
        },
    }
    # A word of the service may also be given by its number.
    number = {"type": ["integer", "null"], "minimum": 0}
    number_text = {"pattern": "^[0-9]+$"}
    for words, name in _choices().items():
        word = {"anyOf": [*one_of(words)["anyOf"], number, number_text]}
        parts[name] = {**_test(word), "examples": [words[0]]}
    return parts


def _operand(word: str) -> Schema:
    """What stands behind an operator."""
    match word:
        case "eq" | "ne":
            return _ANY
        case "in":
            return _list(_ANY)
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
    test = ref("NumberTest" if name == "amount" else "AnyTest")
    return {**test, "description": "of the row", "examples": [{"in": [10]}]}


class _Member(NamedTuple):
    """A member of requests or of stored objects: the kind of its values, and what it is."""

    kind: Kind
    words: str


@cache
def _known_members() -> Mapping[str, _Member]:
    """The members of requests and of stored objects, by their paths."""
    by_path: dict[str, _Member] = {}
    for op in OPERATIONS:
        for path in testable(op):
            name = f"request.{path}"
            by_path[name] = _Member(known_path(name).kind, "a field of the request")
    for stored, entity in STORED.items():
        prefix = f"state.{camel(stored)}"
        noun = stored.replace("_", " ")
        by_path[prefix] = _Member(TEXT, f"the stored {noun} itself")
        for name, annotation in names_of(entity).items():
            by_path[f"{prefix}.{name}"] = _Member(kind_of(annotation), f"of the stored {noun}")
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
        return ref(_choices()[kind.allowed])
    if kind is NUMBER:
        return ref("NumberTest")
    if kind is FLAG:
        return ref("FlagTest")
    return ref("AnyTest")


def _patterns() -> list[str]:
    """Paths below the members of requests, of stored objects in either spelling, and headers."""
    deep: list[str] = []
    for name, field in sorted(fields_of(ALL_OPERATIONS).items()):
        has_members = field.is_list or field.is_map or parts_of(name)
        if has_members:
            deep.append(name)
    kinds = sorted({*STORED, *map(camel, STORED)})
    return [
        rf"^request\.({'|'.join(deep)})(\.[^.]+)+$",
        rf"^state\.({'|'.join(kinds)})(\.[^.]+)*$",
        r"^header\..+$",
    ]


def _facts() -> Schema:
    """The keys of ``when`` that are no members of requests and stored objects."""
    operation: Schema = {
        "anyOf": [{"enum": list(OPERATIONS)}, {"type": "string", "pattern": r"\*"}],
        "description": "an operation, or a glob such as charge.*",
    }
    counted = ("attempt", "batch.row", "call", "in_flight", "nth")
    return {
        "op": {"anyOf": [operation, _list(operation)]},
        "source": _test({"enum": list(SOURCES)}),
        "provider": ref("AnyTest"),
        "card": ref("Card"),
        "bank_account.accountNumber": ref("AnyTest"),
        **dict.fromkeys(counted, ref("CountTest")),
        "overlaps": {"enum": list(STORED)},
        **dict.fromkeys(("age", "idle"), ref("Age")),
        "clock": ref("Clock"),
    }
