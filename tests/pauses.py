"""Drives long work that pauses, as a server does that has others to serve."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from mockserver.domain.cooperative import Cooperative, Pauses
from mockserver.engine import indexed_table
from mockserver.web.operations import lists

T = TypeVar("T")


def drive(work: Cooperative[T], between: Callable[[], object] = lambda: None) -> tuple[T, int]:
    """What the work makes, with something else in each of its pauses, and how many there were."""
    pauses, count = Pauses(work), 0
    for _ in pauses:
        count += 1
        between()
    return pauses.made, count


def look_at_few_rows(patch: pytest.MonkeyPatch, rows: int) -> None:
    """Let indexes learn, and searches look at, so many rows in a step."""
    for module in (indexed_table, lists):
        patch.setattr(module, "STEP_ROWS", rows)
    for name in ("MOST_IN_STEP", "RUN_ROWS"):
        patch.setattr(indexed_table, name, rows)
