"""Every key of the scenario language is described, with an example that a file may hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema_rs
import pytest

from mockserver.adapters.scenario_files import read_text
from mockserver.scenario.reference import SECTIONS, Json, Key, Section, json_schema
from tests.scenario.telling import faults


def one_rule(part: Json) -> Json:
    return {"version": 1, "rules": [{"id": "example", **part}]}


def at(operation: str, *words: str) -> Callable[[Json], Json]:
    """A part of the outcome of an operation, below the keys that lead to it."""

    def file(part: Json) -> Json:
        for word in reversed(words):
            part = {word: part}
        return one_rule({"when": {"op": operation}, "then": part})

    return file


def file_of(*words: str) -> Callable[[Json], Json]:
    def file(part: Json) -> Json:
        for word in reversed(words):
            part = {word: part}
        return {"version": 1, **part}

    return file


def when(part: Json) -> Json:
    return one_rule({"when": part, "then": {"decline": "do_not_honour"}})


def calls(part: Json) -> Json:
    return {"version": 1, "examples": [{"name": "example", "calls": [part]}]}


def outcome(part: Json) -> Json:
    operation = "batch.create" if "batch" in part else "charge.get" if "lag" in part else "charge.create"
    key = {"key": ["request.reference"]} if "replay" in part else {}
    return one_rule({"when": {"op": operation}, **key, "then": part})


def later(part: Json) -> Json:
    changed = part.get("set", {})
    operations = {"customer.create": "delete" in part, "subscription.create": "subscription.status" in changed}
    operations |= {"payment_method.create": bool(changed), "charge.create": True}
    return at(next(name for name, fits in operations.items() if fits))({"later": [part]})


MAIN = {"id": "acq_main"}
VAULT = {"call": "POST /vault", "body": {"cardNumber": "4111111111111111", "expireSeconds": 60}}
APPROVE: Json = {"then": {"approve": {}}}
DISPUTE = {"event": "charge.dispute.created"}
FILES: Mapping[str, Callable[[Json], Json]] = {
    "file": file_of(),
    "tls": file_of("tls"),
    "clock": file_of("clock"),
    "provider": lambda part: file_of("providers")([{**MAIN, **part}, {"id": "acq_backup"}]),
    "cost": lambda part: file_of("providers")([{**MAIN, "cost": part}]),
    "call": calls,
    "expect (of a call)": lambda part: calls({**VAULT, "expect": part}),
    "example": lambda part: file_of("examples")([{"name": "example", "calls": [VAULT], **part}]),
    "advance (a step of an example)": calls,
    "together (a step of an example)": calls,
    "wait (a step of an example)": calls,
    "rule": lambda part: one_rule({**({} if part.keys() & {"then", "sequence", "chance"} else APPROVE), **part}),
    "limit": lambda part: one_rule({**APPROVE, "limit": part}),
    "expect (of a rule)": lambda part: one_rule({**APPROVE, "expect": part}),
    "when": when,
    "card": lambda part: when({"card": part}),
    "age, idle (of when)": lambda part: when({"op": "charge.refund", "age": part, "idle": part}),
    "clock (of when)": lambda part: when({"clock": part}),
    "test": lambda part: when({"request.amount": part}),
    "chance": lambda part: one_rule({"chance": part}),
    "chance (a list)": lambda part: one_rule({"chance": [part, {"weight": 1, **APPROVE}]}),
    "outcome": outcome,
    "sequence": lambda part: one_rule({"when": {"op": "charge.create"}, "sequence": [part]}),
    "then": at("charge.create"),
    "decline": at("charge.create", "decline"),
    "approve": at("charge.create", "approve"),
    "pending": at("charge.create", "pending"),
    "challenge": at("charge.create", "challenge"),
    "latency": at("charge.create", "latency"),
    "transport": at("charge.create", "transport"),
    "dribble, slow": lambda part: at("charge.create", "transport")({"at": "answer", "dribble": part}),
    "webhook": at("charge.create", "webhook"),
    "batch": at("batch.create", "batch"),
    "rows": lambda part: at("batch.create", "batch")({"rows": [part]}),
    "progress": lambda part: at("batch.create", "batch")({"progress": [part]}),
    "results": at("batch.create", "batch", "results"),
    "later": later,
    "set (of later)": lambda part: later({"after": "30d", "set": part}),
    "emit (of later)": lambda part: later({"after": "30d", "emit": {**DISPUTE, **part}}),
    "capture, refund (of later)": lambda part: later({"after": "1d", "refund": part}),
    "findings": file_of("findings"),
}
"""How a part, by its name in the reference, becomes a whole file."""

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


def test_tests_of_a_field_that_holds_known_words_are_described() -> None:
    when = SCHEMA["$defs"]["RuleMap"]["properties"]["when"]["properties"]
    for field in (when["source"], when["card"]["properties"]["brand"], when["card"]["properties"]["test"]):
        members = field["anyOf"][1]["allOf"][1]["properties"]
        assert list(members) == ["eq", "ne", "in"]
        for key in members.values():
            assert {"description", "examples"} <= key.keys()


@pytest.mark.parametrize(("section", "key"), EXAMPLES, ids=lambda one: one.name)
def test_every_example_is_read_as_it_stands(section: Section, key: Key) -> None:
    assert key.name in key.example
    file = FILES[section.name](key.example)
    scenario = read_text(json.dumps(file), "example")
    assert [rule.id for rule in scenario.rules] == [rule["id"] for rule in file.get("rules", [])]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_key_is_described_once_and_stands_in_the_schema(section: Section) -> None:
    names = [key.name for key in section.keys]
    assert len(names) == len(set(names))
    assert section.places


def test_the_schema_has_a_name_with_the_version_of_the_language() -> None:
    assert SCHEMA["$id"].endswith(f":{SCHEMA['properties']['version']['const']}")


ONLY_READING_KNOWS = {
    *(("clock", name) for name in ("start", "zone")),
    *(("card", name) for name in ("bin", "last4")),
    *(("test", name) for name in ("eq", "ne", "starts_with", "ends_with", "contains", "matches")),
    *(("provider", "fallback"), ("rule", "key"), ("clock (of when)", "zone"), ("then", "outcome_from")),
    *(("decline", "name"), ("transport", "retry_after"), ("webhook", "edit"), ("rows", "where")),
}
"""Keys whose values mean something to more than the schema: a provider, a path, a zone, the kind of a field."""


def test_the_schema_refuses_what_reading_refuses() -> None:
    known = jsonschema_rs.validator_for(SCHEMA)
    missed, both = set(), 0
    for section, key in EXAMPLES:
        # How a file is made of a part may depend on what is set.
        for wrong in (True, -1, [5], {"zzz": 1}, "no such word") if key.name != "set" else ():
            file = FILES[section.name]({**key.example, key.name: wrong})
            if faults(json.dumps(file)):
                both += not known.is_valid(file)
                missed |= {(section.name, key.name)} if known.is_valid(file) else set()
    assert both > 1_000
    assert missed == ONLY_READING_KNOWS
