"""Every key of the scenario language, in words and with an example: the schema for editors and the reference page.

Source: docs/scenario-language.md. ``mockserver.scenario.scenario`` says what is allowed, ``reference.md`` what it
means. The models give the schema of most parts; that of a rule also says what has a place in which operation.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache, reduce
from pathlib import Path
from typing import Any, get_args

from mockserver.assumptions import ROWS, Assumption
from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.clock import duration_text
from mockserver.domain.reading import camel
from mockserver.domain.record import record
from mockserver.scenario import operations as ops
from mockserver.scenario import paths
from mockserver.scenario.batch_script import ROW_FIELDS
from mockserver.scenario.file_model import adapter, any_of, apart, given, given_as, needs, one_of
from mockserver.scenario.later_step import SETTABLE, Move
from mockserver.scenario.matching import FLAG, NUMBER, ORDER, TEXT, Kind
from mockserver.scenario.outcome import FITS, fits_later
from mockserver.scenario.provider_outcome import CATALOGUE, ProviderOutcome
from mockserver.scenario.rule import PLANS, RuleMap
from mockserver.scenario.scalars import DURATION_SCHEMA, PERIOD_SCHEMA, POINT_SCHEMA, ZONE_SCHEMA, folded
from mockserver.scenario.scenario import ScenarioFile
from mockserver.scenario.transport import At
from mockserver.scenario.when import BOUNDS, LAST, WEEKDAYS

SCHEMA_ID = "urn:payfurl-mockserver:scenario:1"
"""The name of the schema. Its number is that of ``version`` in a file."""

Json = Any
"""Plain data, as a scenario file has it."""

Schema = dict[str, Any]


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
def json_schema() -> Schema:
    """The JSON Schema of a scenario file, for editors: each key with its meaning, its default and an example. One for
    all callers: not to be changed."""
    file, rule = (adapter(model).json_schema(by_alias=True, mode="validation") for model in (ScenarioFile, RuleMap))
    models = {**file.pop("$defs"), **rule.pop("$defs"), "RuleMap": dict(sorted((rule | _rule_as_a_whole()).items()))}
    file["properties"]["rules"]["items"] = _ref("RuleMap")
    answers = {key: _answers(row) for key, row in ROWS.items()}
    file["properties"]["assumptions"] |= {"additionalProperties": False, "properties": answers}
    models["RuleMap"]["properties"]["when"] = _when()
    models["RowRule"]["properties"]["where"] = _where()
    # A copy: parts of it stand in several places.
    schema: Schema = deepcopy(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": SCHEMA_ID,
            "$defs": {**dict(sorted(models.items())), **_tests()},
            **file,
            "title": "mockserver scenario",
            "description": f"{file['description']} `mockserver outcomes` prints the {len(CATALOGUE)} known outcomes.",
        }
    )
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
    """A key whose default is said as a file says it: models keep durations in microseconds and numbers exactly."""
    default = key.get("default")
    if "pattern" in key and isinstance(default, int):
        return {**key, "default": duration_text(default)}
    return {**key, "default": int(default)} if default == "0" else key


def parts_of(schema: Schema, section: Section) -> Iterator[Schema]:
    """The parts of the schema that a section describes."""
    for place in section.places:
        name, *path = place.split("/")
        yield reduce(
            lambda part, step: part["properties"][step], path, {**schema["$defs"], "ScenarioFile": schema}[name]
        )


def _answers(row: Assumption) -> Schema:
    """The answers to a question, as far as editors can know them."""
    words = row.kind.allowed.split(" | ")
    said: Schema = {"description": row.question, "examples": [row.kind.show(row.documented)]}
    if len(words) > 1:
        return {"anyOf": [{"enum": words}, {"type": "string", "pattern": folded(words)}], **said}
    if row.kind.allowed.startswith("a duration, "):
        return {**DURATION_SCHEMA, "pattern": f"{DURATION_SCHEMA['pattern']}|^0$", **said}
    return {"type": ["string", "number"], **said}


# Tests of fields

_PLAIN: Schema = {"type": ["string", "number", "boolean", "null"]}
_NUMERIC: Schema = {
    "type": ["string", "number", "null"],
    "pattern": r"^\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*$",
}
_BOUND: Schema = {"type": ["string", "number"], "pattern": r"^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?$"}
_FLAG: Schema = {"type": ["boolean", "string", "null"], "pattern": folded(("true", "false"))}
_COUNT: Schema = {"type": ["integer", "string"], "minimum": 1, "pattern": "^0*[1-9][0-9]*$"}
_TEXT: Schema = {"type": ["string", "number"], "minLength": 1}
_UNORDERED: Schema = dict.fromkeys(ORDER, False)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _map(**keys: Schema) -> Schema:
    """A map that has one of some keys, or several."""
    return {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": keys}


def _list(items: Schema, low: int = 1, high: int | None = None) -> Schema:
    return {"type": "array", "items": items, "minItems": low, **({"maxItems": high} if high else {})}


def _operators(value: Schema, **other: Any) -> Schema:
    """A map of operators for a field that holds such values, of which some are ``other`` than for any field."""
    return {"allOf": [_ref("Test"), {"properties": {"eq": value, "ne": value, "in": {"items": value}, **other}}]}


def _tests() -> Schema:
    """The tests that stand in many places, by the names under which the schema has them once."""
    found: Schema = {
        "Test": _map(
            **dict.fromkeys(("eq", "ne"), _PLAIN),
            **{"in": _list(_PLAIN)},
            **dict.fromkeys(BOUNDS, _BOUND),
            every={**_COUNT, "type": ["number", "string"], "multipleOf": 1},
            between=_list(_BOUND, 2, 2),
            **dict.fromkeys(("starts_with", "ends_with", "contains"), _TEXT),
            matches={**_TEXT, "maxLength": 200},
            exists={"type": "boolean"},
        ),
        "NumberTest": _operators(_NUMERIC),
        "FlagTest": _operators(_FLAG, **_UNORDERED),
        "CountTest": _operators(_COUNT),
    }
    for words, name in _choices().items():
        # In any letter case, or by its number. Editors offer the words.
        spelt = {"type": ["string", "integer", "null"], "pattern": folded(words, "[0-9]{1,2}"), "minimum": 0}
        found[name] = {"anyOf": [{"enum": list(words)}, spelt]}
        found[f"{name}Test"] = _operators(_ref(name), **_UNORDERED)
    return found


_ANY, _NUMBER, _FLAGGED, _COUNTED = (
    {"anyOf": [value, _ref(name)]}
    for value, name in ((_PLAIN, "Test"), (_NUMERIC, "NumberTest"), (_FLAG, "FlagTest"), (_COUNT, "CountTest"))
)


def _kind(kind: Kind) -> Schema:
    """A test of a field of a kind."""
    if kind.allowed:
        name = _choices()[kind.allowed]
        return {"anyOf": [_ref(name), _ref(f"{name}Test")]}
    return _NUMBER if kind is NUMBER else _FLAGGED if kind is FLAG else _ANY


def _one_of(*words: str, value: Schema | None = None) -> Schema:
    """A test of a field that holds one of some words, whose other tests are those of any field."""
    known, first = value or {"enum": list(words)}, words[0]
    equal, other = ({"description": means, "examples": [first]} for means in ("equal", "not equal"))
    among = {"items": known, "description": "one of", "examples": [[first]]}
    own = {"eq": {**known, **equal}, "ne": {**known, **other}, "in": among}
    return {"anyOf": [known, {"allOf": [_ref("Test"), {"properties": own}]}]}


def _digits(most: int) -> Schema:
    """A test of the first or the last digits of a card: fewer will do for a beginning and an end."""
    whole = {"type": ["string", "integer"], "pattern": f"^[0-9]{{{most}}}$", "minimum": 0, "maximum": 10**most - 1}
    part = {**whole, "pattern": f"^[0-9]{{1,{most}}}$"}
    bare = part if most > len("1111") else {**whole, "minimum": 10 ** (most - 1)}
    whole["minimum"] = 10 ** (most - 1)
    others = dict.fromkeys((*BOUNDS, "every", "contains"), whole)
    own = _operators(whole, **others, starts_with=part, ends_with=part, between=_list(whole, 2, 2))
    return {"anyOf": [bare, own]}


@cache
def _kinds() -> Mapping[str, tuple[Kind, str]]:
    """The members of requests and of stored objects by their paths: the kind of each, and what it is."""
    members = [
        f"request.{path}" for path in dict.fromkeys(path for op in ops.OPERATIONS for path in paths.testable(op))
    ]
    found = {path: (paths.known_path(path).kind, "a field of the request") for path in members}
    for kind, rows in paths.STORED.items():
        found[f"state.{camel(kind)}"] = TEXT, f"the stored {kind.replace('_', ' ')} itself"
        for name, held in paths.names_of(rows).items():
            found[f"state.{camel(kind)}.{name}"] = paths.kind_of(held), f"of the stored {kind.replace('_', ' ')}"
    return found


@cache
def _choices() -> Mapping[tuple[str, ...], str]:
    """Each set of words that a field may hold, with the name that the schema has for it: the first such field's."""
    named: dict[tuple[str, ...], str] = {}
    for path, (kind, _) in _kinds().items():
        if kind.allowed:
            named.setdefault(kind.allowed, path.partition(".")[2])
    return named


