"""Fields that published client libraries send by themselves though the service does not read them: no mistake of
their users. The table is ``sdk_fields.csv``, which names the libraries and the source of each.

Source: docs/spec/published-facts.md, 1.2, 8 (row 30).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mockserver.domain.reference_data import read_table


def is_sent_by_sdk(op: str, name: str) -> bool:
    """Whether a published library sends a field, in whatever letter case, with an operation."""
    return (op, name.lower()) in _rows()


@cache
def _rows() -> frozenset[tuple[str, str]]:
    return frozenset(read_table("sdk_fields", _row, Path(__file__).parent))


def _row(operation: str, field: str, clients: str, source: str) -> tuple[str, str]:
    return operation, field.lower()
