"""A finding, as the control API shows it, in lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def lines_of(row: Mapping[str, Any]) -> list[str]:
    """One finding in lines."""
    times = f" ({row['count']} times)" if row["count"] > 1 else ""
    return [
        f"{row['severity']} {row['finding']}: {row['title']}{times}",
        *(f"    {what}: {subject}" for what, subject in row["about"].items()),
        *(f"    {place(line)}  {line['line']}" for line in row["evidence"]),
        f"    why: {row['why']}",
        f"    advice: {row['advice']}",
    ]


def place(line: Mapping[str, Any]) -> str:
    """Where a line of evidence is: a journal entry or a webhook."""
    if line["webhook"] is not None:
        return f"webhook {line['webhook']}"
    return f"journal {line['entry']}" if line["entry"] is not None else "-"
