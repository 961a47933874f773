"""Parts of a JSON file, each with its place there.

Files of recorded traffic come from anywhere, so each member is taken with its kind, and what is
wrong is named by its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from mockserver.adapters.scenario_files import bounded
from mockserver.domain.record import record
from mockserver.drift.peers import NotCompared
from mockserver.wire.jsonio import MalformedJson, loads

T = TypeVar("T")

MOST_BYTES = 10_000_000
"""Bytes of a recording, a HAR file, a collection."""

_DEEPEST = 100
"""Objects and lists within one another that are read of a file: collections have folders in
folders."""

_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    list: "a list",
    dict: "an object",
}


@record
class FilePart:
    """An object in a file, with the members that it has there (``found``) and its place, as a
    refusal names it. Raises ``NotCompared`` for what is missing or of another kind."""

    found: Mapping[str, object]
    place: str

    def take(self, name: str, kind: type[T], otherwise: T | None = None) -> T:
        """A member; ``otherwise`` stands for one that is absent or null."""
        member = self.found.get(name)
        if member is None and otherwise is not None:
            return otherwise
        if not isinstance(member, kind):
            raise NotCompared(f"{self.place}{name}: wanted {_KINDS[kind]}")
        return member

    def part(self, name: str) -> FilePart:
        """A member that is an object."""
        return FilePart(self.take(name, dict), f"{self.place}{name}.")

    def optional_part(self, name: str) -> FilePart:
        """A member that is an object; one without members where it is absent or null."""
        return FilePart(self.take(name, dict, {}), f"{self.place}{name}.")

    def parts(self, name: str, otherwise: list[object] | None = None) -> Iterator[FilePart]:
        """The items of a member that is a list of objects; ``otherwise`` stands for one that is
        absent or null."""
        for index, item in enumerate(self.take(name, list, otherwise)):
            if not isinstance(item, dict):
                raise NotCompared(f"{self.place}{name}[{index}]: wanted an object")
            yield FilePart(item, f"{self.place}{name}[{index}].")


def document_of(path: Path) -> FilePart:
    """The JSON object of a file. Raises ``NotCompared``, ``OSError``."""
    try:
        document = loads(bounded(path, MOST_BYTES), _DEEPEST)
    except MalformedJson as fault:
        raise NotCompared(f"{path}:{fault.line}:{fault.column}: {fault.message}") from None
    except ValueError as fault:
        raise NotCompared(f"{path}: {fault}") from None
    if not isinstance(document, dict):
        raise NotCompared(f"{path}:1:1: wanted a JSON object")
    return FilePart(document, f"{path}: ")