def _where() -> Schema:
    tests = {name: _NUMBER if name == "amount" else _ANY for name in ROW_FIELDS}
    fields = {name: {**test, "description": "of the row", "examples": [{"in": [10]}]} for name, test in tests.items()}
    return _or_null({**_map(**fields), "minProperties": 0})


def _members() -> Schema:
    """The members of requests, and those of stored objects that are no texts."""
    example = {TEXT: {"exists": True}, NUMBER: {"gt": 100}, FLAG: True}
    return {
        path: {**_kind(kind), "description": words, "examples": [example.get(kind) or kind.allowed[0]]}
        for path, (kind, words) in _kinds().items()
        if kind is not TEXT or path.startswith("request.") or path.count(".") == 1
    }


def _patterns() -> Schema:
    """Paths below the members of requests, of stored objects in either spelling, and headers."""
    known = paths.fields_of(ops.ALL_OPERATIONS)
    deep = [name for name, one in sorted(known.items()) if one.is_list or one.is_map or paths.parts_of(name)]
    kinds = sorted({*paths.STORED, *map(camel, paths.STORED)})
    return {
        rf"^request\.({'|'.join(deep)})(\.[^.]+)+$": _ANY,
        rf"^state\.({'|'.join(kinds)})(\.[^.]+)*$": _ANY,
        rf"^header\.(?!{folded(sorted(paths.SECRET_HEADERS))[1:]}).+$": _ANY,
    }


