"""Every key of the scenario language is described, with an example that a file may hold."""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import reduce
from operator import getitem
from random import Random
from typing import Any

import jsonschema_rs

from mockserver.adapters.scenario_files import read_text
from mockserver.adapters.strict_yaml import read
from mockserver.scenario.operations import OPERATIONS
from mockserver.scenario.reference import SECTIONS, Json, json_schema
from mockserver.wire.jsonio import dumps
from tests.depth import tries
from tests.driving import SHIPPED
from tests.rows import at_row
from tests.scenario.telling import faults
from tests.scenario.test_cookbook import ROWS
from tests.scenario.test_cookbook import file_of as file_of_row


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
    operation = (
        "batch.create" if "batch" in part else "charge.get" if "lag" in part else "charge.create"
    )
    key = {"key": ["request.reference"]} if "replay" in part else {}
    return one_rule({"when": {"op": operation}, **key, "then": part})


def later(part: Json) -> Json:
    changed = part.get("set", {})
    operations = {
        "customer.create": "delete" in part,
        "subscription.create": "subscription.status" in changed,
    }
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
    "rule": lambda part: one_rule(
        {**({} if part.keys() & {"then", "sequence", "chance"} else APPROVE), **part}
    ),
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
    "dribble, slow": lambda part: at("charge.create", "transport")(
        {"at": "answer", "dribble": part}
    ),
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


def test_every_key_of_the_schema_is_described() -> None:
    keys = [
        (f"{place}/{name}", key)
        for place, properties in parts(SCHEMA)
        for name, key in properties.items()
    ]
    assert len(keys) > 200
    for place, key in keys:
        named = SCHEMA["$defs"][key["$ref"].rpartition("/")[2]] if "$ref" in key else {}
        assert key.get("description"), place
        assert "examples" in {**named, **key}, place


def test_every_example_is_read_as_it_stands() -> None:
    for section, key in EXAMPLES:
        with at_row(f"{section.name}: {key.name}"):
            assert key.name in key.example
            file = FILES[section.name](key.example)
            scenario = read_text(json.dumps(file), "example")
            assert [rule.id for rule in scenario.rules] == [
                rule["id"] for rule in file.get("rules", [])
            ]


def test_a_key_is_described_once_and_stands_in_the_schema() -> None:
    for section in SECTIONS:
        names = [key.name for key in section.keys]
        assert len(names) == len(set(names)), section.name
        assert section.models, section.name


def test_the_schema_has_a_name_with_the_version_of_the_language() -> None:
    assert SCHEMA["$id"].endswith(f":{SCHEMA['properties']['version']['const']}")


WRONG = [
    True,
    False,
    None,
    -1,
    0,
    1.5,
    10**12,
    "",
    "5",
    "0s",
    "5s",
    "-5s",
    "no such word",
    "x" * 300,
]
WRONG += [[], {}, [5], [None], [{}], {"zzz": 1}]


def test_the_schema_refuses_nothing_that_reading_takes() -> None:
    known = jsonschema_rs.validator_for(SCHEMA)
    both, too_strict = 0, []
    for section, key in EXAMPLES:
        # How a file is made of a part may depend on what is set.
        for wrong in WRONG[:: tries(3, 1)] if key.name != "set" else ():
            file = FILES[section.name]({**key.example, key.name: wrong})
            is_refused, is_valid = bool(faults(json.dumps(file))), known.is_valid(file)
            both += is_refused and not is_valid
            too_strict += [file] if not is_refused and not is_valid else []
    assert both > tries(1_100, 3_500), "a value of a wrong type is underlined"
    assert too_strict == []


def test_the_schema_is_small_enough_for_editors() -> None:
    assert len(json.dumps(SCHEMA, separators=(",", ":"))) < 150_000


def pieces(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of everything in a file but the file itself."""
    inside = (
        part.items()
        if isinstance(part, dict)
        else enumerate(part)
        if isinstance(part, list)
        else ()
    )
    for name, below in inside:
        yield (*path, name)
        yield from pieces(below, (*path, name))


def spoilt(file: Json, chance: Random) -> Json:
    """The file with one thing changed: a value, the name of a key, a key too few or too many, the
    operation."""
    file = deepcopy(file)
    place = chance.choice(list(pieces(file)))
    held = reduce(getitem, place[:-1], file)
    name = place[-1]
    match chance.randrange(5):
        case 0:
            held[name] = chance.choice(WRONG)
        case 1 if isinstance(name, str):
            at = chance.randrange(len(name) or 1)
            held[name[:at] + name[at + 1 :]] = held.pop(name)
        case 2:
            del held[name]
        case 3 if isinstance(held, dict):
            held[
                chance.choice(["op", "decline", "times", "request.amount", "webhook", "batch"])
            ] = chance.choice(WRONG)
        case _:
            for rule in file.get("rules", ()):
                rule.get("when", {})["op"] = chance.choice(list(OPERATIONS))
    return file


def test_a_key_or_a_word_that_nothing_knows_is_underlined() -> None:
    texts = [file_of_row(row) if row.startswith("{") else f"version: 1\n{row}\n" for _, row in ROWS]
    texts += [path.read_text("utf-8") for path in SHIPPED]
    files = [json.loads(dumps(read(text, "f")[0])) for text in texts]
    known, chance = jsonschema_rs.validator_for(SCHEMA), Random(38)
    missed, both, too_strict = [], 0, []
    for file in files * tries(2, 60):
        assert known.is_valid(file)
        wrong = spoilt(file, chance)
        found, is_valid = faults(json.dumps(wrong)), known.is_valid(wrong)
        both += bool(found) and not is_valid
        too_strict += [wrong] if not found and not is_valid else []
        missed += [one for one in found if is_valid and "unknown key" in one]
    assert both > tries(180, 4_500)
    assert too_strict == []
    assert missed == []
