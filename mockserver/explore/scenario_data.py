"""The plain data of scenario files: what an exploration writes, and what it asks of those that it
is given.

What is written here has types. What a user has written has not: the server checks it, and here only
the few things are looked for that decide how a command is run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NotRequired, TypedDict


class RuleData(TypedDict):
    """A rule of a scenario file. It makes one outcome happen (``then``), or one after the other
    (``sequence``); with a ``key`` it counts for itself."""

    id: str
    description: NotRequired[str]
    when: Mapping[str, object]
    key: NotRequired[Sequence[str]]
    then: NotRequired[Mapping[str, object]]
    sequence: NotRequired[Sequence[Mapping[str, object]]]


class ScenarioData(TypedDict):
    """A scenario file; ``money`` are sentences that must hold of the money at its end."""

    version: int
    name: str
    description: str
    seed: int
    rules: Sequence[RuleData]
    money: NotRequired[Sequence[str]]


def part_of(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A part of plain data, such as the ``webhook`` of an outcome; empty where it has none."""
    part = data.get(name)
    return part if isinstance(part, Mapping) else {}


def outcomes_of(scenario: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """What each rule of a scenario makes happen; nothing of those that choose among several."""
    rules = scenario.get("rules")
    if not isinstance(rules, Sequence):
        return
    for rule in rules:
        yield part_of(rule, "then")
