"""Two sandboxes side by side: what differs, object by object.

Source: docs/control-api.md (``/__admin/compare``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from mockserver.domain.batch import Batch
from mockserver.domain.clock import iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_start
from mockserver.domain.record import mutable
from mockserver.engine.codec import form
from mockserver.engine.indexed_table import Table
from mockserver.engine.sandbox import Sandbox, sandbox_id_of
from mockserver.engine.state_facts import KINDS
from mockserver.web.control.call import ControlCall
from mockserver.web.runner import for_each

_EARLIEST_SHOWN = 10**15
"""Whole numbers from here on are instants, in microseconds."""

_NOT_THERE = object()

_MOST = 200
"""Objects that are named of each kind and each way of differing; all are counted."""


@mutable
class KindDiff:
    """How the objects of one kind differ: ids that one side alone has, and fields whose values are not equal."""

    only_here: list[str] = field(default_factory=list)
    only_there: list[str] = field(default_factory=list)
    changed: dict[str, dict[str, tuple[object, object]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: {"onlyHere": 0, "onlyThere": 0, "changed": 0, "equal": 0})


async def compare(call: ControlCall) -> tuple[int, object]:
    """What differs between this sandbox (``here``) and the one of the id ``with`` (``there``): clock, scenarios, and
    objects by kind. Card numbers and ccv are compared as an export without secrets shows them.

    Raises ``Invalid`` (90) for an id that no open sandbox has.
    """
    here, wanted = call.sandbox(), call.query.with_
    for key in call.world.sandboxes.keys_of({"x-sandbox": wanted}):
        await call.fetch(key)
    there = call.world.sandboxes.with_id(wanted)
    if there is None:
        known = ", ".join(sandbox_id_of(one.key) for one in list(call.world.sandboxes)[-5:])
        raise invalid({"With": f"got '{mask_start(wanted, 40)}', wanted the id of an open sandbox, such as {known}"})
    # Of the instant at which the comparison begins.
    facts = {name: {"here": one, "there": other} for name, one, other in _facts(here, there) if one != other}
    kinds = await _differences(here, there)
    return 200, {
        "equal": not kinds and not facts,
        "facts": facts,
        "kinds": {kind: _shown(diff) for kind, diff in kinds.items()},
    }


def _facts(here: Sandbox, there: Sandbox) -> list[tuple[str, object, object]]:
    return [
        ("now", iso(here.now), iso(there.now)),
        ("clock", here.clock.mode.value, there.clock.mode.value),
        ("profile", here.assumed.profile.value, there.assumed.profile.value),
        ("seed", here.config.seed, there.config.seed),
        ("pending", len(here.schedule.entries), len(there.schedule.entries)),
        ("scenarios", _names(here), _names(there)),
    ]


def _names(sandbox: Sandbox) -> list[str]:
    return [scenario.name for scenario in sandbox.config.scenarios]


def _shown(diff: KindDiff) -> dict[str, object]:
    return {
        **diff.counts,
        "onlyHereIds": diff.only_here,
        "onlyThereIds": diff.only_there,
        "changedFields": {
            row_id: {path: {"here": _value(one), "there": _value(other)} for path, (one, other) in fields.items()}
            for row_id, fields in diff.changed.items()
        },
    }


def _value(value: object) -> object:
    return iso(value) if type(value) is int and value >= _EARLIEST_SHOWN else value


async def _differences(here: Sandbox, there: Sandbox) -> dict[str, KindDiff]:
    """The kinds of objects that differ, and how, at the beginning. Objects are as an export without secrets shows them,
    and only those that are not equal are written out."""
    taken = {kind: (table(here).id_of, _rows(table(here)), _rows(table(there))) for kind, (_, table) in KINDS.items()}
    found: dict[str, KindDiff] = {}
    for kind, sides in taken.items():
        diff = await _difference(*sides)
        if diff.counts["onlyHere"] or diff.counts["onlyThere"] or diff.counts["changed"]:
            found[kind] = diff
    return found


async def _difference(id_of: Callable[[Any], str], mine: list[Any], theirs: list[Any]) -> KindDiff:
    diff, others = KindDiff(), dict[str, Any]()
    await for_each(theirs, lambda row: others.setdefault(id_of(row), row))
    await for_each(mine, lambda row: _compare(diff, id_of(row), row, others.pop(id_of(row), None)))
    await for_each(others, lambda row_id: _count(diff, "onlyThere", diff.only_there, row_id))
    return diff


def _rows(table: Table[Any]) -> list[Any]:
    """The rows of a table as they are now, whatever comes of them."""
    rows = list(table)
    return [batch.copied() for batch in rows] if rows and isinstance(rows[0], Batch) else rows


def _compare(diff: KindDiff, row_id: str, mine: Any, theirs: Any) -> None:
    """Count a row of this side."""
    if theirs is None:
        _count(diff, "onlyHere", diff.only_here, row_id)
        return
    write = form(mine.__class__).write
    fields = dict(_fields("", write(mine, False), write(theirs, False))) if mine != theirs else {}
    if fields:
        diff.counts["changed"] += 1
        if len(diff.changed) < _MOST:
            diff.changed[row_id] = fields
    else:
        diff.counts["equal"] += 1


def _count(diff: KindDiff, name: str, ids: list[str], row_id: str) -> None:
    diff.counts[name] += 1
    if len(ids) < _MOST:
        ids.append(row_id)


def _fields(path: str, mine: Any, theirs: Any) -> Iterator[tuple[str, tuple[object, object]]]:
    """Fields by their dotted path, with the value on each side; None where a side has none."""
    if mine == theirs:
        return
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for name in {**mine, **theirs}:
            one, other = mine.get(name, _NOT_THERE), theirs.get(name, _NOT_THERE)
            if one != other:
                deeper = f"{path}.{name}" if path else str(name)
                yield from _fields(deeper, None if one is _NOT_THERE else one, None if other is _NOT_THERE else other)
    else:
        yield path, (mine, theirs)
