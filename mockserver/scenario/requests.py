"""What the request of each operation holds, field by field, and how the API reads it.

``requests.txt`` is printed from the models of the routes by ``python -m tools.docs``, so that rules are read without
them; ``unrequested.txt`` is what the engine says of operations that nobody asks for (``data`` and ``meta`` are what a
webhook says). Each has a paragraph of operations and one of fields that have fields of their own; each name is followed
by its fields. Source: docs/spec/service.md, Endpoints; docs/spec/published-facts.md, 1.2, 1.3, 6.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from mockserver.domain.record import record
from mockserver.scenario.matching import FLAG, NUMBER, TEXT, Kind, choice

_FOLDER = Path(__file__).parent


@record
class Field:
    """One field: how its value is read, whether it is a list of such, whether it is a map of any names."""

    kind: Kind
    is_list: bool = False
    is_map: bool = False


def fields_of(operations: Collection[str]) -> Mapping[str, Field]:
    """The fields that the request of any of some operations may have. Where two read one differently, it is a text."""
    found = dict[str, Field]()
    for op in operations:
        for name, field in parts_of(op).items():
            alike = found.get(name, field).kind is field.kind
            found[name] = field if alike else Field(TEXT, field.is_list, field.is_map)
    return found


@cache
def parts_of(name: str) -> Mapping[str, Field]:
    """The fields of the request of an operation, or inside the field of a name; none where it has no such."""
    return dict(map(_field, _table().get(name, "").split()))


@cache
def _table() -> Mapping[str, str]:
    text = "".join((_FOLDER / f"{name}.txt").read_text("utf-8") for name in ("requests", "unrequested"))
    rows = [line.partition(" ") for line in text.replace("\n  ", " ").splitlines() if line]
    return {name: words for name, _, words in rows}


def _field(word: str) -> tuple[str, Field]:
    """A field by its mark: ``#`` a number, ``?`` a flag, ``*`` a map, ``[]`` a list; after ``!`` the members of an
    enumeration of the domain that it may hold."""
    word, _, chosen = word.partition("!")
    bare = word.rstrip("#?*[]")
    mark = word.removeprefix(bare)
    kind = _choice(chosen) if chosen else NUMBER if mark == "#" else FLAG if mark == "?" else TEXT
    return bare, Field(kind, is_list=mark == "[]", is_map=mark == "*")


@cache
def _choice(name: str) -> Kind:
    # The colon says where the module ends, so that no module of the name of the class is looked for.
    return choice(resolve_name(f"mockserver.domain.{name.replace('.', ':', 1)}"))
