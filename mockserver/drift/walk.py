"""The walk: the calls of ``walk.yaml``, all or some of them, and what they are in words.

Source: docs/drift.md, What it sends.
"""

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import yaml

from mockserver.domain.clock import SECOND, parse_duration
from mockserver.domain.record import read_table
from mockserver.scenario.answers import placeholders
from mockserver.scenario.scenario import AdvanceMap, CallMap
from mockserver.web.routes import operation_of

FIRST, OFFERED = "key", "offered"
"""The calls that show whether the key is right, and which providers the account has."""

DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
"""Provider of published samples, where the account shows none (published facts, 10)."""

WALK_SECONDS = 300.0
"""How long a walk may take; taking back may take as long again."""


Step: TypeAlias = CallMap | AdvanceMap


def steps(operations: Collection[str] | None = None, calls: Collection[str] = ()) -> list[Step]:
    """The steps of the walk: some calls and those of some operations, with the calls that they
    need, or all."""
    walk = _whole_walk()
    if operations is None and not calls:
        return walk
    # Without these two nothing else can be asked.
    chosen = {FIRST, OFFERED, *calls}
    # What a call needs comes before it: from the last to the first each need is known in time.
    for step in reversed(calls_of(walk)):
        is_of_operation = operation_of(step.method, step.path) in (operations or ())
        if step.id in chosen or is_of_operation:
            chosen.add(str(step.id))
            chosen |= {name for name, _ in placeholders([step.call, step.headers, step.body])}
    # Time passes all the same: what comes after a pause must not come before it.
    return [step for step in walk if isinstance(step, AdvanceMap) or step.id in chosen]


def _whole_walk() -> list[Step]:
    """All steps of ``walk.yaml``; its stages are there for those who read it."""
    stages = yaml.safe_load((Path(__file__).parent / "walk.yaml").read_text("utf-8"))
    walk: list[Step] = []
    for stage in stages.values():
        for row in stage:
            if "advance" in row:
                walk.append(AdvanceMap(parse_duration(row["advance"])))
            else:
                walk.append(CallMap(**row))
    return walk


def calls_of(walk: Sequence[Step]) -> list[CallMap]:
    """The steps that call a server; at the others time passes."""
    return [step for step in walk if isinstance(step, CallMap)]


def printed(walk: Sequence[Step]) -> Iterator[str]:
    """The walk in words, a line each."""
    total = Decimal(0)
    for step in walk:
        if isinstance(step, AdvanceMap):
            yield f"wait {step.advance // SECOND} s"
            continue
        yield f"{step.id}: {step.call}"
        if operation_of(step.method, step.path) == "charge.create":
            amount = step.body.get("amount")
            # Some calls of the walk are to be refused for theirs, such as a text.
            if type(amount) in (int, float):
                total += Decimal(str(amount))
    yield (
        f"{len(calls_of(walk))} calls in at most {WALK_SECONDS:.0f} s, charges of {total} in all; "
        "then what was made is voided, refunded or deleted"
    )


def unseen() -> Iterator[str]:
    """What no walk can show, with the reason."""
    yield "not shown by it:"
    for row in read_table("unseen", dict[str, str], Path(__file__).parent):
        yield f"  {row['key']}: {row['reason']}"
