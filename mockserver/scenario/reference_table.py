"""How a key of the scenario language is described: what it means, an example, and what holds without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = Any
"""Plain data, as a scenario file has it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a part: what it means, and a part that has it. ``default`` says what holds without it where the schema
    does not."""

    name: str
    means: str
    example: Json
    default: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a file: what it is, its places in the schema (a definition, or a path below one), how a part becomes a
    whole file, and its keys."""

    name: str
    means: str
    places: tuple[str, ...]
    file: Callable[[Json], Json]
    keys: tuple[Key, ...]


def rule_file(part: Json) -> Json:
    """A file with one rule."""
    return {"version": 1, "rules": [{"id": "example", **part}]}


def at(operation: str, *words: str) -> Callable[[Json], Json]:
    """A part of the outcome of an operation, below the keys that lead to it, as a file with one rule."""

    def file(part: Json) -> Json:
        for word in reversed(words):
            part = {word: part}
        return rule_file({"when": {"op": operation}, "then": part})

    return file
