"""What editors know of a rule: the keys of ``when``, the members of requests and of stored objects, what each may be
tested for, and what has a place in which operation. Made when somebody asks for the schema.

Source: docs/scenario-language.md, rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any, get_args

from mockserver.domain.cards import TEST_CARDS, Brand
from mockserver.domain.reading import camel
from mockserver.scenario import paths
from mockserver.scenario.batch_script import ROW_FIELDS
from mockserver.scenario.file_model import any_of, apart, given, given_as, needs
from mockserver.scenario.later_step import SETTABLE, Move
from mockserver.scenario.matching import FLAG, NUMBER, ORDER, TEXT, Kind
from mockserver.scenario.operations import (
    ALL_OPERATIONS,
    BODIES,
    OPERATIONS,
    PROVIDER_OPERATIONS,
    SOURCES,
    TAKING,
    UNREQUESTED,
)
from mockserver.scenario.outcome import FITS, fits_later
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.scalars import DURATION_SCHEMA, PERIOD_SCHEMA, POINT_SCHEMA, ZONE_SCHEMA, folded
from mockserver.scenario.transport import At
from mockserver.scenario.when import BOUNDS, LAST, WEEKDAYS

Json = dict[str, Any]

_PLAIN: Json = {"type": ["string", "number", "boolean", "null"]}
_NUMERIC: Json = {"type": ["string", "number", "null"], "pattern": r"^\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*$"}
_BOUND: Json = {"type": ["string", "number"], "pattern": r"^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?$"}
_FLAG: Json = {"type": ["boolean", "string", "null"], "pattern": folded(("true", "false"))}
_COUNT: Json = {"type": ["integer", "string"], "minimum": 1, "pattern": "^0*[1-9][0-9]*$"}
_TEXT: Json = {"type": ["string", "number"], "minLength": 1}


def _map(**keys: Json) -> Json:
    """A map that has one of some keys, or several."""
    return {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": keys}


def _list(items: Json, low: int = 1, high: int | None = None) -> Json:
    return {"type": "array", "items": items, "minItems": low, **({"maxItems": high} if high else {})}


_ANY = _map(
    **dict.fromkeys(("eq", "ne"), _PLAIN),
    **{"in": _list(_PLAIN)},
    **dict.fromkeys(BOUNDS, _BOUND),
    every={**_COUNT, "type": ["number", "string"], "multipleOf": 1},
    between=_list(_BOUND, 2, 2),
    **dict.fromkeys(("starts_with", "ends_with", "contains"), _TEXT),
    matches={**_TEXT, "maxLength": 200},
    exists={"type": "boolean"},
)
"""Every operator, as it stands for any field."""


def _test(value: Json, *, bare: Json | None = None, **other: Any) -> Json:
    """A test of a field that holds such values: one of them, or a map of operators, of which some are ``other`` than
    for any field."""
    known = {"eq": value, "ne": value, "in": {"items": value}, **other}
    return {"anyOf": [bare or value, {"allOf": [_ANY, {"properties": known}]}]}


_UNORDERED: Json = dict.fromkeys(ORDER, False)
TESTS = {
    "Test": {"anyOf": [_PLAIN, _ANY]},
    "NumberTest": _test(_NUMERIC),
    "FlagTest": _test(_FLAG, **_UNORDERED),
    "CountTest": _test(_COUNT),
}

_LONG: Json = {**DURATION_SCHEMA, "type": "string"}
_LENGTH: Json = _map(**dict.fromkeys(BOUNDS, _LONG), between=_list(_LONG, 2, 2))


def _one_of(*words: str, value: Json | None = None) -> Json:
    """A test of a field that holds one of some words, whose other tests are those of any field."""
    known, first = value or {"enum": list(words)}, words[0]
    said = {"eq": ("equal", first), "ne": ("not equal", first), "in": ("one of", [first])}
    test = _test(known)
    for word, (means, example) in said.items():
        held = {"items": known} if word == "in" else known
        test["anyOf"][1]["allOf"][1]["properties"][word] = {**held, "description": means, "examples": [example]}
    return test


def _digits(most: int) -> Json:
    """A test of the first or the last digits of a card: fewer will do for a beginning and an end."""
    whole = {"type": ["string", "integer"], "pattern": f"^[0-9]{{{most}}}$", "minimum": 0, "maximum": 10**most - 1}
    part = {**whole, "pattern": f"^[0-9]{{1,{most}}}$"}
    others = dict.fromkeys((*BOUNDS, "every", "contains"), whole)
    bare = part if most > len("1111") else {**whole, "minimum": 10 ** (most - 1)}
    whole["minimum"] = 10 ** (most - 1)
    return _test(whole, bare=bare, **others, starts_with=part, ends_with=part, between=_list(whole, 2, 2))


def _kind(kind: Kind) -> Json:
    if kind.allowed:
        return _test(_words(kind.allowed), **_UNORDERED)
    return TESTS["NumberTest" if kind is NUMBER else "FlagTest" if kind is FLAG else "Test"]


def _words(words: Sequence[str]) -> Json:
    """One of some words: in any letter case, or by its number. Editors offer the words."""
    spelt = {"type": ["string", "integer", "null"], "pattern": folded(words, "[0-9]{1,2}"), "minimum": 0}
    return {"anyOf": [{"enum": list(words)}, spelt]}


@cache
def _kinds() -> Mapping[str, tuple[Kind, str]]:
    """The members of requests and of stored objects by their paths: the kind of each, and what it is."""
    members = [f"request.{path}" for path in dict.fromkeys(path for op in OPERATIONS for path in paths.testable(op))]
    found = {path: (paths.known_path(path).kind, "a field of the request") for path in members}
    for kind, rows in paths.STORED.items():
        found[f"state.{camel(kind)}"] = TEXT, f"the stored {kind.replace('_', ' ')} itself"
        for name, held in paths.names_of(rows).items():
            found[f"state.{camel(kind)}.{name}"] = paths.kind_of(held), f"of the stored {kind.replace('_', ' ')}"
    return found


def repeated() -> Json:
    """What stands in many places, by the names under which the schema has it once."""
    found = {name: test["anyOf"][1] for name, test in TESTS.items()}
    named: dict[tuple[str, ...], str] = {}
    for path, (kind, _) in _kinds().items():
        if kind.allowed and kind.allowed not in named:
            name = named[kind.allowed] = path.partition(".")[2]
            found |= {name: _words(kind.allowed), f"{name}Test": _kind(kind)["anyOf"][1]}
    return found


def where_schema() -> Json:
    """The schema of ``where`` of rows."""
    tests = {name: TESTS["NumberTest" if name == "amount" else "Test"] for name in ROW_FIELDS}
    fields = {name: {**test, "description": "of the row", "examples": [{"in": [10]}]} for name, test in tests.items()}
    return {"anyOf": [{**_map(**fields), "minProperties": 0}, {"type": "null"}]}


def _members() -> Json:
    """The members of requests, and those of stored objects that are no texts."""
    example = {TEXT: {"exists": True}, NUMBER: {"gt": 100}, FLAG: True}
    return {
        path: {**_kind(kind), "description": words, "examples": [example.get(kind) or kind.allowed[0]]}
        for path, (kind, words) in _kinds().items()
        if kind is not TEXT or path.startswith("request.") or path.count(".") == 1
    }


def _patterns() -> Json:
    """Paths below the members of requests, of stored objects in either spelling, and headers."""
    known = paths.fields_of(ALL_OPERATIONS)
    deep = [name for name, one in sorted(known.items()) if one.is_list or one.is_map or paths.parts_of(name)]
    kinds = sorted({*paths.STORED, *map(camel, paths.STORED)})
    return {
        rf"^request\.({'|'.join(deep)})(\.[^.]+)+$": TESTS["Test"],
        rf"^state\.({'|'.join(kinds)})(\.[^.]+)*$": TESTS["Test"],
        rf"^header\.(?!{folded(sorted(paths.SECRET_HEADERS))[1:]}).+$": TESTS["Test"],
    }


def when_schema() -> Json:
    """The schema of ``when``."""
    operation: Json = {
        "anyOf": [{"enum": list(OPERATIONS)}, {"type": "string", "pattern": r"\*", "maxLength": 60}],
        "description": "an operation, or a glob such as charge.*",
    }
    month_day = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 31}, {"const": LAST}]}
    named = {"anyOf": [{"enum": sorted(UNREQUESTED)}, _list({"enum": sorted(UNREQUESTED)})]}
    delivery = {"anyOf": [{"const": "webhook.deliver"}, {"type": "array", "contains": {"const": "webhook.deliver"}}]}
    clock = _map(
        **dict.fromkeys(("from", "to"), POINT_SCHEMA),
        **{"for": PERIOD_SCHEMA, "zone": ZONE_SCHEMA},
        days={**_list({"enum": list(WEEKDAYS)}, high=7)},
        month_days=_list(month_day, high=31),
    )
    for name, one in clock["properties"].items():
        clock["properties"][name] = {"anyOf": [one, {"type": "null"}]} if name != "zone" else one
    brand = {"anyOf": [{"enum": list(Brand)}, {"type": "string", "pattern": folded(Brand)}]}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "op": {"anyOf": [operation, _list(operation)]},
            "source": _one_of(*SOURCES),
            "provider": TESTS["Test"],
            # In any letter case.
            "card": _map(
                brand=_one_of(*Brand, value=brand),
                bin=_digits(6),
                last4=_digits(4),
                test=_one_of(*TEST_CARDS),
            ),
            "bank_account.accountNumber": TESTS["Test"],
            **dict.fromkeys(("attempt", "batch.row", "call", "in_flight", "nth"), TESTS["CountTest"]),
            "overlaps": {"enum": list(paths.STORED)},
            **dict.fromkeys(("age", "idle"), _LENGTH),
            "clock": {
                **clock,
                "allOf": [any_of(("from", "to", "for", "days", "month_days")), apart(given("to"), given("for"))],
            },
            **_members(),
        },
        "patternProperties": _patterns(),
        "allOf": [
            needs(given_as("op", delivery), {"not": any_of(("in_flight", "overlaps"))}),
            needs(given_as("op", named), {"not": any_of(("in_flight", "call"))}),
        ],
    }


_NEED_PROVIDER = ("provider", "attempt", "source", "card", "bank_account.accountNumber", "batch.row")


def by_operation() -> list[Json]:
    """What a rule may look at and make happen, by the operations that ``op`` names in full."""
    asked = {
        "type": "array",
        "contains": {"type": "string", "pattern": r"^(provider|attempt|source|card\.|bank_account\.)"},
    }
    looks = {"anyOf": [given_as("when", any_of(_NEED_PROVIDER)), given_as("key", asked)]}
    kinds = [(_makes(given(kind.word)), kind.fits) for kind in get_args(ProviderOutcome)]
    fits = [(_makes(_at(path, {"not": {"type": "null"}})), operations) for path, operations in FITS.items()]
    fits.append((_makes(_at("approve.copies", {"minimum": 2})), TAKING))
    fits.append((_makes(_at("transport.at", {"const": At.UPLOAD})), BODIES))
    later = [(_makes(_later(given(move))), fits_later(move)) for move in Move if move is not Move.SET]
    later += [(_makes(_later(given_as("set", given(path)))), fits_later(Move.SET, path)) for path in SETTABLE]
    providers = [(looks, PROVIDER_OPERATIONS), (_makes(given("outcome_from")), PROVIDER_OPERATIONS)]
    rows = [needs(condition, _only_in(operations)) for condition, operations in (*kinds, *fits, *later, *providers)]
    alike: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for op in OPERATIONS:
        alike.setdefault((op in UNREQUESTED, tuple(paths.fields_of({op}))), []).append(op)
    for (is_unrequested, names), operations in alike.items():
        others = r"^(?!request\.|header\.)" if is_unrequested else r"^(?!request\.)"
        path = {"pattern": rf"{others}|^request\.({'|'.join(names)})(\.|$)" if names else others}
        then = {"when": {"propertyNames": path}, "key": {"items": path}}
        rows.append(needs(given_as("when", given_as("op", {"enum": operations})), {"properties": then}))
    return rows


def _makes(outcome: Json) -> Json:
    """A rule one of whose outcomes is like that."""
    then = given_as("then", outcome)
    chance = {"anyOf": [then, {"type": "array", "contains": then}]}
    return {"anyOf": [then, given_as("sequence", {"type": "array", "contains": outcome}), given_as("chance", chance)]}


def _at(path: str, held: Json) -> Json:
    """An outcome that has something at a path."""
    return reduce(lambda below, name: given_as(name, below), reversed(path.split(".")), held)


def _later(work: Json) -> Json:
    return given_as("later", {"type": "array", "contains": work})


def _only_in(operations: frozenset[str]) -> Json:
    """A rule that names none but some operations in full."""
    many = len(operations) > len(ALL_OPERATIONS) / 2
    names = "|".join(sorted(ALL_OPERATIONS - operations if many else operations)).replace(".", r"\.")
    known = {"pattern": f"^(?!({names})$)" if many else rf"^({names})$|\*"}
    # Of a text the pattern counts, of a list its items.
    op = {**known, "items": known}
    return {"properties": {"when": {"properties": {"op": op}}}}
