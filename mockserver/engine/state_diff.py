"""What differs between two state documents, object by object.

Source: control document, Control API (``/__admin/compare``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mockserver.domain.slices import Slices
from mockserver.engine.facts import KINDS

MOST = 200
"""Objects that are named of each kind and each way of differing; all are counted."""

_SLICE = 200
_ABSENT = object()


@dataclass(slots=True)
class KindDiff:
    """How the objects of one kind differ: ids that one side alone has, and fields whose values are not equal."""

    only_here: list[str] = field(default_factory=list)
    only_there: list[str] = field(default_factory=list)
    changed: dict[str, dict[str, tuple[object, object]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: {"onlyHere": 0, "onlyThere": 0, "changed": 0, "equal": 0})


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> Slices[dict[str, KindDiff]]:
    """The kinds of two documents' tables that differ, and how; others have their turn meanwhile."""
    found: dict[str, KindDiff] = {}
    for table, rows in here["tables"].items():
        kind = next(kind for kind in KINDS if table in (kind, f"{kind}s", f"{kind}es"))
        id_name = KINDS[kind][0]
        mine = {str(row[id_name]): row for row in rows}
        theirs = {str(row[id_name]): row for row in there["tables"][table]}
        diff = KindDiff()
        for number, row_id in enumerate({**mine, **theirs}):
            if number % _SLICE == _SLICE - 1:
                yield
            _compare(diff, row_id, mine.get(row_id), theirs.get(row_id))
        if diff.counts["onlyHere"] or diff.counts["onlyThere"] or diff.counts["changed"]:
            found[kind] = diff
    return found


def _compare(diff: KindDiff, row_id: str, mine: Any, theirs: Any) -> None:
    if theirs is None:
        _count(diff, "onlyHere", diff.only_here, row_id)
    elif mine is None:
        _count(diff, "onlyThere", diff.only_there, row_id)
    elif mine == theirs:
        diff.counts["equal"] += 1
    else:
        diff.counts["changed"] += 1
        if len(diff.changed) < MOST:
            diff.changed[row_id] = dict(_fields("", mine, theirs))


def _count(diff: KindDiff, name: str, ids: list[str], row_id: str) -> None:
    diff.counts[name] += 1
    if len(ids) < MOST:
        ids.append(row_id)


def _fields(path: str, mine: Any, theirs: Any) -> Iterator[tuple[str, tuple[object, object]]]:
    """Fields by their dotted path, with the value on each side; None where a side has none."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for name in {**mine, **theirs}:
            one, other = mine.get(name, _ABSENT), theirs.get(name, _ABSENT)
            if one != other:
                deeper = f"{path}.{name}" if path else str(name)
                yield from _fields(deeper, None if one is _ABSENT else one, None if other is _ABSENT else other)
    else:
        yield path, (mine, theirs)