def _when() -> Schema:
    unrequested = {"enum": sorted(ops.UNREQUESTED)}
    named = {"anyOf": [unrequested, _list(unrequested)]}
    delivery = {"anyOf": [{"const": "webhook.deliver"}, {"type": "array", "contains": {"const": "webhook.deliver"}}]}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {**_facts(), **_members()},
        "patternProperties": _patterns(),
        "allOf": [
            needs(given_as("op", delivery), {"not": any_of(("in_flight", "overlaps"))}),
            needs(given_as("op", named), {"not": any_of(("in_flight", "call"))}),
        ],
    }


def _facts() -> Schema:
    """The keys of ``when`` that are no members of requests and stored objects."""
    operation: Schema = {
        "anyOf": [{"enum": list(ops.OPERATIONS)}, {"type": "string", "pattern": r"\*", "maxLength": 60}],
        "description": "an operation, or a glob such as charge.*",
    }
    long = {**DURATION_SCHEMA, "type": "string"}
    # In any letter case.
    brand = {"anyOf": [{"enum": list(Brand)}, {"type": "string", "pattern": folded(Brand)}]}
    return {
        "op": {"anyOf": [operation, _list(operation)]},
        "source": _one_of(*ops.SOURCES),
        "provider": _ANY,
        "card": _map(brand=_one_of(*Brand, value=brand), bin=_digits(6), last4=_digits(4), test=_one_of(*TEST_CARDS)),
        "bank_account.accountNumber": _ANY,
        **dict.fromkeys(("attempt", "batch.row", "call", "in_flight", "nth"), _COUNTED),
        "overlaps": {"enum": list(paths.STORED)},
        **dict.fromkeys(("age", "idle"), _map(**dict.fromkeys(BOUNDS, long), between=_list(long, 2, 2))),
        "clock": _span_of_time(),
    }


