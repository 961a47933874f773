"""Lets small tables be looked at as large ones are: in more steps than one, and in a thread."""

import pytest

from mockserver.engine import indexed_table
from mockserver.web.operations import lists


def look_at_few_rows(patch: pytest.MonkeyPatch, rows: int) -> None:
    """Let indexes learn, and searches look at, so many rows in a step."""
    for module in (indexed_table, lists):
        patch.setattr(module, "STEP_ROWS", rows)
    for name in ("MOST_IN_STEP", "RUN_ROWS"):
        patch.setattr(indexed_table, name, rows)
