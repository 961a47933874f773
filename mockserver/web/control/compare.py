"""What differs between two sandboxes, object by object (``/__admin/compare``). Both are taken as
they stand at one instant, and compared in a thread. Source: docs/control-api.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypedDict

from pydantic import Field

from mockserver.domain.batch import Batch
from mockserver.domain.clock import iso
from mockserver.domain.errors import invalid
from mockserver.domain.masking import mask_start
from mockserver.domain.record import record
from mockserver.engine import state_document
from mockserver.engine.indexed_table import Table, TableRow
from mockserver.engine.sandbox import Sandbox, sandbox_id_of
from mockserver.engine.step import KINDS
from mockserver.web.control.call import ControlCall, ControlRoute
from mockserver.web.runner import in_thread
from mockserver.wire.control_body import ControlBody


class CompareQuery(ControlBody):
    """With what a sandbox is compared."""

    with_: str = Field("", description="id of the other sandbox")


_MOST = 200
"""Objects that are named of each kind and each way of differing; all are counted."""


async def compare(call: ControlCall[ControlBody, CompareQuery]) -> object:
    """What differs between this sandbox (``here``) and the one of the id ``with`` (``there``):
    clock, scenarios, and objects by kind. Card numbers and ccv are compared as an export without
    secrets shows them.

    Raises ``Invalid`` (90) for an id that no open sandbox has.
    """
    here, other_id = call.sandbox(), call.query.with_
    await call.world.sandboxes.fetch_named({"x-sandbox": other_id})
    there = call.world.sandboxes.with_id(other_id)
    if there is None:
        newest = list(call.world.sandboxes)[-5:]
        known = ", ".join(sandbox_id_of(sandbox.key) for sandbox in newest)
        raise invalid(
            {
                "With": f"got '{mask_start(other_id, 40)}', wanted the id of an open sandbox, such "
                f"as {known}"
            }
        )
    # Facts and rows of one instant, at which the comparison begins.
    facts = _differing_facts(here, there)
    comparisons: dict[str, _Comparison] = {}
    for kind, stored_kind in KINDS.items():
        rows_here, rows_there = _rows(stored_kind.table(here)), _rows(stored_kind.table(there))
        comparisons[kind] = _Comparison(stored_kind.id_of, rows_here, rows_there)
    kinds = await in_thread(partial(_differing_kinds, comparisons))
    return {"equal": not kinds and not facts, "facts": facts, "kinds": kinds}


class _KindDifferences(TypedDict):
    """How the objects of one kind differ, as the answer has it."""

    onlyHere: int
    onlyThere: int
    changed: int
    equal: int
    onlyHereIds: list[str]
    onlyThereIds: list[str]
    changedFields: dict[str, Mapping[str, object]]


def _differing_kinds(comparisons: Mapping[str, _Comparison]) -> dict[str, _KindDifferences]:
    """The kinds whose objects differ; those that are the same on both sides are left out."""
    kinds: dict[str, _KindDifferences] = {}
    for kind, comparison in comparisons.items():
        reply = comparison.reply()
        if reply["onlyHere"] or reply["onlyThere"] or reply["changed"]:
            kinds[kind] = reply
    return kinds


def _differing_facts(here: Sandbox, there: Sandbox) -> dict[str, dict[str, object]]:
    """The facts of the sandboxes themselves that are not the same, with the value on each side."""
    facts_there = _facts(there)
    differing: dict[str, dict[str, object]] = {}
    for name, value in _facts(here).items():
        if value != facts_there[name]:
            differing[name] = {"here": value, "there": facts_there[name]}
    return differing


def _facts(sandbox: Sandbox) -> dict[str, object]:
    """What is compared of the sandboxes themselves: all that decides what comes next in them."""
    return {
        "now": iso(sandbox.now),
        "clock": sandbox.clock.mode,
        "profile": sandbox.assumed.profile,
        "seed": sandbox.config.seed,
        "pending": len(sandbox.schedule.entries),
        "scenarios": [scenario.name for scenario in sandbox.config.scenarios],
    }


@record
class _Comparison:
    """The objects of one kind on both sides."""

    id_of: Callable[[TableRow], str]
    here: Sequence[TableRow]
    there: Sequence[TableRow]

    def reply(self) -> _KindDifferences:
        """How they differ: ids that one side alone has, and fields whose values are not equal. All
        are counted, the first ``_MOST`` named."""
        unmatched = {self.id_of(row): row for row in self.there}
        only_here: list[str] = []
        changed = 0
        changed_fields: dict[str, Mapping[str, object]] = {}
        for row in self.here:
            row_id = self.id_of(row)
            other = unmatched.pop(row_id, None)
            if other is None:
                only_here.append(row_id)
                continue
            fields = _differing_fields(row, other)
            if fields:
                changed += 1
                if len(changed_fields) < _MOST:
                    changed_fields[row_id] = fields
        only_there = list(unmatched)
        return {
            "onlyHere": len(only_here),
            "onlyThere": len(only_there),
            "changed": changed,
            "equal": len(self.here) - len(only_here) - changed,
            "onlyHereIds": only_here[:_MOST],
            "onlyThereIds": only_there[:_MOST],
            "changedFields": changed_fields,
        }


def _rows(table: Table[TableRow]) -> Sequence[TableRow]:
    """The rows of a table as they are now, for a thread that reads them while others are served.
    All rows are values but batches, whose rows change in place."""
    rows = list(table)
    batches = [row.copied() for row in rows if isinstance(row, Batch)]
    # The rows of a table are of one class: all are batches, or none is.
    return batches or rows


def _differing_fields(here: TableRow, there: TableRow) -> dict[str, dict[str, object]]:
    """The fields of two rows that differ; none where only a secret does, which is not shown. Most
    rows are equal, as one sandbox is often a fork of the other: those are not taken apart."""
    if here == there:
        return {}
    return dict(_fields("", *state_document.shown_pair(here, there)))


def _fields(path: str, here: object, there: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Fields that differ by their dotted path, with the value on each side; None where a side has
    none. Objects are taken apart, lists are not: their items have no names to compare by."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for name in {**here, **there}:
            if here.get(name) != there.get(name):
                inner = f"{path}.{name}" if path else str(name)
                yield from _fields(inner, here.get(name), there.get(name))
    else:
        yield path, {"here": _value(here), "there": _value(there)}


def _value(value: object) -> object:
    """A value as it is shown, instants as date-times."""
    # Instants are whole numbers of microseconds since 1970: from 2001 on greater than any other.
    if type(value) is int and value >= 10**15:
        return iso(value)
    return value


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/compare",
        compare,
        query=CompareQuery,
        keyed=True,
        reply="CompareAnswer",
        example={"with": "$other"},
        summary="What differs from another sandbox, object by object",
    ),
)