def _span_of_time() -> Schema:
    month_day = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 31}, {"const": LAST}]}
    span = {
        **dict.fromkeys(("from", "to"), POINT_SCHEMA),
        "for": PERIOD_SCHEMA,
        "days": _list({"enum": list(WEEKDAYS)}, high=7),
        "month_days": _list(month_day, high=31),
    }
    clock = _map(**{name: _or_null(one) for name, one in span.items()}, zone=ZONE_SCHEMA)
    return {**clock, "allOf": [any_of(span), apart(given("to"), given("for"))]}


# What belongs together in a rule

_NEED_PROVIDER = ("provider", "attempt", "source", "card", "bank_account.accountNumber", "batch.row")


def _rule_as_a_whole() -> Schema:
    """What a rule refuses as a whole."""
    return {
        **one_of(PLANS),
        "allOf": [
            needs(given("at_end"), given("sequence")),
            needs(given("per"), {"anyOf": [given("limit"), given("sequence"), given_as("when", given("nth"))]}),
            needs(given_as("then", given_as("transport", given_as("at", {"const": At.CONNECT}))), given("limit")),
            needs(given_as("then", given("replay")), given("key")),
            *_by_operation(),
        ],
    }


def _by_operation() -> Iterator[Schema]:
    """What a rule may look at and make happen, by the operations that ``op`` names in full."""
    asked = {
        "type": "array",
        "contains": {"type": "string", "pattern": r"^(provider|attempt|source|card\.|bank_account\.)"},
    }
    looks = {"anyOf": [given_as("when", any_of(_NEED_PROVIDER)), given_as("key", asked)]}
    fits = [(given(kind.word), kind.fits) for kind in get_args(ProviderOutcome)]
    fits += [(_at(path, {"not": {"type": "null"}}), operations) for path, operations in FITS.items()]
    fits.append((_at("approve.copies", {"minimum": 2}), ops.TAKING))
    fits.append((_at("transport.at", {"const": At.UPLOAD}), ops.BODIES))
    fits += [(_later(given(move)), fits_later(move)) for move in Move if move is not Move.SET]
    fits += [(_later(given_as("set", given(path))), fits_later(Move.SET, path)) for path in SETTABLE]
    yield from (needs(_makes(outcome), _only_in(operations)) for outcome, operations in fits)
    yield from (needs(part, _only_in(ops.PROVIDER_OPERATIONS)) for part in (looks, _makes(given("outcome_from"))))
    alike: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for op in ops.OPERATIONS:
        alike.setdefault((op in ops.UNREQUESTED, tuple(paths.fields_of({op}))), []).append(op)
    for (is_unrequested, names), same in alike.items():
        others = r"^(?!request\.|header\.)" if is_unrequested else r"^(?!request\.)"
        path = {"pattern": rf"{others}|^request\.({'|'.join(names)})(\.|$)" if names else others}
        then = {"when": {"propertyNames": path}, "key": {"items": path}}
        yield needs(given_as("when", given_as("op", {"enum": same})), {"properties": then})


def _makes(outcome: Schema) -> Schema:
    """A rule one of whose outcomes is like that."""
    then = given_as("then", outcome)
    chance = {"anyOf": [then, {"type": "array", "contains": then}]}
    return {"anyOf": [then, given_as("sequence", {"type": "array", "contains": outcome}), given_as("chance", chance)]}


def _at(path: str, held: Schema) -> Schema:
    """An outcome that has something at a path."""
    return reduce(lambda below, name: given_as(name, below), reversed(path.split(".")), held)


def _later(work: Schema) -> Schema:
    return given_as("later", {"type": "array", "contains": work})


def _only_in(operations: frozenset[str]) -> Schema:
    """A rule that names none but some operations in full."""
    many = len(operations) > len(ops.ALL_OPERATIONS) / 2
    names = "|".join(sorted(ops.ALL_OPERATIONS - operations if many else operations)).replace(".", r"\.")
    known = {"pattern": f"^(?!({names})$)" if many else rf"^({names})$|\*"}
    # Of a text the pattern counts, of a list its items.
    op = {**known, "items": known}
    return {"properties": {"when": {"properties": {"op": op}}}}
